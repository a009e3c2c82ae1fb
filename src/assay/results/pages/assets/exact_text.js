// A text of others exactly as it is: white space at the end of a line is seen, and so is where the text ends. Of a very
// long one a part is shown, and all of it on demand.

import { el, replace } from "./dom.js";
import { between } from "./code_points.js";
import { copyButton } from "./copy.js";
import { count } from "./numbers.js";

const MOST = 20_000;
const AROUND = 1_000;
const MOST_BLANKS = 2_000;

function blank(text) {
  const n = text.length;
  return el("span", { class: "blank", title: `white space: ${n} character${n === 1 ? "" : "s"}` }, text);
}

// Returns children for text[from:to]: white space at the ends of lines is marked. It is looked for line by line, as a
// pattern over the whole would take for ever on a text of nothing but spaces.
function withBlanks(text, from, to) {
  const isEnd = to === text.length || text[to] === "\n";
  const children = [];
  let plain = "";
  let nBlanks = 0;
  const lines = text.slice(from, to).split("\n");
  lines.forEach((line, nth) => {
    const isLast = nth === lines.length - 1;
    const kept = line.trimEnd();
    if (kept.length < line.length && (isEnd || !isLast) && nBlanks < MOST_BLANKS) {
      children.push(plain + kept, blank(line.slice(kept.length)));
      plain = "";
      nBlanks++;
    } else plain += line;
    if (!isLast) plain += "\n";
  });
  children.push(plain);
  return children;
}

// Returns children for text[from:to] with its marks, each of which says why it is one.
function marked(text, from, to, marks) {
  const children = [];
  let at = from;
  for (const { start, end, note } of marks) {
    const [first, last] = [Math.max(start, at), Math.min(end, to)];
    if (first > last || start < from || start > to) continue;
    children.push(withBlanks(text, at, first), el("mark", { title: note }, withBlanks(text, first, last)), note ? el("span", { class: "note" }, note) : null);
    at = last;
  }
  children.push(withBlanks(text, at, to));
  return children;
}

// The parts of a text that are shown: its beginning or its end, and what stands around marks.
function partsShown(text, marks, keeps) {
  if (text.length <= MOST) return [[0, text.length]];
  const parts = [keeps === "end" ? [text.length - MOST, text.length] : [0, MOST]];
  for (const { start, end } of marks) parts.push([Math.max(0, start - AROUND), Math.min(text.length, end + AROUND, start + MOST)]);
  parts.sort((a, b) => a[0] - b[0]);
  const joined = [];
  for (const [from, to] of parts) {
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined.map((part) => part.map((place) => between(text, place)));
}

// Shows a text. `marks` are parts of it, `{ start, end, note }` in UTF-16 units, in order; `keeps` says which end of a
// long text is shown first; `name` is what readers of screens are told.
export function exactText(text, { marks = [], keeps = "beginning", name = "text", hasCopy = true } = {}) {
  const box = el("pre", { class: "exact", dir: "auto", tabindex: 0, role: "region", "aria-label": name });
  const draw = (parts) => {
    const gap = (n) => el("button", { type: "button", class: "gap", onclick: () => draw([[0, text.length]]) }, `${count(n)} characters are not shown: show all`);
    let at = 0;
    const children = [];
    for (const [from, to] of parts) {
      if (from > at) children.push(gap(from - at));
      children.push(marked(text, from, to, marks));
      at = to;
    }
    replace(box, children, at < text.length ? gap(text.length - at) : el("span", { class: "end", "aria-hidden": "true" }));
  };
  draw(partsShown(text, marks, keeps));
  // What matters most is in sight at once, where the box is smaller than the text.
  requestAnimationFrame(() => {
    const mark = box.querySelector("mark");
    if (mark && mark.offsetTop > box.clientHeight / 2) box.scrollTop = mark.offsetTop - box.clientHeight / 3;
    else if (!mark && keeps === "end") box.scrollTop = box.scrollHeight;
  });
  return el("div", { class: "exact-box" }, hasCopy ? copyButton(text) : null, box);
}

// A short text within a line, its outer white space marked.
export function inlineText(text) {
  if (text === "") return el("span", { class: "faint" }, "an empty text");
  const start = text.length - text.trimStart().length;
  const end = Math.max(start, text.trimEnd().length);
  return el("code", { class: "inline-text", dir: "auto" }, start ? blank(text.slice(0, start)) : null, text.slice(start, end), end < text.length ? blank(text.slice(end)) : null);
}
