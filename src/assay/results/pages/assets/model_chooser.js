// A control to select a model: a registered one or, for the owner, anything that `assay run --model` accepts.

import { el, replace, userText } from "./dom.js";
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
    this.other = field("spec", model.properties.spec, { label: "Or an unregistered model" });
    this.args = field("model_args", request.properties.model_args, { label: "model arguments" });
    if (chosen && !this.chosen) this.other.input.value = chosen;
    this.other.input.addEventListener("input", () => { this.showError(null); this.chosen = null; this.draw(); });
    this.element = el("div", { class: "chooser" }, models.length > MANY ? el("div", { class: "tools" }, this.search) : null, this.trouble, this.list,
      this.isOwner ? el("div", { class: "form-fields" }, this.other.element, this.args.element) : null);
    this.draw();
  }

  showError(text) {
    replace(this.trouble, text ? userText(text) : null);
  }

  draw() {
    const words = this.search.value.toLowerCase();
    const found = this.models.filter((one) => [one.name, one.spec, one.description].join("\n").toLowerCase().includes(words));
    replace(this.list, found.map((one) => this.line(one)),
      this.models.length ? null : el("p", { class: "empty" }, this.isOwner ? ["No models are registered. ", el("a", { href: "/models" }, "Register one"), ", or enter one here."] : "No models are registered. Ask the owner to register one."));
  }

  line(one) {
    const button = el("input", { type: "radio", name: "model", value: one.name, onchange: () => { this.chosen = one.name; this.other.input.value = ""; this.showError(null); } });
    button.checked = one.name === this.chosen;
    return el("label", { class: "dataset" }, button, el("span", { class: "words" }, el("span", { class: "name" }, userText(one.name)), one.description ? el("span", { class: "of" }, userText(one.description)) : null), el("code", { class: "of judged" }, userText(one.spec)));
  }

  // Returns the model part of the request; shows an error and returns null if no model is selected.
  read() {
    const spec = this.isOwner ? this.other.input.value.trim() : "";
    if (spec) return { model: spec, ...(this.args.read() ? { model_args: this.args.read() } : {}) };
    if (this.chosen) return { model: this.chosen };
    this.showError("Select a model.");
    return null;
  }
}
