// Charts of a run, as SVG that scales with the page. Each also has its numbers as text, for screen readers.

import { el, userText, svg } from "./dom.js";
import { count, inPercent, percent, plain, seconds, ticks } from "./numbers.js";

const PLOT = { width: 320, height: 200, left: 44, right: 10, top: 10, bottom: 34 };

function scale(low, high, from, to, isLog = false) {
  const at = isLog ? Math.log : (value) => value;
  const span = at(high) - at(low) || 1;
  return (value) => from + ((at(value) - at(low)) / span) * (to - from);
}

function frame(label, { x, y, xTicks, yTicks, xLabel, yLabel, xText = plain, yText = plain }, ...marks) {
  const { width, height, left, right, top, bottom } = PLOT;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img", "aria-label": label },
    yTicks.map((tick) => [
      svg("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "grid" }),
      svg("text", { x: left - 6, y: y(tick) + 3.5, class: "tick end" }, yText(tick))]),
    xTicks.map((tick) => svg("text", { x: x(tick), y: height - bottom + 14, class: "tick middle" }, xText(tick))),
    svg("line", { x1: left, x2: width - right, y1: height - bottom, y2: height - bottom, class: "axis" }),
    svg("text", { x: (left + width - right) / 2, y: height - 4, class: "tick middle" }, xLabel),
    yLabel ? svg("text", { x: left + 4, y: top + 8, class: "tick" }, yLabel) : null,
    ...marks);
}

// Bars of values with their intervals on one scale, each with its `note` next to the label; `onchoose(row)` makes them buttons.
export function intervalBars(rows, { label, onchoose = null }) {
  const known = rows.filter((row) => row.value !== null);
  const isShare = rows.every((row) => row.is_share);
  const high = isShare ? 1 : Math.max(...known.map((row) => row.high ?? row.value), 0);
  const low = isShare ? 0 : Math.min(...known.map((row) => row.low ?? row.value), 0);
  const at = (value) => `${(100 * (value - low)) / (high - low || 1)}%`;
  const line = (row) => {
    const mark = row.value === null ? null : el("span", { class: "gauge-track" },
      el("span", { class: "gauge-fill", style: { "inset-inline-start": at(Math.min(0, row.value)), width: at(low + Math.abs(row.value)) } }),
      row.low === null || row.high === null ? null : el("span", { class: "gauge-interval", style: { "inset-inline-start": at(row.low), width: `calc(${at(row.high)} - ${at(row.low)})` } }));
    const tooltip = `${row.shown}${row.is_share ? " %" : ""}, 95 % interval ${row.interval}, ${count(row.n_scored + row.n_unanswered)} of ${count(row.n)} scored`;
    const parts = [
      el("span", { class: "gauge-label" }, row.label ? userText(row.label) : null, row.note ? el("span", { class: "gauge-note" }, row.note) : null), mark ?? el("span", { class: "gauge-track" }),
      el("span", { class: "gauge-value" }, row.shown), el("span", { class: "gauge-range" }, row.interval), el("span", { class: "gauge-n" }, count(row.n))];
    return onchoose
      ? el("button", { type: "button", class: "gauge", title: tooltip, onclick: () => onchoose(row) }, parts)
      : el("div", { class: "gauge", title: tooltip }, parts);
  };
  return el("div", { class: "gauges", role: "group", "aria-label": label },
    el("div", { class: "gauge gauge-head" }, ["", "", isShare ? "%" : "value", "95 % interval", "n"].map((text) => el("span", {}, text))),
    rows.map(line));
}

// A reliability diagram: accuracy against confidence.
export function reliability(calibration) {
  const { width, height, left, right, top, bottom } = PLOT;
  const x = scale(0, 1, left, width - right);
  const y = scale(0, 1, height - bottom, top);
  const most = Math.max(...calibration.bins.map((bin) => bin.n));
  const grid = [0, 0.25, 0.5, 0.75, 1];
  const text = (value) => inPercent(value, 0);
  const label = `Calibration of ${calibration.task} by ${calibration.method}: error ${percent(calibration.error)} over ${count(calibration.n)} samples`;
  return el("figure", {},
    el("figcaption", {}, "Calibration, ", userText(calibration.task), ` · ${calibration.method}`, el("small", {}, `error ${percent(calibration.error)} over ${count(calibration.n)} samples`)),
    frame(label, { x, y, xTicks: grid, yTicks: grid, xLabel: "confidence, %", yLabel: "accuracy, %", xText: text, yText: text },
      svg("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "ideal" }),
      calibration.bins.map((bin) => svg("g", {},
        svg("title", {}, `confidence ${percent(bin.confidence)}, accuracy ${percent(bin.right)} (${percent(bin.low)} to ${percent(bin.high)}), ${count(bin.n)} samples`),
        svg("line", { x1: x(bin.confidence), x2: x(bin.confidence), y1: y(bin.low), y2: y(bin.high), class: "whisker" }),
        svg("circle", { cx: x(bin.confidence), cy: y(bin.right), r: 2.5 + 5 * Math.sqrt(bin.n / most), class: "dot" })))));
}

// A histogram of one number over all samples.
export function histogram(distribution) {
  const { width, height, left, right, top, bottom } = PLOT;
  const { edges, counts, is_log: isLog, unit } = distribution;
  const [low, high] = [edges[0], edges[edges.length - 1]];
  const most = Math.max(...counts);
  const x = scale(low, high, left, width - right, isLog);
  const y = scale(0, most, height - bottom, top);
  const text = unit === "s" ? seconds : plain;
  const xTicks = isLog ? logTicks(low, high) : ticks(low, high, 4);
  const label = `${distribution.name} by ${distribution.method}: median ${text(distribution.p50)}, p99 ${text(distribution.p99)}, maximum ${text(distribution.greatest)}`;
  return el("figure", {},
    el("figcaption", {}, `${capital(distribution.name)} · ${distribution.method}`, el("small", {}, `median ${text(distribution.p50)}, p90 ${text(distribution.p90)}, p99 ${text(distribution.p99)}, maximum ${text(distribution.greatest)}`)),
    frame(label, { x, y, xTicks, yTicks: ticks(0, most, 3).filter(Number.isInteger), xLabel: unit === "s" ? (isLog ? "time, logarithmic" : "time") : unit || "margin over the runner-up", yLabel: "", xText: text, yText: (value) => count(value) },
      counts.map((n, nth) => n ? svg("rect", { x: x(edges[nth]) + 0.4, width: Math.max(0.8, x(edges[nth + 1]) - x(edges[nth]) - 0.8), y: y(n), height: height - bottom - y(n), class: "fill" },
        svg("title", {}, `${text(edges[nth])} to ${text(edges[nth + 1])}: ${count(n)}`)) : null)));
}

function logTicks(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) if (10 ** power >= low) found.push(10 ** power);
  return found.length > 1 ? found.filter((_, nth) => nth % Math.ceil(found.length / 4) === 0) : [low, high];
}

export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
