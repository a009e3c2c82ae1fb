// The form for a new evaluation: model, datasets, settings. The server reports all problems before it queues anything.

import { el, replace, userText } from "./dom.js";
import { DatasetChooser } from "./dataset_chooser.js";
import { fold } from "./folds.js";
import { ModelChooser } from "./model_chooser.js";
import { problemBox, showError } from "./problem_view.js";
import { field, fieldsOf, showFieldError, valuesOf } from "./schema_fields.js";
import { may, read, schemaOf, send, visitor } from "./team_api.js";
import { uploadForm } from "./upload_form.js";

// The most common settings; all others are in a collapsed part.
const USUAL = ["method", "shots", "limit", "seed", "fidelity", "chat", "max_tokens", "temperature"];

export async function showNewEvaluation(main) {
  const who = await visitor();
  if (!may(who, "runner")) {
    replace(main, el("h1", {}, "New evaluation"), el("p", {}, `A ${who.role} cannot start evaluations. Sign in with a runner's or the owner's token.`));
    return;
  }
  const [request, newModel, settings, models, datasets] = await Promise.all([schemaOf("EvaluationRequest"), schemaOf("NewModel"), schemaOf("EvaluationSettings"), read("/models"), read("/datasets")]);
  const wanted = new URLSearchParams(location.search);
  const model = new ModelChooser(models, who, { request, model: newModel }, wanted.get("model"));
  const chooser = new DatasetChooser(datasets, wanted.getAll("dataset"));
  const fields = fieldsOf(settings);
  const judge = field("judge", { type: "string", enum: models.map((one) => one.name), description: request.properties.judge.description });
  const priority = field("priority", request.properties.priority);
  const otherFields = [...(models.length ? [judge] : []), priority];
  const usual = fields.filter((one) => USUAL.includes(one.name));
  const others = fields.filter((one) => !USUAL.includes(one.name));
  const trouble = problemBox();
  const start = el("button", { type: "submit", class: "button" }, "Start");
  const statusLine = el("span", { class: "status-line", role: "status" });
  const asked = () => {
    const chosen = model.read();
    const [set, more] = [valuesOf(fields), valuesOf(otherFields)];
    if (!chooser.chosen.size) chooser.showError("Select at least one dataset.");
    if (chosen === null || set === null || more === null || !chooser.chosen.size) return null;
    return { ...chosen, datasets: [...chooser.chosen], settings: set, ...more };
  };

  async function submit(event) {
    event.preventDefault();
    showError(trouble, null);
    const body = asked();
    if (body === null) {
      replace(statusLine, "Complete the fields marked above.");
      return;
    }
    start.disabled = true;
    replace(statusLine, "Checking the datasets…");
    try {
      const { evaluation } = await send("POST", "/evaluations", body);
      location.assign(`/evaluations/${evaluation.id}`);
    } catch (error) {
      replace(statusLine);
      start.disabled = false;
      showRejection(error);
    }
  }

  // Shows each error next to the field that fixes it.
  function showRejection(error) {
    const { problem } = error;
    const words = problem && `${problem.what}. Fix: ${problem.fix}`;
    if (problem?.code === "TEAM-031" || problem?.code === "TEAM-033") model.showError(words);
    else if (problem?.code === "TEAM-041") chooser.showError(words);
    else if (!problem || problem.where || !showFieldError([...fields, ...otherFields], problem)) showError(trouble, error);
    (document.querySelector("form .trouble:not(:empty):not([hidden])") ?? trouble).scrollIntoView({ block: "center" });
  }

  const owners = may(who, "owner") ? fold("Upload a dataset", () => {
    const place = el("div", {});
    uploadForm((dataset) => chooser.add(dataset)).then((form) => replace(place, form), (error) => replace(place, el("p", { class: "trouble" }, userText(error.message))));
    return place;
  }, { class: "fold", id: "upload" }) : null;
  replace(main, el("div", { class: "new-evaluation" },
    el("h1", {}, "New evaluation"),
    el("form", { id: "ask", novalidate: true, onsubmit: submit },
      el("section", {}, el("h2", {}, "Model"), model.element),
      el("section", {}, el("h2", {}, "Datasets"), chooser.element)),
    owners,
    // The upload is a separate form, and forms do not nest: what follows belongs to the first one.
    el("section", {}, el("h2", {}, "Settings"), el("p", { class: "faint" }, "Settings that you leave empty use their default, or the dataset's own value."),
      el("div", { class: "form-fields" }, usual.map((one) => one.element)),
      fold("More settings", () => el("div", { class: "form-fields" }, [...others, ...otherFields].map((one) => one.element)), { class: "fold" })),
    trouble,
    el("div", { class: "start" }, start, statusLine)));
  start.setAttribute("form", "ask");
}
