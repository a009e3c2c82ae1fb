// Python counts characters (code points) where JavaScript counts UTF-16 units: the two part at the first emoji. All
// offsets that are stored are Python's.

// Returns the offsets in UTF-16 units of offsets in characters, which must not fall; one beyond the text is its end.
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

// How many characters a text has.
export function countCharacters(text) {
  let n = 0;
  for (let unit = 0; unit < text.length; unit++) if (!isLow(text, unit)) n++;
  return n;
}

// Returns a place at or before a unit that does not lie inside a character.
export function between(text, unit) {
  return unit > 0 && unit < text.length && isLow(text, unit) ? unit - 1 : unit;
}

// Whether the unit is the second of a character that has two.
function isLow(text, unit) {
  const code = text.charCodeAt(unit);
  return code >= 0xdc00 && code <= 0xdfff;
}
