// Questions before a change: what will happen, what it needs, and the server's sentence when it refuses.

import { announce, byId, h, put } from "./dom.js";
import { clip } from "./format.js";
import { parse } from "./json.js";

let asked = 0;

/**
 * Ask, then act. `says`: what happens, in sentences. `fields`: see `build`. `act(values)` does it; what it
 * returns, if anything, is shown and the dialog stays. `done`: what to tell users of screen readers.
 */
export function ask({ title, says = [], fields = [], yes, no = "Cancel", danger = false, act, done = "Done" }) {
  const id = `dialog-${++asked}`;
  const opener = document.activeElement;
  const parts = fields.map((field, index) => build(field, `${id}-${index}`));
  const error = h("p", { class: "hint bad", role: "alert", hidden: true });
  const answer = h("div", { class: "answer", role: "status" });
  const leave = h("button", { type: "button", "data-no": true }, no);
  const go = h("button", { type: "submit", class: danger ? "danger" : "primary" }, yes);
  const form = h("form", { method: "dialog", novalidate: true }, h("h2", { id: `${id}-title` }, title), [says].flat().map((line) => h("p", {}, line)), parts.map((part) => part.box), error, answer, h("div", { class: "buttons" }, leave, go));
  const dialog = h("dialog", { "aria-labelledby": `${id}-title` }, form);
  const fail = (message) => {
    error.hidden = !message;
    error.textContent = clip(message, 2000);
  };
  leave.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    // The page may have been drawn anew behind the dialog.
    (opener?.isConnected ? opener : byId("content"))?.focus();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    fail("");
    put(answer);
    const values = {};
    for (const part of parts) {
      const problem = part.read(values);
      if (problem) {
        part.input.focus();
        fail(problem);
        return;
      }
    }
    go.disabled = true;
    try {
      const result = await act(values);
      if (result === undefined) {
        dialog.close();
        announce(done);
      } else {
        put(answer, result);
      }
    } catch (thrown) {
      fail(thrown.message);
    } finally {
      go.disabled = false;
    }
  });
  document.body.appendChild(dialog);
  dialog.showModal();
  // What cannot be undone is not done by a stray Enter.
  (danger || parts.length === 0 ? leave : parts[0].input).focus();
}

/**
 * A field: `{name, label, kind, value, hint, options, change}`. Kinds: `text`, `check`, `choice` (options
 * `[value, label]`), `json` (an object; left out of the values where it was not changed, unless `always`).
 */
function build(field, id) {
  const hint = field.hint && h("p", { class: "hint", id: `${id}-hint` }, field.hint);
  const described = hint ? `${id}-hint` : null;
  if (field.kind === "check") {
    const input = h("input", { type: "checkbox", id, "aria-describedby": described });
    input.checked = Boolean(field.value);
    return { input, box: h("div", { class: "ask" }, h("label", { class: "toggle", for: id }, input, h("span", {}, field.label)), hint), read: (values) => void (values[field.name] = input.checked) };
  }
  const input = inputOf(field, id, described);
  const box = h("div", { class: "ask" }, h("label", { for: id }, field.label), input, hint);
  const part = { input, box, initial: input.value, read: (values) => reading(field, part, values) };
  field.change?.(input, (text) => {
    input.value = text;
    part.initial = text;
  });
  return part;
}

function inputOf(field, id, described) {
  if (field.kind === "choice") {
    const select = h("select", { id, "aria-describedby": described }, field.options.map(([value, label]) => h("option", { value, selected: value === field.value }, clip(label, 120))));
    return select;
  }
  if (field.kind === "json") {
    const area = h("textarea", { id, class: "code", rows: field.rows ?? 7, spellcheck: "false", autocomplete: "off", "aria-describedby": described });
    area.value = field.value === undefined ? "" : JSON.stringify(field.value, null, 2);
    return area;
  }
  const input = h("input", { type: field.type ?? "text", id, maxlength: field.type ? null : 2000, min: field.least, placeholder: field.placeholder, autocomplete: "off", "aria-describedby": described });
  input.value = field.value ?? "";
  return input;
}

function reading(field, part, values) {
  const { input } = part;
  input.removeAttribute("aria-invalid");
  const refuse = (message) => {
    input.setAttribute("aria-invalid", "true");
    return `${field.label}: ${message}`;
  };
  const text = input.value.trim();
  if (field.required && text === "") return refuse("this is needed.");
  if (field.kind !== "json") {
    values[field.name] = text;
    return null;
  }
  if (text === "" || (input.value === part.initial && !field.always)) return null;
  try {
    const value = parse(text);
    if (!value || typeof value !== "object" || Array.isArray(value)) return refuse("a JSON object is wanted, such as {\"name\": \"value\"}.");
    values[field.name] = value;
    return null;
  } catch (error) {
    return refuse(`this is not JSON. ${error.message}`);
  }
}
