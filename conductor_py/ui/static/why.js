// Why an execution is not moving: GET /api/workflow/{id}/why, in one line below its head, with the time
// that is left and the button that helps.

import { address, executionAddress, get, send } from "./api.js";
import { announce, byId, h, put } from "./dom.js";
import { clip, countdown, live, longText, nowMs, shortId } from "./format.js";
import { helpOf, holderOf, isActedOn, isQuiet, untilOf } from "./helps.js";
import { isOpen } from "./looks.js";

const EVERY_MS = 5_000;

/** Asks again when the execution has changed, and every few seconds. */
export class WhyLine {
  #id;
  #operations;
  #changed;
  #status = "";
  #asked = "";
  #askedAt = 0;
  #helped = "";
  #help = null;

  /** `operations` are those of the page; `changed()` is called when a button has done something. */
  constructor(id, operations, changed) {
    this.#id = id;
    this.#operations = operations;
    this.#changed = changed;
  }

  /**
   * Bring the line up to date; a server that does not answer leaves it as it is. What was true of an open
   * execution is gone with the draw that shows its end, and an answer that a later look has overtaken is not drawn.
   */
  async update(execution) {
    if (execution.status !== this.#status && !isOpen(execution.status)) this.#draw(null);
    this.#status = execution.status;
    const state = JSON.stringify([execution.status, execution.updateTime]);
    if (state === this.#asked && nowMs() - this.#askedAt < EVERY_MS) return;
    this.#asked = state;
    this.#askedAt = nowMs();
    try {
      const found = await get(`/api/workflow/${encodeURIComponent(this.#id)}/why`);
      if (state !== this.#asked) return;
      const cause = found?.cause;
      this.#draw(cause && (isOpen(execution.status) || !isQuiet(cause.code)) ? cause : null);
    } catch {
      if (state === this.#asked) this.#asked = "";
    }
  }

  #draw(cause) {
    const box = byId("why");
    if (!cause) {
      put(box);
      return;
    }
    const acts = isActedOn(cause.code);
    const since = Number(cause.since) || 0;
    const until = Number(cause.until) || 0;
    const below = cause.workflowId !== this.#id && [" In ", h("a", { href: executionAddress(cause.workflowId), title: cause.workflowId }, `sub-workflow ${shortId(String(cause.workflowId))}`), "."];
    const focused = box.contains(document.activeElement) ? document.activeElement : null;
    put(
      box,
      h(
        "p",
        { class: `banner ${acts ? "warm" : "calm"}` },
        h("strong", {}, acts ? "Why it does not move: " : "Now: "),
        longText(cause.sentence, 400),
        below,
        since > 0 && h("span", { class: "quiet", "aria-live": "off" }, " For ", live(since, 0), "."),
        until > 0 && h("span", { class: "until", "aria-live": "off" }, ` ${untilOf(cause.code)} `, countdown(until), "."),
        acts && h("span", { class: "advice" }, ` ${clip(cause.advice, 400)}`),
        below ? null : [" ", this.#helpFor(cause)],
      ),
    );
    focused?.focus();
  }

  /** The button of a cause: the same element while it stays the same cause, so that focus stays. */
  #helpFor(cause) {
    const help = this.#offered(cause);
    const key = JSON.stringify([help, cause.taskId, holderOf(cause)]);
    if (key !== this.#helped) {
      this.#helped = key;
      this.#help = help && this.#made(cause, help);
    }
    return this.#help;
  }

  #offered(cause) {
    const help = helpOf(cause.code);
    if (help?.verb && !this.#operations.offers(help.verb, taskOf(cause, help))) return null;
    return help?.holder && !holderOf(cause) ? null : help;
  }

  #made(cause, help) {
    if (help.page) return h("a", { class: "button", href: address(help.page) }, help.label);
    if (help.holder) return h("a", { class: "button", href: executionAddress(holderOf(cause)) }, help.label);
    const button = h("button", { type: "button" }, help.label);
    button.addEventListener("click", () => this.#press(cause, help, button));
    return button;
  }

  async #press(cause, help, button) {
    button.disabled = true;
    try {
      if (help.verb) await this.#operations.open(help.verb, taskOf(cause, help));
      else announce(await CALLS[help.call](encodeURIComponent(this.#id)));
    } catch (error) {
      announce(error.message);
    }
    button.disabled = false;
    if (!help.call) return;
    this.#asked = "";
    this.#changed();
  }
}

const taskOf = (cause, help) => (help.of === "task" ? String(cause.taskId) : "");

const CALLS = {
  async retry(id) {
    const answer = await send("POST", `/api/admin/quarantine/${id}/retry`);
    return answer?.decided ? "It is decided" : "It still cannot be decided";
  },
  async decide(id) {
    await send("PUT", `/api/workflow/decide/${id}`);
    return "It was decided on";
  },
};
