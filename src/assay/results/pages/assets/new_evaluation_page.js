// Choosing a model and datasets, and starting their evaluation.

import { el, replace, said } from "./dom.js";
import { count } from "./numbers.js";
import { fetched } from "./source.js";
import { API, sent, showTrouble } from "./team.js";

const NO_ABILITY = "Others";
const METHODS = ["gen", "ppl", "prob"];

export async function showNewEvaluation(main) {
  const [models, datasets] = await Promise.all([fetched(`${API}/models`), fetched(`${API}/datasets`)]);
  replace(main, new Form(main, models, datasets).element);
}

function byAbility(datasets) {
  const groups = new Map();
  for (const one of datasets) {
    const ability = one.abilities[0] ?? NO_ABILITY;
    if (!groups.has(ability)) groups.set(ability, []);
    groups.get(ability).push(one);
  }
  return [...groups].sort(([one], [other]) => (one === NO_ABILITY) - (other === NO_ABILITY) || one.localeCompare(other));
}

function number(label, name, hint) {
  return el("label", {}, label, el("input", { type: "number", min: 0, name, placeholder: hint }));
}

class Form {
  constructor(main, models, datasets) {
    this.main = main;
    this.trouble = el("div", { role: "alert", hidden: true });
    this.told = el("p", { class: "of", role: "status" });
    this.boxes = datasets.map((one) => this.box(one));
    const search = el("input", { type: "search", placeholder: "Search datasets", "aria-label": "Search datasets", oninput: () => this.search(search.value) });
    this.go = el("button", { type: "submit", class: "plain go" }, "Start");
    const of = new Map(datasets.map((one, nth) => [one.name, this.boxes[nth]]));
    this.groups = byAbility(datasets).map(([ability, group]) =>
      el("fieldset", {}, el("legend", {}, said(ability)), group.map((one) => of.get(one.name))));
    this.element = el("form", { class: "runs team", onsubmit: (event) => this.send(event) },
      el("h1", {}, "New evaluation"),
      models.length ? el("label", { class: "wide" }, "Model", el("select", { name: "model", required: true },
        models.map((one) => el("option", { value: one.name }, one.name, one.description ? ` · ${one.description}` : ""))))
        : el("p", { class: "trouble" }, "No model is registered yet: the owner does so with POST /api/v1/models."),
      el("h2", {}, "Datasets"), search, this.told, this.groups,
      el("h2", {}, "Settings"),
      el("div", { class: "settings" },
        el("fieldset", {}, el("legend", {}, "Methods"), METHODS.map((method) =>
          el("label", {}, el("input", { type: "checkbox", name: "method", value: method }), ` ${method}`)), el("span", { class: "of" }, "none: as the dataset says")),
        number("Shots", "shots", "as the dataset says"), number("Samples", "limit", "all"),
        number("Longest answer, in tokens", "max_tokens", "256"), number("Seed", "seed", "0")),
      this.trouble, el("p", {}, this.go));
    this.count();
  }

  box(one) {
    const box = el("input", { type: "checkbox", name: "datasets", value: one.name, onchange: () => this.count() });
    return el("label", { class: "dataset" }, box, el("span", {}, el("b", {}, said(one.name)), " ",
      el("span", { class: "of" }, said(one.explanation), one.headline ? [one.explanation ? " · " : "", said(one.headline)] : "")));
  }

  search(words) {
    const wanted = words.toLowerCase();
    for (const box of this.boxes) box.hidden = !box.textContent.toLowerCase().includes(wanted);
    for (const group of this.groups) group.hidden = [...group.querySelectorAll("label")].every((box) => box.hidden);
  }

  count() {
    const n = this.boxes.filter((box) => box.querySelector("input").checked).length;
    replace(this.told, `${count(n)} of ${count(this.boxes.length)} chosen`);
    this.go.disabled = n === 0;
  }

  async send(event) {
    event.preventDefault();
    const form = new FormData(this.element);
    const settings = {};
    for (const name of ["shots", "limit", "max_tokens", "seed"]) if (form.get(name)) settings[name] = Number(form.get(name));
    if (form.getAll("method").length) settings.method = form.getAll("method");
    this.trouble.hidden = true;
    this.go.disabled = true;
    replace(this.told, "Looking at the datasets …");
    try {
      const { evaluation } = await sent("POST", "/evaluations", { model: form.get("model"), datasets: form.getAll("datasets"), settings });
      location.assign(`/evaluations/${evaluation.id}`);
    } catch (error) {
      this.count();
      showTrouble(this.trouble, this.main, error);
    }
  }
}
