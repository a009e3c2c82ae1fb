// Differences with their intervals on one scale, no difference as a line through all of them.

import { el, said } from "./dom.js";
import { setState } from "./address.js";
import { count, ticks } from "./numbers.js";

const MANY = 14;
const UNITS = { points: "points", percent: "% change", own: "difference" };

// One plot for each unit, as points, percent and a metric's own scale share none.
export function forest(page) {
  return Object.keys(UNITS).map((unit) => {
    const rows = page.rows.filter((row) => row.unit === unit);
    if (!rows.length) return null;
    const plot = drawn(page, rows, unit);
    return rows.length > MANY ? el("details", { class: "fold", open: rows.length <= 3 * MANY }, el("summary", {}, `Differences in ${UNITS[unit]}`, el("span", { class: "faint" }, ` ${count(rows.length)}`)), plot) : plot;
  });
}

function drawn(page, rows, unit) {
  const ends = rows.flatMap((row) => [row.low, row.high, row.at]).filter((value) => value !== null);
  const reach = Math.max(...ends.map(Math.abs), 1e-9) * 1.05;
  const [low, high] = [Math.min(0, Math.max(-reach, Math.min(...ends, 0) - 0.05 * reach)), Math.max(0, Math.min(reach, Math.max(...ends, 0) + 0.05 * reach))];
  const at = (value) => `${(100 * (value - low)) / (high - low || 1)}%`;
  const marks = ticks(low, high, 5).filter((tick) => tick >= low && tick <= high);
  const pairs = page.sides.length > 2;
  const line = (row) => {
    const names = pairs ? ` ${page.letters[row.first]} ${page.letters[row.second]}` : "";
    const state = row.is_real ? `by-${row.better % 6}` : "";
    return el("button", {
      type: "button", class: `bar forest-row ${state}`, title: row.sentence,
      onclick: () => {
        setState({ method: row.method, pair: `${row.first}-${row.second}`, task: row.is_mean ? null : row.task });
        document.getElementById("samples").scrollIntoView();
      },
    },
    el("span", { class: "bar-label" }, said(row.label), el("span", { class: "bar-note" }, row.title, names)),
    el("span", { class: "forest-track" },
      marks.map((tick) => el("span", { class: tick === 0 ? "zero" : "grid-line", style: { left: at(tick) } })),
      row.low === null || row.high === null ? null : el("span", { class: "whisker", style: { left: at(row.low), width: `calc(${at(row.high)} - ${at(row.low)})` } }),
      row.at === null ? null : el("span", { class: "point", style: { left: at(row.at) } })),
    el("span", { class: "bar-value" }, row.difference),
    el("span", { class: "bar-range" }, row.interval),
    el("span", { class: "bar-p" }, row.p.startsWith("=") ? row.p.slice(2) : row.p.startsWith("<") ? row.p : "–"),
    el("span", { class: "bar-n" }, `${row.first_value} → ${row.second_value}`));
  };
  return el("div", { class: "bars forest", role: "group", "aria-label": `Differences in ${UNITS[unit]}` },
    el("div", { class: "bar bar-head forest-row" }, el("span", {}, ""),
      el("span", { class: "forest-scale" }, marks.map((tick) => el("span", { style: { left: at(tick) } }, signed(tick)))),
      el("span", {}, UNITS[unit]), el("span", {}, "95 % interval"), el("span", {}, "p"), el("span", {}, pairs ? "values" : `${page.letters[0]} → ${page.letters[1]}`)),
    rows.map(line));
}

function signed(value) {
  return value > 0 ? `+${value}` : `${value}`.replace("-", "−");
}
