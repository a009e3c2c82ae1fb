// The probability of each token: the text before, the prompt/answer boundary, then every scored token in its colour.

import { el, replace, userText } from "./dom.js";
import { countCharacters, lastCharacters, unitOffsets } from "./code_points.js";
import { dataTable } from "./data_table.js";
import { inlineText } from "./exact_text.js";
import { fold } from "./folds.js";
import { count, percent, plain } from "./numbers.js";

const BEFORE = 60;
const LEAST_BEFORE = 6;
const AT_ONCE = 1_000;
const HARDEST = 20;
const AFTER = 40;
// A probability of 1 in 10,000 or less has the full colour; each step of the legend is ten times less likely.
const STEPS = [1, 0.1, 0.01, 0.001, 0.0001];
const LEAST = Math.log(STEPS.at(-1));

// Returns the end of the text before: its last line, and more if that is very short.
function tailOf(before, least) {
  const tail = lastCharacters(before, Math.max(BEFORE, least));
  const lineStart = tail.lastIndexOf("\n", tail.length - 1 - Math.max(LEAST_BEFORE, least)) + 1;
  return tail.slice(lineStart);
}

function surprise(logprob) {
  return { "--surprise": `${(100 * Math.min(1, Math.max(0, logprob / LEAST))).toFixed(1)}%` };
}

function chance(logprob) {
  const share = Math.exp(logprob);
  return share < 0.001 ? `1 in ${count(1 / share)}` : percent(share, 2);
}

export function legend() {
  return el("p", { class: "heat-legend" }, "Probability of a token: ",
    STEPS.map((share, nth) => el("span", { class: "token", style: surprise(Math.log(share)) }, `${100 * share} %${nth === STEPS.length - 1 ? " or less" : ""}`)),
    " Hover over a token, or use the arrow keys, to see its values.");
}

// Returns the stretch of text of each token. Tokens that are parts of one character form one stretch, and their
// probabilities multiply. `join` is where the scored text begins in the first stretch, if that stretch starts earlier.
export function stretches(outcome, before, text) {
  const starts = outcome.token_starts ?? [];
  const logprobs = outcome.token_logprobs ?? [];
  const ids = outcome.token_ids ?? [];
  if (!starts.length || starts.length !== logprobs.length) return null;
  const tail = tailOf(before, -starts[0]);
  const shift = countCharacters(tail);
  const whole = tail + text;
  const offsets = unitOffsets(whole, starts.map((start) => start + shift));
  const found = [];
  offsets.forEach((start, nth) => {
    const last = found.at(-1);
    const token = { nth, id: ids[nth] ?? null, logprob: logprobs[nth] };
    if (last && last.start === start) {
      last.tokens.push(token);
      last.logprob += token.logprob;
    } else {
      if (last) last.end = start;
      found.push({ start, end: whole.length, tokens: [token], logprob: token.logprob });
    }
  });
  return {
    before: whole.slice(0, Math.min(found[0].start, tail.length)),
    // Scored text before the first token: white space that a tokenizer drops.
    skipped: whole.slice(tail.length, Math.max(tail.length, found[0].start)),
    pieces: found.map(({ start, end, tokens, logprob }) => ({ text: whole.slice(start, end), tokens, logprob, join: start < tail.length && end > tail.length ? tail.length - start : null })),
  };
}

function boxes(outcome) {
  return (outcome.token_logprobs ?? []).map((logprob, nth) => {
    const id = outcome.token_ids?.[nth] ?? null;
    return { text: null, tokens: [{ nth, id, logprob }], logprob, join: null };
  });
}

function join() {
  return el("span", { class: "join", role: "img", "aria-label": "the scored text begins here", title: "the scored text begins here" });
}

function tokenElement(piece, nth) {
  const inside = piece.text === null ? [`${piece.tokens[0].id ?? nth + 1}`, el("small", {}, plain(piece.logprob))]
    : piece.join === null ? piece.text : [piece.text.slice(0, piece.join), join(), piece.text.slice(piece.join)];
  return el("span", { class: `token${piece.text === null ? " is-box" : ""}${piece.text?.includes("\n") ? " has-newline" : ""}`, style: surprise(piece.logprob), "data-nth": nth }, inside);
}

function readout(piece, n) {
  const [first] = piece.tokens;
  const last = piece.tokens.at(-1);
  const ids = piece.tokens.map((token) => token.id).filter((id) => id !== null);
  return [
    last === first ? `Token ${count(first.nth + 1)} of ${count(n)}` : `Tokens ${count(first.nth + 1)} to ${count(last.nth + 1)} of ${count(n)}, parts of one character`,
    piece.text === null ? null : [" ", inlineText(piece.text)], ids.length ? `, id ${ids.join(" ")}` : null,
    `: log-probability ${plain(piece.logprob)}, ${chance(piece.logprob)}`,
    piece.tokens.length > 1 ? ` (${piece.tokens.map((token) => plain(token.logprob)).join(", ")})` : null,
    piece.join === null ? null : "; starts in the prompt and is scored as a whole",
  ];
}

// A row of tokens. Pointer, click and arrow keys show a token's values below it, followed by `foot`.
function line(pieces, n, { before, isCut, skipped, name, foot }) {
  const statusLine = el("p", { class: "readout faint", "aria-live": "polite" });
  const row = el("div", { class: "heat", dir: "auto", tabindex: 0, role: "group", "aria-label": `${name}: tokens, use the arrow keys` });
  let current = -1;
  const show = (nth) => {
    row.querySelector(".is-current")?.classList.remove("is-current");
    const token = row.querySelector(`[data-nth="${nth}"]`);
    if (!token) return;
    current = nth;
    token.classList.add("is-current");
    replace(statusLine, readout(pieces[nth], n));
  };
  const pointed = (event) => {
    const token = event.target.closest("[data-nth]");
    if (token) show(Number(token.dataset.nth));
  };
  row.addEventListener("pointerover", pointed);
  row.addEventListener("click", pointed);
  row.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(Math.min(pieces.length - 1, Math.max(0, current + step)));
  });
  const isJoined = pieces[0]?.join !== null && pieces.length > 0;
  row.append(el("span", { class: isCut ? "before is-cut" : "before" }, before));
  if (!isJoined) row.append(join());
  if (skipped) row.append(el("span", { class: "before" }, skipped));
  let shown = 0;
  const more = el("button", { type: "button", class: "gap", onclick: () => grow() });
  const grow = () => {
    more.remove();
    for (const last = Math.min(pieces.length, shown + AT_ONCE); shown < last; shown++) row.append(tokenElement(pieces[shown], shown));
    if (shown === pieces.length) return;
    replace(more, `${count(pieces.length - shown)} more tokens: show the next ${count(Math.min(AT_ONCE, pieces.length - shown))}`);
    row.append(more);
  };
  grow();
  return el("div", { class: "heat-box" }, row, el("div", { class: "heat-foot" }, statusLine, foot));
}

function tokenTable(pieces, n) {
  const rows = pieces.slice(0, AT_ONCE).flatMap((piece) => piece.tokens.map((token, part) => [
    count(token.nth + 1), piece.text === null ? "" : part ? "〃" : inlineText(piece.text), token.id === null ? "" : String(token.id), plain(token.logprob), chance(token.logprob)]));
  return [dataTable(["position", "token", "id", "log-probability", "probability"], rows, "every token"),
    pieces.length > AT_ONCE ? el("p", { class: "faint" }, `The first ${count(AT_ONCE)} of ${count(n)}.`) : null];
}

// The least likely tokens, with the text before them.
function hardest(pieces, found) {
  const places = [...pieces.keys()].sort((a, b) => pieces[a].logprob - pieces[b].logprob).slice(0, HARDEST);
  const rows = places.map((nth) => {
    const piece = pieces[nth];
    let before = "";
    for (let at = nth - 1; at >= 0 && before.length < AFTER; at--) before = (pieces[at].text ?? "") + before;
    return [count(piece.tokens[0].nth + 1), inlineText(piece.text ?? String(piece.tokens[0].id ?? "")), plain(piece.logprob), chance(piece.logprob),
      found ? userText(`…${lastCharacters(before, AFTER)}`) : ""];
  });
  return [el("h3", {}, `The ${places.length} least likely tokens`), dataTable(["position", "token", "log-probability", "probability", "after"], rows, "least likely tokens")];
}

// Shows one scored text token by token.
export function tokensView(outcome, before, text, name, { isLong = false } = {}) {
  const n = outcome.n_tokens;
  if (!n) return el("p", { class: "faint" }, "The tokens are not in the log.");
  if (!outcome.token_logprobs?.length) return el("p", { class: "faint" }, `The model returned only the sum over ${count(n)} tokens, without values for single tokens.`);
  const found = stretches(outcome, before, text);
  const pieces = found?.pieces ?? boxes(outcome);
  const tail = found ? found.before : tailOf(before, 0);
  return [
    isLong ? hardest(pieces, found) : null,
    line(pieces, n, { before: tail, isCut: tail !== "" && !before.startsWith(tail), skipped: found?.skipped ?? "", name, foot: isLong ? null : fold("As a table", () => tokenTable(pieces, n)) }),
    outcome.straddles ? el("p", { class: "faint" }, "The first scored token starts in the prompt; it is scored as a whole.") : null,
  ];
}
