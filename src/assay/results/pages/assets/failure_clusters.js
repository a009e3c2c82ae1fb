// Groups of samples that a method gets wrong more often than the rest: by task, group, answers, rule, length and words.

import { el, replace, userText } from "./dom.js";
import { setState } from "./address.js";
import { fold } from "./folds.js";
import { equalTerm } from "./filter_expression.js";
import { count, part } from "./numbers.js";

const LEAST = 5;
const MOST_WORDS = 800;
const SHOWN = 12;
const LEVEL = 0.05;
const FIFTHS = 5;
const WITHOUT_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

// Returns the words of a text, each once.
function wordsOf(text, segmenter) {
  const lower = text.toLowerCase();
  if (segmenter && WITHOUT_SPACES.test(lower)) return new Set([...segmenter.segment(lower)].filter((one) => one.isWordLike).map((one) => one.segment));
  return new Set(lower.match(/[\p{L}\p{N}]{3,}/gu) ?? []);
}

function logFactorials(n) {
  const sums = new Float64Array(n + 1);
  for (let at = 2; at <= n; at++) sums[at] = sums[at - 1] + Math.log(at);
  return sums;
}

// Returns the probability that at least `k` of `n` drawn samples are wrong if `wrong` of all are (Fisher's exact test, one-sided).
export function upperTail(k, n, wrong, all, logs = logFactorials(all)) {
  const choose = (a, b) => logs[a] - logs[b] - logs[a - b];
  let sum = 0;
  for (let at = k; at <= Math.min(n, wrong); at++) {
    if (n - at <= all - wrong) sum += Math.exp(choose(wrong, at) + choose(all - wrong, n - at) - choose(all, n));
  }
  return Math.min(1, sum);
}

// Adds `q` to clusters with `p`: p adjusted for the number of clusters tested (Benjamini and Hochberg).
export function adjust(clusters) {
  const sorted = [...clusters].sort((a, b) => a.p - b.p);
  let least = 1;
  for (let at = sorted.length - 1; at >= 0; at--) {
    least = Math.min(least, (sorted[at].p * sorted.length) / (at + 1));
    sorted[at].q = least;
  }
  return sorted;
}

// Yields [kind, label, filter term, places] of every cluster worth a test.
function* candidates(places, columns, track) {
  const by = function* (kind, name, valueOf) {
    const found = new Map();
    for (const place of places) {
      const value = valueOf(place);
      if (value === null || value === undefined || value === "") continue;
      if (!found.has(value)) found.set(value, []);
      found.get(value).push(place);
    }
    if (found.size < 2 || found.size > places.length / 2) return;
    for (const [value, some] of found) yield [kind, value, equalTerm(name, value), some];
  };
  yield* by("task", "task", (place) => columns.tasks[columns.task[place]]);
  yield* by("group", "group", (place) => columns.groups[columns.group[place]]);
  yield* by("right answer", "target", (place) => columns.targets[place]);
  yield* by("answer", "answer", (place) => track.answers[place]);
  yield* by("rule", "rule", (place) => columns.rules[track.rule[place]]);
  const truncated = places.filter((place) => track.truncated[place] === "1");
  yield ["reply", "truncated", "is:truncated", truncated];
  const lengths = places.map((place) => track.tokens[place]).sort((a, b) => a - b);
  for (let fifth = 0; fifth < FIFTHS && lengths.at(-1) > 0; fifth++) {
    const low = lengths[Math.floor((fifth * lengths.length) / FIFTHS)];
    const high = lengths[Math.floor(((fifth + 1) * lengths.length) / FIFTHS) - 1];
    if (low <= high) yield ["tokens", `${count(low)} to ${count(high)}`, `tokens:${low}..${high}`, places.filter((place) => track.tokens[place] >= low && track.tokens[place] <= high)];
  }
  const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;
  const words = new Map();
  for (const place of places) {
    for (const word of wordsOf(columns.questions[place], segmenter)) {
      if (!words.has(word)) words.set(word, []);
      words.get(word).push(place);
    }
  }
  const common = [...words].filter(([, some]) => some.length >= LEAST).sort((a, b) => b[1].length - a[1].length).slice(0, MOST_WORDS);
  for (const [word, some] of common) yield ["word in the question", word, `question:"${word}"`, some];
}

// Returns the clusters in which a method is wrong significantly more often than elsewhere, and how many were tested.
export function findClusters(columns, track, places) {
  const isWrong = (place) => "WU".includes(track.outcomes[place]);
  const scored = places.filter((place) => "RPWU".includes(track.outcomes[place]));
  const nWrong = scored.filter(isWrong).length;
  const logs = logFactorials(scored.length);
  const tested = new Map();
  for (const [kind, label, term, some] of candidates(scored, columns, track)) {
    if (some.length < LEAST || some.length === scored.length) continue;
    const wrong = some.filter(isWrong).length;
    const cluster = { kind, label, term, n: some.length, nWrong: wrong, nElsewhere: scored.length - some.length, nWrongElsewhere: nWrong - wrong };
    cluster.p = upperTail(wrong, some.length, nWrong, scored.length, logs);
    // Words that always occur together are one cluster.
    const key = `${kind}\n${some.join()}`;
    if (!tested.has(key)) tested.set(key, cluster);
  }
  return { clusters: adjust(tested.values()).filter((one) => one.q <= LEVEL), nTested: tested.size, nScored: scored.length, nWrong };
}

function table({ clusters, nTested, nScored, nWrong }) {
  const note = el("p", { class: "faint" }, `Wrong or unanswered: ${part(nWrong, nScored)} of ${count(nScored)} samples. Tested: ${count(nTested)} groups of at least ${LEAST} samples; p is adjusted for their number. A cluster shows where to look, not why.`);
  if (!clusters.length) return [note, el("p", {}, "No group of samples is wrong significantly more often than the rest.")];
  const show = (cluster) => () => {
    setState({ q: cluster.term, show: "wrong,unanswered" });
    document.getElementById("samples").scrollIntoView();
  };
  return [note, el("div", { class: "scroll-x" }, el("table", { class: "facts clusters" },
    el("thead", {}, el("tr", {}, ["Cluster", "Wrong here", "Wrong elsewhere", "Adjusted p"].map((label) => el("th", { scope: "col" }, label)))),
    el("tbody", {}, clusters.slice(0, SHOWN).map((cluster) => el("tr", {},
      el("th", { scope: "row" }, `${cluster.kind} `, el("button", { type: "button", class: "link", onclick: show(cluster) }, userText(cluster.label))),
      el("td", {}, `${part(cluster.nWrong, cluster.n)} (${count(cluster.nWrong)} of ${count(cluster.n)})`),
      el("td", {}, part(cluster.nWrongElsewhere, cluster.nElsewhere)),
      el("td", {}, cluster.q < 0.001 ? "< 0.001" : cluster.q.toFixed(3))))))),
    clusters.length > SHOWN ? el("p", { class: "faint" }, `and ${count(clusters.length - SHOWN)} more`) : null];
}

// The clusters of the chosen method, computed when the part is opened and again when the table changes.
export class FailureClusters {
  constructor(samples) {
    this.samples = samples;
    this.content = el("div", {});
    this.element = fold("Failure clusters: where wrong answers concentrate", this.content, { class: "fold" });
    this.element.addEventListener("toggle", () => this.draw());
  }

  // Redraws the clusters if they are visible and the method, the task or the samples changed.
  draw() {
    const { columns, state } = this.samples;
    const track = this.samples.track();
    const hasWrong = Boolean(track) && /[WU]/.test(track.outcomes) && /[RP]/.test(track.outcomes);
    this.element.hidden = !hasWrong;
    const shown = JSON.stringify([track?.name, state.task, columns.n, columns.changes]);
    if (!this.element.open || !hasWrong || shown === this.shown) return;
    this.shown = shown;
    const task = state.task === undefined ? -1 : columns.tasks.indexOf(state.task);
    const places = Array.from({ length: columns.n }, (_, place) => place).filter((place) => task < 0 || columns.task[place] === task);
    replace(this.content, table(findClusters(columns, track, places)));
  }
}
