// Scores as list items: number, meter with interval, dataset and method.

import { el, userText } from "./dom.js";
import { count } from "./numbers.js";

// A meter of a share and its interval.
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
    el("span", { class: "of" }, userText(row.label), " · ", userText(row.method)));
}

// Lists the first `most` rows, and the number of others.
export function scoreLines(rows, most) {
  const left = rows.length - most;
  return el("ul", {}, rows.slice(0, most).map(scoreLine), left > 0 ? el("li", { class: "of" }, `and ${count(left)} more`) : null);
}
