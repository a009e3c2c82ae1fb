// One evaluation: told as it happens, stopped, resumed, deleted, and what came out.

import { el, replace, said } from "./dom.js";
import { count } from "./numbers.js";
import { fetched } from "./source.js";
import { API, day, ENDED, evaluationState, names, problems, progress, sent, showTrouble } from "./team.js";

export async function showEvaluation(main) {
  const page = new Evaluation(main, Number(location.pathname.split("/").pop()));
  replace(main, page.element);
  await page.begin();
}

function percent(metric, value) {
  if (value === null) return "–";
  return metric.is_share ? `${(100 * value).toFixed(1)} %` : value.toPrecision(4);
}

function results(metrics) {
  const whole = metrics.filter((metric) => metric.group === null);
  const heads = ["Dataset", "Method", "Metric", "Value", "95 % interval", "Scored", "Unanswered", "Failed"];
  return el("div", { class: "runs-scroll" }, el("table", { class: "results" },
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { class: "head" }, head)))),
    el("tbody", {}, whole.map((metric) => el("tr", { class: metric.is_headline ? "headline" : null },
      el("td", {}, said(metric.task)), el("td", {}, said(metric.method)), el("td", {}, said(metric.metric)),
      el("td", { class: "number" }, percent(metric, metric.value)),
      el("td", { class: "number" }, metric.low === null ? "–" : `${percent(metric, metric.low)} – ${percent(metric, metric.high)}`),
      [metric.n_scored, metric.n_unanswered, metric.n_failed].map((n) => el("td", { class: "number" }, count(n))))))));
}

class Evaluation {
  constructor(main, number) {
    this.main = main;
    this.number = number;
    this.path = `/evaluations/${number}`;
    this.head = el("div", {});
    this.trouble = el("div", { role: "alert", hidden: true });
    this.outcome = el("div", {});
    this.element = el("div", { class: "runs team" }, this.head, this.trouble, this.outcome);
  }

  async begin() {
    this.draw(await fetched(API + this.path));
    if (!ENDED.includes(this.one.state)) this.watch();
    else await this.end();
  }

  watch() {
    const events = new EventSource(`${API}${this.path}/events`);
    events.addEventListener("progress", (event) => this.draw(JSON.parse(event.data)));
    events.addEventListener("end", (event) => {
      events.close();
      this.draw(JSON.parse(event.data));
      this.end();
    });
  }

  async end() {
    const { metrics } = await fetched(`${API}${this.path}/results`);
    replace(this.outcome, metrics.length ? [el("h2", {}, "Results"), results(metrics)] : null);
  }

  draw(one) {
    this.one = one;
    const facts = [
      ["Model", said(one.model)], ["Datasets", names(one.datasets)], ["Asked for", [said(one.submitted_by), `, ${day(one.submitted_at)}`]],
      ["Begun", day(one.started_at)], ["Ended", day(one.finished_at)], ["Attempts", one.attempt > 1 ? count(one.attempt) : null],
      ["Settings", Object.entries(one.settings).map(([name, value], nth) => [nth ? ", " : "", el("code", {}, `${name} = ${JSON.stringify(value)}`)])],
    ];
    replace(this.head,
      el("div", { class: "title" }, el("h1", {}, `Evaluation #${one.id}`), this.actions()),
      el("p", { role: "status" }, evaluationState(one), " ", progress(one)),
      one.problems.length ? problems(one.problems) : null,
      el("dl", {}, facts.filter(([, fact]) => fact && fact.length !== 0).map(([name, fact]) => [el("dt", {}, name), el("dd", {}, fact)])),
      one.progress.n_samples ? el("p", {}, el("a", { class: "go", href: `/runs/${encodeURIComponent(one.run)}` }, "Look at the run")) : null);
  }

  actions() {
    const { state } = this.one;
    const button = (label, act) => el("button", { type: "button", class: "plain", onclick: () => this.act(act) }, label);
    const stops = state === "queued" || state === "running";
    const resumes = state === "stopped" || state === "failed";
    return el("span", { class: "actions" },
      stops ? button("Stop", () => this.changed("stop")) : null,
      resumes ? button("Resume", () => this.changed("resume")) : null,
      ENDED.includes(state) ? button("Delete with its run", () => this.remove()) : null);
  }

  async act(act) {
    this.trouble.hidden = true;
    try {
      await act();
    } catch (error) {
      showTrouble(this.trouble, this.main, error);
    }
  }

  async changed(verb) {
    this.draw(await sent("POST", `${this.path}/${verb}`));
    if (verb === "resume") {
      replace(this.outcome);
      this.watch();
    } else if (ENDED.includes(this.one.state)) {
      await this.end();
    }
  }

  async remove() {
    if (!this.isSure) {
      // A second press is the question and its answer: nothing else opens.
      this.isSure = true;
      const last = this.head.querySelector(".actions button:last-child");
      replace(last, "Press again to delete");
      return;
    }
    await sent("DELETE", this.path);
    location.assign("/evaluations");
  }
}
