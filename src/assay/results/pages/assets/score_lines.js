// Scores as lines of a list: the number, its place between 0 and 1 with its interval, and what it is of.

import { el, said } from "./dom.js";
import { count } from "./numbers.js";

// A share and its interval, drawn; the numbers stand beside it.
function meter(row) {
  if (!row.is_share || row.value === null) return null;
  const low = row.low ?? row.value;
  const high = row.high ?? row.value;
  return el("span", { class: "meter", "aria-hidden": "true" },
    el("span", { class: "range", style: { left: `${100 * low}%`, width: `${100 * (high - low)}%` } }),
    el("span", { class: "value", style: { left: `${100 * row.value}%` } }));
}

function scoreLine(row) {
  return el("li", {},
    el("span", { class: "number" }, row.shown, row.is_share && row.value !== null ? " %" : ""),
    meter(row),
    el("span", { class: "interval" }, row.interval),
    el("span", { class: "of" }, said(row.label), " · ", said(row.method)));
}

// The first `most` of some rows, and how many more there are.
export function scoreLines(rows, most) {
  const left = rows.length - most;
  return el("ul", {}, rows.slice(0, most).map(scoreLine), left > 0 ? el("li", { class: "of" }, `and ${count(left)} more`) : null);
}
