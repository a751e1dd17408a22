// Why an execution is not moving: GET /api/workflow/{id}/why, in one line below its head.

import { executionAddress, get } from "./api.js";
import { byId, h, put } from "./dom.js";
import { clip, duration, longText, nowMs, shortId } from "./format.js";
import { isOpen } from "./looks.js";

const EVERY_MS = 5_000;
const NOBODY_ACTS = new Set(["retry-delay", "callback", "start-delay", "wait-timer", "script", "queued", "running", "resuming", "deciding", "inbox", "draining", "finished", "archived"]);

/** Asks again when the execution has changed, and every few seconds; says nothing of one that ended. */
export class WhyLine {
  #id;
  #asked = "";
  #askedAt = 0;

  constructor(id) {
    this.#id = id;
  }

  /** Bring the line up to date; a server that does not answer leaves it as it is. */
  async update(execution) {
    if (!isOpen(execution.status)) {
      this.#asked = "";
      put(byId("why"));
      return;
    }
    const state = JSON.stringify([execution.status, execution.updateTime]);
    if (state === this.#asked && nowMs() - this.#askedAt < EVERY_MS) return;
    this.#asked = state;
    this.#askedAt = nowMs();
    try {
      const found = await get(`/api/workflow/${encodeURIComponent(this.#id)}/why`);
      this.#draw(found?.cause);
    } catch {
      this.#asked = "";
    }
  }

  #draw(cause) {
    if (!cause) {
      put(byId("why"));
      return;
    }
    const acts = !NOBODY_ACTS.has(cause.code);
    const since = Number(cause.since) || 0;
    const below = cause.workflowId !== this.#id && [" In ", h("a", { href: executionAddress(cause.workflowId), title: cause.workflowId }, `sub-workflow ${shortId(String(cause.workflowId))}`), "."];
    put(
      byId("why"),
      h(
        "p",
        { class: `banner ${acts ? "warm" : "calm"}` },
        h("strong", {}, acts ? "Why it does not move: " : "Now: "),
        longText(cause.sentence, 400),
        below,
        since > 0 && h("span", { class: "quiet" }, ` For ${duration(Math.max(0, nowMs() - since))}.`),
        acts && h("span", { class: "advice" }, ` ${clip(cause.advice, 400)}`),
      ),
    );
  }
}
