// Calls of the JSON endpoints, and asking again and again.

import { learnClock } from "./format.js";
import { parse } from "./json.js";

const BASE = document.documentElement.dataset.base ?? "";
const TIMEOUT_MS = 30_000;

/** What went wrong with a call; status 0: no answer. */
export class CallFailed extends Error {
  constructor(status, message, retryAfterMs = 0) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The address of a page or endpoint below this server's prefix. */
export const address = (path) => BASE + path;
export const executionAddress = (id) => address(`/execution/${encodeURIComponent(id)}`);

/** Read JSON; `null` when there is none. */
export const get = (path, parameters) => call("GET", path, parameters);

/** Ask for a change; what is answered is JSON or a text, `null` when it is nothing. */
export const send = (method, path, parameters, given, headers) => call(method, path, parameters, given, headers);

async function call(method, path, parameters, given, headers) {
  const set = Object.entries(parameters ?? {}).filter(([, value]) => value !== "" && value !== undefined);
  const query = new URLSearchParams(set).toString();
  let answer;
  let body;
  try {
    answer = await fetch(address(path) + (query && `?${query}`), {
      method,
      headers: { Accept: "application/json, text/plain", ...(given === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      body: given === undefined ? undefined : JSON.stringify(given),
      cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    body = await answer.text();
  } catch {
    throw new CallFailed(0, "The server cannot be reached.");
  }
  learnClock(answer.headers.get("Date"));
  const read = answer.headers.get("Content-Type")?.startsWith("text/plain") ? body || null : json(body);
  if (!answer.ok) {
    const after = Number(answer.headers.get("Retry-After")) || 0;
    throw new CallFailed(answer.status, sentence(read, answer.status), after * 1000);
  }
  return read;
}

function json(body) {
  try {
    return body ? parse(body) : null;
  } catch {
    return null;
  }
}

function sentence(read, status) {
  const violations = read?.validationErrors;
  if (Array.isArray(violations) && violations.length) {
    return violations.slice(0, 3).map((one) => `${one.path}: ${one.message}`).join(" · ");
  }
  return read?.message ?? `The server answered ${status}.`;
}

/**
 * Runs `load` every `everyMs` while the page is visible and `wanted()`; slower when an answer takes long
 * or fails. `load` handles its own errors and may return a number of milliseconds to wait at least.
 */
export class Refresher {
  #load;
  #wanted;
  #everyMs;
  #timer = 0;
  #running = false;
  #again = false;

  constructor(load, { wanted = () => true, everyMs = 2000 } = {}) {
    this.#load = load;
    this.#wanted = wanted;
    this.#everyMs = everyMs;
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && this.#wanted()) this.now();
    });
  }

  /** Load at once; when loading already, once more afterwards. */
  async now() {
    clearTimeout(this.#timer);
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = true;
    let waitMs = 0;
    const began = performance.now();
    try {
      do {
        this.#again = false;
        waitMs = (await this.#load()) ?? 0;
      } while (this.#again);
    } finally {
      this.#running = false;
    }
    // A server that takes long to answer is not asked more than a quarter of the time.
    const tookMs = performance.now() - began;
    this.#schedule(Math.max(this.#everyMs, waitMs, 3 * tookMs));
  }

  #schedule(ms) {
    this.#timer = setTimeout(() => {
      if (this.#wanted() && !document.hidden) this.now();
      else if (this.#wanted()) this.#schedule(this.#everyMs);
    }, ms);
  }
}
