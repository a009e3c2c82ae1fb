// One sample of a comparison: the prompts and answers of all sides, next to each other.

import { el, replace, userText } from "./dom.js";
import { setState } from "./address.js";
import { exactText } from "./exact_text.js";
import { fold } from "./folds.js";
import { judgeView } from "./judge_view.js";
import { labelsView } from "./labels_view.js";
import { optionNumbers } from "./likelihoods.js";
import { count } from "./numbers.js";
import { optionsView } from "./options_view.js";
import { outputView } from "./output_view.js";
import { promptView } from "./prompt_view.js";
import { questionView } from "./question_view.js";
import { OUTCOMES } from "./sample_table.js";
import { verdictView } from "./verdict_view.js";

const ALL = { sample: null, in: null };

function asksOf(side, track) {
  return side.record.asks.filter((ask) => ask.track === track);
}

// Returns a prompt as one text, to find where two prompts diverge.
function promptText(side, track) {
  const contexts = new Set(asksOf(side, track).filter((ask) => ask.role !== "unconditional").map((ask) => ask.context));
  const text = (prompt) => (typeof prompt === "string" ? prompt : prompt.map((message) => `${message.role}:\n${contentText(message.content)}`).join("\n\n"));
  return [...contexts].map((at) => text(side.record.contexts[at])).join("\n\n");
}

function contentText(content) {
  return typeof content === "string" ? content : content.map((part) => part.text ?? `[${part.type} ${part.sha256 ?? ""}]`).join("\n");
}

function parting(a, b) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}

// The answer and verdict of one side.
function column(at, side, { page, method, place, source }) {
  const track = method.tracks[at];
  const head = el("h2", { class: "side-head" }, el("span", { class: `side series-${at % 6}` }, page.letters[at]), " ", userText(page.sides[at].name));
  if (!side) return el("article", { class: "answer-of" }, head, el("p", { class: "empty" }, "This run does not contain the sample."));
  const { record } = side;
  const score = side.scores.find((one) => one.track === track) ?? null;
  const responses = new Map(side.responses.map((response) => [response.request_id, response]));
  const answered = asksOf(side, track).map((ask) => [ask, responses.get(ask.id)?.outcome]).filter(([, outcome]) => outcome);
  const of = (type) => answered.filter(([, outcome]) => outcome.type === type);
  const outcome = method.sides[at]?.outcomes[place] ?? ".";
  const options = optionNumbers(score, record.sample, of("likelihood"));
  return el("article", { class: "answer-of" }, head,
    verdictView(score, of("failure"), outcome, OUTCOMES[outcome]),
    of("completion").length ? outputView(of("completion"), score) : null,
    judgeView(score, (sha256) => source.media(sha256, at)),
    options.length ? optionsView(options, score, record.sample) : null,
    of("label_probs").map(([ask, probs]) => labelsView(ask, probs, score, record.sample)));
}

// The prompt once if all sides have the same one; otherwise each prompt, marked from where it diverges from the first.
function prompts(sides, { page, method, source }) {
  const texts = sides.map((side, at) => (side ? promptText(side, method.tracks[at]) : null));
  const first = texts.findIndex((text) => text !== null);
  const shown = (at) => promptView(sides[at].record, asksOf(sides[at], method.tracks[at]), (sha256) => source.media(sha256, at));
  if (texts.every((text) => text === null || text === texts[first])) return [el("h2", {}, "Same prompt on all sides"), shown(first)];
  return [el("h2", {}, "Different prompts"), texts.map((text, at) => {
    if (text === null) return null;
    const isSame = at !== first && text === texts[first];
    const place = parting(texts[first], text);
    const words = at === first ? "" : isSame ? ` · same as ${page.letters[first]}` : ` · differs from ${page.letters[first]} at character ${count(place)}`;
    const marks = at === first || isSame || place === text.length ? [] : [{ start: place, end: text.length, note: "" }];
    return fold([el("span", { class: `side series-${at % 6}` }, page.letters[at]), words], () => [exactText(text, { name: "prompt", marks }), shown(at)]);
  })];
}

function navigation(table, place, methods, chosen) {
  const step = (by, label, key) => {
    const next = table.neighbour(place, by);
    return next === null ? el("span", { class: "step off" }, label) : el("button", { type: "button", class: "step", title: `key ${key}`, onclick: () => setState(table.stateOf(next)) }, label);
  };
  return el("nav", { class: "sample-nav", "aria-label": "Samples" },
    el("button", { type: "button", class: "step", title: "key Escape", onclick: () => setState(ALL, { isStep: true }) }, "All samples"), step(-1, "Previous", "k"), step(1, "Next", "j"),
    methods.length < 2 ? null : methods.map((method) => el("button", { type: "button", class: "chip", "aria-pressed": String(method === chosen), onclick: () => setState({ method: method.name }) }, method.name)));
}

// Counts requests for samples: a late response must not replace a newer one.
let nAsked = 0;
let current = null;

export async function showPair(section, { place, source, page, table }) {
  const asked = ++nAsked;
  const { columns, chosen: { method } } = table;
  const sides = await source.sides(place);
  if (asked !== nAsked) return;
  current = { section, table, place };
  const bar = navigation(table, place, columns.methods, method);
  if (sides === null) {
    replace(section, bar, el("p", { class: "empty" }, "This sample was omitted to limit the size of the file. Open the run with `assay view` to see it."));
    return;
  }
  const { record } = sides.find((side) => side !== null);
  const answers = sides.map((side, at) => [page.letters[at], side?.scores.find((score) => score.track === method.tracks[at])?.answer ?? null]);
  replace(section, bar,
    el("header", { class: "sample-head" }, el("h1", { tabindex: -1 }, userText(record.sample.id)), el("p", { class: "kicker" }, userText(record.task), " · ", method.name)),
    questionView(record.sample, columns.questions[place], answers, record.asks.some((ask) => ask.windows)),
    el("div", { class: "answers" }, sides.map((side, at) => column(at, side, { page, method, place, source }))),
    prompts(sides, { page, method, source }));
}

addEventListener("keydown", (event) => {
  if (!current || current.section.hidden || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, select, textarea, audio, video")) return;
  if (event.key === "Escape") return setState(ALL);
  const step = { j: 1, k: -1 }[event.key];
  const other = step ? current.table.neighbour(current.place, step) : null;
  if (other !== null) setState(current.table.stateOf(other));
});
