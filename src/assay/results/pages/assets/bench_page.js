// The page of a serving benchmark: what was measured, the levels of a sweep or a search, and each load in detail.

import { el, replace, userText } from "./dom.js";
import { concurrencyFigure, distributionFigure, sendRateFigure, throughputFigure, timelineFigure } from "./bench_charts.js";
import { searchSection, sweepSection } from "./bench_levels.js";
import { dataTable } from "./data_table.js";
import { fold } from "./folds.js";
import { count, countOf, NOT_KNOWN, significant, strictPercent, time, timeUnit } from "./numbers.js";
import { fetched, FileSource } from "./source.js";

const STATISTICS = ["mean", "min", "p50", "p75", "p90", "p95", "p99", "max", "std"];

export async function showBench(main) {
  const isFile = document.getElementById("bench") !== null;
  const page = isFile ? await new FileSource().block("bench") : await fetched(`/data/benches/${location.pathname.split("/")[2]}`);
  main.classList.add("bench");
  replace(main, head(page.head),
    page.search ? searchSection(page.search) : null,
    page.sweep ? sweepSection(page.sweep) : null,
    loads(page));
}

const empty = (words) => el("p", { class: "empty" }, words);
const notes = (texts) => texts.map((text) => el("p", { class: "note" }, userText(text)));

function head(of) {
  const tokens = of.n_input === null && of.n_output === null ? "not counted" : `${count(of.n_input)} in, ${count(of.n_output)} out`;
  const facts = [
    ["Address", of.address], ["Dataset", of.dataset], ["Load", of.load], ["Date", of.date], ["Duration", time(of.duration_s)],
    ["Requests", `${count(of.n_calls)}, ${count(of.n_calls - of.n_failed)} succeeded`],
    ["Failed", of.n_failed ? `${count(of.n_failed)} (${strictPercent(of.n_failed / of.n_calls)})` : "none"],
    ["Tokens", tokens], ...of.settings,
    ["Versions", of.versions.map(([name, version]) => `${name} ${version}`).join(", ") || NOT_KNOWN],
  ];
  return el("header", {}, el("p", { class: "kicker" }, "Serving benchmark"), el("h1", {}, userText(of.model)), notes(of.notes),
    el("dl", { class: "bench-facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, userText(value))))));
}

function loads({ loads: some, n_earlier_loads: nEarlier, sweep, search }) {
  if (!some.length) return sweep || search ? null : empty("No requests were sent.");
  if (some.length === 1) return [el("h2", {}, "Results"), details(some[0])];
  return [el("h2", {}, "Load details"),
    nEarlier ? empty(`The last ${some.length} of ${nEarlier + some.length} loads.`) : null,
    some.map((load) => fold([userText(load.name), el("span", {}, summary(load))], () => details(load), { class: "fold" }))];
}

function summary({ whole, n_failed: nFailed }) {
  const amount = whole.amounts.find((one) => one.value !== null);
  const latency = whole.latencies.find((one) => one.stats !== null);
  return [amount ? `${significant(amount.value)} ${amount.unit}` : null,
    latency ? `${latency.name} p50 ${time(latency.stats.p50)}, p99 ${time(latency.stats.p99)}` : null,
    nFailed ? `${count(nFailed)} failed` : null].filter(Boolean).join(" · ");
}

function details(load) {
  if (!load.n_calls) return el("section", {}, empty("No requests were sent."));
  return el("section", {}, notes(load.notes), tiles(load),
    numbersTables(load.whole, ""),
    load.in_window ? numbersTables(load.in_window, " in the steady window") : null,
    load.failures.length ? [el("h3", {}, "Failures"), failuresTable(load)] : null,
    el("h3", {}, "Latency distributions"),
    load.distributions.length ? el("div", { class: "bench-charts" }, load.distributions.map(distributionFigure)) : empty("No request succeeded."),
    el("h3", {}, "Over time"),
    el("div", { class: "bench-charts" }, throughputFigure(load), concurrencyFigure(load), timelineFigure(load.timeline, load.duration_s),
      load.send_rate ? sendRateFigure(load.send_rate) : null),
    load.send_rate ? null : empty("Each request was sent as soon as a client was free, so there is no schedule."));
}

function tiles({ whole, n_calls: n, n_failed: nFailed }) {
  const latencies = whole.latencies.filter((one) => one.stats !== null && one.name !== "ITL");
  const amounts = whole.amounts.filter((one) => one.value !== null && /^(Request|Output)/.test(one.name));
  const shown = [
    ...latencies.map(({ name, stats }) => [`${name} p50`, time(stats.p50), `p99 ${time(stats.p99)}`]),
    ...amounts.map((one) => [one.name.replace(" throughput", "s"), significant(one.value), one.unit]),
    ["Failed", nFailed ? strictPercent(nFailed / n) : "none", `${count(nFailed)} of ${countOf(n, "request")}`],
  ];
  return el("div", { class: "scores" }, shown.map(([name, value, below]) => el("div", { class: "score" }, el("span", {}, name), el("b", {}, value), el("span", {}, below))));
}

function numbersTables(numbers, of) {
  return el("div", { class: "bench-tables" },
    el("div", {}, el("h3", {}, `Latency${of}`), latencyTable(numbers.latencies, `Latency${of}`)),
    el("div", {}, el("h3", {}, `Throughput${of}`),
      dataTable(["", "value", "unit"], numbers.amounts.map((one) => [one.name, significant(one.value), one.note ? `${one.unit} (${one.note})` : one.unit]), `Throughput${of}`, { hasRowHeads: true }),
      numbers.goodput ? goodput(numbers.goodput) : null));
}

// Statistics by latency, each in the unit that fits it; the absent ones are explained below.
function latencyTable(latencies, label) {
  const known = latencies.filter((one) => one.stats !== null).map((one) => ({ ...one, unit: timeUnit(Math.min(one.stats.p99, 1)) }));
  const reasons = Map.groupBy(latencies.filter((one) => one.stats === null), (one) => one.absent);
  const rows = [
    ...STATISTICS.map((name) => [name, ...known.map(({ stats, unit: [length] }) => significant(stats[name] / length))]),
    ["n", ...known.map(({ stats }) => count(stats.n))],
  ];
  return [
    known.length ? dataTable(["", ...known.map(({ name, unit: [, symbol] }) => `${name}, ${symbol}`)], rows, label, { hasRowHeads: true }) : null,
    [...reasons].map(([reason, some]) => el("p", { class: "empty" }, el("b", {}, some.map((one) => one.name).join(", ")), `: ${reason}`)),
  ];
}

function goodput(of) {
  return el("p", {}, "Goodput: ", el("b", {}, `${significant(of.per_s)} requests/s`),
    `; ${count(of.n_kept)} of ${countOf(of.n, "request")} (${of.n ? strictPercent(of.n_kept / of.n) : NOT_KNOWN}) met `, el("b", {}, of.limits.join(", ")), ".");
}

function failuresTable({ failures, n_calls: n }) {
  const rows = failures.map((one) => [userText(one.kind), count(one.n), strictPercent(one.n / n),
    el("ul", {}, one.examples.map((message) => el("li", {}, el("code", {}, userText(message || "(no message)")))))]);
  return dataTable(["kind", "requests", "share", "examples"], rows, "Failures", { hasRowHeads: true });
}
