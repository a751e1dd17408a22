// JSON payloads, collapsed until asked for and cut until asked again: they may be hostile or huge.

import { copyButton, h, put } from "./dom.js";
import { count, longText, size } from "./format.js";

const SHOWN = 20_000;
const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*\b/g;

const opened = new Set();

/** Open `box` when it was open the last time that something of this key was drawn. */
export function rememberOpen(box, key, open = false) {
  box.open = opened.has(key) || open;
  box.addEventListener("toggle", () => (box.open ? opened.add(key) : opened.delete(key)));
}

/** A collapsible payload. `path`: where it is when it was too large to be here. */
export function payload(label, value, { path = "", key = "", open = false } = {}) {
  const box = h("details", { class: "payload" });
  box.appendChild(h("summary", {}, h("span", { class: "payload-name" }, label), h("span", { class: "quiet" }, summary(value, path))));
  let drawn = false;
  const draw = () => {
    if (!drawn && box.open) {
      drawn = true;
      box.appendChild(path ? h("p", { class: "hint" }, "Kept in the payload storage as ", h("code", {}, longText(path, 200))) : jsonBlock(value));
    }
  };
  box.addEventListener("toggle", draw);
  rememberOpen(box, key, open);
  return box;
}

function summary(value, path) {
  if (path) return "in the payload storage";
  if (Array.isArray(value)) return `${count(value.length)} items`;
  if (value && typeof value === "object") {
    const keys = Object.keys(value).length;
    return keys === 0 ? "empty" : `${count(keys)} ${keys === 1 ? "key" : "keys"}`;
  }
  return "";
}

/** Pretty JSON with a copy button; long ones are cut until asked for. */
export function jsonBlock(value) {
  const text = JSON.stringify(value ?? null, null, 2) ?? "null";
  const pre = h("pre", { class: "json", tabindex: 0, "aria-label": "JSON" });
  const box = h("div", { class: "json-box" }, copyButton(text, "JSON"), pre);
  put(pre, coloured(text.slice(0, SHOWN)));
  if (text.length > SHOWN) {
    const more = h("button", { type: "button" }, `Show all ${size(text.length)}`);
    more.addEventListener("click", () => {
      pre.textContent = text;
      more.remove();
    });
    box.appendChild(more);
  }
  return box;
}

function coloured(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    const kind = match[1] ? (match[2] ? "key" : "string") : "atom";
    parts.push(h("span", { class: `json-${kind}` }, match[1] ?? match[0]));
    if (match[2]) parts.push(match[2]);
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}
