// Choosing datasets: in groups by ability, found by search, each with what it tests and how it is judged.

import { el, replace, said } from "./dom.js";
import { looksAt, oddities, sizeWords } from "./dataset_preview.js";
import { count } from "./numbers.js";
import { problemList } from "./problem_view.js";

const WITHOUT = "No ability named";

function listed(names) {
  return names.map((name, nth) => [nth ? ", " : "", said(name)]);
}

export class DatasetChooser {
  constructor(datasets, chosen) {
    this.datasets = datasets;
    this.chosen = new Set(chosen.filter((name) => datasets.some((one) => one.name === name)));
    this.search = el("input", { type: "search", placeholder: "Search datasets and abilities", "aria-label": "Search datasets", oninput: () => this.draw() });
    this.told = el("p", { class: "told", role: "status" });
    this.basket = el("ul", { class: "basket", "aria-label": "Chosen datasets" });
    this.groups = el("div", { class: "groups" });
    this.trouble = el("p", { class: "trouble", role: "alert" });
    this.element = el("div", { class: "chooser" }, el("div", { class: "tools" }, this.search), this.told, this.basket, this.trouble, this.groups);
    this.facts = new Map();
    this.draw();
    this.chosen.forEach((name) => this.look(name));
  }

  // Takes one more dataset, and chooses it.
  add(dataset) {
    this.datasets = [...this.datasets.filter((one) => one.name !== dataset.name), dataset].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.choose(dataset.name, true);
  }

  tell(text) {
    replace(this.trouble, text ? said(text) : null);
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
    replace(this.groups, inOrder.map(([ability, some]) => this.group(ability, some)), found.length ? null : el("p", { class: "empty" }, "No dataset is called so."));
    this.drawChosen();
  }

  drawChosen() {
    replace(this.told, !this.datasets.length ? "No dataset is registered. The owner starts the server with --datasets FOLDER, or uploads one below."
      : [`${count(this.chosen.size)} of ${count(this.datasets.length)} datasets chosen `,
        this.chosen.size ? el("button", { type: "button", class: "link", onclick: () => { this.chosen.clear(); this.draw(); } }, "Choose none") : null]);
    this.basket.hidden = !this.chosen.size;
    replace(this.basket, [...this.chosen].map((name) => el("li", {},
      el("span", { class: "words" }, el("span", { class: "name" }, said(name)), el("span", { class: "of" }, this.facts.get(name))),
      el("button", { type: "button", class: "link", "aria-label": `leave out ${name}`, onclick: () => this.choose(name, false) }, "×"))));
  }

  group(ability, some) {
    const isWhole = some.every((one) => this.chosen.has(one.name));
    return el("fieldset", {},
      el("legend", {}, said(ability), some.length > 1 ? el("button", { type: "button", class: "link", onclick: () => some.forEach((one) => this.choose(one.name, !isWhole)) }, isWhole ? "none of them" : `all ${some.length}`) : null),
      some.map((one) => this.line(one)));
  }

  line(one) {
    const box = el("input", { type: "checkbox", name: "dataset", onchange: () => this.choose(one.name, box.checked) });
    box.checked = this.chosen.has(one.name);
    const others = one.metrics.filter((name) => name !== one.headline);
    return el("label", { class: "dataset" }, box,
      el("span", { class: "words" }, el("span", { class: "name" }, said(one.name)), one.explanation ? el("span", { class: "of" }, said(one.explanation)) : null),
      el("span", { class: "of judged" },
        one.headline ? [el("b", {}, said(one.headline)), others.length ? ", " : null] : null, listed(others), one.headline || others.length ? null : "its method's own metric",
        one.abilities.length > 1 ? el("span", { class: "of" }, "also ", listed(one.abilities.slice(1))) : null));
  }

  choose(name, isChosen) {
    if (isChosen) this.chosen.add(name);
    else this.chosen.delete(name);
    this.tell(null);
    if (isChosen) this.look(name);
    this.redraw();
  }

  // Drawn once for however many are chosen at a time; whoever goes by the keyboard stays where they are.
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

  // Looks at a dataset that was chosen: how many rows it has, and what is odd about it.
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
