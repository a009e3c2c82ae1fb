// The question of a sample, its options with the right ones marked, and its original record.

import { el, userText } from "./dom.js";
import { exactText } from "./exact_text.js";
import { fold } from "./folds.js";

// Returns the field that the table shows the beginning of; null if that text came from the prompt.
function questionOf(sample, shown) {
  const start = shown.endsWith("…") ? shown.slice(0, -1) : shown;
  if (!start) return null;
  const texts = Object.values(sample.fields).filter((value) => typeof value === "string");
  return texts.find((text) => text.slice(0, 4 * shown.length + 1000).trim().split(/\s+/).join(" ").startsWith(start)) ?? null;
}

export function labelOf(sample, index) {
  return sample.labels?.[index] ?? String(index);
}

// `chosen` is the chosen option of each method: [["ppl", "C"], ...].
function options(sample, chosen) {
  const gold = new Set(sample.gold ?? []);
  return el("ol", { class: "options" }, sample.choices.map((choice, index) => {
    const label = labelOf(sample, index);
    const by = chosen.filter(([, answer]) => answer === label).map(([name]) => name);
    return el("li", { class: gold.has(index) ? "is-right" : null },
      el("b", {}, userText(label)), el("span", { class: "choice" }, userText(choice)),
      gold.has(index) ? el("span", { class: "tag right" }, "right answer") : null,
      by.map((name) => el("span", { class: "tag" }, `chosen by ${name}`)));
  }));
}

function cell(value) {
  if (typeof value === "string") return exactText(value, { name: "field", hasCopy: false });
  return el("code", { class: "inline-text" }, JSON.stringify(value));
}

// `isText`: the sample is a text to score, without a question.
export function questionView(sample, shown, chosen, isText) {
  const names = Object.keys(sample.fields);
  return el("section", { class: "part question", "data-part": "question" },
    el("h2", {}, isText ? "Text" : "Question"),
    exactText(questionOf(sample, shown) ?? shown, { name: "question" }),
    sample.choices?.length ? options(sample, chosen) : null,
    sample.targets?.length ? el("p", { class: "targets" }, el("span", { class: "tag right" }, sample.targets.length > 1 ? "right answers" : "right answer"), " ",
      sample.targets.map((target, nth) => [nth ? " | " : null, userText(target)])) : null,
    isText || sample.gold?.length || sample.targets?.length ? null : el("p", { class: "faint" }, "The dataset has no reference answer for this sample."),
    fold(`Original record: ${names.length} field${names.length === 1 ? "" : "s"}`, () =>
      el("table", { class: "fields" }, el("tbody", {}, names.map((name) => el("tr", {}, el("th", { scope: "row" }, userText(name)), el("td", {}, cell(sample.fields[name]))))))));
}
