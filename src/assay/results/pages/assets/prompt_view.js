// The exact prompt. Text that several requests share is shown once; solved examples are collapsed.

import { el, userText } from "./dom.js";
import { copyButton } from "./copy.js";
import { exactText, inlineText } from "./exact_text.js";
import { fold } from "./folds.js";
import { mediaView } from "./media_view.js";
import { count, plain } from "./numbers.js";
import { labelOf } from "./question_view.js";

const LEAST_FOLDED = 200;
const LEAST_FIELD = 8;
const MOST_LISTED = 12;

// Returns the text before a continuation: the prompt itself, or the last text of its last message.
export function finalText(prompt) {
  if (typeof prompt === "string") return prompt;
  const content = prompt.at(-1)?.content ?? "";
  if (typeof content === "string") return content;
  const last = content.at(-1);
  return last?.type === "text" ? last.text : "";
}

function shotWords(ask) {
  const [shown, out] = [ask.n_shots ?? 0, ask.n_shots_left_out ?? 0];
  if (!shown && !out) return null;
  const examples = `${shown} solved example${shown === 1 ? "" : "s"}`;
  return out ? `${examples}, ${out} omitted to fit the model's context` : examples;
}

// Returns where the sample's own part begins after the examples: at the paragraph that contains its longest field.
// Returns 0 if it cannot be found.
function ownPart(text, fields) {
  const texts = Object.values(fields).filter((value) => typeof value === "string" && value.trim().length >= LEAST_FIELD);
  for (const value of texts.sort((a, b) => b.length - a.length)) {
    const at = text.lastIndexOf(value.trim());
    if (at < 0) continue;
    const paragraph = text.lastIndexOf("\n\n", at);
    const start = paragraph < 0 ? text.lastIndexOf("\n", at) + 1 : paragraph + 2;
    return start >= LEAST_FOLDED ? start : 0;
  }
  return 0;
}

function promptText(text, ask, fields, name) {
  const start = ask.n_shots ? ownPart(text, fields) : 0;
  if (!start) return [ask.n_shots ? el("p", { class: "faint" }, `${shotWords(ask)}.`) : null, exactText(text, { keeps: "end", name })];
  return [
    fold(`${shotWords(ask)}: the first ${count(start)} characters`, () => exactText(text.slice(0, start), { name: "examples" }), { class: "folded shots" }),
    exactText(text.slice(start), { keeps: "end", name }),
  ];
}

function messageView(message, show, textView) {
  const parts = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
  return el("li", { class: `message ${message.role}` },
    el("span", { class: "role" }, message.role),
    el("div", {}, parts.map((part) => (part.type === "text" ? textView(part.text) : mediaView(part, part.sha256 ? show(part.sha256) : null)))));
}

function messagesView(messages, ask, fields, show) {
  const plainText = (text) => exactText(text, { name: "message" });
  const lastUser = messages.map((message) => message.role).lastIndexOf("user");
  const first = messages[0]?.role === "system" ? 1 : 0;
  const areFolded = ask.n_shots > 0 && lastUser > first;
  const own = areFolded ? messages.slice(lastUser) : messages.slice(first);
  // Examples may also share one message with the question.
  const ownText = ask.n_shots && !areFolded ? (text) => promptText(text, ask, fields, "message") : plainText;
  return [
    first ? el("ol", { class: "messages" }, messageView(messages[0], show, plainText)) : null,
    areFolded ? fold(`${shotWords(ask)}: ${lastUser - first} messages`, () => el("ol", { class: "messages" }, messages.slice(first, lastUser).map((message) => messageView(message, show, plainText))), { class: "folded shots" }) : null,
    el("ol", { class: "messages" }, own.map((message) => messageView(message, show, messages[lastUser] === message ? ownText : plainText))),
  ];
}

// Shows an exact prompt; its solved examples are collapsed if the request states their number.
export function contextView(context, ask, fields, show) {
  if (context === "") return el("p", { class: "faint" }, "The prompt is empty.");
  return typeof context === "string" ? promptText(context, ask, fields, "prompt") : messagesView(context, ask, fields, show);
}

function sampling(ask) {
  const { max_tokens, temperature, top_p, stop, seed, n } = ask.sampling;
  return el("p", { class: "sampling" },
    `Maximum ${count(max_tokens)} tokens, temperature ${plain(temperature)}${temperature ? "" : " (greedy)"}, top-p ${plain(top_p)}`,
    n > 1 ? `, ${n} answers` : null, seed === null ? null : `, seed ${seed}`,
    stop.length ? [", stops at ", stop.map((one, nth) => [nth ? " or " : null, inlineText(one)])] : null, ".");
}

// Lists the continuations scored after a shared prompt.
function continuations(asks, sample) {
  const spans = asks.filter((ask) => ask.kind === "span" && !ask.windows);
  if (!spans.length) return null;
  const row = (ask) => el("li", {}, ask.role === "option" ? el("b", {}, userText(labelOf(sample, ask.index))) : `${ask.role} ${labelOf(sample, ask.index)}`, " ", inlineText(ask.text ?? ""));
  return el("div", { class: "continuations" }, el("p", { class: "faint" }, "Continuations, each scored separately:"),
    el("ul", {}, spans.slice(0, MOST_LISTED).map(row)),
    spans.length > MOST_LISTED ? fold(`${spans.length - MOST_LISTED} more`, () => el("ul", {}, spans.slice(MOST_LISTED).map(row))) : null);
}

// Returns a prompt as one text to copy.
export function wholeText(context) {
  return typeof context === "string" ? context : JSON.stringify(context, null, 2);
}

function askedView(record, context, asks, show) {
  const [ask] = asks;
  const text = ask.windows ? (ask.text ?? "") : null;
  return [
    el("div", { class: "part-tools" },
      el("span", { class: "faint" }, typeof record.contexts[context] === "string" ? "Plain text, exactly as sent to the model" : "Messages, formatted with the model's chat template"),
      copyButton(() => text ?? wholeText(record.contexts[context]), "all")),
    text === null ? contextView(record.contexts[context], ask, record.sample.fields, show) : exactText(text, { name: "scored text", hasCopy: false }),
    ask.windows ? el("p", { class: "faint" }, `Scored as a whole, in windows: ${ask.windows.scheme}${ask.windows.length ? `, ${count(ask.windows.length)} tokens each` : ""}${ask.windows.stride ? `, every ${count(ask.windows.stride)} tokens` : ""}.`) : null,
    ask.n_shots_left_out && !ask.n_shots ? el("p", { class: "warning" }, shotWords(ask)) : null,
    continuations(asks, record.sample),
    ask.sampling ? sampling(ask) : null,
  ];
}

// The prompts of one method. `show` returns the address of a medium by its hash, or null.
export function promptView(record, asks, show) {
  const byContext = new Map();
  for (const ask of asks) byContext.set(ask.context, [...(byContext.get(ask.context) ?? []), ask]);
  return el("section", { class: "part", "data-part": "prompt" }, el("h2", {}, "Prompt"),
    [...byContext].map(([context, some]) => (some.every((ask) => ask.role === "unconditional")
      ? fold("Without the question", () => askedView(record, context, some, show))
      : askedView(record, context, some, show))));
}
