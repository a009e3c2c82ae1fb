// The form to upload a dataset. The server checks it before storing it, and reports problems row by row.

import { el, replace, userText } from "./dom.js";
import { problemBox, showError } from "./problem_view.js";
import { fieldsOf, showFieldError, valuesOf } from "./schema_fields.js";
import { schemaOf, send } from "./team_api.js";

const TAKEN = { file: ".csv,.tsv,.json,.jsonl,.parquet", meta: ".json" };

// Calls `done(dataset)` with the stored dataset.
export async function uploadForm(done) {
  const fields = fieldsOf(await schemaOf("UploadForm"));
  for (const one of fields) if (TAKEN[one.name]) one.input.setAttribute("accept", TAKEN[one.name]);
  const [file, name] = ["file", "name"].map((wanted) => fields.find((one) => one.name === wanted));
  file.input.addEventListener("change", () => {
    const stem = file.read()?.name.split(".")[0] ?? "";
    if (!name.input.value) name.input.value = stem.replace(/[^\p{L}\p{N}_.+-]+/gu, "_");
  });
  const trouble = problemBox();
  const statusLine = el("p", { class: "status-line", role: "status" });
  const button = el("button", { type: "submit", class: "plain" }, "Check and upload");
  async function submit(event) {
    event.preventDefault();
    showError(trouble, null);
    replace(statusLine);
    const values = valuesOf(fields);
    if (values === null) return;
    const form = new FormData();
    for (const [key, value] of Object.entries(values)) form.append(key, value);
    button.disabled = true;
    replace(statusLine, "Reading the dataset…");
    try {
      const dataset = await send("POST", "/datasets", form);
      replace(statusLine, "Uploaded as ", userText(dataset.name), ".");
      for (const one of fields) one.input.value = "";
      done(dataset);
    } catch (error) {
      replace(statusLine);
      // Show problems of the table with their places, and problems of a field next to the field.
      if (!error.problem || error.problem.where || !showFieldError(fields, error.problem)) showError(trouble, error);
    } finally {
      button.disabled = false;
    }
  }
  return el("form", { class: "upload", novalidate: true, onsubmit: submit },
    el("div", { class: "form-fields" }, fields.map((one) => one.element)), el("div", { class: "buttons" }, button), statusLine, trouble);
}
