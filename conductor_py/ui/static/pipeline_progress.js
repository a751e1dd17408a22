// How far the data pipelines of a task are, from what their worker tells: a row for each, with a bar.

import { h } from "./dom.js";
import { clip, count, duration, longText, size } from "./format.js";

const HEAD = ["Pipeline", "State", "Splits", "Rows", "Bytes", "Rows/s", "Lag", "Done in about"];

/** What a task of data pipelines told last; null for other tasks, and before anything was told. */
export function pipelineProgress(task) {
  const told = [task.outputData, task.progress].find((said) => Array.isArray(said?.pipelines) && said.pipelines.length > 0);
  if (!told) return null;
  return h(
    "div",
    { class: "pipeline-progress" },
    h("table", { "aria-label": "Progress of pipelines" }, h("thead", {}, h("tr", {}, HEAD.map((name) => h("th", {}, name)))), h("tbody", {}, told.pipelines.map(row))),
    told.pipelines.flatMap((one) => Object.entries(one.eventTime ?? {}).map(([name, stream]) => h("p", { class: "hint" }, `${clip(one.id, 40)}, ${clip(name, 40)}: ${eventTime(stream ?? {})}`))),
    told.pipelines.filter((one) => one.lastError).map((one) => h("p", { class: "hint bad" }, `${clip(one.id, 40)}: `, longText(`${one.lastError.code}: ${one.lastError.message}`, 400))),
  );
}

function row(one) {
  const sinks = Object.keys(one.sinks ?? {}).join(", ");
  return h(
    "tr",
    {},
    h("td", {}, h("strong", {}, clip(one.id, 40)), sinks && h("div", { class: "quiet" }, `→ ${clip(sinks, 120)}`)),
    h("td", {}, clip(one.state, 40), h("div", { class: "quiet" }, `epoch ${count(one.epoch ?? 0)}`, one.restarts > 0 && `, restarts: ${count(one.restarts)}`)),
    h("td", {}, splits(one.splits ?? {})),
    h("td", { class: "num" }, count(one.rows?.read ?? 0), one.rows?.bad > 0 && h("div", { class: "quiet" }, `${count(one.rows.bad)} bad`)),
    h("td", { class: "num" }, size(one.bytes?.read ?? 0), one.bytes?.estimatedTotal > 0 && h("div", { class: "quiet" }, `of ${size(one.bytes.estimatedTotal)}`)),
    h("td", { class: "num" }, count(one.rate?.rowsPerSecond ?? 0)),
    h("td", {}, lag(one.lag ?? {})),
    h("td", { class: "num" }, Number.isFinite(one.etaSeconds) ? duration(one.etaSeconds * 1000) : "–"),
  );
}

function splits({ done = 0, discovered = 0, quarantined = 0, complete }) {
  const bar = h("progress", { max: 1, "aria-label": "Splits done" });
  bar.value = discovered > 0 ? Math.min(1, (done + quarantined) / discovered) : 0;
  const found = complete ? "" : " found so far";
  return [bar, `${count(done)} of ${count(discovered)}${found}`, quarantined > 0 && h("div", { class: "quiet" }, `${count(quarantined)} set aside`)];
}

function eventTime({ watermark, lagSeconds = 0, stateRows = 0, lateRows = 0 }) {
  const reached = watermark ? `watermark ${clip(watermark, 40)}, ${duration(lagSeconds * 1000)} ago` : "no watermark yet";
  return `${reached}, ${count(stateRows)} rows kept, ${count(lateRows)} late`;
}

function lag(sources) {
  const behind = Object.entries(sources);
  if (behind.length === 0) return "–";
  return behind.map(([name, left]) =>
    h("div", {}, h("span", { class: "quiet" }, `${clip(name, 40)}: `), left?.splits > 0 ? `${count(left.splits)} splits, ${size(left.bytes ?? 0)}, ${duration((left.seconds ?? 0) * 1000)}` : "none"),
  );
}
