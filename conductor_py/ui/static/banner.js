// One banner a page, for when the server does not answer as hoped.

import { byId, h, put } from "./dom.js";

/** Say what failed and that it is tried again. */
export function showFailure(error) {
  const away = error.status === 503 || error.status === 0;
  const head = away ? "The server is away for the moment." : "That did not work.";
  const rest = away ? " What is shown may be old; asking again…" : "";
  put(byId("banner"), h("p", { class: `banner ${away ? "warm" : "bad"}`, role: "alert" }, h("strong", {}, head), ` ${error.message}${rest}`));
}

export function clearFailure() {
  byId("banner").replaceChildren();
}
