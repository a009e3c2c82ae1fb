// Offsets in texts. Python counts code points and JavaScript counts UTF-16 units; they differ from the first emoji on.
// All stored offsets are Python's.

// Converts offsets in characters, in ascending order, to UTF-16 units; an offset beyond the text becomes its end.
export function unitOffsets(text, offsets) {
  let unit = 0;
  let character = 0;
  return offsets.map((offset) => {
    for (; character < offset && unit < text.length; character++) unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
    return unit;
  });
}

// Returns the last n characters of a text.
export function lastCharacters(text, n) {
  let unit = text.length;
  for (let left = n; left > 0 && unit > 0; left--) unit -= isLow(text, unit - 1) && unit > 1 ? 2 : 1;
  return text.slice(unit);
}

// Returns the number of characters of a text.
export function countCharacters(text) {
  let n = 0;
  for (let unit = 0; unit < text.length; unit++) if (!isLow(text, unit)) n++;
  return n;
}

// Returns the last character boundary at or before a unit.
export function between(text, unit) {
  return unit > 0 && unit < text.length && isLow(text, unit) ? unit - 1 : unit;
}

// Whether the unit is the second of a character that has two.
function isLow(text, unit) {
  const code = text.charCodeAt(unit);
  return code >= 0xdc00 && code <= 0xdfff;
}
