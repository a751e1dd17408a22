// Where the tasks of a DAG go: in layers, top down, each as near to its neighbours as the others let
// it. Arithmetic only; the page is not touched.

const GAP = 30; // between two boxes of a layer
const LANE = 14; // the width of an edge that passes a layer by
const FAN = 76; // between two layers: room for labels
const SWEEPS = 8;
const LONGEST = 40; // layers that an edge is led through; a longer one goes straight
const WIDEST = 30; // boxes side by side; a wider layer has several rows

/** Lay out `boxes` ({ref, width, height}) and `relations`. Gives `{width, height, at, routes}`: the
 * middle of the top of each box, and for each edge its ends (indices of boxes), its text and the
 * points that it goes through. */
export function layered(boxes, relations) {
  const index = new Map(boxes.map((box, at) => [box.ref, at]));
  const edges = relations
    .filter((one) => index.has(one.preTask) && index.has(one.postTask))
    .map((one) => ({ from: index.get(one.preTask), to: index.get(one.postTask), label: labelOf(one) }));
  const { rows: depth, isWide } = wrapped(depths(boxes.length, edges));
  const spots = boxes.map((box, at) => ({ width: box.width, height: box.height, layer: depth[at], up: [], down: [] }));
  const chains = edges.map((edge) => chained(edge, spots, isWide));
  const layers = ordered(spots);
  spread(layers);
  const tops = stacked(layers);
  const left = Math.min(0, ...spots.map((spot) => spot.x - spot.width / 2));
  const width = Math.max(0, ...spots.map((spot) => spot.x + spot.width / 2)) - left;
  for (const spot of spots) Object.assign(spot, { x: spot.x - left, y: tops[spot.layer] });
  const last = layers.at(-1) ?? [];
  return {
    width,
    height: (tops.at(-1) ?? 0) + Math.max(0, ...last.map((spot) => spot.height)),
    at: boxes.map((_, at) => ({ x: spots[at].x, y: spots[at].y })),
    routes: edges.map((edge, at) => ({ ...edge, points: pointsOf(chains[at]) })),
  };
}

function labelOf(relation) {
  const label = relation.label ?? "ok";
  if (label === "case") return String(relation.case ?? "");
  return label === "ok" ? "" : label;
}

/** The layer of each box: one below the lowest that leads to it. */
function depths(count, edges) {
  const depth = new Array(count).fill(0);
  const waiting = new Array(count).fill(0);
  const after = Array.from({ length: count }, () => []);
  for (const { from, to } of edges) {
    waiting[to] += 1;
    after[from].push(to);
  }
  const free = waiting.flatMap((left, at) => (left ? [] : [at]));
  while (free.length) {
    const at = free.pop();
    for (const next of after[at]) {
      depth[next] = Math.max(depth[next], depth[at] + 1);
      waiting[next] -= 1;
      if (!waiting[next]) free.push(next);
    }
  }
  return depth;
}

/** The rows of boxes whose layers are known: a layer that is too wide for one has several. */
function wrapped(depth) {
  const sizes = [];
  for (const layer of depth) sizes[layer] = (sizes[layer] ?? 0) + 1;
  const firsts = [];
  let next = 0;
  sizes.forEach((size, layer) => {
    firsts[layer] = next;
    next += Math.ceil(size / WIDEST);
  });
  const seen = sizes.map(() => 0);
  const rows = depth.map((layer) => {
    const row = firsts[layer] + Math.floor(seen[layer] / WIDEST);
    seen[layer] += 1;
    return row;
  });
  const ofWide = new Set(rows.filter((_, at) => sizes[depth[at]] > WIDEST));
  return { rows, isWide: (row) => ofWide.has(row) };
}

/** The spots that an edge goes through, lanes in the layers between its ends among them; past the
 * rows of a wide layer it goes straight. */
function chained({ from, to }, spots, isWide) {
  const chain = [spots[from]];
  const span = spots[to].layer - spots[from].layer;
  const passes = Array.from({ length: Math.max(0, span - 1) }, (_, at) => spots[from].layer + 1 + at);
  if (span <= LONGEST && !passes.some(isWide)) {
    for (let layer = spots[from].layer + 1; layer < spots[to].layer; layer += 1) {
      const lane = { width: LANE, height: 0, layer, up: [], down: [], lane: true };
      spots.push(lane);
      chain.push(lane);
    }
  }
  chain.push(spots[to]);
  for (let at = 1; at < chain.length; at += 1) {
    chain[at - 1].down.push(chain[at]);
    chain[at].up.push(chain[at - 1]);
  }
  return chain;
}

/** The layers, each in the order that crosses least: by the middle of the neighbours, to and fro. */
function ordered(spots) {
  const layers = [];
  for (const spot of spots) (layers[spot.layer] ??= []).push(spot);
  const number = (layer) => layer.forEach((spot, at) => Object.assign(spot, { at }));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const downwards = sweep % 2 === 0;
    for (const layer of downwards ? layers : [...layers].reverse()) {
      for (const spot of layer) spot.wish = mean(downwards ? spot.up : spot.down, "at", spot.at);
      layer.sort((one, other) => one.wish - other.wish || one.at - other.at);
      number(layer);
    }
  }
  return layers;
}

const mean = (spots, name, otherwise) => (spots.length ? spots.reduce((sum, spot) => sum + spot[name], 0) / spots.length : otherwise);

/** Give each spot its x: in order and apart, near the middle of its neighbours. */
function spread(layers) {
  for (const layer of layers) pushed(layer, layer.map(() => 0));
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const downwards = sweep % 2 === 0;
    for (const layer of downwards ? layers : [...layers].reverse()) {
      pushed(layer, layer.map((spot) => mean(downwards ? spot.up : spot.down, "x", spot.x)));
    }
  }
}

/** Place a layer as near to what is wished as the order allows: the mean of pushing right and left. */
function pushed(layer, wishes) {
  const right = [];
  layer.forEach((spot, at) => {
    right[at] = at ? Math.max(wishes[at], right[at - 1] + apart(layer[at - 1], spot)) : wishes[at];
  });
  const left = [];
  for (let at = layer.length - 1; at >= 0; at -= 1) {
    left[at] = at < layer.length - 1 ? Math.min(wishes[at], left[at + 1] - apart(layer[at], layer[at + 1])) : wishes[at];
  }
  layer.forEach((spot, at) => Object.assign(spot, { x: (right[at] + left[at]) / 2 }));
}

const apart = (one, other) => (one.width + other.width) / 2 + GAP;

function stacked(layers) {
  let top = 0;
  return layers.map((layer) => {
    const here = top;
    top += Math.max(...layer.map((spot) => spot.height)) + FAN;
    return here;
  });
}

function pointsOf(chain) {
  const first = chain[0];
  return [{ x: first.x, y: first.y + first.height }, ...chain.slice(1).map(({ x, y }) => ({ x, y }))];
}
