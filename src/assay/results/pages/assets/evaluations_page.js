// The list of evaluations: live state, filters and actions.

import { el, replace, userText } from "./dom.js";
import { onState, setState, stateNow } from "./address.js";
import { actions, progressBar, stateMark, STATES, tookSeconds } from "./evaluation_view.js";
import { count, day, NOT_KNOWN, seconds } from "./numbers.js";
import { problemBox, showError } from "./problem_view.js";
import { scoreLines } from "./score_lines.js";
import { fetched, watched } from "./source.js";
import { may, read, stream, visitor } from "./team_api.js";

const STEP = 100;
const MOST = 500;
const NAMES_SHOWN = 3;
const SCORES_SHOWN = 2;
const PAUSE_MS = 1000;
const COLUMNS = ["Evaluation", "State", "Model", "Datasets", "Score", "Submitted", "Duration", "Actions"];

export async function showEvaluations(main) {
  const list = new EvaluationList(await visitor());
  replace(main, list.element);
  await list.look();
  onState(() => list.look());
  watched(stream("/evaluations/events"), () => list.lookSoon());
  setInterval(() => !document.hidden && list.tick(), PAUSE_MS);
}

function names(datasets) {
  const left = datasets.length - NAMES_SHOWN;
  return [datasets.slice(0, NAMES_SHOWN).map((name, nth) => [nth ? ", " : "", userText(name)]), left > 0 ? ` and ${count(left)} more` : ""];
}

class EvaluationList {
  constructor(who) {
    this.who = who;
    this.evaluations = [];
    this.scores = new Map();
    this.limit = STEP;
    this.looked = 0;
    this.rows = new Map();
    this.search = el("input", { type: "search", placeholder: "Search models, datasets, people", "aria-label": "Search evaluations", oninput: () => setState({ q: this.search.value }) });
    this.selects = el("div", { class: "selects" });
    this.statusLine = el("div", { class: "status-line", role: "status" });
    this.trouble = problemBox();
    this.body = el("tbody", {});
    this.table = el("div", { class: "runs-scroll" }, el("table", {}, el("thead", {}, el("tr", {}, COLUMNS.map((name) => (name ? el("th", { scope: "col" }, el("span", { class: "heading" }, name)) : el("td", {}))))), this.body));
    this.more = el("p", {});
    this.element = el("div", { class: "runs evaluations" },
      el("div", { class: "title" }, el("h1", {}, "Evaluations"), may(who, "runner") ? el("a", { class: "button", href: "/evaluations/new" }, "New evaluation") : null),
      el("div", { class: "tools" }, this.search, this.selects), this.statusLine, this.trouble, this.table, this.more);
  }

  // Reloads the list, at most once a second.
  lookSoon() {
    if (this.waiting) return;
    this.waiting = setTimeout(() => {
      this.waiting = null;
      this.look();
    }, Math.max(0, this.looked + PAUSE_MS - Date.now()));
  }

  async look() {
    this.looked = Date.now();
    const { state } = stateNow();
    try {
      this.evaluations = await read(`/evaluations?limit=${this.limit}${state ? `&state=${encodeURIComponent(state)}` : ""}`);
      if (this.evaluations.some((one) => one.state === "complete" && !this.scores.has(one.run))) await this.lookAtScores();
      showError(this.trouble, null);
    } catch (error) {
      showError(this.trouble, error);
    }
    this.draw();
  }

  async lookAtScores() {
    const { runs } = await fetched("/data/runs");
    this.scores = new Map(runs.filter((run) => run.status === "complete").map((run) => [run.name, run.rows]));
  }

  shown() {
    const { q, model } = stateNow();
    const words = (q ?? "").toLowerCase();
    return this.evaluations.filter((one) => (!model || one.model === model)
      && (!words || [one.id, one.model, one.submitted_by, one.run, ...one.datasets].join("\n").toLowerCase().includes(words)));
  }

  draw() {
    const state = stateNow();
    if (document.activeElement !== this.search) this.search.value = state.q ?? "";
    const choose = (name, label, values) => el("label", {}, `${label} `, el("select", { onchange: (event) => setState({ [name]: event.target.value }) },
      el("option", { value: "" }, "all"), values.map((value) => el("option", { value, selected: state[name] === value }, value))));
    if (!this.selects.contains(document.activeElement)) {
      replace(this.selects, choose("state", "State", STATES), choose("model", "Model", [...new Set([...this.evaluations.map((one) => one.model), ...(state.model ? [state.model] : [])])].sort()));
    }
    const found = this.shown();
    replace(this.statusLine, this.evaluations.length ? `${count(found.length)} of ${count(this.evaluations.length)} evaluations` : this.nothing(state));
    this.table.hidden = found.length === 0;
    this.drawRows(found);
    const isMore = this.evaluations.length === this.limit;
    replace(this.more, !isMore ? null : this.limit < MOST
      ? el("button", { type: "button", class: "plain", onclick: () => { this.limit += STEP; this.look(); } }, "Show older evaluations")
      : el("span", { class: "faint" }, `Showing the newest ${count(MOST)}. Filter by state to see older ones.`));
  }

  nothing(state) {
    if (state.state) return `No ${state.state} evaluations.`;
    if (!may(this.who, "runner")) return "No evaluations yet. To start one, sign in with a runner's token.";
    return ["No evaluations yet. ", el("a", { href: "/evaluations/new" }, "Start the first evaluation"), "."];
  }

  // Keeps the elements of unchanged rows, so that a click on a button is not lost.
  drawRows(found) {
    const focus = document.activeElement?.closest?.("tr[data-id]");
    const [id, what] = focus ? [focus.dataset.id, document.activeElement.dataset.do] : [null, null];
    const rows = new Map();
    for (const one of found) {
      const key = JSON.stringify([one, this.scores.get(one.run) ?? null]);
      const before = this.rows.get(one.id);
      rows.set(one.id, before?.key === key ? before : { key, one, row: this.row(one) });
    }
    this.rows = rows;
    const elements = [...rows.values()].map(({ row }) => row);
    if (elements.length !== this.body.children.length || elements.some((row, nth) => row !== this.body.children[nth])) {
      this.body.replaceChildren(...elements);
      if (what) this.body.querySelector(`tr[data-id="${id}"] [data-do="${what}"]`)?.focus();
    }
  }

  // Updates the durations of evaluations in progress.
  tick() {
    for (const { one, row } of this.rows.values()) if (one.started_at !== null && one.finished_at === null) replace(row.querySelector(".seconds"), seconds(Math.round(tookSeconds(one))));
  }

  row(one) {
    const rows = this.scores.get(one.run);
    const after = { done: () => this.look(), failed: (error) => showError(this.trouble, error) };
    const took = tookSeconds(one);
    return el("tr", { "data-id": one.id, class: one.state },
      el("td", { class: "name" }, el("a", { href: `/evaluations/${one.id}` }, `Evaluation ${one.id}`), !one.progress.n_samples ? null : el("a", { class: "of", href: `/runs/${encodeURIComponent(one.run)}` }, userText(one.run))),
      el("td", { class: "state" }, stateMark(one), progressBar(one), one.progress.n_failed ? el("span", { class: "of some" }, `${count(one.progress.n_failed)} failed`) : null),
      el("td", { class: "model" }, userText(one.model)),
      el("td", { class: "datasets" }, names(one.datasets)),
      el("td", { class: "result" }, one.state === "complete" && rows ? scoreLines(rows, SCORES_SHOWN) : one.state === "failed" ? el("span", { class: "of" }, userText(one.problems[0]?.what ?? "")) : NOT_KNOWN),
      el("td", { class: "asked" }, day(one.submitted_at), el("span", { class: "of" }, "by ", userText(one.submitted_by))),
      el("td", { class: "seconds" }, took === null ? NOT_KNOWN : seconds(took)),
      el("td", { class: "do" }, el("div", { class: "buttons" }, actions(one, this.who, after))));
  }
}
