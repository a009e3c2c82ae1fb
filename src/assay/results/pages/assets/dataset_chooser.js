// A control to select datasets: grouped by ability, with search, each with its description and metrics.

import { el, replace, userText } from "./dom.js";
import { looksAt, oddities, sizeWords } from "./dataset_preview.js";
import { count } from "./numbers.js";
import { problemList } from "./problem_view.js";

const WITHOUT = "Other";

function listed(names) {
  return names.map((name, nth) => [nth ? ", " : "", userText(name)]);
}

export class DatasetChooser {
  constructor(datasets, chosen) {
    this.datasets = datasets;
    this.chosen = new Set(chosen.filter((name) => datasets.some((one) => one.name === name)));
    this.search = el("input", { type: "search", placeholder: "Search datasets and abilities", "aria-label": "Search datasets", oninput: () => this.draw() });
    this.statusLine = el("p", { class: "status-line", role: "status" });
    this.basket = el("ul", { class: "basket", "aria-label": "Selected datasets" });
    this.groups = el("div", { class: "groups" });
    this.trouble = el("p", { class: "trouble", role: "alert" });
    this.element = el("div", { class: "chooser" }, el("div", { class: "tools" }, this.search), this.statusLine, this.basket, this.trouble, this.groups);
    this.facts = new Map();
    this.draw();
    this.chosen.forEach((name) => this.look(name));
  }

  // Adds a dataset and selects it.
  add(dataset) {
    this.datasets = [...this.datasets.filter((one) => one.name !== dataset.name), dataset].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.choose(dataset.name, true);
  }

  showError(text) {
    replace(this.trouble, text ? userText(text) : null);
  }

  draw() {
    const words = this.search.value.toLowerCase();
    const found = this.datasets.filter((one) => [one.name, one.explanation, ...one.abilities].join("\n").toLowerCase().includes(words));
    const abilities = new Map();
    for (const one of found) {
      const ability = one.abilities[0] ?? WITHOUT;
      abilities.set(ability, [...(abilities.get(ability) ?? []), one]);
    }
    const inOrder = [...abilities].sort(([a], [b]) => (a === WITHOUT) - (b === WITHOUT) || (a < b ? -1 : 1));
    this.groups.hidden = !this.datasets.length;
    replace(this.groups, inOrder.map(([ability, some]) => this.group(ability, some)), found.length ? null : el("p", { class: "empty" }, "No datasets match the search."));
    this.drawChosen();
  }

  drawChosen() {
    replace(this.statusLine, !this.datasets.length ? "No datasets are registered. The owner can start the server with --datasets FOLDER, or upload a dataset below."
      : [`${count(this.chosen.size)} of ${count(this.datasets.length)} datasets selected `,
        this.chosen.size ? el("button", { type: "button", class: "link", onclick: () => { this.chosen.clear(); this.draw(); } }, "Clear selection") : null]);
    this.basket.hidden = !this.chosen.size;
    replace(this.basket, [...this.chosen].map((name) => el("li", {},
      el("span", { class: "words" }, el("span", { class: "name" }, userText(name)), el("span", { class: "of" }, this.facts.get(name))),
      el("button", { type: "button", class: "link", "aria-label": `remove ${name}`, onclick: () => this.choose(name, false) }, "×"))));
  }

  group(ability, some) {
    const isWhole = some.every((one) => this.chosen.has(one.name));
    return el("fieldset", {},
      el("legend", {}, userText(ability), some.length > 1 ? el("button", { type: "button", class: "link", onclick: () => some.forEach((one) => this.choose(one.name, !isWhole)) }, isWhole ? "none" : `all ${some.length}`) : null),
      some.map((one) => this.line(one)));
  }

  line(one) {
    const box = el("input", { type: "checkbox", name: "dataset", onchange: () => this.choose(one.name, box.checked) });
    box.checked = this.chosen.has(one.name);
    const others = one.metrics.filter((name) => name !== one.headline);
    return el("label", { class: "dataset" }, box,
      el("span", { class: "words" }, el("span", { class: "name" }, userText(one.name)), one.explanation ? el("span", { class: "of" }, userText(one.explanation)) : null),
      el("span", { class: "of judged" },
        one.headline ? [el("b", {}, userText(one.headline)), others.length ? ", " : null] : null, listed(others), one.headline || others.length ? null : "default metric of its method",
        one.abilities.length > 1 ? el("span", { class: "of" }, "also ", listed(one.abilities.slice(1))) : null));
  }

  choose(name, isChosen) {
    if (isChosen) this.chosen.add(name);
    else this.chosen.delete(name);
    this.showError(null);
    if (isChosen) this.look(name);
    this.redraw();
  }

  // Draws once even if many are selected at a time, and keeps the keyboard focus.
  redraw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    queueMicrotask(() => {
      this.isWaiting = false;
      const boxes = () => [...this.groups.querySelectorAll("input, button")];
      const at = boxes().indexOf(document.activeElement);
      const top = this.groups.scrollTop;
      this.draw();
      this.groups.scrollTop = top;
      if (at >= 0) boxes()[at]?.focus({ preventScroll: true });
    });
  }

  // Loads the number of rows and the warnings of a selected dataset.
  async look(name) {
    if (this.facts.has(name)) return;
    this.facts.set(name, "…");
    try {
      const preview = await looksAt(name);
      this.facts.set(name, [sizeWords(preview), oddities(preview)]);
    } catch (error) {
      this.facts.set(name, error.problem ? problemList([error.problem]) : error.message);
    }
    this.drawChosen();
  }
}
