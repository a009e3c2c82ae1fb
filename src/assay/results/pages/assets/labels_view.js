// The next token's probability of each label: normalised, absolute, and upper bounds where only those are known.

import { el, userText } from "./dom.js";
import { inlineText } from "./exact_text.js";
import { percent } from "./numbers.js";

function width(share) {
  return { width: `${(100 * Math.min(1, Math.max(0, share))).toFixed(3)}%` };
}

// Formats a probability with enough digits to distinguish it from zero.
function shown(prob) {
  return prob === 0 || prob >= 0.0001 ? percent(prob, 2) : `${(100 * prob).toExponential(1)} %`;
}

function row(label, spellings, numbers, { isBest, isRight }) {
  const { share, shareAtMost, prob, atMost } = numbers;
  return el("div", { class: `level${isBest ? " is-best" : ""}`, role: "listitem" },
    el("span", { class: "level-label" }, userText(label), isRight ? el("span", { class: "right-mark", title: "right answer" }, " ✓") : null),
    el("span", { class: "level-track" },
      shareAtMost === null ? null : el("span", { class: "level-bound", title: "upper bound", style: width(shareAtMost) }),
      el("span", { class: "level-fill", style: width(share) })),
    el("span", { class: "level-value" }, shareAtMost === null || shareAtMost <= share ? percent(share) : `${percent(share)} to ${percent(shareAtMost)}`),
    el("span", { class: "level-beside", title: "probability before normalisation over all labels" }, atMost === null || atMost <= prob ? shown(prob) : `${shown(prob)} to ${shown(atMost)}`),
    el("span", { class: "spellings" }, spellings.map((one) => [inlineText(one), " "])));
}

// The share of the next token's probability that falls on labels.
function massBar(mass) {
  return el("div", { class: "mass" },
    el("p", {}, el("b", {}, percent(mass, 2)), " of the next token's probability fell on the labels, ", el("b", {}, percent(1 - mass, 2)), " on anything else."),
    el("div", { class: "level-track", role: "img", "aria-label": `${percent(mass, 2)} on labels` }, el("span", { class: "level-fill", style: width(mass) })));
}

export function labelsView(ask, outcome, score, sample) {
  const gold = new Set(sample.gold ?? []);
  const whole = outcome.probs.reduce((a, b) => a + b, 0);
  const names = sample.labels?.length === outcome.probs.length ? sample.labels : ask.labels.map((spellings) => spellings[0]);
  return el("section", { class: "part", "data-part": "labels" }, el("h2", {}, "Probability of the labels"),
    massBar(outcome.mass),
    el("p", { class: "faint" }, "Bars show each label's share of the probability of all labels. Next to them: the absolute probability, then the spellings counted for the label.",
      outcome.at_most?.length ? " The model returned only its most likely tokens: a pale bar shows the upper bound of a share." : null),
    el("div", { class: "levels labels", role: "list" }, outcome.probs.map((prob, index) => row(names[index], ask.labels?.[index] ?? [], {
      share: whole > 0 ? prob / whole : 0, prob,
      shareAtMost: score?.options?.[index]?.prob_at_most ?? null, atMost: outcome.at_most?.[index] ?? null,
    }, { isBest: score?.answer === names[index], isRight: gold.has(index) }))));
}
