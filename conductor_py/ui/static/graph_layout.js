// Where everything goes: from the tree of graph_model to boxes, frames and paths, top down, centred.
// Arithmetic only; the page is not touched.

import { layered } from "./dag_layers.js";

export const NODE_WIDTH = 208;
export const NODE_HEIGHT = 50;

const GAP = 34; // between two items in order
const SIDE = 26; // between two branches
const FAN = 44; // from a fork to its branches
const CASE_FAN = 64; // the same with room for the label of a case
const MERGE = 26; // from branches to where they meet
const PAD = 22; // inside a frame
const BYPASS = 84; // the width of a case without tasks
const END = 15; // the radius of start and end
// The columns of the grid of a wide fork, by its branches.
const COLUMNS = [[3, 12], [4, Infinity]];
const WIDE = 7; // branches from which a fork of single tasks becomes a grid
const CELL = 14; // between two cells of a grid

/** Lay out a list of items. Gives `{width, height, nodes, edges, frames, cases, start, end}`. */
export function layout(items, { ended = false } = {}) {
  const out = { nodes: [], edges: [], frames: [], cases: [], notes: [] };
  const [width, inner] = measureList(items);
  const total = width + 2 * PAD;
  const middle = total / 2;
  const top = 8 + 2 * END;
  const first = items[0];
  out.start = { x: middle, y: 8 + END, r: END - 4 };
  edge(out, middle, top - 4, middle, top + GAP, Boolean(first?.state.latest), { into: first });
  const done = placeList(items, middle, top + GAP, out);
  const bottom = top + GAP + inner;
  out.end = { x: middle, y: bottom + GAP + END, r: END - 2 };
  if (done.open) edge(out, middle, bottom, middle, bottom + GAP + 2, ended && done.taken, {});
  return { ...out, width: total, height: bottom + GAP + 2 * END + 10 };
}

// --------------------------------------------------------------------------------- measures

function measureList(items) {
  if (items.length === 0) return [BYPASS, 0];
  let width = 0;
  let height = -GAP;
  for (const item of items) {
    const [w, h] = measure(item);
    width = Math.max(width, w);
    height += h + GAP;
  }
  return [width, height];
}

function measure(item) {
  item.size = measured(item);
  return item.size;
}

function measured(item) {
  if (item.kind === "dag") return dagSize(item);
  if (item.kind === "loop") {
    const [w, h] = measureList(item.body);
    return [Math.max(NODE_WIDTH, w) + 4 * PAD, PAD + NODE_HEIGHT + GAP + h + PAD + 12];
  }
  const lists = listsOf(item);
  if (lists.length === 0) return [NODE_WIDTH, NODE_HEIGHT];
  const sizes = lists.map(measureList);
  item.grid = isGrid(item);
  if (item.grid) return gridSize(item, sizes);
  const width = sizes.reduce((sum, [w]) => sum + w, (sizes.length - 1) * SIDE);
  const note = item.more ? 26 : 0;
  return [Math.max(NODE_WIDTH, width), NODE_HEIGHT + fanOf(item) + Math.max(...sizes.map(([, h]) => h)) + note + MERGE];
}

const fanOf = (item) => (item.kind === "switch" ? CASE_FAN : FAN);
const listsOf = (item) => item.branches ?? item.cases?.map((one) => one.items) ?? [];
const isGrid = (item) =>
  item.kind === "dynamic" || (item.kind === "fork" && item.branches.length >= WIDE && item.branches.every((list) => list.length <= 1));

function gridSize(item, sizes) {
  const [most] = COLUMNS.find(([, upTo]) => sizes.length <= upTo);
  const columns = Math.min(most, sizes.length);
  const rows = Math.ceil(sizes.length / columns);
  item.cell = [Math.max(...sizes.map(([w]) => w)), Math.max(...sizes.map(([, h]) => h), 10)];
  item.columns = columns;
  const frame = [columns * (item.cell[0] + CELL) - CELL + 2 * PAD, rows * (item.cell[1] + CELL) - CELL + 2 * PAD + 16];
  item.frame = frame;
  return [Math.max(NODE_WIDTH, frame[0]), NODE_HEIGHT + GAP + frame[1]];
}

// ---------------------------------------------------------------------------------- places

/** Place items in order. Gives whether the path goes on after them, and whether it was taken. */
function placeList(items, x, y, out) {
  let open = true;
  let taken = true;
  let at = y;
  items.forEach((item, index) => {
    if (index > 0) {
      if (open) edge(out, x, at - GAP, x, at, Boolean(item.state.latest), { into: item });
    }
    const done = place(item, x, at, out);
    open = done.open;
    taken = done.taken;
    at += item.size[1] + GAP;
  });
  return { open, taken };
}

function place(item, x, y, out) {
  if (item.kind === "dag") return placeDag(item, x, y, out);
  if (item.kind === "loop") return placeLoop(item, x, y, out);
  node(item, x, y, out);
  const finished = isDone(item);
  if (listsOf(item).length === 0) return { open: !item.ends, taken: finished };
  return item.grid ? placeGrid(item, x, y, out) : placeBranches(item, x, y, out);
}

const isDone = (item) => ["COMPLETED", "COMPLETED_WITH_ERRORS", "SKIPPED"].includes(item.state.status);

function node(item, x, y, out) {
  out.nodes.push({ item, x: x - NODE_WIDTH / 2, y });
}

function placeBranches(item, x, y, out) {
  const lists = listsOf(item);
  const sizes = lists.map(measureList);
  const total = sizes.reduce((sum, [w]) => sum + w, (sizes.length - 1) * SIDE);
  const from = y + NODE_HEIGHT;
  const top = from + fanOf(item);
  const bottom = y + item.size[1];
  let left = x - total / 2;
  let open = false;
  let taken = false;
  lists.forEach((list, index) => {
    const [width, height] = sizes[index];
    const centre = left + width / 2;
    const one = item.cases?.[index];
    const reached = one ? one.taken : Boolean(list[0]?.state.latest);
    const done = placeList(list, centre, top, out);
    edge(out, x, from, centre, top, reached, { into: list[0], bend: from + 16, arrow: list.length > 0 });
    if (one) out.cases.push({ label: one.label, x: centre, y: top - 24, taken: one.taken });
    if (done.open) {
      const ended = reached && (list.length === 0 || done.taken);
      edge(out, centre, top + height, x, bottom, ended, { bend: bottom - 12, arrow: false });
      taken = taken || ended;
    }
    open = open || done.open;
    left += width + SIDE;
  });
  if (item.more) out.notes.push({ text: `+${item.more} more`, x: x + total / 2 - 40, y: bottom - MERGE + 4 });
  return { open, taken };
}

function placeGrid(item, x, y, out) {
  const from = y + NODE_HEIGHT;
  const top = from + GAP;
  const [width, height] = item.frame;
  const left = x - width / 2;
  const total = item.total ?? item.branches.length;
  const more = item.more ? `, ${item.branches.length} shown, +${item.more} more` : "";
  out.frames.push({ x: left, y: top, width, height, label: `${total} ${total === 1 ? "branch" : "branches"}${more}` });
  edge(out, x, from, x, top, Boolean(item.state.latest), { into: item.branches[0]?.[0] });
  let done = true;
  item.branches.forEach((list, index) => {
    const row = Math.floor(index / item.columns);
    const inRow = Math.min(item.columns, item.branches.length - row * item.columns);
    const rowWidth = inRow * (item.cell[0] + CELL) - CELL;
    const column = index % item.columns;
    const cx = x - rowWidth / 2 + column * (item.cell[0] + CELL) + item.cell[0] / 2;
    placeList(list, cx, top + 16 + PAD + row * (item.cell[1] + CELL), out);
    done = done && list.every((one) => one.state.latest && isDone(one));
  });
  return { open: true, taken: done };
}

function placeLoop(item, x, y, out) {
  const [width, height] = item.size;
  const left = x - width / 2;
  const rounds = item.state.latest?.outputData?.iteration;
  const label = Number.isFinite(rounds) ? `iteration ${rounds}` : "loop";
  out.frames.push({ x: left, y, width, height, label, loop: true });
  const top = y + PAD + 4;
  node(item, x, top, out);
  const from = top + NODE_HEIGHT;
  edge(out, x, from, x, from + GAP, Boolean(item.body[0]?.state.latest), { into: item.body[0], arrow: item.body.length > 0 });
  const done = placeList(item.body, x, from + GAP, out);
  const [, inner] = measureList(item.body);
  const end = from + GAP + inner;
  const reached = done.open && done.taken;
  if (done.open) {
    edge(out, x, end, x, y + height, reached && isDone(item), { arrow: false });
    back(out, x, end + 6, left + PAD - 6, top + NODE_HEIGHT / 2, Number(rounds) > 1);
  }
  return { open: true, taken: isDone(item) };
}

function dagSize(item) {
  const boxes = item.nodes.map((node) => {
    const [width, height] = measure(node);
    return { ref: node.ref, width, height };
  });
  item.plan = layered(boxes, item.relations);
  return [item.plan.width, item.plan.height];
}

function placeDag(item, x, y, out) {
  const left = x - item.size[0] / 2;
  for (const { from, to, label, points } of item.plan.routes) {
    const into = item.nodes[to];
    const taken = isOver(item.nodes[from]) && Boolean(into.state.latest);
    const running = taken && ["IN_PROGRESS", "SCHEDULED"].includes(into.state.status);
    const path = curved(points.map((point) => ({ x: left + point.x, y: y + point.y })));
    const end = points.at(-1);
    out.edges.push({ path, taken, running, arrow: { x: left + end.x, y: y + end.y } });
    if (label) out.cases.push({ label, x: left + end.x, y: y + end.y - 24, taken });
  }
  item.nodes.forEach((node, at) => place(node, left + item.plan.at[at].x, y + item.plan.at[at].y, out));
  return { open: true, taken: item.nodes.every((node) => !node.state.latest || isDone(node)) };
}

const isOver = (item) => Boolean(item.state.latest) && !["IN_PROGRESS", "SCHEDULED"].includes(item.state.status);

// ----------------------------------------------------------------------------------- paths

/** Go down, sideways at `bend`, and down, with round corners. */
function edge(out, x1, y1, x2, y2, taken, { into, bend, arrow = true } = {}) {
  const running = taken && ["IN_PROGRESS", "SCHEDULED"].includes(into?.state.status);
  out.edges.push({ path: stepped(x1, y1, x2, y2, bend ?? (y1 + y2) / 2), taken, running, arrow: arrow ? { x: x2, y: y2 } : null });
}

function stepped(x1, y1, x2, y2, bend) {
  if (Math.abs(x1 - x2) < 1) return `M${x1} ${y1}V${y2}`;
  const side = Math.sign(x2 - x1);
  const r = Math.min(9, Math.abs(x2 - x1) / 2, Math.abs(bend - y1), Math.abs(y2 - bend));
  return `M${x1} ${y1}V${bend - r}Q${x1} ${bend} ${x1 + side * r} ${bend}H${x2 - side * r}Q${x2} ${bend} ${x2} ${bend + r}V${y2}`;
}

/** Go through points, each straight down. */
function curved([first, ...rest]) {
  const parts = rest.map((to, at) => {
    const from = at ? rest[at - 1] : first;
    const middle = (from.y + to.y) / 2;
    return `C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`;
  });
  return `M${first.x} ${first.y}${parts.join("")}`;
}

/** From the end of a loop's body back to its head, along the left side. */
function back(out, x, y, left, head, taken) {
  const r = 9;
  const into = x - NODE_WIDTH / 2;
  const path = `M${x} ${y}H${left + r}Q${left} ${y} ${left} ${y - r}V${head + r}Q${left} ${head} ${left + r} ${head}H${into}`;
  out.edges.push({ path, taken, back: true, running: false, arrow: { x: into, y: head, right: true } });
}
