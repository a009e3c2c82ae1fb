// Several loads: the curves of a sweep and the trials of a search.

import { el } from "./dom.js";
import { amountAxis, axis, pointTimeAxis } from "./axes.js";
import { dataTable } from "./data_table.js";
import { count, NOT_KNOWN, short, significant, strictPercent, time } from "./numbers.js";
import { figure, legend, Plot } from "./plot.js";

const UNITS = { concurrency: "concurrent", rate: "requests/s" };
// Labels of points that are nearer than this share of the plot would overlap.
const NEAR = 0.045;

const levelText = (level) => short(Number(level.toFixed(3)));
const levelWithUnit = (by, level) => `${levelText(level)} ${UNITS[by]}`;
const describeLevels = (by) => (by === "concurrency" ? "concurrent requests" : "requests/s sent");
const statsOf = (rung, name) => rung.latencies.find((one) => one.name === name)?.stats ?? null;

export function sweepSection({ by, rungs, note }) {
  // Throughput is in output tokens, or in requests if some level has no count of tokens.
  const hasTokens = rungs.every((rung) => rung.output_per_s !== null);
  const points = rungs.map((rung) => ({ ...rung, throughput: hasTokens ? rung.output_per_s : rung.requests_per_s }));
  const unit = hasTokens ? "output tokens/s" : "requests/s";
  return el("section", { id: "sweep" }, el("h2", {}, `Sweep by ${by}`), note ? el("p", {}, note) : null,
    rungs.length
      ? [el("div", { class: "bench-charts" }, throughputCurve(by, points, unit), rungs[0].latencies.map((one) => latencyCurve(by, points, unit, one))), rungsTable(by, rungs)]
      : el("p", { class: "empty" }, "No level was finished."));
}

function throughputCurve(by, points, unit) {
  const [xs, ys] = [points.map((one) => one.level), points.map((one) => one.throughput)];
  const plot = new Plot(levelsAxis(xs), amountAxis(Math.max(...ys)), { height: 200, label: `Throughput by ${by}.` });
  plot.line(xs, ys, "series-2");
  for (const { level, throughput } of points) {
    plot.dot(level, throughput, "series-2");
    plot.stop(level, throughput, `${levelWithUnit(by, level)}\n${significant(throughput)} ${unit}`);
  }
  const best = ys.indexOf(Math.max(...ys));
  plot.name(xs[best], ys[best], significant(ys[best]));
  return figure(`Throughput by ${describeLevels(by)}`, "", plot.element({ yLabel: unit, xLabel: describeLevels(by) }), { class: "whole" });
}

// An axis whose ticks are the levels themselves, as far as there is space.
function levelsAxis(levels) {
  const sorted = [...new Set(levels)].sort((a, b) => a - b);
  const [low, high] = [sorted[0], sorted.at(-1)];
  if (low === high) return axis(low / 2, low * 2, [[low, short(low)]], true);
  const isLog = high / low >= 8;
  const { at } = axis(low, high, [], isLog);
  const ticks = [];
  for (const level of sorted) if (!ticks.length || at(level) - at(ticks.at(-1)[0]) > 0.06) ticks.push([level, levelText(level)]);
  return axis(low, high, ticks, isLog);
}

function latencyCurve(by, points, unit, { name, title, absent }) {
  const heading = `${title} (${name}) by throughput`;
  const known = points.map((one) => ({ ...one, stats: statsOf(one, name) })).filter((one) => one.stats !== null);
  if (!known.length) return figure(heading, "", el("p", { class: "empty" }, absent));
  const xs = known.map((one) => one.throughput);
  const series = [["series-1", "p99"], ["series-0", "p50"]];
  const plot = new Plot(amountAxis(Math.max(...xs), 5), pointTimeAxis(known.flatMap(({ stats }) => [stats.p50, stats.p99])), { height: 200, label: `${heading}, p50 and p99.` });
  for (const [kind, percentile] of series) {
    plot.line(xs, known.map(({ stats }) => stats[percentile]), kind);
    for (const { throughput, stats } of known) plot.dot(throughput, stats[percentile], kind);
  }
  let last = null;
  for (const { level, throughput, stats } of known) {
    const words = `${levelWithUnit(by, level)}\n${significant(throughput)} ${unit}\np50 ${time(stats.p50)}\np99 ${time(stats.p99)}`;
    plot.stop(throughput, stats.p99, words);
    plot.stop(throughput, stats.p50, words);
    if (last === null || plot.distance([throughput, stats.p99], last) > NEAR) {
      plot.name(throughput, stats.p99, levelText(level));
      last = [throughput, stats.p99];
    }
  }
  return figure(heading, `each point is a level, labelled with its ${describeLevels(by)}`, [legend(series), plot.element({ yLabel: name, xLabel: unit })]);
}

export function searchSection(search) {
  const { by, limits, trials, chosen, note } = search;
  const outcome = chosen === null ? "No tested level met all limits." : `The highest level that met all limits: ${levelWithUnit(by, chosen)}.`;
  return el("section", { id: "search" }, el("h2", {}, `Search for the highest ${by}`),
    el("p", { class: "outcome" }, outcome), el("p", {}, "Limits: ", el("b", {}, limits.join(", ") || "none"), "."), note ? el("p", {}, note) : null,
    trials.length
      ? [el("div", { class: "bench-charts" }, trialsFigure(search)), rungsTable(by, trials, (rung) => verdict(rung, chosen))]
      : el("p", { class: "empty" }, "No trial was finished."));
}

function verdict(rung, chosen) {
  return rung.broken.length ? rung.broken.join("; ") : rung.level === chosen ? "chosen" : "met";
}

function trialsFigure({ by, trials, chosen }) {
  const n = trials.length;
  const places = trials.map((_, nth) => nth + 1);
  const ticks = places.filter((_, nth) => nth % Math.ceil(n / 12) === 0).map((place) => [place, String(place)]);
  const plot = new Plot(axis(0.5, n + 0.5, ticks), amountAxis(Math.max(...trials.map((one) => one.level))), { height: 200, label: "Tested levels." });
  if (chosen !== null) plot.level(chosen, `chosen: ${levelWithUnit(by, chosen)}`, "series-right");
  plot.line(places, trials.map((one) => one.level), "series-line");
  trials.forEach(({ level, broken }, nth) => {
    plot.dot(nth + 1, level, broken.length ? "series-wrong hollow" : "series-right");
    plot.stop(nth + 1, level, `trial ${nth + 1}: ${levelWithUnit(by, level)}\n${broken.join("\n") || "met all limits"}`);
  });
  return figure("Trials in the order they ran", "", [
    legend([["series-right", "met all limits"], ["series-wrong hollow", "missed a limit"]]),
    plot.element({ yLabel: UNITS[by], xLabel: "trial" })], { class: "whole" });
}

// `verdictOf` returns a trial's result in words; null: the loads are not trials.
function rungsTable(by, rungs, verdictOf = null) {
  // ITL has its own chart; a table with all four metrics would be too wide to read.
  const names = rungs[0].latencies.map((one) => one.name).filter((name) => name !== "ITL");
  const headings = [UNITS[by], ...(verdictOf ? ["limits"] : []), "requests", "failed", "requests/s", "output tokens/s", "concurrency",
    ...names.flatMap((name) => [`${name} p50`, `${name} p99`])];
  const rows = rungs.map((rung) => [
    levelText(rung.level), ...(verdictOf ? [verdictOf(rung)] : []), count(rung.n_calls),
    rung.n_failed ? `${count(rung.n_failed)} (${strictPercent(rung.n_failed / rung.n_calls)})` : "0",
    significant(rung.requests_per_s), significant(rung.output_per_s), significant(rung.concurrency),
    ...names.map((name) => statsOf(rung, name)).flatMap((stats) => (stats ? [time(stats.p50), time(stats.p99)] : [NOT_KNOWN, NOT_KNOWN]))]);
  return dataTable(headings, rows, verdictOf ? "Trials" : "Levels", { hasRowHeads: true });
}
