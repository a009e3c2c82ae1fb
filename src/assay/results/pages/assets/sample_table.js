// The table of a run's samples: filters, sorting and search over columns in memory.

import { el, replace } from "./dom.js";
import { count, NOT_KNOWN, plain, seconds } from "./numbers.js";
import { SampleList } from "./sample_list.js";

export const OUTCOMES = { R: "right", P: "partly right", W: "wrong", V: "scored", U: "unanswered", F: "failed", G: "ungraded", N: "not scored", ".": "no request" };
const FILTERS = [
  ["right", "Right", (row) => row.outcome === "R"],
  ["partly", "Partly right", (row) => row.outcome === "P"],
  ["wrong", "Wrong", (row) => row.outcome === "W"],
  ["unanswered", "Unanswered", (row) => row.outcome === "U"],
  ["truncated", "Truncated", (row) => row.truncated],
  ["failed", "Failed", (row) => row.outcome === "F"],
  ["ungraded", "No reference answer", (row) => row.outcome === "G"],
  ["disagree", "Methods disagree", (row) => row.disagree],
  ["close", "Low margin", (row) => row.close],
];
// Columns with text from outside, shown from its beginning in its own writing direction.
const DATA_TEXT = new Set(["id", "question", "target", "answer"]);
const LOW_MARGIN = 0.1;
// The parts of the address that select and sort the samples.
const ORDER = ["method", "task", "group", "q", "show", "sort"];

// Returns the margin of the closest tenth of a method's decisions.
function lowMargin(margins) {
  const known = margins.filter((one) => one !== null).sort((a, b) => a - b);
  return known.length ? known[Math.floor(LOW_MARGIN * (known.length - 1))] : -Infinity;
}

// Replaces the columns from `more.first` on.
function joinColumns(columns, more) {
  const join = (a, b) => (typeof a === "string" ? a.slice(0, more.first) + b : a.slice(0, more.first).concat(b));
  const found = { ...more, first: 0, n: more.first + more.n };
  for (const name of ["task", "group", "ids", "questions", "targets", "disagree"]) found[name] = join(columns[name], more[name]);
  found.tracks = more.tracks.map((track) => {
    const before = columns.tracks.find((one) => one.name === track.name);
    const start = before ?? { outcomes: ".".repeat(columns.n), truncated: "0".repeat(columns.n), values: Array(columns.n).fill(null), answers: Array(columns.n).fill(""), margins: Array(columns.n).fill(null), tokens: Array(columns.n).fill(0), seconds: Array(columns.n).fill(0), rule: Array(columns.n).fill(-1) };
    const joined = { name: track.name };
    for (const name of ["outcomes", "truncated", "values", "answers", "margins", "tokens", "seconds", "rule"]) joined[name] = join(start[name], track[name]);
    return joined;
  });
  return found;
}

export const OUTCOME_NAMES = [...new Set(Object.values(OUTCOMES))];

// Returns the columns of one method for filter expressions.
export function trackFilters(track, columns) {
  const number = (values) => ({ kind: "number", get: (place) => values[place] });
  return {
    answer: { kind: "text", get: (place) => track.answers[place] },
    outcome: { kind: "choice", values: OUTCOME_NAMES, get: (place) => OUTCOMES[track.outcomes[place] ?? "."] },
    value: number(track.values), margin: number(track.margins), tokens: number(track.tokens), seconds: number(track.seconds),
    rule: { kind: "text", get: (place) => columns.rules[track.rule[place]] ?? null },
  };
}

// Returns the columns of tags and notes: a sample without any has neither.
function annotationFilters(annotations, taskOf, idOf) {
  const find = (place) => annotations.find(taskOf(place), idOf(place));
  return { tag: { kind: "list", get: (place) => find(place)?.tags ?? [] }, note: { kind: "text", get: (place) => find(place)?.note ?? null } };
}

export function prefixed(name, columns) {
  return Object.fromEntries(Object.entries(columns).map(([key, column]) => [`${name}.${key}`, column]));
}

export class SampleTable extends SampleList {
  // `annotations`: the tags and notes of the run; null in a file, which has none.
  constructor(columns, run, annotations = null) {
    super("Search words, or filter: outcome:wrong tokens>200", { class: "samples" });
    this.run = run;
    this.annotations = annotations;
    this.take(columns);
  }

  take(columns) {
    super.take(columns);
    this.lows = new Map(columns.tracks.map((track) => [track.name, lowMargin(track.margins)]));
  }

  // Adds new and changed samples.
  grow(more, run) {
    this.run = run;
    this.take(more.first === 0 ? more : joinColumns(this.columns, more));
    this.follow(this.state);
  }

  // Returns the previous or next place in the current order; null at an end.
  neighbour(place, step) {
    const at = this.rows.indexOf(place);
    return at < 0 ? null : this.rows[at + step] ?? null;
  }

  track(state = this.state) {
    return this.columns.tracks.find((track) => track.name === state.method) ?? this.columns.tracks[0];
  }

  // Returns the facts that filters test.
  facts(place, track) {
    const margin = track?.margins[place] ?? null;
    return {
      outcome: track?.outcomes[place] ?? ".",
      truncated: track?.truncated[place] === "1",
      disagree: this.columns.disagree[place] === "1",
      close: margin !== null && margin <= this.lows.get(track.name),
    };
  }

  // Returns the columns of filter expressions: those of the chosen method, and of each method by its name, such as gen.outcome.
  filterColumns() {
    const { ids, questions, targets, task, tasks, group, groups, tracks } = this.columns;
    const text = (get) => ({ kind: "text", get });
    const chosen = this.track();
    const flags = { truncated: (facts) => facts.truncated, disagree: (facts) => facts.disagree, close: (facts) => facts.close };
    return {
      id: text((place) => ids[place]), question: text((place) => questions[place]), target: text((place) => targets[place]),
      task: text((place) => tasks[task[place]]), group: text((place) => groups[group[place]] ?? null),
      ...(chosen ? trackFilters(chosen, this.columns) : {}),
      is: { kind: "flag", values: Object.keys(flags), has: (place, flag) => flags[flag](this.facts(place, chosen)) },
      ...(this.annotations ? annotationFilters(this.annotations, (place) => tasks[task[place]], (place) => ids[place]) : {}),
      ...(tracks.length > 1 ? Object.assign({}, ...tracks.map((track) => prefixed(track.name.toLowerCase(), trackFilters(track, this.columns)))) : {}),
    };
  }

  answersOf(place) {
    return this.columns.tracks.map((track) => track.answers[place]);
  }

  follow(state) {
    const isOther = ORDER.some((name) => this.state[name] !== state[name]);
    this.state = state;
    const columns = this.columns;
    const track = this.track();
    const task = state.task === undefined ? -1 : columns.tasks.indexOf(state.task);
    const group = state.group === undefined ? -1 : columns.groups.indexOf(state.group);
    const wanted = this.wanted(state);
    const tests = FILTERS.filter(([name]) => wanted.has(name));
    const counts = new Map(FILTERS.map(([name]) => [name, 0]));
    const rows = [];
    const isFound = this.readFilter(state);
    for (let place = 0; place < columns.n; place++) {
      if (task >= 0 && columns.task[place] !== task) continue;
      if (group >= 0 && columns.group[place] !== group) continue;
      if (!isFound(place)) continue;
      const facts = this.facts(place, track);
      for (const [name, , test] of FILTERS) if (test(facts)) counts.set(name, counts.get(name) + 1);
      if (!tests.length || tests.some(([, , test]) => test(facts))) rows.push(place);
    }
    this.rows = this.sorted(rows, track);
    this.drawTools(wanted, counts);
    // Keep the scroll position while new samples arrive.
    if (isOther) this.scroller.scrollTop = 0;
    this.draw(true);
  }

  sorted(rows, track) {
    const columns = this.columns;
    const keys = {
      id: columns.ids, question: columns.questions, target: columns.targets, answer: track?.answers,
      outcome: track && Array.from(track.outcomes), value: track?.values, margin: track?.margins, tokens: track?.tokens, seconds: track?.seconds,
    };
    return this.sortPlaces(rows, keys);
  }

  drawTools(wanted, counts) {
    this.drawFilters(FILTERS.map(([name, label]) => [name, label, counts.get(name)]), wanted);
    const { tracks, tasks, groups } = this.columns;
    const named = (values, chosen) => values.map((value) => [value, value, value === chosen]);
    const all = (values, chosen) => (values.length < 2 ? [] : [["", "all", chosen === undefined], ...named(values, chosen)]);
    // Redraw only on changes: an open list stays open.
    const offered = JSON.stringify([tracks.map((track) => track.name), tasks, groups, this.state]);
    if (offered !== this.offered) {
      replace(this.selects,
        this.choice("method", "Method", named(tracks.map((track) => track.name), this.track()?.name)),
        this.choice("task", "Task", all(tasks, this.state.task)),
        this.choice("group", "Group", all(groups, this.state.group)));
    }
    this.offered = offered;
    replace(this.statusLine, `${count(this.rows.length)} of ${count(this.columns.n)} samples`,
      this.run.n_samples > this.columns.n ? `; the run has ${count(this.run.n_samples)}, use \`assay view\` to see more` : null);
  }

  // Returns the columns that this method has values for.
  shownColumns() {
    const track = this.track();
    const columns = [["id", "Sample"], ["question", "Question"], ["target", "Right answer"], ["answer", "Answer"], ["outcome", "Outcome"]];
    if (track?.values.some((value) => value !== null && value !== 0 && value !== 1)) columns.push(["value", "Value"]);
    if (track?.margins.some((margin) => margin !== null)) columns.push(["margin", "Margin"]);
    columns.push(["tokens", "Tokens"], ["seconds", "Time"]);
    return columns;
  }

  headings() {
    this.columnsShown = this.shownColumns();
    return this.sortHeadings(this.columnsShown);
  }

  cells(place) {
    const columns = this.columns;
    const track = this.track();
    const outcome = track?.outcomes[place] ?? ".";
    const cells = {
      id: columns.ids[place], question: columns.questions[place], target: columns.targets[place],
      answer: track?.answers[place] || NOT_KNOWN,
      outcome: [el("span", { class: `worth o-${outcome === "." ? "none" : outcome}` }, OUTCOMES[outcome]),
        track?.truncated[place] === "1" ? el("span", { class: "mark", title: "truncated at the token limit" }, "cut") : null,
        columns.disagree[place] === "1" ? el("span", { class: "mark", title: "the methods disagree" }, "≠") : null],
      value: plain(track?.values[place]), margin: plain(track?.margins[place]), tokens: count(track?.tokens[place] || null), seconds: seconds(track?.seconds[place] || null),
    };
    return this.columnsShown.map(([key]) => el("span", { class: key, role: "cell", dir: DATA_TEXT.has(key) ? "auto" : null }, cells[key]));
  }
}
