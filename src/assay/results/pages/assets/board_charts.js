// Charts of selected models: a radar over abilities or datasets, and each value with its interval.

import { columnsOf } from "./board_columns.js";
import { el, userText, svg } from "./dom.js";
import { figure } from "./plot.js";

const FEWEST_SPOKES = 3;
const MOST_SPOKES = 16;
const SIZE = 300;
const RADIUS = 98;
// Each model has a shape as well as a colour, for people who cannot tell the colours apart.
const SHAPES = [
  "M-4,0A4,4 0 1,1 4,0A4,4 0 1,1 -4,0Z",
  "M-3.5,-3.5H3.5V3.5H-3.5Z",
  "M0,-4.6L4.3,3.4H-4.3Z",
  "M0,-5L4.4,0L0,5L-4.4,0Z",
  "M0,4.6L4.3,-3.4H-4.3Z",
  "M-1.5,-4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5V-1.5H-1.5Z",
];

function shape(nth, at = "0,0") {
  return svg("path", { d: SHAPES[nth], transform: `translate(${at})`, class: `mark series-${nth}` });
}

// Returns the marker of a selected model; null for a model that is not selected.
export function markOf(nth) {
  return nth < 0 ? null : svg("svg", { class: "sign", viewBox: "-6 -6 12 12", "aria-hidden": "true" }, shape(nth));
}

export function boardCharts(page, columns, chosen) {
  const drawn = columns.filter((column) => column.isShare && column.counts && column.higherIsBetter && (column.kind === "dataset" || column.kind === "ability"));
  const others = columns.filter((column) => column.kind.startsWith("dataset") && !drawn.includes(column));
  if (!chosen.length || !drawn.length) return [];
  // A radar with forty spokes is unreadable: use abilities as spokes where there are any.
  const abilities = columnsOf(page, "ability");
  const spokes = abilities.length >= FEWEST_SPOKES ? abilities : drawn;
  const models = chosen.map((row, nth) => ({ row, nth, name: page.board.models[row].name }));
  return [
    el("h2", {}, "Side by side"),
    el("p", { class: "keys" }, models.map((model) => el("span", {}, markOf(model.nth), userText(model.name)))),
    el("div", { class: "board-charts" },
      spokes.length >= FEWEST_SPOKES ? radar(spokes.slice(0, MOST_SPOKES), models, spokes.length) : null,
      dots(drawn, models)),
    others.length ? el("p", { class: "faint" }, `${others.length} other column${others.length === 1 ? "" : "s"} of the table ${others.length === 1 ? "is" : "are"} not drawn: the same dataset with other settings, or values that are not percentages.`) : null,
  ];
}

// Returns a model's value in a column; null without one, or where it is a mean over fewer datasets than the others'.
function drawnCell(column, model) {
  const cell = column.cells[model.row];
  return cell && !cell.isIncomplete ? cell : null;
}

function shortened(text, most = 14) {
  const signs = [...text];
  return signs.length > most ? `${signs.slice(0, most - 1).join("")}…` : text;
}

function radar(spokes, models, n) {
  const angle = (nth) => (2 * Math.PI * nth) / spokes.length - Math.PI / 2;
  const place = (nth, share) => [RADIUS * share * Math.cos(angle(nth)), RADIUS * share * Math.sin(angle(nth))];
  const ring = (share) => spokes.map((_, nth) => place(nth, share).map((one) => one.toFixed(1)).join(",")).join(" ");
  const label = (column, nth) => {
    const [x, y] = place(nth, 1.1);
    const anchor = Math.abs(x) < 8 ? "middle" : x > 0 ? "start" : "end";
    return svg("text", { x: x.toFixed(1), y: (y + 3).toFixed(1), class: "tick", "text-anchor": anchor }, shortened(column.name), svg("title", {}, column.name));
  };
  const outline = (model) => {
    const known = spokes.map((column, nth) => [drawnCell(column, model), nth]).filter(([cell]) => cell);
    const points = known.map(([cell, nth]) => place(nth, cell.value).map((one) => one.toFixed(1)).join(","));
    // A model without a value for some spoke has no closed outline: a line must not suggest a value that was not measured.
    const isWhole = known.length === spokes.length;
    return [isWhole ? svg("polygon", { points: points.join(" "), class: `outline series-${model.nth}` }) : null, points.map((at) => shape(model.nth, at))];
  };
  const title = `Radar of ${models.map((model) => model.name).join(", ")}`;
  return figure("Radar", `in percent: centre 0, rim 100${n > spokes.length ? `; first ${spokes.length} of ${n}` : ""}`,
    svg("svg", { viewBox: `${-SIZE / 2 - 60} ${-SIZE / 2} ${SIZE + 120} ${SIZE}`, class: "plot radar", role: "img", "aria-label": title },
      [0.25, 0.5, 0.75, 1].map((share) => svg("polygon", { points: ring(share), class: "ring" })),
      spokes.map((_, nth) => { const [x, y] = place(nth, 1); return svg("line", { x1: 0, y1: 0, x2: x.toFixed(1), y2: y.toFixed(1), class: "grid" }); }),
      models.map(outline), spokes.map(label)));
}

function dots(columns, models) {
  const at = (value) => `${100 * value}%`;
  const line = (column) => el("div", { class: "dots-row" }, el("span", { class: "bar-label", title: column.tooltip }, userText(column.name)),
    el("span", { class: "lanes" }, models.map((model) => {
      const cell = drawnCell(column, model);
      if (!cell) return el("span", { class: "lane", title: `${model.name}: no comparable value` });
      const tooltip = `${model.name}: ${cell.tooltip}`;
      return el("span", { class: "lane", title: tooltip },
        cell.low === null || cell.high === null ? null : el("span", { class: `whisker series-${model.nth}`, style: { left: at(cell.low), width: `calc(${at(cell.high)} - ${at(cell.low)})` } }),
        el("span", { class: "spot", style: { left: at(cell.value) } }, markOf(model.nth)));
    })),
    el("span", { class: "numbers" }, models.map((model) => el("span", {}, drawnCell(column, model)?.shown ?? "–"))));
  return figure("Values", "in percent, with 95 % intervals", [
    el("div", { class: "dots-row dots-axis", "aria-hidden": "true" }, el("span", {}), el("span", { class: "lanes" }, [0, 25, 50, 75, 100].map((tick) => el("span", { style: { left: `${tick}%` } }, tick))), el("span", {})),
    columns.map(line)], { class: "dots" });
}
