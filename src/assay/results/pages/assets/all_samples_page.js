// The samples of several runs in one table: a row for each run, sample and method, with columns to choose.

import { el, replace, userText } from "./dom.js";
import { onState, setState, stateNow } from "./address.js";
import { fold } from "./folds.js";
import { count, NOT_KNOWN, plain, seconds } from "./numbers.js";
import { SampleList } from "./sample_list.js";
import { OUTCOME_NAMES, OUTCOMES } from "./sample_table.js";
import { ServerSource } from "./source.js";

const OUTCOME_FILTERS = ["right", "partly right", "wrong", "unanswered", "failed", "ungraded"];
// Name, heading, kind, and width in the grid.
const COLUMNS = [
  ["run", "Run", "text", "minmax(6rem, 1.2fr)"], ["model", "Model", "text", "minmax(6rem, 1.2fr)"], ["task", "Task", "text", "minmax(6rem, 1fr)"], ["group", "Group", "text", "minmax(5rem, 1fr)"],
  ["id", "Sample", "text", "minmax(5rem, 1fr)"], ["question", "Question", "text", "minmax(10rem, 4fr)"], ["target", "Right answer", "text", "minmax(5rem, 1.2fr)"], ["method", "Method", "text", "4.5rem"],
  ["outcome", "Outcome", "choice", "7rem"], ["answer", "Answer", "text", "minmax(5rem, 1.4fr)"], ["rule", "Rule", "text", "9rem"],
  ["value", "Value", "number", "5rem"], ["margin", "Margin", "number", "5rem"], ["tokens", "Tokens", "number", "5rem"], ["seconds", "Time", "number", "5rem"],
];
const SHOWN = ["run", "id", "question", "target", "method", "outcome", "answer"];
const FORMATS = { value: plain, margin: plain, tokens: (n) => count(n || null), seconds: (s) => seconds(s || null) };
const ORDER = ["q", "show", "sort"];

// Joins the tables of runs to lists of values, one for each column.
function joinRuns(names, runs, tables) {
  const lists = Object.fromEntries(COLUMNS.map(([name]) => [name, []]));
  lists.truncated = [];
  tables.forEach((table, at) => {
    for (const track of table.tracks) {
      for (let place = 0; place < table.n; place++) {
        if (track.outcomes[place] === ".") continue;
        const row = {
          run: names[at], model: runs[at].title, task: table.tasks[table.task[place]], group: table.groups[table.group[place]] ?? "",
          id: table.ids[place], question: table.questions[place], target: table.targets[place], method: track.name, outcome: OUTCOMES[track.outcomes[place]],
          answer: track.answers[place], rule: table.rules[track.rule[place]] ?? "", value: track.values[place], margin: track.margins[place],
          tokens: track.tokens[place], seconds: track.seconds[place], truncated: track.truncated[place] === "1",
        };
        for (const [name, value] of Object.entries(row)) lists[name].push(value);
      }
    }
  });
  return lists;
}

class AllSamples extends SampleList {
  constructor(lists) {
    super("Filter: words, or outcome:wrong tokens>200 run:alpha", { class: "samples mixed" });
    this.lists = lists;
    this.take({ ids: lists.id, questions: lists.question, targets: lists.target });
    this.chooser = el("div", { class: "column-choices" });
    this.chips.before(fold("Columns", this.chooser));
  }

  answersOf(place) {
    return [this.lists.answer[place], this.lists.run[place], this.lists.group[place]];
  }

  filterColumns() {
    const found = Object.fromEntries(COLUMNS.map(([name, , kind]) => [name, { kind, values: OUTCOME_NAMES, get: (place) => this.lists[name][place] }]));
    return { ...found, is: { kind: "flag", values: ["truncated"], has: (place) => this.lists.truncated[place] } };
  }

  // Returns the columns in the address that exist; without any, the usual ones that say something here.
  shownColumns(state) {
    const wanted = (state.columns ?? "").split(",");
    const chosen = COLUMNS.filter(([name]) => wanted.includes(name));
    return chosen.length ? chosen : COLUMNS.filter(([name]) => SHOWN.includes(name) || (name === "task" && new Set(this.lists.task).size > 1));
  }

  follow(state) {
    const isOther = ORDER.some((name) => this.state[name] !== state[name]);
    this.state = state;
    this.columnsShown = this.shownColumns(state);
    const isFound = this.readFilter(state);
    const wanted = this.wanted(state);
    const counts = new Map(OUTCOME_FILTERS.map((name) => [name, 0]));
    const places = [];
    this.lists.id.forEach((_, place) => {
      if (!isFound(place)) return;
      const outcome = this.lists.outcome[place];
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      if (!wanted.size || wanted.has(outcome)) places.push(place);
    });
    this.rows = this.sortPlaces(places, this.lists);
    this.drawFilters(OUTCOME_FILTERS.map((name) => [name, name.charAt(0).toUpperCase() + name.slice(1), counts.get(name)]), wanted);
    this.drawChooser();
    this.element.style.setProperty("--columns", this.columnsShown.map(([, , , width]) => width).join(" "));
    replace(this.statusLine, `${count(this.rows.length)} of ${count(this.lists.id.length)} rows: one for each run, sample and method`);
    if (isOther) this.scroller.scrollTop = 0;
    this.draw(true);
  }

  drawChooser() {
    const chosen = this.columnsShown.map(([name]) => name);
    const offered = chosen.join();
    if (offered === this.offered) return;
    this.offered = offered;
    const toggle = (name, isChosen) => setState({ columns: COLUMNS.map(([one]) => one).filter((one) => (one === name ? isChosen : chosen.includes(one))).join(",") });
    const focused = document.activeElement?.dataset?.column;
    replace(this.chooser, COLUMNS.map(([name, label]) => el("label", {}, el("input", { type: "checkbox", "data-column": name, checked: chosen.includes(name), onchange: (event) => toggle(name, event.target.checked) }), " ", label)));
    if (focused) this.chooser.querySelector(`[data-column="${focused}"]`)?.focus();
  }

  headings() {
    return this.sortHeadings(this.columnsShown);
  }

  // A row leads to the sample on the page of its run.
  row(nth, place) {
    const { run, id, task, method } = this.lists;
    const state = new URLSearchParams({ sample: id[place], in: task[place], method: method[place] });
    return this.linkedRow(nth, place, { href: `/runs/${encodeURIComponent(run[place])}#${state}` });
  }

  cells(place) {
    return this.columnsShown.map(([name, , kind]) => {
      const value = this.lists[name][place];
      const shown = name === "outcome" ? el("span", { class: `worth o-${outcomeLetter(value)}` }, value, this.lists.truncated[place] ? el("span", { class: "mark", title: "truncated at the token limit" }, "cut") : null)
        : FORMATS[name]?.(value) ?? (value || NOT_KNOWN);
      return el("span", { class: name, role: "cell", dir: kind === "text" ? "auto" : null }, shown);
    });
  }
}

function outcomeLetter(name) {
  return Object.entries(OUTCOMES).find(([, one]) => one === name)[0];
}

export async function showAllSamples(main) {
  const names = new URLSearchParams(location.search).getAll("run");
  if (!names.length) {
    replace(main, el("h1", {}, "Samples"), el("p", {}, "Select runs in the ", el("a", { href: "/" }, "list of runs"), ", then Show samples."));
    return;
  }
  const sources = names.map((name) => new ServerSource(name));
  const [runs, tables] = await Promise.all([Promise.all(sources.map((source) => source.run())), Promise.all(sources.map((source) => source.table()))]);
  const table = new AllSamples(joinRuns(names, runs, tables));
  const omitted = runs.reduce((sum, run, at) => sum + Math.max(0, run.n_samples - tables[at].n), 0);
  replace(main, el("p", { class: "kicker" }, `Samples of ${count(names.length)} ${names.length === 1 ? "run" : "runs"}`),
    el("h1", {}, names.map((name, at) => [at ? ", " : null, el("a", { href: `/runs/${encodeURIComponent(name)}` }, userText(name))])),
    omitted ? el("p", { class: "note" }, `${count(omitted)} samples are beyond the tables that pages show.`) : null, table.element);
  onState((state) => table.follow(state));
  table.follow(stateNow());
}
