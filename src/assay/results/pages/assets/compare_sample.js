// One sample of a comparison: what each side was asked and answered, next to each other.

import { el, replace, said } from "./dom.js";
import { setState } from "./address.js";
import { count, NOT_KNOWN, plain, seconds } from "./numbers.js";

const WORDS = { scored: "scored", unanswered: "unanswered", failed: "failed", ungraded: "without a known answer" };

// A prompt as text: who speaks, and what; media by their names.
function promptText(prompt) {
  if (typeof prompt === "string") return prompt;
  return prompt.map((message) => `${message.role}:\n${contentText(message.content)}`).join("\n\n");
}

function contentText(content) {
  if (typeof content === "string") return content;
  return content.map((part) => part.text ?? `[${part.type}]`).join("\n");
}

function promptsOf(side, track) {
  const asks = side.record.asks.filter((ask) => ask.track === track && ask.role !== "unconditional");
  return [...new Set(asks.map((ask) => ask.context))].map((at) => promptText(side.record.contexts[at])).join("\n\n");
}

// Where two texts part, so that the eye need not look for it.
function parting(a, b) {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}

function marked(text, span, name) {
  if (!span || span[0] >= span[1] || span[1] > text.length) return [text];
  return [text.slice(0, span[0]), el("mark", { class: "span", title: name }, text.slice(span[0], span[1])), text.slice(span[1])];
}

function outputs(side, track, score) {
  const ids = new Map(side.record.asks.filter((ask) => ask.track === track).map((ask) => [ask.id, ask]));
  return side.responses.filter((response) => ids.has(response.request_id)).map((response) => {
    const { outcome } = response;
    if (outcome.type === "failure") return el("p", { class: "trouble" }, `${outcome.kind}: `, said(outcome.message));
    if (outcome.type !== "completion") return null;
    return outcome.outputs.map((output, nth) => [
      output.reasoning ? el("details", { class: "fold" }, el("summary", {}, "Reasoning"), el("pre", { class: "text", dir: "auto" }, output.reasoning)) : null,
      el("pre", { class: "text", dir: "auto" }, output.text ? marked(output.text, nth === 0 ? score?.span : null, score?.rule ?? "") : el("i", { class: "faint" }, "nothing")),
      el("p", { class: "faint" }, [output.finish === "length" ? "cut off" : null, output.n_tokens ? `${count(output.n_tokens)} token${output.n_tokens === 1 ? "" : "s"}` : null, response.latency_s ? seconds(response.latency_s) : null].filter(Boolean).join(" · "))]);
  });
}

// Options with the number that each side gave them.
function options(side, score, record) {
  if (!score?.options?.length) return null;
  const isProb = score.options[0].prob !== undefined;
  const right = new Set((record.sample.gold ?? []).map((at) => record.sample.labels?.[at]));
  const worth = (option) => (isProb ? option.prob : option.sum_logprob);
  const values = score.options.map(worth).filter((value) => value !== undefined && value !== null);
  const best = Math.max(...values);
  const share = (value) => (isProb ? value : Math.exp(value - best));
  return el("div", { class: "options" }, score.options.map((option) => {
    const value = worth(option);
    const isKnown = value !== undefined && value !== null;
    return el("div", { class: "option" },
      el("span", { class: right.has(option.label) ? "outcome o-R" : "" }, said(option.label), option.label === score.answer ? " ←" : ""),
      el("span", { class: "bar-track" }, isKnown ? el("span", { class: "bar-fill", style: { "inset-inline-start": "0", width: `${100 * Math.max(0, Math.min(1, share(value)))}%` } }) : null),
      el("span", { class: "bar-value" }, isKnown ? (isProb ? value.toFixed(4) : value.toFixed(3)) : NOT_KNOWN),
      el("span", { class: "bar-range" }, !isProb && option.n_tokens ? `${(value / option.n_tokens).toFixed(3)} / token` : ""));
  }), el("p", { class: "faint" }, isProb ? "share of the labels' probability" : "sum of log-probabilities; bars relative to the best",
    score.margin !== undefined ? ` · lead ${plain(score.margin)}` : "", score.mass !== undefined ? ` · mass ${plain(score.mass)}` : ""));
}

function verdict(score) {
  if (!score) return el("p", { class: "outcome o-none" }, "not asked");
  const letter = score.verdict === "unanswered" ? "U" : score.verdict === "failed" ? "F" : score.verdict === "ungraded" ? "G" : score.value === 1 ? "R" : score.value === 0 ? "W" : "V";
  const word = { R: "right", W: "wrong", V: plain(score.value) }[letter] ?? WORDS[score.verdict];
  return el("p", { class: "worth" }, el("span", { class: `outcome o-${letter}` }, word),
    score.answer !== undefined ? [" · answer ", el("b", {}, said(score.answer))] : null,
    score.rule ? el("span", { class: "faint" }, " · by ", said(score.rule)) : null,
    score.why ? el("span", { class: "trouble" }, " · ", said(score.why)) : null);
}

function column(at, side, { page, method, place, table }) {
  const track = method.tracks[at];
  const head = el("h3", {}, el("span", { class: `side side-${at % 6}` }, page.letters[at]), " ", said(page.sides[at].name));
  if (!side) return el("article", { class: "answer-of" }, head, el("p", { class: "faint" }, "This side does not have this sample."));
  const score = side.scores.find((one) => one.track === track);
  return el("article", { class: "answer-of" }, head, verdict(score), outputs(side, track, score), options(side, score, side.record));
}

// The prompt once where all sides have the same; else each, with the place at which it leaves the first.
function prompts(sides, { page, method }) {
  const texts = sides.map((side, at) => (side ? promptsOf(side, method.tracks[at]) : null));
  const known = texts.filter((text) => text !== null);
  if (known.every((text) => text === known[0])) return el("details", { class: "fold", open: known[0].length < 1500 }, el("summary", {}, "Prompt, the same for all"), el("pre", { class: "text", dir: "auto" }, known[0]));
  const first = texts.findIndex((text) => text !== null);
  return texts.map((text, at) => {
    if (text === null) return null;
    const place = at === first ? text.length : parting(texts[first], text);
    return el("details", { class: "fold" }, el("summary", {}, "Prompt of ", page.letters[at], el("span", { class: "faint" }, at === first ? "" : place === text.length && text === texts[first] ? ` · as ${page.letters[first]}` : ` · differs from ${page.letters[first]} at character ${count(place)}`)),
      el("pre", { class: "text", dir: "auto" }, at === first || text === texts[first] ? text : [text.slice(0, place), el("mark", { class: "parting" }, text.slice(place))]));
  });
}

export async function showPair(section, { place, source, page, table }) {
  const sides = await source.sides(place);
  const { columns, chosen } = table;
  const step = (by) => {
    const next = table.beside(place, by);
    return el("button", { type: "button", class: "chip", disabled: next === null, onclick: () => setState(table.stateOf(next)) }, by < 0 ? "← Before" : "Next →");
  };
  const bar = el("div", { class: "chips" }, el("button", { type: "button", class: "chip", onclick: () => setState({ sample: null, in: null }, { isStep: true }) }, "All samples"), step(-1), step(1),
    columns.methods.length < 2 ? null : columns.methods.map((method) => el("button", { type: "button", class: "chip", "aria-pressed": String(method === chosen.method), onclick: () => setState({ method: method.name }) }, method.name)));
  if (sides === null) {
    replace(section, bar, el("p", { class: "empty" }, "This file had no room for this sample; assay view shows it."));
    return;
  }
  const record = sides.find((side) => side !== null).record;
  const { sample } = record;
  const choices = (sample.choices ?? []).map((choice, at) => el("li", { class: (sample.gold ?? []).includes(at) ? "outcome o-R" : "" }, el("b", {}, `${sample.labels?.[at] ?? at + 1}. `), said(choice)));
  replace(section, bar,
    el("p", { class: "kicker" }, said(record.task), " · ", said(sample.id)),
    el("h2", { class: "asked" }, said(columns.questions[place])),
    choices.length ? el("ul", { class: "choices" }, choices) : null,
    (sample.targets ?? []).length ? el("p", {}, "Right: ", el("b", { class: "outcome o-R" }, said(sample.targets.join(" | ")))) : null,
    el("div", { class: "answers" }, sides.map((side, at) => column(at, side, { page, method: chosen.method, place, table }))),
    prompts(sides, { page, method: chosen.method }));
}
