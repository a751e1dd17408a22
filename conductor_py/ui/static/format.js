// Times, durations, sizes and long texts, written for people.

import { h } from "./dom.js";

let skewMs = 0;

/** Learn the server's clock from an answer, so that running times are right on any machine. */
export function learnClock(dateHeader) {
  const server = Date.parse(dateHeader ?? "");
  if (!Number.isNaN(server)) {
    const seen = server + 500 - Date.now();
    skewMs = Math.abs(seen) > 2000 ? seen : 0;
  }
}

/** The present instant by the server's clock, in milliseconds. */
export const nowMs = () => Date.now() + skewMs;

/** Read an instant: milliseconds, or a timestamp; 0 and the epoch mean "not set". */
export function instant(value) {
  if (typeof value === "number") return value > 0 ? value : 0;
  const read = Date.parse(value ?? "");
  return Number.isNaN(read) ? 0 : Math.max(0, read);
}

const two = (number) => String(Math.trunc(number)).padStart(2, "0");

/** Write a duration in its two largest units. */
export function duration(ms) {
  if (!Number.isFinite(ms) || ms < 0) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 59.95) return `${seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(1)} s`;
  const minutes = Math.round(seconds) / 60;
  if (minutes < 60) return `${Math.trunc(minutes)} m ${two(Math.round(seconds) % 60)} s`;
  const hours = minutes / 60;
  if (hours < 24) return `${Math.trunc(hours)} h ${two(minutes % 60)} m`;
  return `${Math.trunc(hours / 24)} d ${Math.trunc(hours % 24)} h`;
}

/** An element with a duration that grows until `end`; see `tick`. */
export function live(start, end) {
  if (!start) return h("span", { class: "quiet" }, "–");
  if (end) return h("span", { title: `${(end - start).toLocaleString("en")} ms` }, duration(Math.max(0, end - start)));
  return h("span", { data: { since: start } }, duration(Math.max(0, nowMs() - start)));
}

/** An element with the time that is left until an instant, which `tick` counts down. */
export function countdown(until) {
  return h("span", { role: "timer", data: { until }, title: new Date(until).toISOString() }, left(until));
}

const left = (until) => (until > nowMs() ? `in ${duration(Math.max(1, Math.ceil((until - nowMs()) / 1000)) * 1000).replace(/\.0+ s$/, " s")}` : "in a moment");

/** Bring all running durations of the page up to date. */
export function tick() {
  for (const element of document.querySelectorAll("[data-until]")) {
    const text = left(Number(element.dataset.until));
    if (element.textContent !== text) element.textContent = text;
  }
  for (const element of document.querySelectorAll("[data-since]")) {
    const text = duration(Math.max(0, nowMs() - Number(element.dataset.since)));
    if (element.textContent !== text) element.textContent = text;
  }
}

/** An element with an instant, in the reader's time zone. */
export function moment(ms) {
  if (!ms) return h("span", { class: "quiet" }, "–");
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return h("span", {}, String(ms));
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return h("time", { datetime: at.toISOString(), title: at.toISOString() }, `${day} ${time}`);
}

/** Write a number of characters or bytes. */
export function size(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e4 ? 1 : 0)} kB`;
  return count < 1e9 ? `${(count / 1e6).toFixed(1)} MB` : `${(count / 1e9).toFixed(1)} GB`;
}

/** The beginning of an id, enough to tell a few dozen apart. */
export const shortId = (id) => (id.length > 13 ? id.slice(0, 8) : id);

// What turns the direction of writing around would let a name pass for another.
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Cut a text that is only shown in passing. */
export function clip(value, length = 120) {
  const text = String(value ?? "").slice(0, length + 1).replace(TURNS, "�");
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** A text that may be very long: its beginning, and a button for the rest. */
export function longText(value, length = 400) {
  const text = String(value ?? "");
  const box = h("span", { class: "wrap" }, text.slice(0, length));
  if (text.length > length) {
    const more = h("button", { type: "button", class: "link" }, `… show all ${size(text.length)}`);
    more.addEventListener("click", () => box.replaceChildren(document.createTextNode(text)));
    box.append(" ", more);
  }
  return box;
}

export const count = (number) => Number(number).toLocaleString("en");
