// The evaluations of a team: those that wait, run and have ended; looked at again every other second.

import { onState, setState, stateNow } from "./address.js";
import { el, replace, said } from "./dom.js";
import { fetched } from "./source.js";
import { API, day, evaluationState, names, progress } from "./team.js";

const EVERY_MS = 2000;
const AT_A_TIME = 100;
const STATES = ["queued", "running", "stopping", "stopped", "complete", "failed"];

export async function showEvaluations(main) {
  const page = new Evaluations();
  replace(main, page.element);
  await page.refresh();
  onState(() => page.refresh());
  setInterval(() => { if (!document.hidden && !page.isLooking) page.refresh().catch(() => {}); }, EVERY_MS);
}

function row(one) {
  return el("tr", {},
    el("td", {}, el("a", { href: `/evaluations/${one.id}` }, `#${one.id}`)),
    el("td", { class: "state" }, evaluationState(one), progress(one)),
    el("td", { class: "model" }, said(one.model)),
    el("td", { class: "model" }, names(one.datasets)),
    el("td", {}, said(one.submitted_by)),
    el("td", { class: "started" }, day(one.submitted_at)),
    el("td", {}, one.progress.n_samples ? el("a", { href: `/runs/${encodeURIComponent(one.run)}` }, "run") : null));
}

class Evaluations {
  constructor() {
    this.isLooking = false;
    this.before = null;
    this.state = el("select", { onchange: () => { this.before = null; setState({ state: this.state.value || null }); } },
      el("option", { value: "" }, "all"), STATES.map((state) => el("option", { value: state }, state)));
    this.body = el("tbody", {});
    this.told = el("p", { class: "told", role: "status" });
    this.more = el("p", {});
    const heads = ["Evaluation", "State", "Model", "Datasets", "By", "Asked for", ""];
    this.element = el("div", { class: "runs team" },
      el("div", { class: "title" }, el("h1", {}, "Evaluations"), el("a", { class: "go", href: "/evaluations/new" }, "New evaluation")),
      el("div", { class: "tools" }, el("label", {}, "State ", this.state)), this.told,
      el("div", { class: "runs-scroll" }, el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { class: "head" }, head)))), this.body)),
      this.more);
  }

  async refresh() {
    this.isLooking = true;
    try {
      const { state } = stateNow();
      this.state.value = state ?? "";
      const query = new URLSearchParams({ limit: AT_A_TIME });
      if (state) query.set("state", state);
      if (this.before) query.set("before", this.before);
      this.draw(await fetched(`${API}/evaluations?${query}`));
    } finally {
      this.isLooking = false;
    }
  }

  draw(found) {
    replace(this.body, found.map(row));
    const none = this.before ? "No earlier ones." : "No evaluations yet.";
    replace(this.told, found.length ? "" : none);
    const turn = (label, before) => el("button", { type: "button", class: "plain", onclick: () => { this.before = before; this.refresh(); } }, label);
    replace(this.more,
      this.before ? turn("Latest", null) : null, " ",
      found.length === AT_A_TIME ? turn("Earlier", found.at(-1).id) : null);
  }
}
