// JSON without loss: a number with more digits than a script can count in stays as it was written.

const LONG = /\d{16}/;

/** Read JSON; throws what `JSON.parse` throws. */
export function parse(text) {
  if (!LONG.test(text) || !JSON.rawJSON) return JSON.parse(text);
  return JSON.parse(text, (name, value, context) => {
    const altered = typeof value === "number" && context?.source !== undefined && String(value) !== context.source && LONG.test(context.source);
    return altered ? JSON.rawJSON(context.source) : value;
  });
}
