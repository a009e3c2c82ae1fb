// The table of samples: filters, sorting and search over columns in memory; only the rows in sight are elements.

import { el, replace } from "./dom.js";
import { linkTo, setState } from "./address.js";
import { count, NOT_KNOWN, plain, seconds } from "./numbers.js";

const ROW = 40;
const BEYOND = 8;
export const OUTCOMES = { R: "right", P: "partly right", W: "wrong", V: "scored", U: "unanswered", F: "failed", G: "ungraded", N: "not scored", ".": "not asked" };
const FILTERS = [
  ["right", "Right", (row) => row.outcome === "R"],
  ["partly", "Partly right", (row) => row.outcome === "P"],
  ["wrong", "Wrong", (row) => row.outcome === "W"],
  ["unanswered", "Unanswered", (row) => row.outcome === "U"],
  ["truncated", "Truncated", (row) => row.truncated],
  ["failed", "Failed", (row) => row.outcome === "F"],
  ["ungraded", "Without a known answer", (row) => row.outcome === "G"],
  ["disagree", "Methods disagree", (row) => row.disagree],
  ["close", "Low margin", (row) => row.close],
];
// Columns of text of others, which has a direction of its own: its beginning is seen, whichever way it runs.
const SAID = new Set(["id", "question", "target", "answer"]);
const LOW_MARGIN = 0.1;
// What of the address decides which samples are shown, and in which order.
const ORDER = ["method", "task", "group", "q", "show", "sort"];

// The margin below which the closest tenth of a method's decisions lie.
function lowMargin(margins) {
  const known = margins.filter((one) => one !== null).sort((a, b) => a - b);
  return known.length ? known[Math.floor(LOW_MARGIN * (known.length - 1))] : -Infinity;
}

// Puts further columns in the place of those that are there, from the first of them on.
function joinColumns(columns, more) {
  const join = (a, b) => (typeof a === "string" ? a.slice(0, more.first) + b : a.slice(0, more.first).concat(b));
  const found = { ...more, first: 0, n: more.first + more.n };
  for (const name of ["task", "group", "ids", "questions", "targets", "disagree"]) found[name] = join(columns[name], more[name]);
  found.tracks = more.tracks.map((track) => {
    const before = columns.tracks.find((one) => one.name === track.name);
    const start = before ?? { outcomes: ".".repeat(columns.n), truncated: "0".repeat(columns.n), values: Array(columns.n).fill(null), answers: Array(columns.n).fill(""), margins: Array(columns.n).fill(null), tokens: Array(columns.n).fill(0), seconds: Array(columns.n).fill(0) };
    const joined = { name: track.name };
    for (const name of ["outcomes", "truncated", "values", "answers", "margins", "tokens", "seconds"]) joined[name] = join(start[name], track[name]);
    return joined;
  });
  return found;
}

export class SampleTable {
  constructor(columns, run) {
    this.run = run;
    this.state = {};
    this.rows = [];
    this.search = el("input", { type: "search", placeholder: "Search id, question, answer", "aria-label": "Search samples", oninput: () => setState({ q: this.search.value }) });
    this.chips = el("div", { class: "chips", role: "group", "aria-label": "Filters" });
    this.selects = el("div", { class: "selects" });
    this.head = el("div", { class: "row head", role: "row" });
    this.body = el("div", { class: "body" });
    this.told = el("p", { class: "told", role: "status" });
    this.scroller = el("div", { class: "scroller", role: "table", tabindex: 0, "aria-label": "Samples", onscroll: () => this.draw(), onkeydown: (event) => this.key(event) }, this.head, this.body);
    this.element = el("div", { class: "samples" }, el("div", { class: "tools" }, this.search, this.selects), this.chips, this.told, this.scroller);
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.take(columns);
  }

  take(columns) {
    this.columns = columns;
    this.places = null;
    this.texts = null;
    this.lows = new Map(columns.tracks.map((track) => [track.name, lowMargin(track.margins)]));
  }

  // Takes samples that came in since, or are other than they were.
  grow(more, run) {
    this.run = run;
    this.take(more.first === 0 ? more : joinColumns(this.columns, more));
    this.follow(this.state);
  }

  placeOf(state) {
    if (!this.places) {
      this.places = new Map();
      this.columns.ids.forEach((id, place) => this.places.set(`${this.columns.tasks[this.columns.task[place]]}\n${id}`, place));
    }
    const task = state.in ?? this.columns.tasks[0];
    return this.places.get(`${task}\n${state.sample}`) ?? null;
  }

  // The place before or after one in the order that is shown; null at an end.
  beside(place, step) {
    const at = this.rows.indexOf(place);
    return at < 0 ? null : this.rows[at + step] ?? null;
  }

  // The state of the address that shows a sample.
  stateOf(place) {
    return { sample: this.columns.ids[place], in: this.columns.tasks.length > 1 ? this.columns.tasks[this.columns.task[place]] : null };
  }

  track(state = this.state) {
    return this.columns.tracks.find((track) => track.name === state.method) ?? this.columns.tracks[0];
  }

  // One row's facts, by which it is filtered.
  facts(place, track) {
    const margin = track?.margins[place] ?? null;
    return {
      outcome: track?.outcomes[place] ?? ".",
      truncated: track?.truncated[place] === "1",
      disagree: this.columns.disagree[place] === "1",
      close: margin !== null && margin <= this.lows.get(track.name),
    };
  }

  text(place) {
    this.texts ??= this.columns.ids.map((id, at) => [id, this.columns.questions[at], this.columns.targets[at], ...this.columns.tracks.map((track) => track.answers[at])].join("\n").toLowerCase());
    return this.texts[place];
  }

  follow(state) {
    const isOther = ORDER.some((name) => this.state[name] !== state[name]);
    this.state = state;
    const columns = this.columns;
    const track = this.track();
    const task = state.task === undefined ? -1 : columns.tasks.indexOf(state.task);
    const group = state.group === undefined ? -1 : columns.groups.indexOf(state.group);
    const words = (state.q ?? "").toLowerCase();
    const wanted = new Set((state.show ?? "").split(",").filter(Boolean));
    const tests = FILTERS.filter(([name]) => wanted.has(name));
    const counts = new Map(FILTERS.map(([name]) => [name, 0]));
    const rows = [];
    for (let place = 0; place < columns.n; place++) {
      if (task >= 0 && columns.task[place] !== task) continue;
      if (group >= 0 && columns.group[place] !== group) continue;
      if (words && !this.text(place).includes(words)) continue;
      const facts = this.facts(place, track);
      for (const [name, , test] of FILTERS) if (test(facts)) counts.set(name, counts.get(name) + 1);
      if (!tests.length || tests.some(([, , test]) => test(facts))) rows.push(place);
    }
    this.rows = this.sorted(rows, track);
    this.drawTools(wanted, counts);
    // Who looks at a row stays there while others come in.
    if (isOther) this.scroller.scrollTop = 0;
    this.draw(true);
  }

  sorted(rows, track) {
    const [name, way] = (this.state.sort ?? "").split(" ");
    const columns = this.columns;
    const keys = {
      id: columns.ids, question: columns.questions, target: columns.targets, answer: track?.answers,
      outcome: track && Array.from(track.outcomes), value: track?.values, margin: track?.margins, tokens: track?.tokens, seconds: track?.seconds,
    };
    const by = keys[name];
    if (!by) return rows;
    const sign = way === "down" ? -1 : 1;
    // What is not known comes last, whichever way the others go.
    return rows.sort((a, b) => {
      const [one, other] = [by[a], by[b]];
      if (one === other) return a - b;
      if (one === null || one === "") return 1;
      if (other === null || other === "") return -1;
      return sign * (one < other ? -1 : 1);
    });
  }

  drawTools(wanted, counts) {
    if (document.activeElement !== this.search) this.search.value = this.state.q ?? "";
    const toggle = (name) => {
      const next = new Set(wanted);
      if (!next.delete(name)) next.add(name);
      setState({ show: [...next].join(",") });
    };
    replace(this.chips, FILTERS.filter(([name]) => counts.get(name) || wanted.has(name)).map(([name, label]) =>
      el("button", { type: "button", class: `chip ${name}`, "aria-pressed": String(wanted.has(name)), onclick: () => toggle(name) }, label, " ", el("span", {}, count(counts.get(name))))));
    const choose = (name, label, values, shown) => values.length < 2 ? null
      : el("label", {}, `${label} `, el("select", { onchange: (event) => setState({ [name]: event.target.value }) },
        shown ? el("option", { value: "" }, shown) : null,
        values.map((value) => el("option", { value, selected: this.state[name] === value }, value))));
    // A list that somebody has open stays open.
    const offered = JSON.stringify([this.columns.tracks.map((track) => track.name), this.columns.tasks, this.columns.groups, this.state]);
    if (offered !== this.offered) replace(this.selects,
      choose("method", "Method", this.columns.tracks.map((track) => track.name), null),
      choose("task", "Task", this.columns.tasks, "all"),
      choose("group", "Group", this.columns.groups, "all"));
    this.offered = offered;
    replace(this.told, `${count(this.rows.length)} of ${count(this.columns.n)} samples`,
      this.run.n_samples > this.columns.n ? `; the run has ${count(this.run.n_samples)}, assay view shows more` : null);
  }

  headings() {
    const track = this.track();
    const columns = [["id", "Sample"], ["question", "Question"], ["target", "Right answer"], ["answer", "Answer"], ["outcome", "Outcome"]];
    if (track?.values.some((value) => value !== null && value !== 0 && value !== 1)) columns.push(["value", "Value"]);
    if (track?.margins.some((margin) => margin !== null)) columns.push(["margin", "Margin"]);
    columns.push(["tokens", "Tokens"], ["seconds", "Time"]);
    return columns;
  }

  draw(isNew = false) {
    const height = this.scroller.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - BEYOND);
    const last = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + height) / ROW) + BEYOND);
    if (!isNew && this.drawn?.first === first && this.drawn?.last === last) return;
    this.drawn = { first, last };
    if (isNew || !this.columnsShown) this.columnsShown = this.headings();
    const [name, way] = (this.state.sort ?? "").split(" ");
    const track = this.track();
    if (isNew) {
      replace(this.head, this.columnsShown.map(([key, label]) => el("button", {
        type: "button", class: key, role: "columnheader", "aria-sort": name === key ? (way === "down" ? "descending" : "ascending") : "none",
        onclick: () => setState({ sort: name !== key ? `${key} up` : way === "up" ? `${key} down` : null }),
      }, label, name === key ? (way === "down" ? " ↓" : " ↑") : "")));
    }
    this.body.style.setProperty("height", `${this.rows.length * ROW}px`);
    const shown = [];
    for (let nth = first; nth < last; nth++) shown.push(this.row(nth, this.rows[nth], track));
    const held = this.body.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    replace(this.body, shown, this.rows.length ? null : el("p", { class: "empty" }, "No sample fits these filters."));
    if (held) shown.find((row) => row.getAttribute("href") === held)?.focus({ preventScroll: true });
  }

  row(nth, place, track) {
    const columns = this.columns;
    const outcome = track?.outcomes[place] ?? ".";
    const cells = {
      id: columns.ids[place], question: columns.questions[place], target: columns.targets[place],
      answer: track?.answers[place] || NOT_KNOWN,
      outcome: [el("span", { class: `worth o-${outcome === "." ? "none" : outcome}` }, OUTCOMES[outcome]),
        track?.truncated[place] === "1" ? el("span", { class: "mark", title: "truncated" }, "cut") : null,
        columns.disagree[place] === "1" ? el("span", { class: "mark", title: "the methods disagree" }, "≠") : null],
      value: plain(track?.values[place]), margin: plain(track?.margins[place]), tokens: count(track?.tokens[place] || null), seconds: seconds(track?.seconds[place] || null),
    };
    const link = linkTo(this.stateOf(place));
    return el("a", { class: "row", role: "row", href: link, style: { top: `${nth * ROW}px` }, onclick: (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      setState(this.stateOf(place), { isStep: true });
    } }, this.columnsShown.map(([key]) => el("span", { class: key, role: "cell", dir: SAID.has(key) ? "auto" : null }, cells[key])));
  }

  key(event) {
    const step = { PageDown: 10, PageUp: -10, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target !== this.scroller) return;
    event.preventDefault();
    this.scroller.scrollTop += step * ROW;
  }
}
