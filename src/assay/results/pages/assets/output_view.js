// The model's output, with the extracted answer marked and the reason why it ended.

import { el, userText } from "./dom.js";
import { unitOffsets } from "./code_points.js";
import { exactText } from "./exact_text.js";
import { fold } from "./folds.js";
import { count, countOf } from "./numbers.js";

const OPEN = 3;
const ENDINGS = { end: "ended by the model", stop: "ended at a stop sequence, which is removed", length: "truncated at the token limit", unknown: "why it ended is not in the log" };

function marks(text, score) {
  if (!score?.span) return [];
  const [start, end] = unitOffsets(text, score.span);
  return [{ start, end, note: score.rule ?? "answer found here" }];
}

function calls(output) {
  return (output.calls ?? []).map((call) => el("div", { class: "call" }, el("p", {}, "Called ", el("code", {}, userText(call.name)), " with"), exactText(call.arguments, { name: "arguments" })));
}

function conversation(ask, output, score) {
  return el("ol", { class: "messages" }, output.turns.map((answer, nth) => [
    nth ? el("li", { class: "message user" }, el("span", { class: "role" }, "user"), el("div", {}, exactText(ask.turns?.[nth - 1] ?? "", { name: "turn" }))) : null,
    el("li", { class: "message assistant" }, el("span", { class: "role" }, "assistant"),
      el("div", {}, exactText(answer, { name: "answer", marks: nth === output.turns.length - 1 ? marks(answer, score) : [] }))),
  ]));
}

function outputBody(ask, output, score) {
  return [
    output.reasoning ? fold(`Reasoning, separate from the answer: ${count(output.reasoning.length)} characters`, () => exactText(output.reasoning, { name: "reasoning" })) : null,
    output.turns?.length ? conversation(ask, output, score) : exactText(output.text, { name: "output", marks: marks(output.text, score) }),
    calls(output),
    el("p", { class: output.finish === "length" ? "warning" : "faint" },
      output.n_tokens ? `${countOf(output.n_tokens, "token")}; ` : null, ENDINGS[output.finish] ?? output.finish, "."),
  ];
}

// The outputs of one method, of all its requests in order. The position of the answer is known for the first only.
export function outputView(answered, score) {
  const outputs = answered.flatMap(([ask, completion]) => completion.outputs.map((output) => [ask, output]));
  const one = ([ask, output], nth) => outputBody(ask, output, nth === 0 ? score : null);
  return el("section", { class: "part", "data-part": "output" }, el("h2", {}, outputs.length > 1 ? `Outputs: ${outputs.length}` : "Output"),
    outputs.length === 0 ? el("p", { class: "faint" }, "The model returned no output.") : null,
    outputs.length === 1 ? one(outputs[0], 0) : outputs.map((output, nth) => fold([`Output ${nth + 1}: `, userText(output[1].text.slice(0, 80).replace(/\s+/g, " "))], () => one(output, nth), { isOpen: nth < OPEN })));
}
