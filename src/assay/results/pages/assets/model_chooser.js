// Choosing a model: a registered one, or, for the owner, whatever `assay run --model` takes.

import { el, replace, said } from "./dom.js";
import { field } from "./schema_fields.js";
import { may } from "./team_api.js";

const MANY = 8;

export class ModelChooser {
  constructor(models, who, { request, model }, chosen) {
    this.models = models;
    this.chosen = models.some((one) => one.name === chosen) ? chosen : models.length === 1 ? models[0].name : null;
    this.isOwner = may(who, "owner");
    this.search = el("input", { type: "search", placeholder: "Search models", "aria-label": "Search models", oninput: () => this.draw() });
    this.list = el("div", { class: "models", role: "radiogroup", "aria-label": "Registered models" });
    this.trouble = el("p", { class: "trouble", role: "alert" });
    this.other = field("spec", model.properties.spec, { label: "Or a model that is not registered" });
    this.args = field("model_args", request.properties.model_args, { label: "its arguments" });
    if (chosen && !this.chosen) this.other.input.value = chosen;
    this.other.input.addEventListener("input", () => { this.tell(null); this.chosen = null; this.draw(); });
    this.element = el("div", { class: "chooser" }, models.length > MANY ? el("div", { class: "tools" }, this.search) : null, this.trouble, this.list,
      this.isOwner ? el("div", { class: "form-fields" }, this.other.element, this.args.element) : null);
    this.draw();
  }

  tell(text) {
    replace(this.trouble, text ? said(text) : null);
  }

  draw() {
    const words = this.search.value.toLowerCase();
    const found = this.models.filter((one) => [one.name, one.spec, one.description].join("\n").toLowerCase().includes(words));
    replace(this.list, found.map((one) => this.line(one)),
      this.models.length ? null : el("p", { class: "empty" }, this.isOwner ? ["No model is registered. ", el("a", { href: "/models" }, "Register one"), ", or name one here."] : "No model is registered. Ask the owner to register one."));
  }

  line(one) {
    const button = el("input", { type: "radio", name: "model", value: one.name, onchange: () => { this.chosen = one.name; this.other.input.value = ""; this.tell(null); } });
    button.checked = one.name === this.chosen;
    return el("label", { class: "dataset" }, button, el("span", { class: "words" }, el("span", { class: "name" }, said(one.name)), one.description ? el("span", { class: "of" }, said(one.description)) : null), el("code", { class: "of judged" }, said(one.spec)));
  }

  // What is asked for of the model; null, and told, where nothing was chosen.
  read() {
    const spec = this.isOwner ? this.other.input.value.trim() : "";
    if (spec) return { model: spec, ...(this.args.read() ? { model_args: this.args.read() } : {}) };
    if (this.chosen) return { model: this.chosen };
    this.tell("Choose a model.");
    return null;
  }
}
