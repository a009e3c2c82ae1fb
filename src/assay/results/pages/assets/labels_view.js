// The next token's probability on each label: shares, what they are shares of, and what is only bounded.

import { el, said } from "./dom.js";
import { inlineText } from "./exact_text.js";
import { percent } from "./numbers.js";

function width(share) {
  return { width: `${(100 * Math.min(1, Math.max(0, share))).toFixed(3)}%` };
}

// A probability, with as many digits as tell it from nought.
function shown(prob) {
  return prob === 0 || prob >= 0.0001 ? percent(prob, 2) : `${(100 * prob).toExponential(1)} %`;
}

function row(label, spellings, numbers, { isBest, isRight }) {
  const { share, shareAtMost, prob, atMost } = numbers;
  return el("div", { class: `level${isBest ? " is-best" : ""}`, role: "listitem" },
    el("span", { class: "level-label" }, said(label), isRight ? el("span", { class: "right-mark", title: "right answer" }, " ✓") : null),
    el("span", { class: "level-track" },
      shareAtMost === null ? null : el("span", { class: "level-bound", title: "it may be as much as this", style: width(shareAtMost) }),
      el("span", { class: "level-fill", style: width(share) })),
    el("span", { class: "level-value" }, shareAtMost === null || shareAtMost <= share ? percent(share) : `${percent(share)} to ${percent(shareAtMost)}`),
    el("span", { class: "level-beside", title: "probability before it is divided by the mass on all labels" }, atMost === null || atMost <= prob ? shown(prob) : `${shown(prob)} to ${shown(atMost)}`),
    el("span", { class: "spellings" }, spellings.map((one) => [inlineText(one), " "])));
}

// How much of all that the model could have said is a label.
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
    el("p", { class: "faint" }, "Bars are shares of what fell on all labels, whose probabilities stand beside them; then the spellings that count for each.",
      outcome.at_most?.length ? " The model showed its likeliest tokens alone: a pale bar reaches as far as a share may." : null),
    el("div", { class: "levels labels", role: "list" }, outcome.probs.map((prob, index) => row(names[index], ask.labels?.[index] ?? [], {
      share: whole > 0 ? prob / whole : 0, prob,
      shareAtMost: score?.options?.[index]?.prob_at_most ?? null, atMost: outcome.at_most?.[index] ?? null,
    }, { isBest: score?.answer === names[index], isRight: gold.has(index) }))));
}
