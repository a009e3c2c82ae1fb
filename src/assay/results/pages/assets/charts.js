// Charts of a run. Each also has its numbers as text, for screen readers.

import { el, userText } from "./dom.js";
import { axis, countAxis, ticks, timeAxis } from "./axes.js";
import { count, inPercent, percent, plain, seconds } from "./numbers.js";
import { figure, Plot } from "./plot.js";

const QUARTERS = [0, 0.25, 0.5, 0.75, 1].map((share) => [share, inPercent(share, 0)]);

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
    const tooltip = `${row.shown}${row.is_share ? " %" : ""}, 95 % interval ${row.interval}, ${count(row.n_counted)} of ${count(row.n)} counted`;
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
export function reliability({ task, method, n, error, bins }) {
  const words = `error ${percent(error)} over ${count(n)} samples`;
  const most = Math.max(...bins.map((bin) => bin.n));
  const plot = new Plot(axis(0, 1, QUARTERS), axis(0, 1, QUARTERS), { height: 150, label: `Calibration of ${task} by ${method}: ${words}` });
  plot.line([0, 1], [0, 1], "series-text dashed");
  plot.whiskers(bins.map((bin) => [bin.confidence, bin.low, bin.high]), "series-0");
  for (const bin of bins) {
    plot.dot(bin.confidence, bin.right, "series-0", 2.5 + 5 * Math.sqrt(bin.n / most));
    plot.stop(bin.confidence, bin.right, `confidence ${percent(bin.confidence)}\naccuracy ${percent(bin.right)} (${percent(bin.low)} to ${percent(bin.high)})\n${count(bin.n)} samples`);
  }
  return figure(["Calibration, ", userText(task), ` · ${method}`], words, plot.element({ xLabel: "confidence, %", yLabel: "accuracy, %" }));
}

// Accuracy by the length of thoughts: one point for each bin of samples.
export function thinkingCurve({ task, method, n, bins }) {
  const words = `${count(n)} samples`;
  const most = Math.max(...bins.map((bin) => bin.tokens), 1);
  const plot = new Plot(axis(0, most, ticks(0, most, 4).map((tick) => [tick, plain(tick)])), axis(0, 1, QUARTERS), { height: 150, label: `Accuracy of ${task} by ${method}, by thinking tokens: ${words}` });
  plot.line(bins.map((bin) => bin.tokens), bins.map((bin) => bin.right), "series-0");
  plot.whiskers(bins.map((bin) => [bin.tokens, bin.low, bin.high]), "series-0");
  for (const bin of bins) {
    plot.dot(bin.tokens, bin.right, "series-0", 3.5);
    plot.stop(bin.tokens, bin.right, `${count(bin.least)} to ${count(bin.most)} thinking tokens\naccuracy ${percent(bin.right)} (${percent(bin.low)} to ${percent(bin.high)})\n${count(bin.n)} samples`);
  }
  return figure(["Accuracy by thinking tokens, ", userText(task), ` · ${method}`], words, plot.element({ xLabel: "thinking tokens", yLabel: "accuracy, %" }));
}

// A histogram of one number over all samples.
export function histogram(distribution) {
  const { name, method, edges, counts, is_log: isLog, unit, p50, p90, p99, greatest } = distribution;
  const [low, high] = [edges[0], edges.at(-1)];
  const isTime = unit === "s";
  const text = isTime ? seconds : plain;
  const across = isTime ? timeAxis(low, high, { isLog, n: 4 }) : axis(low, high, ticks(low, high, 4).map((tick) => [tick, plain(tick)]), isLog);
  const plot = new Plot(across, countAxis(Math.max(...counts), 3), { height: 150, label: `${name} by ${method}: median ${text(p50)}, p99 ${text(p99)}, maximum ${text(greatest)}` });
  plot.bars(edges, counts, "series-0");
  counts.forEach((n, nth) => {
    const [left, right] = edges.slice(nth);
    if (n) plot.stop(isLog ? Math.sqrt(left * right) : (left + right) / 2, null, `${text(left)} to ${text(right)}\n${count(n)}`);
  });
  return figure(`${name.charAt(0).toUpperCase()}${name.slice(1)} · ${method}`, `median ${text(p50)}, p90 ${text(p90)}, p99 ${text(p99)}, maximum ${text(greatest)}`,
    plot.element({ xLabel: isTime ? (isLog ? "time, logarithmic" : "time") : unit || "margin over the runner-up" }));
}
