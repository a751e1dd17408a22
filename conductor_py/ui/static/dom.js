// Elements made of data. Text becomes text nodes and attributes go through setAttribute: nothing a
// user wrote is ever parsed as markup.

const SVG = "http://www.w3.org/2000/svg";

/** Make an HTML element. `attributes`: `class`, `on` (listeners by event), `data`, and plain ones. */
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an SVG element, like `h`. */
export function s(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "data") {
      for (const [key, text] of Object.entries(value)) element.dataset[key] = text;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(element, child);
    else if (child instanceof Node) element.appendChild(child);
    else if (child !== null && child !== undefined && child !== false) {
      element.appendChild(document.createTextNode(String(child)));
    }
  }
}

/** Replace what an element holds. */
export function put(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Tell users of screen readers what happened. */
export function announce(text) {
  byId("announcer").textContent = text;
}

/** A button that copies `text` and says so. */
export function copyButton(text, what) {
  const button = h("button", { type: "button", class: "copy", title: `Copy ${what}`, "aria-label": `Copy ${what}` });
  const show = (name) => put(button, icon(name));
  show("copy");
  button.addEventListener("click", async (event) => {
    event.stopPropagation();
    const done = await copied(text);
    show(done ? "check" : "cross");
    announce(done ? `Copied ${what}` : "The browser did not allow copying");
    setTimeout(() => show("copy"), 1200);
  });
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without HTTPS there is no clipboard interface: copy a selection instead.
    const area = h("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.appendChild(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// Each icon is the path of lines in a box of 16.
const ICONS = {
  copy: "M5.5 5.500h8v8h-8zM10.5 5.500v-3h-8v8h3",
  check: "M3 8.500l3.5 3.500L13 4.5",
  checkWarn: "M2 8.500l3 3L10 5M13 3.500v5M13 11.700v.3",
  cross: "M4 4l8 8M12 4l-8 8",
  stop: "M5.2 1.800h5.600l3.4 3.400v5.600l-3.4 3.400H5.200l-3.4-3.400V5.200zM5.5 5.500l5 5M10.5 5.500l-5 5",
  clock: "M8 1.800a6.2 6.2 0 1 0 0 12.400A6.2 6.2 0 1 0 8 1.800M8 4.500V8l2.5 1.8",
  timeout: "M4 2h8M4 14h8M5 2c0 4 6 5 6 9v3M11 2c0 4-6 5-6 9v3",
  play: "M5 3.200l7.5 4.800L5 12.800z",
  pause: "M5.5 3.500v9M10.5 3.500v9",
  dash: "M3.5 8h9",
  skip: "M3 4l5 4-5 4zM8 4l5 4-5 4z",
  ban: "M8 1.800a6.2 6.2 0 1 0 0 12.400A6.2 6.2 0 1 0 8 1.800M3.8 12.200l8.4-8.4",
  unknown: "M5.5 6a2.5 2.5 0 1 1 3.6 2.200C8.3 8.7 8 9 8 10M8 12.500v.3",
  worker: "M8 5.600a2.4 2.4 0 1 0 0 4.800a2.4 2.4 0 1 0 0-4.800M8 1.500v2M8 12.500v2M1.5 8h2M12.5 8h2M3.4 3.400l1.4 1.400M11.2 11.200l1.4 1.400M3.4 12.600l1.4-1.400M11.2 4.800l1.4-1.4",
  fork: "M8 14V9.500C8 7 3.5 7.5 3.5 3M8 9.500C8 7 12.5 7.5 12.5 3M2 4.500L3.5 3L5 4.500M11 4.500L12.5 3L14 4.5",
  join: "M3.5 2v2.500c0 3 4.5 2 4.5 5M12.5 2v2.500c0 3-4.5 2-4.5 5V14M6.3 12.300L8 14l1.7-1.7",
  branch: "M8 1.500L14.5 8L8 14.500L1.5 8z",
  loop: "M13.5 8a5.5 5.5 0 1 1-1.8-4.100M12 1.500v2.700H9.3",
  nested: "M2 2h12v12H2zM5.5 5.500h5v5h-5z",
  launch: "M8.5 3H3v10h10V8.500M10 2h4v4M14 2L8 8",
  bolt: "M9 1.500L3.5 9H8l-1 5.500L12.5 7H8z",
  person: "M8 2a2.7 2.7 0 1 0 0 5.400A2.7 2.7 0 1 0 8 2M2.8 14c.4-3.3 2.6-4.7 5.2-4.700s4.8 1.4 5.2 4.7",
  globe: "M8 1.800a6.2 6.2 0 1 0 0 12.400A6.2 6.2 0 1 0 8 1.800M1.8 8h12.400M8 1.800c-4 3.8-4 8.6 0 12.400M8 1.800c4 3.8 4 8.6 0 12.4",
  braces: "M6 2C3.5 2 5.5 7 3 8c2.5 1 .5 6 3 6M10 2c2.5 0 .5 5 3 6c-2.5 1-.5 6-3 6",
  filter: "M2 3h12L9.5 8.500V13l-3-1.500v-3z",
  assign: "M2.5 4.500l4 7M6.5 4.500l-4 7M9 6.500h5M9 9.500h5",
  message: "M2 3.500h12v8H7.500L4.5 14v-2.500H2z",
  inbox: "M2 9l2-6h8l2 6v4H2zM2 9h3.500l1 2h3l1-2H14",
  spark: "M8 1.500l1.6 4.900L14.5 8L9.6 9.600L8 14.500L6.4 9.600L1.5 8l4.9-1.600z",
  plug: "M6 1.500v4M10 1.500v4M4 5.500h8v2.500a4 4 0 0 1-8 0zM8 12v2.5",
  dynamic: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4M6 8h4M8 6v4",
  minus: "M3.5 8h9",
  plus: "M3.5 8h9M8 3.500v9",
  fit: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
  left: "M10 3L5 8l5 5",
  right: "M6 3l5 5-5 5",
  down: "M3 6l5 5 5-5",
};

/** An icon that says nothing to screen readers: a text beside it must. */
export function icon(name, attributes) {
  return s(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", focusable: "false", ...attributes },
    s("path", { d: ICONS[name] ?? ICONS.unknown }),
  );
}
