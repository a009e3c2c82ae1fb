// The list of runs: live, with search, filters, sorting and a selection of runs to compare.

import { tagChips } from "./annotation_view.js";
import { append, el, replace, userText } from "./dom.js";
import { onState, setState, stateNow } from "./address.js";
import { count, day, NOT_KNOWN, seconds } from "./numbers.js";
import { scoreLines } from "./score_lines.js";
import { fetched, watched } from "./source.js";

const SHOWN = 200;
const SCORES_SHOWN = 3;
const SILENT_S = 120;
const STATUSES = { running: "running", answered: "answered, not scored", complete: "complete", unscored: "not scored", damaged: "damaged" };
const COLUMNS = [["name", "Run"], ["status", "Status"], ["model", "Model"], ["result", "Score"], ["n_samples", "Samples"], ["started", "Started"], ["seconds", "Duration"]];
const SORTS = {
  name: (run) => run.name, status: (run) => run.status, model: (run) => run.model, result: (run) => run.rows[0]?.value ?? null,
  n_samples: (run) => run.n_samples, started: (run) => run.started, seconds: (run) => run.seconds,
};

export async function showRuns(main) {
  const list = new RunList();
  replace(main, list.element);
  const take = async () => list.take(...(await Promise.all([fetched("/data/runs"), fetched("/data/annotations")])));
  await take();
  append(main, [benchesSection(await fetched("/data/benches"))]);
  onState((state) => list.follow(state));
  watched("/data/events", take);
  // A run that stopped writing sends no event: check the clock.
  setInterval(() => list.follow(stateNow()), 1000 * SILENT_S / 4);
}

// The serving benchmarks in the same folders; null without any.
function benchesSection(benches) {
  if (!benches.length) return null;
  const cells = (one) => (one.fault ? [el("td", { class: "trouble", colspan: 3 }, userText(one.fault))]
    : [el("td", {}, userText(one.load)), el("td", {}, count(one.n_calls), one.n_failed ? el("span", { class: "of" }, `${count(one.n_failed)} failed`) : null), el("td", {}, day(one.started))]);
  return el("section", { class: "runs" }, el("h2", {}, "Serving benchmarks"), el("div", { class: "runs-scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ["Benchmark", "Model", "Load", "Requests", "Started"].map((label) => el("th", { scope: "col", class: "plain-head" }, label)))),
    el("tbody", {}, benches.map((one) => el("tr", {}, el("td", { class: "name" }, one.fault ? userText(one.name) : el("a", { href: `/benches/${encodeURIComponent(one.name)}` }, userText(one.name))), el("td", { class: "model" }, userText(one.model)), cells(one)))))));
}

function ago(time) {
  return Math.max(0, Date.now() / 1000 - time);
}

function scores(run) {
  if (run.fault) return el("span", { class: "trouble" }, userText(run.fault));
  if (!run.rows.length) return el("span", { class: "of" }, run.datasets.slice(0, SCORES_SHOWN).map((name, nth) => [nth ? ", " : "", userText(name)]), run.datasets.length > SCORES_SHOWN ? ` and ${run.datasets.length - SCORES_SHOWN} more` : "");
  return scoreLines(run.rows, SCORES_SHOWN);
}

function status(run) {
  const share = run.n_samples ? run.n_done / run.n_samples : 0;
  if (run.status !== "running") return el("span", { class: `status s-${run.status}` }, STATUSES[run.status] ?? run.status);
  const silent = ago(run.changed);
  return [
    silent > SILENT_S ? el("span", { class: "status s-answered" }, "not complete") : el("span", { class: "status s-running" }, "running"),
    el("progress", { max: 1, value: share, "aria-label": "samples done" }),
    el("span", { class: "of" }, `${count(run.n_done)} of ${count(run.n_samples)}`, silent > SILENT_S ? `, no progress for ${seconds(silent)}` : ""),
  ];
}

function choices(runs, values) {
  return [...new Set(runs.flatMap(values))].filter(Boolean).sort();
}

class RunList {
  constructor() {
    this.runs = [];
    this.chosen = new Set();
    this.made = new Map();
    this.isWhole = false;
    this.search = el("input", { type: "search", placeholder: "Search runs, models, datasets", "aria-label": "Search runs", oninput: () => setState({ q: this.search.value }) });
    this.selects = el("div", { class: "selects" });
    this.statusLine = el("p", { class: "status-line", role: "status" });
    this.trouble = el("div", { role: "alert" });
    this.head = el("thead", {});
    this.body = el("tbody", {});
    this.more = el("p", {});
    this.bar = el("div", { class: "compare-bar", role: "region", "aria-label": "Comparison", hidden: true });
    this.element = el("div", { class: "runs" }, el("h1", {}, "Runs"), el("div", { class: "tools" }, this.search, this.selects), this.trouble, this.statusLine,
      el("div", { class: "runs-scroll" }, el("table", {}, this.head, this.body)), this.more, this.bar);
  }

  // `annotations`: the tags and notes of runs, by name.
  take({ runs, unread }, annotations) {
    this.runs = runs.map((run) => ({ ...run, tags: annotations[run.name]?.tags ?? [], note: annotations[run.name]?.note ?? "" }));
    replace(this.trouble, unread.map(({ folder, fault }) => el("p", { class: "trouble" }, "Cannot list the runs in ", userText(folder), ": ", fault)));
    this.isUnread = unread.length > 0;
    const names = new Set(runs.map((run) => run.name));
    for (const name of this.chosen) if (!names.has(name)) this.chosen.delete(name);
    this.follow(stateNow());
  }

  follow(state) {
    this.state = state;
    const words = (state.q ?? "").toLowerCase();
    const found = this.runs.filter((run) =>
      (!state.model || run.model === state.model) && (!state.tag || run.tags.includes(state.tag)) && (!state.dataset || run.datasets.includes(state.dataset)) && (!state.status || run.status === state.status)
      && (!words || [run.name, run.model, run.note, ...run.tags, ...run.datasets].join("\n").toLowerCase().includes(words)));
    this.draw(this.sorted(found));
  }

  sorted(runs) {
    const [name, way] = (this.state.sort ?? "").split(" ");
    const by = SORTS[name];
    if (!by) return runs;
    const sign = way === "down" ? -1 : 1;
    // Unknown values come last in both directions.
    return [...runs].sort((a, b) => {
      const [one, other] = [by(a), by(b)];
      if (one === other) return 0;
      if (one === null || one === "") return 1;
      if (other === null || other === "") return -1;
      return sign * (one < other ? -1 : 1);
    });
  }

  draw(runs) {
    this.drawTools(runs);
    const [name, way] = (this.state.sort ?? "").split(" ");
    replace(this.head, el("tr", {}, el("th", { class: "choose" }, el("span", { class: "unseen" }, "Compare")), COLUMNS.map(([key, label]) =>
      el("th", { class: key, "aria-sort": name === key ? (way === "down" ? "descending" : "ascending") : "none" },
        el("button", { type: "button", onclick: () => setState({ sort: name !== key ? `${key} up` : way === "up" ? `${key} down` : null }) }, label, name === key ? (way === "down" ? " ↓" : " ↑") : "")))));
    const shown = this.isWhole ? runs : runs.slice(0, SHOWN);
    this.drawRows(shown);
    replace(this.more, shown.length < runs.length ? el("button", { type: "button", class: "plain", onclick: () => { this.isWhole = true; this.follow(this.state); } }, `Show all ${count(runs.length)}`) : null);
    this.drawBar();
  }

  // Keeps the elements of unchanged rows, so that the focus stays while other runs grow.
  drawRows(runs) {
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.hold : undefined;
    const made = new Map();
    const rows = runs.map((run) => {
      const content = JSON.stringify([run, run.status === "running" && ago(run.changed) > SILENT_S ? Date.now() : 0]);
      const before = this.made.get(run.name);
      const row = before?.content === content ? before.row : this.row(run);
      made.set(run.name, { content, row });
      return row;
    });
    this.made = made;
    if (rows.length !== this.body.children.length || rows.some((row, nth) => row !== this.body.children[nth])) replace(this.body, rows);
    if (focused !== undefined && !this.body.contains(document.activeElement)) [...this.body.querySelectorAll("[data-hold]")].find((node) => node.dataset.hold === focused)?.focus();
  }

  drawTools(runs) {
    if (document.activeElement !== this.search) this.search.value = this.state.q ?? "";
    const choose = (name, label, values, words = (value) => value) => values.length < (name === "tag" ? 1 : 2) && !this.state[name] ? null
      : el("label", {}, `${label} `, el("select", { onchange: (event) => setState({ [name]: event.target.value }) },
        el("option", { value: "" }, "all"), values.map((value) => el("option", { value, selected: this.state[name] === value }, words(value)))));
    const [models, datasets, tags, statuses] = [(run) => [run.model], (run) => run.datasets, (run) => run.tags, (run) => [run.status]].map((values) => choices(this.runs, values));
    // Redraw only on changes: an open list stays open.
    const offered = JSON.stringify([models, datasets, tags, statuses, this.state]);
    if (offered !== this.offered) {
      this.offered = offered;
      replace(this.selects, choose("model", "Model", models), choose("dataset", "Dataset", datasets), choose("tag", "Tag", tags), choose("status", "Status", statuses, (value) => STATUSES[value] ?? value));
    }
    replace(this.statusLine, this.runs.length ? `${count(runs.length)} of ${count(this.runs.length)} runs` : this.isUnread ? null : "No runs yet. Start one with `assay run data.csv`; it appears here automatically.");
  }

  row(run) {
    const address = `/runs/${encodeURIComponent(run.name)}`;
    const box = el("input", { type: "checkbox", checked: this.chosen.has(run.name), "aria-label": `compare ${run.name}`, "data-hold": `compare ${run.name}`, onchange: (event) => this.choose(run.name, event.target.checked) });
    return el("tr", { class: run.status },
      el("td", { class: "choose" }, run.fault ? null : box),
      el("td", { class: "name" }, run.fault ? userText(run.name) : el("a", { href: address, "data-hold": run.name }, userText(run.name)), run.tags.length ? el("span", { class: "user-tags" }, tagChips(run.tags)) : null),
      el("td", { class: "state" }, status(run)),
      el("td", { class: "model" }, userText(run.model || NOT_KNOWN), run.judge ? el("span", { class: "of" }, "judge ", userText(run.judge)) : null),
      el("td", { class: "result" }, scores(run)),
      el("td", { class: "n_samples" }, count(run.n_samples)),
      el("td", { class: "started" }, run.started ? day(run.started) : NOT_KNOWN),
      el("td", { class: "seconds" }, run.status === "running" ? NOT_KNOWN : seconds(run.seconds)));
  }

  choose(name, isChosen) {
    if (isChosen) this.chosen.add(name);
    else this.chosen.delete(name);
    this.drawBar();
  }

  drawBar() {
    this.bar.hidden = this.chosen.size === 0;
    const query = new URLSearchParams([...this.chosen].map((name) => ["run", name]));
    replace(this.bar,
      this.chosen.size < 2 ? el("span", {}, "1 run selected. Select another one to compare.") : el("a", { class: "go", href: `/compare?${query}` }, `Compare ${this.chosen.size} runs`),
      el("a", { href: `/samples?${query}` }, "Show samples"),
      el("button", { type: "button", class: "plain", onclick: () => { this.chosen.clear(); this.made.clear(); this.follow(this.state); } }, "Clear selection"));
  }
}
