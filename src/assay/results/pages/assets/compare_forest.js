// A forest plot: differences with their intervals on one scale, with a line at zero.

import { el, userText } from "./dom.js";
import { setState } from "./address.js";
import { ticks } from "./axes.js";
import { fold } from "./folds.js";
import { count } from "./numbers.js";

const MANY = 14;
const UNITS = { points: "points", percent: "% change", own: "difference" };

// One plot for each unit: points, percent and a metric's own scale cannot share an axis.
export function forest(page) {
  return Object.keys(UNITS).map((unit) => {
    const rows = page.rows.filter((row) => row.unit === unit);
    if (!rows.length) return null;
    const plot = drawn(page, rows, unit);
    return rows.length > MANY ? fold(`Differences in ${UNITS[unit]}: ${count(rows.length)}`, () => plot, { isOpen: rows.length <= 3 * MANY }) : plot;
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
    const state = row.is_real ? `series-${row.better % 6}` : "";
    return el("button", {
      type: "button", class: `forest-row ${state}`, title: `${row.label} · ${row.title}: ${row.sentence}`,
      onclick: () => {
        setState({ method: row.method, pair: `${row.first}-${row.second}`, task: row.is_mean ? null : row.task });
        document.getElementById("samples").scrollIntoView();
      },
    },
    el("span", { class: "forest-label" }, userText(row.label), el("span", { class: "faint" }, row.title, names)),
    el("span", { class: "forest-track" },
      marks.map((tick) => el("span", { class: tick === 0 ? "zero" : "grid-line", style: { left: at(tick) } })),
      row.low === null || row.high === null ? null : el("span", { class: "whisker", style: { left: at(row.low), width: `calc(${at(row.high)} - ${at(row.low)})` } }),
      row.at === null ? null : el("span", { class: "point", style: { left: at(row.at) } })),
    el("span", { class: "forest-number" }, row.difference),
    el("span", { class: "forest-number more" }, row.interval),
    el("span", { class: "forest-number more" }, row.p.startsWith("=") ? row.p.slice(2) : row.p.startsWith("<") ? row.p : "–"),
    el("span", { class: "forest-number more" }, `${row.first_value} → ${row.second_value}`));
  };
  return el("div", { class: "forest", role: "group", "aria-label": `Differences in ${UNITS[unit]}` },
    el("div", { class: "forest-row forest-head" }, el("span", {}, ""),
      el("span", { class: "forest-scale" }, marks.map((tick) => el("span", { style: { left: at(tick) } }, signed(tick)))),
      el("span", { class: "forest-number" }, `${pairs ? "second − first" : `${page.letters[1]} − ${page.letters[0]}`}, ${UNITS[unit]}`), el("span", { class: "forest-number more" }, "95 % interval"), el("span", { class: "forest-number more" }, "p"), el("span", { class: "forest-number more" }, pairs ? "values" : `${page.letters[0]} → ${page.letters[1]}`)),
    rows.map(line));
}

function signed(value) {
  return value > 0 ? `+${value}` : `${value}`.replace("-", "−");
}
