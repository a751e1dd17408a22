// One banner a page, for when the server does not answer as hoped.

import { CallFailed } from "./api.js";
import { byId, h, put } from "./dom.js";

/** Say what failed and that it is tried again. */
export function showFailure(error) {
  if (!(error instanceof CallFailed)) {
    // A fault of this page: its text is of use to who mends it, not to who reads it.
    console.error(error);
    put(byId("banner"), h("p", { class: "banner bad", role: "alert" }, h("strong", {}, "This page cannot show all of it."), " The browser's console says what went wrong."));
    return;
  }
  const away = error.status === 503 || error.status === 0;
  const head = away ? "The server is away for the moment." : "That did not work.";
  const rest = away ? " What is shown may be old; asking again…" : "";
  put(byId("banner"), h("p", { class: `banner ${away ? "warm" : "bad"}`, role: "alert" }, h("strong", {}, head), ` ${error.message}${rest}`));
}

export function clearFailure() {
  byId("banner").replaceChildren();
}
