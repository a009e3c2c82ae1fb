// Shows a text exactly: trailing white space and the end of the text are visible. A very long text is shown in part,
// and completely on demand.

import { el, replace } from "./dom.js";
import { between } from "./code_points.js";
import { copyButton } from "./copy.js";
import { count } from "./numbers.js";

const MOST = 20_000;
const AROUND = 1_000;
const STRETCH = 5_000;
const STRETCH_LINES = 60;
const FEW_STRETCHES = 6;

function blank(text) {
  const n = text.length;
  return el("span", { class: "blank", title: `white space: ${n} character${n === 1 ? "" : "s"}` }, text);
}

// Returns children for text[from:to] with trailing white space marked. It searches line by line: a pattern over the
// whole text would take quadratic time on a text of spaces.
function withBlanks(text, from, to) {
  const isEnd = to === text.length || text[to] === "\n";
  const children = [];
  let plain = "";
  const lines = text.slice(from, to).split("\n");
  lines.forEach((line, nth) => {
    const isLast = nth === lines.length - 1;
    const kept = line.trimEnd();
    if (kept.length < line.length && (isEnd || !isLast)) {
      children.push(plain + kept, blank(line.slice(kept.length)));
      plain = "";
    } else plain += line;
    if (!isLast) plain += "\n";
  });
  children.push(plain);
  return children;
}

// Returns children for text[from:to] with its marks, each followed by its note.
function marked(text, from, to, marks) {
  const children = [];
  let at = from;
  for (const { start, end, note } of marks) {
    const [first, last] = [Math.max(start, at), Math.min(end, to)];
    if (first > last || end < from || start > to || (first === last && end > start)) continue;
    children.push(withBlanks(text, at, first), el("mark", { title: note }, withBlanks(text, first, last)), end <= to ? el("span", { class: "rule-note" }, note) : null);
    at = last;
  }
  children.push(withBlanks(text, at, to));
  return children;
}

// Splits text[from:to] into stretches, at line ends where possible, and returns their ends. The browser lays out a
// stretch when it scrolls into view; laying out a long text at once would take many seconds.
function stretchEnds(text, from, to) {
  const ends = [];
  for (let at = from; at < to; ) {
    let end = at;
    for (let n = 0; n < STRETCH_LINES && end < to; n++) {
      const newline = text.indexOf("\n", end);
      const next = newline < 0 || newline >= to ? to : newline + 1;
      if (next - at > STRETCH) break;
      end = next;
    }
    at = end > at ? end : between(text, Math.min(to, at + STRETCH));
    ends.push(at);
  }
  return ends;
}

function stretches(text, from, to, marks) {
  const endMark = to === text.length ? el("span", { class: "end", "aria-hidden": "true" }) : null;
  const ends = stretchEnds(text, from, to);
  if (ends.length <= FEW_STRETCHES) return [marked(text, from, to, marks), endMark];
  return ends.map((end, nth) => el("div", { class: "stretch" }, marked(text, nth ? ends[nth - 1] : from, end, marks), end === to ? endMark : null));
}

// Returns the parts of a text to show: its beginning or end, and the surroundings of marks.
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

// Shows a text. `marks` are its parts `{ start, end, note }` in UTF-16 units, in order; `keeps` is the end of a long
// text to show first; `name` is the label for screen readers.
export function exactText(text, { marks = [], keeps = "beginning", name = "text", hasCopy = true } = {}) {
  const box = el("pre", { class: "exact", dir: "auto", role: "group", "aria-label": name });
  const draw = (parts) => {
    const gap = (n) => el("button", { type: "button", class: "gap", onclick: () => draw([[0, text.length]]) }, `${count(n)} characters hidden: show all`);
    let at = 0;
    const children = [];
    for (const [from, to] of parts) {
      if (from > at) children.push(gap(from - at));
      children.push(stretches(text, from, to, marks));
      at = to;
    }
    replace(box, children, at < text.length ? gap(text.length - at) : null);
  };
  draw(partsShown(text, marks, keeps));
  // If the text is larger than the box, scroll to the mark and make the box scrollable with keys.
  requestAnimationFrame(() => {
    if (box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    const mark = box.querySelector("mark");
    const depth = mark ? mark.getBoundingClientRect().top - box.getBoundingClientRect().top : 0;
    if (depth > box.clientHeight / 2) box.scrollTop = depth - box.clientHeight / 3;
    else if (!mark && keeps === "end") box.scrollTop = box.scrollHeight;
  });
  return el("div", { class: "exact-box" }, hasCopy ? copyButton(text) : null, box);
}

// A short inline text with its leading and trailing white space marked.
export function inlineText(text) {
  if (text === "") return el("span", { class: "faint" }, "empty text");
  const start = text.length - text.trimStart().length;
  const end = Math.max(start, text.trimEnd().length);
  return el("code", { class: "inline-text", dir: "auto" }, start ? blank(text.slice(0, start)) : null, text.slice(start, end), end < text.length ? blank(text.slice(end)) : null);
}
