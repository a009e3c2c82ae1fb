// Charts of one load: latency distributions and changes over time.

import { el } from "./dom.js";
import { amountAxis, axis, countAxis, elapsedAxis, timeAxis, timeAxisFrom0 } from "./axes.js";
import { count, countOf, roundTime, short, significant, strictPercent, time } from "./numbers.js";
import { figure, legend, Plot } from "./plot.js";

// Maximum number of points in a plot that show a tooltip.
const MOST_STOPS = 160;
const FROM_0_TO_1 = axis(0, 1, [[0, "0 %"], [0.5, "50 %"], [1, "100 %"]]);
const WHOLE = { class: "whole" };

const empty = (words) => el("p", { class: "empty" }, words);
const span = (left, right) => `${time(left)} to ${time(right)}`;
// Every nth of a list, so that at most this many are left.
const thinned = (list, most) => list.filter((_, place) => place % Math.max(1, Math.ceil(list.length / most)) === 0);

// The histogram and the cumulative curve of one latency metric.
export function distributionFigure({ name, title, stats, histogram: { edges, counts, n_below: nBelow, is_log: isLog }, cumulative }) {
  const heading = `${title} (${name})`;
  const size = countOf(stats.n, name === "ITL" ? "gap" : "request");
  if (stats.min === stats.max) return figure(heading, size, empty(`All values are ${time(stats.min)}.`));
  const marks = ["p50", "p90", "p99"].map((percentile) => [stats[percentile], `${percentile} ${time(stats[percentile])}`]);
  const words = `${title}: ${marks.map(([, label]) => label).join(", ")}.`;
  const across = timeAxis(edges[0], edges.at(-1), { isLog });
  const shares = counts.map((n) => n / stats.n);
  const percentTick = (share) => `${short(Number((100 * share).toFixed(6)))} %`;
  const bars = new Plot(across, amountAxis(Math.max(...shares), 3, percentTick), { height: 120, label: `Histogram. ${words}` });
  bars.bars(edges, shares, "series-0");
  counts.forEach((n, place) => {
    const [left, right] = edges.slice(place);
    if (n) bars.stop(isLog ? Math.sqrt(left * right) : (left + right) / 2, null, `${span(left, right)}\n${strictPercent(shares[place])}, ${count(n)}`);
  });
  for (const [value, label] of marks) bars.mark(value, label);
  const curve = new Plot(across, FROM_0_TO_1, { height: 72, label: `Cumulative curve. ${words}` });
  curve.line(cumulative.xs, cumulative.ys, "series-0");
  cumulative.xs.forEach((x, place) => curve.stop(x, null, `${strictPercent(cumulative.ys[place])} below ${time(x)}`));
  const about = `${size}${isLog ? ", logarithmic axis" : ""}${nBelow ? `; ${strictPercent(nBelow / stats.n)} below ${time(edges[0])}, not drawn` : ""}`;
  return figure(heading, about, [bars.element({ hasXTicks: false, yLabel: "share per bin" }), curve.element({ yLabel: "share below" })]);
}

// Successful requests and their output over time.
export function throughputFigure({ requests, output, output_unit: unit, n_calls: n, n_failed: nFailed }) {
  const title = "Throughput over time";
  if (nFailed === n) return figure(title, "", empty("No request succeeded."), WHOLE);
  const about = `mean over ${roundTime(requests.width)} intervals; requests are counted when they end${output ? `, ${unit} when they arrive` : ""}`;
  return figure(title, about, [
    ratePlot(requests, "series-0", "requests/s", !output),
    output ? ratePlot(output, "series-2", `output ${unit}/s`, true) : null], WHOLE);
}

function ratePlot(buckets, series, unit, hasXTicks) {
  const most = Math.max(...buckets.values);
  const plot = new Plot(elapsedAxis(buckets.end), amountAxis(most), { height: 110, label: `${unit} over time, maximum ${significant(most)}.` });
  plot.steps(edgesOf(buckets), buckets.values, series);
  forEachBucket(buckets, (middle, words, place) => plot.stop(middle, null, `${words}\n${significant(buckets.values[place])} ${unit}`));
  return plot.element({ hasXTicks, yLabel: unit });
}

function edgesOf({ width, end, values }) {
  return [...values.map((_, place) => place * width), end];
}

// Calls back with the middle of each interval, the interval in words, and its place.
function forEachBucket(buckets, callback) {
  const edges = edgesOf(buckets);
  buckets.values.forEach((_, place) => callback((edges[place] + edges[place + 1]) / 2, span(edges[place], edges[place + 1]), place));
}

// The number of concurrent requests over time, with the steady window.
export function concurrencyFigure({ concurrency, steady, steady_note: note }) {
  const { times, levels, end, mean, peak } = concurrency;
  const words = `Mean ${significant(mean)}, maximum ${count(peak)}.`;
  const plot = new Plot(elapsedAxis(end), countAxis(peak), { height: 150, label: `Concurrent requests over time. ${words}` });
  if (steady) plot.band(steady.start, steady.end, "steady window");
  plot.steps([...times, end], levels, "series-3");
  for (const [at, level] of thinned(times.map((at, place) => [at, levels[place]]), MOST_STOPS)) plot.stop(at, null, `from ${time(at)}\n${count(level)} concurrent`);
  return figure("Concurrency over time", `${words} ${note}`, plot.element({ yLabel: "concurrent requests" }), WHOLE);
}

// Start, first text and end of requests.
export function timelineFigure({ bars, n_rows: n, n_all_rows: nAllRows, n_all_calls: nAllCalls }, duration) {
  const height = Math.min(Math.max(n * 8, 48), 420);
  const plot = new Plot(elapsedAxis(duration), axis(-0.5, n - 0.5, []), { height, label: `Timeline of ${countOf(bars.length, "request")}.` });
  // The first row is at the top.
  const y = (bar) => n - 1 - bar.row;
  const thickness = Math.min(Math.max((height / n) * 0.7, 1), 9);
  const good = bars.filter((bar) => !bar.is_failed);
  const streamed = good.filter((bar) => bar.first_text !== null);
  const kinds = [
    [streamed.map((bar) => [bar.began, bar.first_text, y(bar)]), "series-1", "waiting for the first text"],
    [streamed.map((bar) => [bar.first_text, bar.ended, y(bar)]), "series-0", "receiving text"],
    [good.filter((bar) => bar.first_text === null).map((bar) => [bar.began, bar.ended, y(bar)]), "series-2", "whole request, not streamed"],
    [bars.filter((bar) => bar.is_failed).map((bar) => [bar.began, bar.ended, y(bar)]), "series-text", "failed"],
  ].filter(([spans]) => spans.length);
  for (const [spans, series] of kinds) plot.spans(spans, series, thickness);
  for (const bar of thinned(bars, 2 * MOST_STOPS)) plot.stop((bar.began + bar.ended) / 2, y(bar), describeBar(bar));
  const about = n === nAllRows
    ? `All ${countOf(nAllCalls, "request")}, one row per conversation.`
    : `A random sample of ${count(n)} of ${count(nAllRows)} conversations. One row per conversation, ordered by start time.`;
  return figure("Timeline of requests", about, [legend(kinds.map(([, series, words]) => [series, words])), plot.element()], { class: "whole no-y-ticks" });
}

function describeBar(bar) {
  return [`request ${bar.number}${bar.turn ? `, turn ${bar.turn + 1}` : ""}`, `started at ${time(bar.began)}`,
    bar.first_text === null ? null : `first text after ${time(bar.first_text - bar.began)}`,
    `${bar.is_failed ? "failed" : "ended"} after ${time(bar.ended - bar.began)}`].filter(Boolean).join("\n");
}

// Scheduled and sent requests over time, and how late requests started.
export function sendRateFigure({ due, sent, lateness, late_mean: mean, late_max: most }) {
  const [across, edges] = [elapsedAxis(due.end), edgesOf(due)];
  const rates = new Plot(across, amountAxis(Math.max(...due.values, ...sent.values)), { height: 120, label: "Requests sent and scheduled per second." });
  rates.steps(edges, sent.values, "series-0");
  rates.steps(edges, due.values, "series-text dashed", { isFilled: false });
  const late = new Plot(across, timeAxisFrom0(Math.max(...most.values)), { height: 80, label: `Lateness: p50 ${time(lateness.p50)}, p99 ${time(lateness.p99)}.` });
  late.steps(edges, most.values, "series-1");
  late.steps(edges, mean.values, "series-0", { isFilled: false });
  forEachBucket(due, (middle, words, place) => {
    rates.stop(middle, null, `${words}\nscheduled ${significant(due.values[place])}/s\nsent ${significant(sent.values[place])}/s`);
    late.stop(middle, null, `${words}\nmean lateness ${time(mean.values[place])}\nmaximum ${time(most.values[place])}`);
  });
  const about = `Requests started late by ${time(lateness.p50)} (p50), ${time(lateness.p99)} (p99), at most ${time(lateness.max)}.`;
  return figure("Schedule accuracy", about, [
    legend([["series-0", "sent"], ["series-text dashed", "scheduled"]]), rates.element({ hasXTicks: false, yLabel: "requests/s" }),
    legend([["series-1", "maximum"], ["series-0", "mean"]]), late.element({ yLabel: "lateness" })], WHOLE);
}
