// The likelihood of every option under each normalisation: the winner, its margin, and whether the normalisations agree.

import { el, replace, userText } from "./dom.js";
import { setState, stateNow } from "./address.js";
import { dataTable } from "./data_table.js";
import { fold } from "./folds.js";
import { ranked, WAYS, waysFor } from "./likelihoods.js";
import { NOT_KNOWN, percent, plain } from "./numbers.js";

// Two scales for the bars. On both, longer means more likely, and both start at a meaningful zero.
const SCALES = {
  lead: {
    label: "Margins",
    words: "Bars show how far the option is ahead of the least likely one, in log-probability. Next to them: the value and its distance to the best.",
    lengths: (values) => {
      const known = values.filter((value) => value !== null);
      const [low, high] = [Math.min(...known), Math.max(...known)];
      return values.map((value) => (value === null ? 0 : high > low ? (value - low) / (high - low) : 1));
    },
    note: (value, best) => (value === best ? "best" : plain(value - best)),
  },
  shares: {
    label: "Shares",
    words: "Bars show the softmax of the values over all options.",
    lengths: shares,
    note: (value, best, share) => percent(share),
  },
};

function shares(values) {
  const best = Math.max(...values.filter((value) => value !== null));
  const powers = values.map((value) => (value === null ? 0 : Math.exp(value - best)));
  const whole = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / whole);
}

function width(share) {
  return { width: `${(100 * share).toFixed(3)}%` };
}

function bar(label, value, length, start, note, { isBest, isRight }) {
  return el("div", { class: `level${isBest ? " is-best" : ""}`, role: "listitem" },
    el("span", { class: "level-label" }, userText(label), isRight ? el("span", { class: "right-mark", title: "right answer" }, " ✓") : null),
    el("span", { class: "level-track" },
      el("span", { class: "level-fill", style: width(length) }),
      // The margin of the best option over the runner-up.
      isBest && start !== null ? el("span", { class: "level-margin", title: "margin over the runner-up", style: { left: `${(100 * start).toFixed(3)}%`, ...width(length - start) } }) : null),
    el("span", { class: "level-value" }, value === null ? NOT_KNOWN : plain(value)),
    el("span", { class: "level-beside" }, value === null ? null : note));
}

function panel(way, options, gold, scale, isDeciding) {
  const values = options.map(way.value);
  const found = ranked(values);
  const lengths = scale.lengths(values);
  const parts = shares(values);
  const next = found.next === null ? null : lengths[values.findIndex((value, index) => index !== found.best && value === found.next)];
  return el("div", { class: `panel${isDeciding ? " is-deciding" : ""}`, "data-way": Object.keys(WAYS).find((name) => WAYS[name] === way) ?? "of_rule" },
    el("h3", {}, way.label, isDeciding ? el("span", { class: "tag" }, "decided") : null),
    el("p", { class: "faint" }, el("b", { class: gold.has(found.best) ? "o-R" : gold.size ? "o-W" : null }, userText(options[found.best].label)), " wins",
      found.margin === null ? null : `, by ${plain(found.margin)} ${way.unit}`),
    el("div", { class: "levels", role: "list" }, options.map((option, index) =>
      bar(option.label, values[index], lengths[index], next, scale.note(values[index], values[found.best], parts[index]), { isBest: index === found.best, isRight: gold.has(index) }))));
}

function agreement(ways, options) {
  const winners = new Map();
  for (const way of ways) {
    const label = options[ranked(options.map(way.value)).best].label;
    winners.set(label, [...(winners.get(label) ?? []), way.label]);
  }
  if (ways.length < 2) return null;
  if (winners.size === 1) return el("p", { class: "faint" }, "All normalisations choose the same option.");
  return el("p", { class: "warning" }, "The normalisations disagree: ", [...winners].map(([label, names], nth) => [nth ? "; " : null, el("b", {}, userText(label)), ` by ${names.join(", ").toLowerCase()}`]), ".");
}

function numbers(options) {
  const rows = options.map((option) => [
    userText(option.label), plain(option.sum_logprob), plain(option.n_tokens), plain(option.n_chars), plain(option.n_bytes), plain(option.unconditional),
    ...["per_token", "per_char", "per_byte", "pmi"].map((name) => plain(WAYS[name].value(option))),
    { true: "yes", false: "no" }[option.is_greedy] ?? NOT_KNOWN,
  ]);
  return dataTable(["option", "sum", "tokens", "characters", "bytes", "without question", "per token", "per character", "per byte", "pmi", "greedy"], rows, "all numbers of the options");
}

export function optionsView(options, score, sample) {
  const gold = new Set(sample.gold ?? []);
  const { ways, deciding } = waysFor(options, score);
  const panels = el("div", { class: "panels" });
  const words = el("p", { class: "faint" });
  const switches = el("div", { class: "switch", role: "group", "aria-label": "Scale of the bars" });
  const draw = () => {
    const chosen = Object.hasOwn(SCALES, stateNow().bars ?? "") ? stateNow().bars : "lead";
    replace(panels, ways.map((way) => panel(way, options, gold, SCALES[chosen], way === deciding)));
    replace(words, SCALES[chosen].words);
    replace(switches, Object.entries(SCALES).map(([name, scale]) => el("button", { type: "button", "aria-pressed": String(name === chosen), onclick: () => {
      setState({ bars: name === "lead" ? null : name });
      draw();
    } }, scale.label)));
  };
  draw();
  return el("section", { class: "part", "data-part": "options" },
    el("div", { class: "part-tools" }, el("h2", {}, "Likelihood of the options"), switches),
    agreement(ways, options), words, panels,
    score?.rule && !deciding ? el("p", { class: "faint" }, "The deciding rule uses none of these: ", el("code", {}, score.rule), ".") : null,
    fold("All numbers", () => numbers(options)));
}
