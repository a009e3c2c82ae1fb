// The sample table of a comparison: filters and search over columns in memory.

import { el, replace, userText } from "./dom.js";
import { count, NOT_KNOWN, plain } from "./numbers.js";
import { SampleList } from "./sample_list.js";
import { OUTCOME_NAMES, OUTCOMES, prefixed } from "./sample_table.js";

// In addition to the colour, for people who cannot see it.
const SIGNS = { R: "✓ ", W: "✗ " };
const FILTERS = [
  ["first", (a) => `Only ${a} right`],
  ["second", (a, b) => `Only ${b} right`],
  ["different", () => "Both wrong, different answers"],
  ["same", () => "Both wrong, same answer"],
  ["both", () => "Both right"],
  ["lower", (a) => `${a} higher`],
  ["higher", (a, b) => `${b} higher`],
  ["equal", () => "Equal values"],
  ["missing", () => "Not compared"],
];
// The parts of the address that select the samples.
const ORDER = ["method", "pair", "task", "q", "show"];

export class CompareTable extends SampleList {
  constructor(columns, page) {
    super("Search id, question, answers", { class: "samples paired", style: { "--sides": String(page.sides.length) } });
    this.page = page;
    this.take(columns);
  }

  // Returns what the address selects: a method, two sides, and a task or all tasks.
  chosenBy(state) {
    const [a, b] = (state.pair ?? "0-1").split("-").map(Number);
    // Without a method in the address, choose the first one with a significant difference.
    const telling = this.page.rows.find((row) => row.is_real);
    const isPair = Number.isInteger(a) && Number.isInteger(b) && a < b && b < this.page.sides.length;
    return {
      method: this.columns.methods.find((one) => one.name === (state.method ?? telling?.method)) ?? this.columns.methods[0],
      pair: isPair ? [a, b] : [0, 1],
      task: this.columns.tasks.includes(state.task) ? state.task : null,
    };
  }

  // Returns the nearest row before or after a place; the filters may hide the place itself.
  neighbour(place, step) {
    return (step < 0 ? this.rows.findLast((row) => row < place) : this.rows.find((row) => row > place)) ?? null;
  }

  // Returns the filter that a sample belongs to.
  standing(place) {
    const { method, pair } = this.chosen;
    const [a, b] = pair.map((side) => method.sides[side]);
    const [one, other] = [a?.outcomes[place] ?? ".", b?.outcomes[place] ?? "."];
    if (!"RWUPV".includes(one) || !"RWUPV".includes(other)) return "missing";
    if ("RWU".includes(one) && "RWU".includes(other)) {
      if (one === "R") return other === "R" ? "both" : "first";
      if (other === "R") return "second";
      return a.answers[place] === b.answers[place] ? "same" : "different";
    }
    const [x, y] = [a.values[place] ?? 0, b.values[place] ?? 0];
    return x === y ? "equal" : x > y ? "lower" : "higher";
  }

  // Returns the columns of filter expressions: those of each side begin with its letter, such as a.outcome.
  filterColumns() {
    const { ids, questions, targets, task, tasks } = this.columns;
    const text = (get) => ({ kind: "text", get });
    const sides = this.chosen.method.sides.map((side, at) => side && prefixed(this.page.letters[at].toLowerCase(), {
      answer: text((place) => side.answers[place]),
      outcome: { kind: "choice", values: OUTCOME_NAMES, get: (place) => OUTCOMES[side.outcomes[place] ?? "."] },
      value: { kind: "number", get: (place) => side.values[place] },
    }));
    return Object.assign({ id: text((place) => ids[place]), question: text((place) => questions[place]), target: text((place) => targets[place]), task: text((place) => tasks[task[place]]) }, ...sides.filter(Boolean));
  }

  answersOf(place) {
    return this.columns.methods.flatMap((method) => method.sides.map((side) => side?.answers[place] ?? ""));
  }

  follow(state) {
    const isOther = ORDER.some((name) => this.state[name] !== state[name]);
    this.state = state;
    this.chosen = this.chosenBy(state);
    const task = this.chosen.task === null ? -1 : this.columns.tasks.indexOf(this.chosen.task);
    const wanted = this.wanted(state);
    const counts = new Map(FILTERS.map(([name]) => [name, 0]));
    this.rows = [];
    const isFound = this.readFilter(state);
    for (let place = 0; place < this.columns.n; place++) {
      if (task >= 0 && this.columns.task[place] !== task) continue;
      if (!isFound(place)) continue;
      const standing = this.standing(place);
      counts.set(standing, counts.get(standing) + 1);
      if (!wanted.size || wanted.has(standing)) this.rows.push(place);
    }
    this.drawTools(wanted, counts);
    if (isOther) this.scroller.scrollTop = 0;
    this.draw(true);
  }

  drawTools(wanted, counts) {
    const letters = this.chosen.pair.map((side) => this.page.letters[side]);
    this.drawFilters(FILTERS.map(([name, label]) => [name, label(...letters), counts.get(name)]), wanted);
    const sides = this.page.sides.map((_, at) => at);
    const pairs = sides.flatMap((a) => sides.filter((b) => b > a).map((b) => [a, b]));
    replace(this.selects,
      this.choice("pair", "Sides", pairs.map(([a, b]) => [`${a}-${b}`, `${this.page.letters[a]} and ${this.page.letters[b]}`, a === this.chosen.pair[0] && b === this.chosen.pair[1]])),
      this.choice("method", "Method", this.columns.methods.map((method) => [method.name, method.name, method === this.chosen.method])),
      this.choice("task", "Task", this.columns.tasks.length < 2 ? [] : [["", "all", this.chosen.task === null], ...this.columns.tasks.map((task) => [task, task, task === this.chosen.task])]));
    replace(this.statusLine, `${count(this.rows.length)} of ${count(this.columns.n)} samples`);
  }

  headings() {
    return [
      [["id", "Sample"], ["question", "Question"], ["target", "Right answer"]].map(([name, label]) => el("span", { class: name, role: "columnheader" }, label)),
      this.page.sides.map((side, at) => el("span", { class: "answer", role: "columnheader", title: side.name }, el("span", { class: `side series-${at % 6}` }, this.page.letters[at]), " ", userText(side.name))),
    ];
  }

  kind(place) {
    return this.standing(place);
  }

  cells(place) {
    const { columns, chosen } = this;
    const answers = chosen.method.sides.map((side) => {
      const outcome = side?.outcomes[place] ?? ".";
      const answer = side?.answers[place] || ("PV".includes(outcome) ? plain(side.values[place]) : "");
      return el("span", { class: "answer", role: "cell", title: OUTCOMES[outcome] }, el("span", { class: `worth o-${outcome === "." ? "none" : outcome}` }, SIGNS[outcome] ?? "", answer ? userText(answer) : OUTCOMES[outcome] ?? NOT_KNOWN));
    });
    return [
      el("span", { class: "id", role: "cell", dir: "auto" }, columns.ids[place]), el("span", { class: "question", role: "cell", dir: "auto" }, columns.questions[place]),
      el("span", { class: "target", role: "cell", dir: "auto" }, columns.targets[place] || NOT_KNOWN), answers,
    ];
  }
}
