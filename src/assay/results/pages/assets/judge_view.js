// What a judge was asked about a sample's answers and what it replied. A judge is a model: its words are shown as text.

import { el, said } from "./dom.js";
import { copyButton } from "./copy.js";
import { unitOffsets } from "./code_points.js";
import { exactText } from "./exact_text.js";
import { fold } from "./folds.js";
import { count, plain } from "./numbers.js";
import { contextView, wholeText } from "./prompt_view.js";

const OPEN = 3;
const NO_SHOTS = { n_shots: 0 };

const WORDS = {
  opening: "the verdict with which the reply opens",
  labelled: "the last verdict behind a word for one, such as `Verdict:`",
  last_clause: "the verdict that is the reply's last clause",
  statements: "what the statements of the reply agree on",
  brackets: "the last verdict in brackets",
  double_brackets: "the last verdict in double brackets",
  out_of_ten: "the last grade out of ten",
  lone_number: "the only number of the reply",
  whole_reply: "the whole reply is the verdict",
  correct_field: "what the reply's field `correct` says",
  first_word: "the first word of the reply",
  first_rating: "the first rating in double brackets, as the original system reads it",
  first_letter: "the first letter that may be a verdict, as the original system reads it",
  last_character: "the last character, as the original system reads it",
  word_anywhere: "a word for a verdict anywhere, as the original system reads it",
  correct_anywhere: "the word correct anywhere, as the original system reads it",
  whole_or_correct: "the whole reply or its first word, as the original system reads it",
  json: "the reply as JSON, as the original system reads it",
  only_yes: "whatever is not the word yes is a no, as the original system reads it",
};

// A rule that gives a verdict to every reply may have seen it nowhere.
function marks(reply) {
  if (!reply.span || reply.span[0] === reply.span[1]) return [];
  const [start, end] = unitOffsets(reply.text ?? "", reply.span);
  return [{ start, end, note: reply.rule ?? "found here" }];
}

function verdict(reply) {
  if (reply.verdict === "failed") return el("span", { class: "worth o-F" }, "no reply came");
  if (reply.verdict !== "scored") return el("span", { class: "worth o-U" }, "no verdict in it");
  return [el("b", {}, said(reply.said ?? "")), `, worth ${plain(reply.value)}`];
}

function replyBody(reply, show) {
  return [
    reply.why ? el("p", { class: "warning" }, said(reply.why)) : null,
    reply.rule ? el("p", {}, "Read by ", el("code", {}, reply.rule), WORDS[reply.rule] ? `: ${WORDS[reply.rule]}` : null) : null,
    reply.reasoning ? fold(`Reasoning kept apart from the reply: ${count(reply.reasoning.length)} characters`, () => exactText(reply.reasoning, { name: "judge's reasoning" })) : null,
    reply.verdict === "failed" ? null : exactText(reply.text ?? "", { name: "judge's reply", marks: marks(reply) }),
    fold("What the judge was asked", () => [el("div", { class: "part-tools" }, el("span", {}), copyButton(() => wholeText(reply.prompt ?? ""), "all of it")), contextView(reply.prompt ?? "", NO_SHOTS, {}, show)], { class: "folded judge-prompt" }),
  ];
}

// The judge's part of a score; null where none was asked. `show` gives the address of a medium, by its hash, or null;
// `judge` is who was asked, where the page knows it.
export function judgeView(score, show, judge = null) {
  const replies = score?.judged ?? [];
  if (!replies.length) return null;
  return el("section", { class: "part", "data-part": "judge" }, el("h2", {}, replies.length > 1 ? `The judge: ${replies.length} replies` : "The judge"),
    judge ? el("p", { class: "faint" }, said(judge.name)) : null,
    replies.map((reply, nth) => fold([said(reply.about), ": ", verdict(reply)], () => replyBody(reply, show), { class: "folded judge-reply", isOpen: nth < OPEN })));
}
