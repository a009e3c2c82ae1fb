// The judge's prompts and replies about a sample. A judge is a model: its words are shown as text.

import { el, userText } from "./dom.js";
import { copyButton } from "./copy.js";
import { unitOffsets } from "./code_points.js";
import { exactText } from "./exact_text.js";
import { fold } from "./folds.js";
import { count, plain } from "./numbers.js";
import { contextView, wholeText } from "./prompt_view.js";

const OPEN = 3;
const NO_SHOTS = { n_shots: 0 };

const WORDS = {
  opening: "the verdict at the start of the reply",
  labelled: "the last verdict after a label such as `Verdict:`",
  last_clause: "the verdict in the last clause of the reply",
  statements: "the verdict that all statements of the reply agree on",
  brackets: "the last verdict in brackets",
  double_brackets: "the last verdict in double brackets",
  out_of_ten: "the last grade out of ten",
  lone_number: "the only number in the reply",
  whole_reply: "the whole reply is the verdict",
  correct_field: "the field `correct` of the reply",
  first_word: "the first word of the reply",
  first_rating: "the first rating in double brackets, as in the original system",
  first_letter: "the first letter that can be a verdict, as in the original system",
  last_character: "the last character, as in the original system",
  word_anywhere: "a verdict word anywhere in the reply, as in the original system",
  correct_anywhere: "the word correct anywhere in the reply, as in the original system",
  whole_or_correct: "the whole reply or its first word, as in the original system",
  json: "the reply parsed as JSON, as in the original system",
  only_yes: "anything other than the word yes counts as no, as in the original system",
};

// A rule that gives every reply a verdict may have found it nowhere in the text.
function marks(reply) {
  if (!reply.span || reply.span[0] === reply.span[1]) return [];
  const [start, end] = unitOffsets(reply.text ?? "", reply.span);
  return [{ start, end, note: reply.rule ?? "answer found here" }];
}

function verdict(reply) {
  if (reply.verdict === "failed") return el("span", { class: "worth o-F" }, "no reply");
  if (reply.verdict !== "scored") return el("span", { class: "worth o-U" }, "no verdict found");
  return [el("b", {}, userText(reply.said ?? "")), `, score ${plain(reply.value)}`];
}

function replyBody(reply, show) {
  return [
    reply.why ? el("p", { class: "warning" }, userText(reply.why)) : null,
    reply.rule ? el("p", {}, "Rule ", el("code", {}, reply.rule), WORDS[reply.rule] ? `: ${WORDS[reply.rule]}` : null) : null,
    reply.reasoning ? fold(`Reasoning, separate from the reply: ${count(reply.reasoning.length)} characters`, () => exactText(reply.reasoning, { name: "judge's reasoning" })) : null,
    reply.verdict === "failed" ? null : exactText(reply.text ?? "", { name: "judge's reply", marks: marks(reply) }),
    fold("Prompt of the judge", () => [el("div", { class: "part-tools" }, el("span", {}), copyButton(() => wholeText(reply.prompt ?? ""), "all")), contextView(reply.prompt ?? "", NO_SHOTS, {}, show)], { class: "folded judge-prompt" }),
  ];
}

// Returns the judge's part of a score; null without a judge. `show` returns the address of a medium by its hash, or null;
// `judge` is the identity of the judge, if the page knows it.
export function judgeView(score, show, judge = null) {
  const replies = score?.judged ?? [];
  if (!replies.length) return null;
  return el("section", { class: "part", "data-part": "judge" }, el("h2", {}, replies.length > 1 ? `Judge: ${replies.length} replies` : "Judge"),
    judge ? el("p", { class: "faint" }, userText(judge.name)) : null,
    replies.map((reply, nth) => fold([userText(reply.about), ": ", verdict(reply)], () => replyBody(reply, show), { class: "folded judge-reply", isOpen: nth < OPEN })));
}
