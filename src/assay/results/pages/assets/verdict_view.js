// The verdict on a sample by one method, and the rule behind it.

import { el, userText } from "./dom.js";
import { exactText, inlineText } from "./exact_text.js";
import { fold } from "./folds.js";
import { NOT_KNOWN, percent, plain } from "./numbers.js";
import { ruleWords } from "./rule_words.js";

const SHORT = 200;

function shortOrExact(text) {
  if (text === undefined || text === null) return NOT_KNOWN;
  return text.length <= SHORT && !text.includes("\n") ? inlineText(text) : exactText(text, { name: "answer" });
}

function pairs(rows) {
  return el("dl", { class: "pairs" }, rows.filter(Boolean).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function rule(score) {
  if (!score.rule) return "no rule matched";
  const words = ruleWords(score.rule);
  return [el("code", {}, score.rule), words ? `: ${words}` : null];
}

// The bars of the options already show accuracy under every normalisation.
function also(score) {
  return Object.entries(score.also ?? {}).filter(([name]) => !(score.options?.length && name.startsWith("accuracy_")));
}

function ratio(one) {
  const value = one.numerator / one.denominator;
  return `${plain(one.is_exponential ? Math.exp(value) : value)} = ${one.is_exponential ? "e^" : ""}(${plain(one.numerator)} / ${plain(one.denominator)})`;
}

const FAILURES = { too_long: "the prompt does not fit into the model's context", timeout: "the model did not answer in time", injected: "the mock model was configured to fail" };

export function failureView(failure) {
  const attempts = failure.attempts ?? 1;
  return el("div", { class: "failure" },
    el("p", {}, el("b", {}, failure.kind), FAILURES[failure.kind] ? `: ${FAILURES[failure.kind]}` : null, attempts > 1 ? `, after ${attempts} attempts` : null),
    exactText(failure.message, { name: "failure" }));
}

// `failures` are the failed requests: [[ask, failure], ...].
export function verdictView(score, failures, outcome, words) {
  const others = score ? also(score) : [];
  return el("section", { class: "part", "data-part": "verdict" },
    el("h2", {}, "Verdict"),
    el("p", { class: "big-worth" }, el("span", { class: `worth o-${outcome === "." ? "none" : outcome}` }, words), score?.is_truncated ? el("span", { class: "mark" }, "truncated") : null),
    score ? pairs([
      score.ratios?.[score.metric] || score.verdict === "failed" ? null : ["Answer", shortOrExact(score.answer)],
      score.target === undefined ? null : ["Right answer", shortOrExact(score.target)],
      score.verdict === "failed" ? null : ["Decided by", score.ratios?.[score.metric] && !score.rule ? "the likelihood of the whole text" : rule(score)],
      score.value === undefined || score.ratios?.[score.metric] ? null : [userText(score.metric), plain(score.value)],
      score.margin === undefined ? null : ["Margin over the runner-up", plain(score.margin)],
      score.mass === undefined ? null : ["Probability on the labels", percent(score.mass, 2)],
      ...others.map(([name, value]) => [userText(name), plain(value)]),
      ...Object.entries(score.ratios ?? {}).map(([name, one]) => [userText(name), ratio(one)]),
      score.cluster ? ["Cluster (samples that are not independent)", userText(score.cluster)] : null,
    ]) : el("p", { class: "faint" }, "This method is not scored for this sample."),
    score?.why ? el("div", { class: "failure" }, el("p", {}, el("b", {}, "Why it failed")), exactText(score.why, { name: "why it failed" })) : null,
    failures.length ? fold(`${failures.length} request${failures.length === 1 ? "" : "s"} without an answer: ${[...new Set(failures.map(([, failure]) => failure.kind))].join(", ")}`, () =>
      failures.map(([ask, failure]) => [el("h3", {}, `${ask.role} ${ask.index}`), failureView(failure)])) : null);
}
