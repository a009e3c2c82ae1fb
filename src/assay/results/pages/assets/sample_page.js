// The page of one sample: prompts, responses, and the score with its reason.

import { el, replace, userText } from "./dom.js";
import { linkTo, onState, setState, stateNow } from "./address.js";
import { annotationView } from "./annotation_view.js";
import { copyButton } from "./copy.js";
import { exactText } from "./exact_text.js";
import { fold } from "./folds.js";
import { judgeView } from "./judge_view.js";
import { labelsView } from "./labels_view.js";
import { optionNumbers } from "./likelihoods.js";
import { optionsView } from "./options_view.js";
import { count, countOf, plain } from "./numbers.js";
import { outputView } from "./output_view.js";
import { finalText, promptView } from "./prompt_view.js";
import { labelOf, questionView } from "./question_view.js";
import { requestsView } from "./requests_view.js";
import { OUTCOMES } from "./sample_table.js";
import { legend, tokensView } from "./tokens_view.js";
import { verdictView } from "./verdict_view.js";

const SHORT = 24;
const ALL = { sample: null, in: null, part: null };

// The sample on display, and a count of requests: a late response must not replace a newer one.
let current = null;
let nAsked = 0;

// Returns a link that changes the address without adding an entry to the history.
function goes(changes, attributes, ...children) {
  return el("a", { ...attributes, href: linkTo(changes), onclick: (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    setState(changes);
  } }, ...children);
}

function originWords({ path, row, line }) {
  if (row === undefined) return line === undefined ? path : `${path} line ${line}`;
  return `${path} row ${row}${line === undefined ? "" : ` (line ${line})`}`;
}

function outcomeOf(track, place) {
  return track.outcomes[place] ?? ".";
}

function navigation(table, place) {
  const step = (way, label, key) => {
    const other = table.neighbour(place, way);
    return other === null ? el("span", { class: "step off" }, label) : goes({ ...table.stateOf(other), part: null }, { class: "step", "data-step": way, title: `key ${key}` }, label);
  };
  const at = table.rows.indexOf(place);
  return el("nav", { class: "sample-nav", "aria-label": "Samples" },
    goes(ALL, { class: "step", "data-step": 0, title: "key Escape" }, "All samples"),
    el("span", { class: "faint" }, at < 0 ? "hidden by the filters" : `${count(at + 1)} of ${count(table.rows.length)}`),
    step(-1, "Previous", "k"), step(1, "Next", "j"));
}

function head(record, table, place, tracks) {
  const { sample } = record;
  return el("header", { class: "sample-head" },
    el("h1", { tabindex: -1 }, userText(sample.id)),
    el("p", { class: "kicker" }, userText(record.task), sample.group ? [" · ", userText(sample.group)] : null, " · ", userText(originWords(sample.origin))),
    el("p", { class: "outcomes" }, tracks.map((track) => el("span", { class: "outcome-chip" }, `${track.name} `,
      el("span", { class: `worth o-${outcomeOf(track, place)}` }, OUTCOMES[outcomeOf(track, place)]),
      track.truncated[place] === "1" ? el("span", { class: "mark" }, "truncated") : null)),
    table.columns.disagree[place] === "1" ? el("span", { class: "outcome-chip warning" }, "the methods disagree") : null));
}

function tokensSection(record, likelihoods) {
  if (!likelihoods.length) return null;
  const { sample } = record;
  const shown = ([ask, outcome]) => {
    const name = ask.windows ? "Text" : ask.role === "option" ? labelOf(sample, ask.index) : `${labelOf(sample, ask.index)} without the question`;
    const isRight = ask.role === "option" && sample.gold?.includes(ask.index);
    return el("div", { class: "scored", "data-role": ask.role, "data-index": ask.index },
      el("h3", {}, userText(name), isRight ? el("span", { class: "tag right" }, "right answer") : null, el("span", { class: "faint" }, ` ${plain(outcome.sum_logprob)}${outcome.n_tokens ? ` over ${countOf(outcome.n_tokens, "token")}` : ""}`)),
      tokensView(outcome, finalText(record.contexts[ask.context]), ask.text ?? "", name, { isLong: Boolean(ask.windows) }));
  };
  const bare = likelihoods.filter(([ask]) => ask.role === "unconditional");
  const list = (some) => el("div", { class: `scored-list${some.every(([ask]) => (ask.text ?? "").length <= SHORT) ? " are-short" : ""}` }, some.map(shown));
  return el("section", { class: "part", "data-part": "tokens" }, el("h2", {}, "Token by token"), legend(),
    list(likelihoods.filter(([ask]) => ask.role !== "unconditional")),
    bare.length ? fold("Without the question", () => list(bare)) : null);
}

// All parts of one method.
function methodParts({ record, detail, place, source, run }, track, score) {
  const asks = record.asks.filter((ask) => ask.track === track.name);
  const responses = new Map(detail.responses.map((response) => [response.request_id, response]));
  const answered = asks.map((ask) => [ask, responses.get(ask.id)?.outcome]).filter(([, outcome]) => outcome);
  const of = (type) => answered.filter(([, outcome]) => outcome.type === type);
  const likelihoods = of("likelihood");
  const completions = of("completion");
  const options = optionNumbers(score, record.sample, likelihoods);
  const outcome = outcomeOf(track, place);
  return [
    verdictView(score, of("failure"), outcome, OUTCOMES[outcome]),
    promptView(record, asks, (sha256) => source.media(sha256, detail)),
    completions.length ? outputView(completions, score) : null,
    judgeView(score, (sha256) => source.media(sha256, detail), run.manifest.judge),
    options.length ? optionsView(options, score, record.sample) : null,
    tokensSection(record, likelihoods),
    of("label_probs").map(([ask, probs]) => labelsView(ask, probs, score, record.sample)),
    requestsView(asks, responses),
  ];
}

// Quotes a text for a shell, so that a copied command runs nothing else.
function quoted(text) {
  return /^[\w.@%+=:,/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function stored(run, detail) {
  const command = `assay explain ${quoted(run.name)} ${quoted(detail.record.sample.id)}`;
  return el("section", { class: "part", "data-part": "stored" }, el("h2", {}, "More"),
    el("p", {}, "The tokens of the whole prompt and all extraction rules tried, in a terminal: ", el("code", { class: "inline-text" }, command), " ", copyButton(command)),
    fold("Stored data", () => exactText(JSON.stringify({ ...detail, media: undefined }, null, 1), { name: "stored" })));
}

function sampleView(context) {
  const { record, detail, place, table, run, method } = context;
  const names = new Set(record.asks.map((ask) => ask.track));
  const tracks = table.columns.tracks.filter((track) => names.has(track.name) || outcomeOf(track, place) !== ".");
  const scoreOf = (track) => detail.scores.find((score) => score.track === track.name) ?? null;
  const chosen = tracks.find((track) => track.name === method) ?? tracks[0];
  const chosenBy = tracks.map((track) => [track.name, scoreOf(track)?.answer ?? null]);
  return [
    navigation(table, place),
    head(record, table, place, tracks),
    context.annotations ? annotationView(context.annotations, { task: record.task, sample: record.sample.id, onchange: () => table.follow(table.state) }) : null,
    questionView(record.sample, table.columns.questions[place], chosenBy, record.asks.some((ask) => ask.windows)),
    tracks.length > 1 ? el("nav", { class: "methods", "aria-label": "Methods" }, tracks.map((track) =>
      goes({ method: track.name }, { class: "method", "aria-current": track === chosen ? "true" : null }, track.name, " ", el("span", { class: `worth o-${outcomeOf(track, place)}` }, OUTCOMES[outcomeOf(track, place)])))) : null,
    chosen ? methodParts(context, chosen, scoreOf(chosen)) : el("p", { class: "faint" }, "No requests were made for this sample."),
    stored(run, detail),
  ];
}

export async function showSample(section, { place, source, run, table, annotations }) {
  const asked = ++nAsked;
  const detail = await source.detail(place);
  if (asked !== nAsked) return;
  const focused = document.activeElement?.dataset?.step;
  const draw = (method) => {
    if (detail === null) replace(section, navigation(table, place), el("p", { class: "empty" }, "This sample was omitted to limit the size of the file. Open the run with `assay view` to see it."));
    else replace(section, sampleView({ record: detail.record, detail, place, source, run, table, annotations, method }));
  };
  const { method, part } = stateNow();
  current = { section, table, place, method, draw };
  draw(method);
  // Keep the keyboard focus.
  (section.querySelector(`a[data-step="${focused}"]`) ?? section.querySelector("h1"))?.focus({ preventScroll: true });
  if (part) requestAnimationFrame(() => section.querySelector(`[data-part="${CSS.escape(part)}"]`)?.scrollIntoView());
}

onState((state) => {
  if (!current || current.section.hidden || state.sample === undefined || current.method === state.method) return;
  if (current.table.placeOf(state) !== current.place) return;
  current.method = state.method;
  current.draw(state.method);
});

addEventListener("keydown", (event) => {
  if (!current || current.section.hidden || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  // Arrow keys also scroll boxes and seek in media.
  const isBusy = event.key.startsWith("Arrow") ? "input, select, textarea, audio, video, .exact, .wide" : "input, select, textarea";
  if (event.target.closest?.(isBusy)) return;
  if (event.key === "Escape") return setState(ALL);
  const step = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 }[event.key];
  const other = step ? current.table.neighbour(current.place, step) : null;
  if (other !== null) setState({ ...current.table.stateOf(other), part: null });
});
