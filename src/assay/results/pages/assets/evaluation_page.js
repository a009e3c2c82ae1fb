// The page of one evaluation: progress, results so far, events, settings and links.

import { el, replace, userText } from "./dom.js";
import { dataTable } from "./data_table.js";
import { actions, isOver, progressBar, stateMark, tookSeconds } from "./evaluation_view.js";
import { GONE, LOST, showNotice } from "./notice.js";
import { count, day, NOT_KNOWN, part, plain, seconds } from "./numbers.js";
import { isHead, scoreCard } from "./overview.js";
import { problemBox, problemList, showError } from "./problem_view.js";
import { fetched } from "./source.js";
import { may, read, stream, visitor } from "./team_api.js";

const CARDS = 6;
const NAMES_SHOWN = 4;
const RUN_EVERY_MS = 1000;
const WINDOW_MS = 20_000;
const OTHERS = 4;
const TAKEN = "started by a worker";

export async function showEvaluation(main) {
  const id = Number(location.pathname.split("/")[2]);
  const page = new EvaluationPage(await read(`/evaluations/${id}`), await visitor());
  replace(main, page.element);
  await page.lookAtRun();
  page.watch();
}

// The speed over the last seconds; null until it is known.
class Pace {
  constructor() {
    this.seen = [];
  }

  add(progress, now) {
    this.seen.push({ now, done: progress.n_done, share: progress.share_done });
    while (this.seen.length > 2 && this.seen[0].now < now - WINDOW_MS) this.seen.shift();
  }

  over(name) {
    const [first, last] = [this.seen[0], this.seen.at(-1)];
    return first === undefined || last.now - first.now < 500 ? null : (1000 * (last[name] - first[name])) / (last.now - first.now);
  }

  get samplesPerSecond() {
    return this.over("done");
  }

  get secondsLeft() {
    const rate = this.over("share");
    return rate ? (1 - this.seen.at(-1).share) / rate : null;
  }
}

function fact(name, ...value) {
  return el("div", { class: "fact" }, el("span", {}, name), el("b", {}, value));
}

class EvaluationPage {
  constructor(evaluation, who) {
    this.who = who;
    this.pace = new Pace();
    this.log = [];
    this.run = null;
    this.notes = [];
    this.head = el("header", { class: "run-head" });
    this.trouble = problemBox();
    this.progress = el("section", { "aria-label": "Progress", "aria-live": "off" });
    this.problems = el("section", { "aria-label": "Problems" });
    this.scores = el("section", { id: "scores" });
    this.ways = el("section", { "aria-label": "Other evaluations" });
    this.story = el("section", { "aria-label": "Events" });
    this.settings = el("section", { "aria-label": "Settings" });
    this.element = el("div", { class: "evaluation" }, this.head, this.trouble, this.progress, this.problems, this.scores, this.ways, this.story, this.settings);
    this.began(evaluation);
    this.take(evaluation);
    this.drawSettings();
  }

  // Adds the events that the server has recorded.
  began(one) {
    this.log.push([one.submitted_at, ["submitted by ", userText(one.submitted_by), one.priority ? `, priority ${one.priority}` : ""]]);
    if (one.started_at !== null) this.log.push([one.started_at, [one.attempt > 1 ? `first ${TAKEN}; now attempt ${one.attempt}` : TAKEN]]);
    if (one.finished_at !== null) this.log.push([one.finished_at, [one.state]]);
  }

  take(evaluation) {
    const before = this.evaluation;
    this.evaluation = evaluation;
    if (before && (before.state !== evaluation.state || before.attempt !== evaluation.attempt)) {
      const isNewAttempt = before.attempt !== evaluation.attempt && evaluation.attempt > 1;
      this.log.push([isOver(evaluation) ? evaluation.finished_at : new Date().toISOString(), [evaluation.state === "running" ? TAKEN : evaluation.state, isNewAttempt ? `, attempt ${evaluation.attempt}` : ""]]);
      if (isNewAttempt) this.pace = new Pace();
    }
    if (evaluation.state === "running") this.pace.add(evaluation.progress, Date.now());
    this.draw();
  }

  watch() {
    // The browser does not reopen a stream that ended: a resumed evaluation needs a new one.
    this.events?.close();
    if (isOver(this.evaluation)) return;
    this.events = new EventSource(stream(`/evaluations/${this.evaluation.id}/events`));
    const heard = (event) => {
      this.take(JSON.parse(event.data));
      this.lookSoon();
    };
    this.events.addEventListener("open", () => showNotice(null));
    this.events.addEventListener("error", () => showNotice(LOST));
    this.events.addEventListener("gone", () => {
      this.events.close();
      showNotice(GONE);
    });
    this.events.addEventListener("progress", heard);
    this.events.addEventListener("end", (event) => {
      this.events.close();
      heard(event);
    });
  }

  // Reads the run at most once a second, and once more after its end.
  lookSoon() {
    if (this.waiting) return;
    this.waiting = setTimeout(async () => {
      this.waiting = null;
      await this.lookAtRun();
    }, isOver(this.evaluation) ? 0 : RUN_EVERY_MS);
  }

  async lookAtRun() {
    const { evaluation } = this;
    // There is no run before the worker reports the first progress.
    if (evaluation.progress.n_samples) {
      this.run = await fetched(`/data/runs/${encodeURIComponent(evaluation.run)}`).catch((error) => {
        if (error.status === 404) return null;
        throw error;
      });
    }
    if (evaluation.state === "complete") {
      this.notes = this.run?.manifest.notes ?? [];
      await this.lookAround();
    }
    this.drawScores();
    this.draw();
  }

  // Lists complete evaluations of the same datasets, as links to comparisons.
  async lookAround() {
    const mine = this.evaluation;
    const key = (one) => JSON.stringify([...one.datasets].sort());
    const alike = (await read("/evaluations?state=complete&limit=200")).filter((one) => one.id !== mine.id && key(one) === key(mine));
    const line = (one) => el("li", {}, el("a", { href: `/compare?${new URLSearchParams([["run", one.run], ["run", mine.run]])}` }, `Compare with evaluation ${one.id}`),
      el("span", { class: "faint" }, " · ", userText(one.model), `, ${day(one.submitted_at)}`));
    const same = alike.filter((one) => one.model === mine.model && one.id < mine.id).slice(0, 1);
    const others = [...new Map(alike.filter((one) => one.model !== mine.model).reverse().map((one) => [one.model, one])).values()].slice(0, OTHERS);
    replace(this.ways, same.length || others.length ? [el("h2", {}, "Compare"),
      same.length ? [el("h3", {}, "Same model, earlier evaluation"), el("ul", { class: "plainlist" }, same.map(line))] : null,
      others.length ? [el("h3", {}, "Other models, same datasets"), el("ul", { class: "plainlist" }, others.map(line))] : null] : null);
  }

  draw() {
    this.drawHead();
    this.drawProgress();
    replace(this.problems, this.evaluation.problems.length ? [el("h2", {}, "Why it failed"), problemList(this.evaluation.problems)] : null);
    replace(this.story, el("h2", {}, "Events"),
      el("ol", { class: "log" }, this.log.map(([time, words]) => el("li", {}, el("time", { datetime: time }, new Date(time).toLocaleString()), el("span", {}, words)))));
  }

  drawHead() {
    const one = this.evaluation;
    const key = JSON.stringify([one.state, this.run !== null]);
    if (key === this.headKey) return;
    const focus = this.head.contains(document.activeElement) ? document.activeElement.dataset.do : null;
    this.headKey = key;
    const left = one.datasets.length - NAMES_SHOWN;
    document.title = `${one.state} · evaluation ${one.id} · Assay`;
    replace(this.head,
      el("p", { class: "kicker" }, `Evaluation ${one.id}`),
      el("h1", {}, one.datasets.slice(0, NAMES_SHOWN).map((name, nth) => [nth ? ", " : "", userText(name)]), left > 0 ? ` and ${count(left)} more` : ""),
      el("p", { class: "model" }, userText(one.model)),
      el("div", { class: "ways" },
        stateMark(one),
        this.run === null ? null : el("a", { class: "button", href: `/runs/${encodeURIComponent(one.run)}` }, one.state === "complete" ? "Open the run" : "Open the run so far"),
        one.state === "complete" ? el("a", { href: "/leaderboard" }, "Leaderboard") : null,
        may(this.who, "runner") && el("a", { href: `/evaluations/new?${new URLSearchParams([["model", one.model], ...one.datasets.map((name) => ["dataset", name])])}` }, "New evaluation like this"),
        actions(one, this.who, { done: (after) => this.changed(after), failed: (error) => showError(this.trouble, error) })));
    if (focus) this.head.querySelector(`[data-do="${focus}"]`)?.focus();
  }

  changed(evaluation) {
    showError(this.trouble, null);
    if (evaluation === null) {
      location.assign("/evaluations");
      return;
    }
    this.take(evaluation);
    this.watch();
  }

  drawProgress() {
    const one = this.evaluation;
    const { progress } = one;
    const isRunning = one.state === "running";
    const took = tookSeconds(one);
    replace(this.progress, el("div", { class: "bar-whole" }, progressBar(one)), el("div", { class: "facts-row" },
      progress.n_samples ? fact("samples", `${count(progress.n_done)} of ${count(progress.n_samples)}`) : null,
      isRunning ? fact("samples/s", this.pace.samplesPerSecond === null ? NOT_KNOWN : plain(this.pace.samplesPerSecond)) : null,
      isRunning ? fact("time left", this.pace.secondsLeft === null ? NOT_KNOWN : `about ${seconds(Math.max(1, Math.round(this.pace.secondsLeft)))}`) : null,
      took === null ? null : fact(isOver(one) ? "took" : "so far", seconds(isOver(one) ? took : Math.round(took))),
      progress.n_samples ? fact("failed", count(progress.n_failed)) : null,
      progress.n_requests ? fact("requests answered", count(progress.n_answered)) : null,
      progress.n_judge_prompts ? fact("judged", `${count(progress.n_judge_replies)} of ${count(progress.n_judge_prompts)}`) : null,
      progress.n_judge_failed ? fact("judge failures", count(progress.n_judge_failed)) : null,
      progress.n_cached ? fact("from the cache", count(progress.n_cached)) : null,
      progress.n_journaled ? fact("from earlier attempts", count(progress.n_journaled)) : null,
      one.attempt > 1 ? fact("attempt", count(one.attempt)) : null));
  }

  drawScores() {
    if (this.run === null) {
      replace(this.scores);
      return;
    }
    const heads = this.run.rows.filter((row) => row.role === "mean" ? isHead(row) : row.group === null && (row.is_listed || !["complete", "unscored"].includes(this.run.manifest.status)));
    const means = heads.filter((row) => row.role === "mean");
    const tasks = heads.filter((row) => row.role === "task");
    // With many datasets, cards of the first few would be arbitrary: the table lists them all.
    const cards = means.length ? means.slice(0, CARDS) : heads.length <= CARDS ? heads : [];
    const line = (row) => [userText(row.label), userText(row.method), `${count(row.n_counted + row.n_failed)} of ${count(row.n)}`, row.shown, row.interval, count(row.n_failed), part(row.n_unanswered, row.n)];
    // Datasets that have not started yet.
    const begun = new Set(tasks.map((row) => row.task));
    const waiting = this.run.manifest.tasks.filter((task) => !begun.has(task.name)).map((task) => [userText(task.name), task.methods.join(", "), `0 of ${count(task.n_samples)}`, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN]);
    const isWhole = this.evaluation.state === "complete";
    replace(this.scores,
      heads.length ? el("h2", {}, isWhole ? "Results" : "Results so far") : null,
      cards.length ? el("div", { class: "scores" }, cards.map((card) => scoreCard(card))) : null,
      heads.length > cards.length || (!isWhole && this.run.manifest.tasks.length > 1) ? [el("h3", {}, "By dataset"), dataTable(["dataset", "method", "done", "score", "95 % interval", "failed", "unanswered"], [...tasks.map(line), ...(isWhole ? [] : waiting)], "Results by dataset")] : null,
      this.notes.length ? el("ul", { class: "notes" }, this.notes.map((note) => el("li", {}, userText(note)))) : null);
  }

  drawSettings() {
    const settings = Object.entries(this.evaluation.settings);
    const words = (value) => (typeof value === "string" ? value : Array.isArray(value) ? value.join(", ") : JSON.stringify(value));
    replace(this.settings, el("h2", {}, "Settings"),
      settings.length ? dataTable(["setting", "value"], settings.map(([name, value]) => [name, userText(words(value))]), "Non-default settings") : null,
      el("p", { class: "faint" }, settings.length ? "All other settings have their default values, listed on the page of the run." : "All settings have their default values, listed on the page of the run."));
  }
}
