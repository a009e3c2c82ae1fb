// The parts of a run's page around its samples: scores with error bars and counts, breakdown, plots and setup.

import { el, userText } from "./dom.js";
import { setState } from "./address.js";
import { histogram, intervalBars, reliability, thinkingCurve } from "./charts.js";
import { countedFold } from "./folds.js";
import { count, NOT_KNOWN, part, plain, seconds } from "./numbers.js";

const MANY = 14;

// Returns whether a row is a listed metric of a whole task or of a mean over tasks; the headline comes first.
export function isHead(row) {
  return row.is_listed && row.group === null;
}

// `log`: where an imported run comes from, and what its log does not say.
export function scoreCard(row, log = null) {
  const missing = log?.unknown ?? [];
  const trouble = [["unanswered", row.n_unanswered, "unanswered samples"], ["truncated", row.n_truncated, "why generation ended"], ["failed", row.n_failed, "failed samples"]];
  return el("div", { class: "score" },
    el("span", { class: "label" }, userText(row.label), " · ", userText(row.method)),
    el("b", {}, row.shown, row.is_share && row.value !== null ? el("small", {}, " %") : null),
    row.value === null ? el("span", { class: "trouble" }, "not scored: ", userText(row.why ?? "no row has a reference answer")) : null,
    el("span", {}, `95 % interval ${row.interval}`, row.higher_is_better ? "" : " · lower is better"),
    el("span", {}, `${count(row.n_counted)} of ${count(row.n)} counted`),
    el("span", { class: "counts" }, trouble.map(([name, n, fact]) => el("span", { class: n ? "some" : "" }, `${name} ${missing.includes(fact) ? "not in the log" : part(n, row.n)}`))));
}

function names(run) {
  const found = new Map();
  for (const task of run.manifest.tasks) {
    const name = task.family ?? task.name;
    found.set(name, (found.get(name) ?? 0) + 1);
  }
  const all = [...found].map(([name, n]) => (n > 1 ? `${name} (${n} subsets)` : name));
  return all.length > 6 ? `${all.slice(0, 6).join(", ")} and ${all.length - 6} more` : all.join(", ");
}

function when(run) {
  const { manifest } = run;
  const started = manifest.started.slice(0, 16).replace("T", " ");
  if (manifest.status === "running") {
    const share = run.n_planned ? run.n_samples / run.n_planned : 0;
    return [`started ${started} UTC`, el("progress", { value: share, max: 1, "aria-label": "samples done" }), `${count(run.n_samples)} of ${count(run.n_planned)} samples`];
  }
  const state = { answered: "answered, not scored yet · ", stopped: "stopped at its budget, not scored · ", unscored: "no sample could be scored · " }[manifest.status] ?? "";
  const began = started ? `${started} UTC` : "start time not in the log";
  const took = manifest.seconds !== null ? seconds(manifest.seconds) : manifest.imported ? "duration not in the log" : NOT_KNOWN;
  return [`${state}${began} · ${took} · ${count(run.n_samples)} samples`];
}

const total = (counts) => Object.values(counts ?? {}).reduce((sum, n) => sum + n, 0);

// The header: model, datasets and scores.
export function scores(run) {
  const heads = run.rows.filter(isHead);
  const means = heads.filter((row) => row.role === "mean");
  const shown = means.length ? means : heads;
  const { manifest } = run;
  const disagreeing = total(manifest.disagreements);
  const nUnknown = total(manifest.agreement_untold);
  return [
    el("header", { class: "run-head" },
      el("p", { class: "kicker" }, userText(run.name)),
      el("h1", {}, userText(names(run))),
      el("p", { class: "model" }, userText(run.title), el("span", { class: "faint" }, ` · ${manifest.model.backend}${manifest.model.dtype ? ` · ${manifest.model.dtype}` : ""}`)),
      el("p", { class: "faint when" }, when(run))),
    shown.length ? el("div", { class: "scores" }, shown.slice(0, MANY).map((row) => scoreCard(row, run.manifest.imported))) : null,
    shown.length > MANY ? el("p", { class: "faint" }, `and ${count(shown.length - MANY)} more below`) : null,
    run.charges.length ? el("p", { class: "faint" }, "Cost: ", userText(run.charges.join("; ")), ".") : null,
    run.thinking.length ? el("p", { class: "faint" }, "Thinking: ", userText(run.thinking.join("; ")), ".") : null,
    disagreeing ? el("p", { class: "note" }, `The methods disagree on ${count(disagreeing)} samples. `,
      el("button", { type: "button", class: "link", onclick: () => { setState({ show: "disagree" }); document.getElementById("samples").scrollIntoView(); } }, "Show them")) : null,
    nUnknown ? el("p", { class: "note" }, `Agreement is unknown for ${count(nUnknown)} samples: the methods do not return comparable answers.`) : null,
  ];
}

function foldIfMany(n, title, content) {
  return n <= MANY ? [el("h3", {}, title), content] : countedFold(title, n, content);
}

// The breakdown of the scores: by category, by task or subset, and by group; one list for each method.
export function parts(run) {
  const found = [];
  const heads = run.rows.filter(isHead);
  const lists = [];
  if (heads.length > 1) lists.push([heads.some((row) => row.role === "mean") ? "Subsets" : "Tasks", heads, (row) => setState({ task: run.manifest.tasks.length > 1 && row.role === "task" ? row.task : null, show: null })]);
  const categories = run.rows.filter((row) => row.is_listed && row.group !== null && row.role === "mean");
  if (categories.length) lists.unshift(["Categories", categories, () => setState({ task: null, group: null })]);
  const groups = run.rows.filter((row) => row.is_listed && row.group !== null && row.role === "group");
  for (const key of new Set(groups.map((row) => `${row.task}\n${row.method}`))) {
    const [task, method] = key.split("\n");
    const rows = groups.filter((row) => row.task === task && row.method === method);
    lists.push([run.manifest.tasks.length > 1 ? `Groups of ${task} · ${method}` : `Groups · ${method}`, rows,
      (row) => setState({ group: row.group, task: run.manifest.tasks.length > 1 ? row.task : null, show: null })]);
  }
  for (const [title, rows, choose] of lists) {
    const go = (row) => { choose(row); document.getElementById("samples").scrollIntoView(); };
    const shares = rows.filter((row) => row.is_share);
    const others = rows.filter((row) => !row.is_share);
    const named = (row) => (!title.startsWith("Groups") ? { ...row, label: run.manifest.tasks.length > 1 ? row.label : "", note: row.method } : row);
    for (const some of [shares, others]) if (some.length) found.push(foldIfMany(some.length, title, intervalBars(some.map(named), { label: title, onchoose: go })));
  }
  const others = run.rows.filter((row) => !row.is_listed && row.group === null);
  if (others.length) {
    found.push(countedFold("Other metrics", others.length,
      facts(["task", "method", "metric", "value", "95 % interval"], others.map((row) => [row.label, row.method.split(" ")[0], row.metric, row.shown, row.interval]))));
  }
  return found.length ? [el("h2", {}, "Breakdown"), ...found] : [];
}

// Calibration, lengths, times and margins.
export function plots(run) {
  const calibrations = run.calibrations.slice(0, 12).map(reliability);
  const curves = run.thinking_curves.slice(0, 12).map(thinkingCurve);
  const spreads = run.distributions.filter((one) => one.n > 1).map(histogram);
  if (!calibrations.length && !curves.length && !spreads.length) return [];
  return [el("h2", {}, "Plots"), el("div", { class: "plots" }, curves, calibrations, spreads),
    run.calibrations.length > 12 ? el("p", { class: "faint" }, `Showing 12 of ${run.calibrations.length} calibration plots.`) : null];
}

function shown(value) {
  if (value === null || value === undefined) return NOT_KNOWN;
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : plain(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

function facts(headings, rows) {
  return el("div", { class: "scroll-x" }, el("table", { class: "facts" },
    el("thead", {}, el("tr", {}, headings.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((text, nth) => el(nth ? "td" : "th", nth ? {} : { scope: "row" }, userText(shown(text)))))))));
}

// How the answers were rescored after the run: options, time and version.
function scoringFacts(scoring) {
  return [["scoring", `${scoring.number}, ${scoring.label}`], ["made", scoring.made], ...Object.entries(scoring.chosen ?? {}), ["version", scoring.versions?.assay]];
}

// The log that a run was imported from: its settings, its own numbers, and what it does not say.
function importedFacts(log) {
  const from = [["file", log.path], ["format", log.format], ["imported", log.made], ["by", `Assay ${log.assay}`], ["not in the log", (log.unknown ?? []).join(", ") || "nothing"]];
  const settings = Object.entries(log.settings ?? {});
  const own = (log.metrics ?? []).map((one) => [one.task, one.metric, one.value, one.stderr, one.n]);
  return [el("h3", {}, "Imported from a log"), facts(["fact", "value"], from),
    settings.length ? countedFold("Settings in the log", settings.length, facts(["setting", "value"], settings)) : null,
    own.length ? countedFold("The log's own numbers", own.length, facts(["task", "metric", "value", "standard error", "samples"], own)) : null];
}

// How the run was set up: settings with their sources, tasks, differences from the original, model and versions.
export function setup(run) {
  const { manifest } = run;
  const settings = Object.entries(manifest.settings);
  const chosen = settings.filter(([, setting]) => setting.source !== "default");
  const line = ([name, setting]) => [name, setting.value, setting.source];
  const quirks = manifest.tasks.flatMap((task) => (task.quirks ?? []).map((quirk) => [quirk.name, quirk.original, quirk.here, task.name]));
  const seen = new Map();
  for (const [name, original, here, task] of quirks) {
    const key = JSON.stringify([name, original, here]);
    seen.set(key, [...(seen.get(key) ?? []), task]);
  }
  const differenceRows = [...seen].map(([key, tasks]) => [...JSON.parse(key), tasks.length > 3 ? `${tasks.length} tasks` : tasks.join(", ")]);
  const costs = (manifest.costs ?? []).map((cost) => [cost.task, cost.method, count(cost.n_requests), count(cost.n_prompt_tokens), count(cost.n_scored_tokens), count(cost.n_generated_tokens), seconds(cost.seconds)]);
  const identity = (model) => [["name", model.name], ["backend", model.backend], ["weights", model.weights], ["revision", model.revision], ["dtype", model.dtype], ["chat template", model.template], ...Object.entries(model.args ?? {})].filter(([, value]) => value !== undefined && value !== "");
  const known = (name) => manifest.tasks.map((task) => [task.name, task.dialect, task.source, task.methods.join(", "), `${count(task.n_samples)} of ${count(task.n_rows)}`, task.data_hash]);
  return [
    el("h2", {}, "Setup"),
    (manifest.notes ?? []).length ? el("ul", { class: "notes" }, manifest.notes.map((note) => el("li", {}, userText(note)))) : null,
    run.work ? el("p", { class: "faint" }, `Model: ${run.work}.`) : null,
    run.speed ? el("p", { class: "faint" }, `Server: ${run.speed}.`) : null,
    manifest.scoring ? [el("h3", {}, "Rescored"), facts(["fact", "value"], scoringFacts(manifest.scoring))] : null,
    manifest.imported ? importedFacts(manifest.imported) : el("h3", {}, "Non-default settings"),
    manifest.imported ? null : chosen.length ? facts(["setting", "value", "from"], chosen.map(line)) : el("p", { class: "faint" }, "None: all settings have their default values."),
    manifest.imported ? null : countedFold("Default settings", settings.length - chosen.length, facts(["setting", "value", "from"], settings.filter(([, setting]) => setting.source === "default").map(line))),
    differenceRows.length ? countedFold("Differences from the original system, actual or possible", differenceRows.length, facts(["difference", "original", "this run", "tasks"], differenceRows)) : null,
    countedFold("Tasks", manifest.tasks.length, [facts(["task", "format", "source", "methods", "rows", "data hash"], known()),
      manifest.tasks.length <= 3 ? manifest.tasks.map((task) => [el("h3", {}, userText(task.name)), facts(["setting", "value"], Object.entries(task.settings ?? {}))]) : null]),
    countedFold("Model", null, facts(["fact", "value"], identity(manifest.model))),
    manifest.judge ? countedFold("Judge", null, facts(["fact", "value"], identity(manifest.judge))) : null,
    costs.length ? countedFold("Cost", null, facts(["task", "method", "requests", "prompt tokens", "scored tokens", "generated tokens", "time"], costs)) : null,
    countedFold("Counters and versions", null, facts(["fact", "value"], [["run", manifest.id], ["started", manifest.started], ["finished", manifest.finished], ...Object.entries(manifest.stats ?? {}), ...Object.entries(manifest.versions)])),
  ];
}

