// The table of a comparison: filters and search over columns in memory; only the rows in sight are elements.

import { el, replace, said } from "./dom.js";
import { linkTo, setState } from "./address.js";
import { count, NOT_KNOWN, plain } from "./numbers.js";
import { OUTCOMES } from "./sample_table.js";

const ROW = 40;
const BEYOND = 8;
// Beside the colour, for whoever does not see it.
const SIGNS = { R: "✓ ", W: "✗ " };
const FILTERS = [
  ["first", (a) => `Only ${a} right`],
  ["second", (a, b) => `Only ${b} right`],
  ["different", () => "Both wrong, differently"],
  ["same", () => "Both wrong, the same answer"],
  ["both", () => "Both right"],
  ["lower", (a) => `${a} higher`],
  ["higher", (a, b) => `${b} higher`],
  ["equal", () => "Equal values"],
  ["missing", () => "Not compared"],
];

export class CompareTable {
  constructor(columns, page) {
    this.columns = columns;
    this.page = page;
    this.state = {};
    this.rows = [];
    this.search = el("input", { type: "search", placeholder: "Search id, question, answers", "aria-label": "Search samples", oninput: () => setState({ q: this.search.value }) });
    this.chips = el("div", { class: "chips", role: "group", "aria-label": "Filters" });
    this.selects = el("div", { class: "selects" });
    this.head = el("div", { class: "row head", role: "row" });
    this.body = el("div", { class: "body" });
    this.told = el("p", { class: "told", role: "status" });
    this.scroller = el("div", { class: "scroller", role: "table", tabindex: 0, "aria-label": "Samples", onscroll: () => this.draw() }, this.head, this.body);
    this.element = el("div", { class: "samples paired", style: { "--sides": String(page.sides.length) } }, el("div", { class: "tools" }, this.search, this.selects), this.chips, this.told, this.scroller);
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  // What the address chooses: a method, two sides, a task or all.
  choice(state) {
    const [a, b] = (state.pair ?? "0-1").split("-").map(Number);
    // Unless one is named, the first method with something to tell.
    const telling = this.page.rows.find((row) => row.is_real);
    const isPair = Number.isInteger(a) && Number.isInteger(b) && a < b && b < this.page.sides.length;
    return {
      method: this.columns.methods.find((one) => one.name === (state.method ?? telling?.method)) ?? this.columns.methods[0],
      pair: isPair ? [a, b] : [0, 1],
      task: this.columns.tasks.includes(state.task) ? state.task : null,
    };
  }

  placeOf(state) {
    if (!this.places) {
      this.places = new Map();
      this.columns.ids.forEach((id, place) => this.places.set(`${this.columns.tasks[this.columns.task[place]]}\n${id}`, place));
    }
    return this.places.get(`${state.in ?? this.columns.tasks[0]}\n${state.sample}`) ?? null;
  }

  // The nearest row before or after a place; the place itself may not be among those shown.
  beside(place, step) {
    return (step < 0 ? this.rows.findLast((row) => row < place) : this.rows.find((row) => row > place)) ?? null;
  }

  stateOf(place) {
    return { sample: this.columns.ids[place], in: this.columns.tasks.length > 1 ? this.columns.tasks[this.columns.task[place]] : null };
  }

  // How two sides stand to each other over a sample, as one of the filters.
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

  text(place) {
    this.texts ??= this.columns.ids.map((id, at) => [id, this.columns.questions[at], this.columns.targets[at],
      ...this.columns.methods.flatMap((method) => method.sides.map((side) => side?.answers[at] ?? ""))].join("\n").toLowerCase());
    return this.texts[place];
  }

  follow(state) {
    const isNew = JSON.stringify(this.state) !== JSON.stringify(state);
    this.state = state;
    this.chosen = this.choice(state);
    const task = this.chosen.task === null ? -1 : this.columns.tasks.indexOf(this.chosen.task);
    const words = (state.q ?? "").toLowerCase();
    const wanted = new Set((state.show ?? "").split(",").filter(Boolean));
    const counts = new Map(FILTERS.map(([name]) => [name, 0]));
    this.rows = [];
    for (let place = 0; place < this.columns.n; place++) {
      if (task >= 0 && this.columns.task[place] !== task) continue;
      if (words && !this.text(place).includes(words)) continue;
      const standing = this.standing(place);
      counts.set(standing, counts.get(standing) + 1);
      if (!wanted.size || wanted.has(standing)) this.rows.push(place);
    }
    this.drawTools(wanted, counts);
    if (isNew) this.scroller.scrollTop = 0;
    this.draw(true);
  }

  drawTools(wanted, counts) {
    if (document.activeElement !== this.search) this.search.value = this.state.q ?? "";
    const letters = this.chosen.pair.map((side) => this.page.letters[side]);
    const toggle = (name) => {
      const next = new Set(wanted);
      if (!next.delete(name)) next.add(name);
      setState({ show: [...next].join(",") });
    };
    replace(this.chips, FILTERS.filter(([name]) => counts.get(name) || wanted.has(name)).map(([name, label]) =>
      el("button", { type: "button", class: `chip ${name}`, "aria-pressed": String(wanted.has(name)), onclick: () => toggle(name) }, label(...letters), " ", el("span", {}, count(counts.get(name))))));
    const choose = (name, label, options) => options.length < 2 ? null
      : el("label", {}, `${label} `, el("select", { onchange: (event) => setState({ [name]: event.target.value }) },
        options.map(([value, shown, isChosen]) => el("option", { value, selected: isChosen }, shown))));
    const sides = this.page.sides.map((_, at) => at);
    const pairs = sides.flatMap((a) => sides.filter((b) => b > a).map((b) => [a, b]));
    replace(this.selects,
      choose("pair", "Sides", pairs.map(([a, b]) => [`${a}-${b}`, `${this.page.letters[a]} and ${this.page.letters[b]}`, a === this.chosen.pair[0] && b === this.chosen.pair[1]])),
      choose("method", "Method", this.columns.methods.map((method) => [method.name, method.name, method === this.chosen.method])),
      choose("task", "Task", this.columns.tasks.length < 2 ? [] : [["", "all", this.chosen.task === null], ...this.columns.tasks.map((task) => [task, task, task === this.chosen.task])]));
    replace(this.told, `${count(this.rows.length)} of ${count(this.columns.n)} samples`);
  }

  draw(isNew = false) {
    if (!this.chosen) return;
    const height = this.scroller.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - BEYOND);
    const last = Math.min(this.rows.length, Math.ceil((this.scroller.scrollTop + height) / ROW) + BEYOND);
    if (!isNew && this.drawn?.first === first && this.drawn?.last === last) return;
    this.drawn = { first, last };
    if (isNew) {
      replace(this.head, [["id", "Sample"], ["question", "Question"], ["target", "Right answer"]].map(([name, label]) => el("span", { class: name, role: "columnheader" }, label)),
        this.page.sides.map((side, at) => el("span", { class: "answer", role: "columnheader", title: side.name }, el("span", { class: `side side-${at % 6}` }, this.page.letters[at]), " ", said(side.name))));
    }
    this.body.style.setProperty("height", `${this.rows.length * ROW}px`);
    const shown = [];
    for (let nth = first; nth < last; nth++) shown.push(this.row(nth, this.rows[nth]));
    replace(this.body, shown, this.rows.length ? null : el("p", { class: "empty" }, "No sample fits these filters."));
  }

  row(nth, place) {
    const { columns, chosen } = this;
    const cells = chosen.method.sides.map((side) => {
      const outcome = side?.outcomes[place] ?? ".";
      const answer = side?.answers[place] || ("PV".includes(outcome) ? plain(side.values[place]) : "");
      return el("span", { class: "answer", role: "cell", title: OUTCOMES[outcome] }, el("span", { class: `worth o-${outcome === "." ? "none" : outcome}` }, SIGNS[outcome] ?? "", answer ? said(answer) : OUTCOMES[outcome] ?? NOT_KNOWN));
    });
    const state = this.stateOf(place);
    return el("a", { class: `row ${this.standing(place)}`, role: "row", href: linkTo(state), style: { top: `${nth * ROW}px` }, onclick: (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      setState(state, { isStep: true });
    } },
    el("span", { class: "id", role: "cell" }, said(columns.ids[place])), el("span", { class: "question", role: "cell" }, said(columns.questions[place])),
    el("span", { class: "target", role: "cell" }, said(columns.targets[place] || NOT_KNOWN)), cells);
  }
}
