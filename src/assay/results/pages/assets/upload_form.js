// Uploading a dataset: it is checked before it is kept, and what is wrong is told row by row.

import { el, replace, said } from "./dom.js";
import { problemBox, tell } from "./problem_view.js";
import { fieldsOf, tellField, valuesOf } from "./schema_fields.js";
import { schemaOf, send } from "./team_api.js";

const TAKEN = { file: ".csv,.tsv,.json,.jsonl,.parquet", meta: ".json" };

// `done(dataset)` is called with what was kept.
export async function uploadForm(done) {
  const fields = fieldsOf(await schemaOf("UploadForm"));
  for (const one of fields) if (TAKEN[one.name]) one.input.setAttribute("accept", TAKEN[one.name]);
  const [file, name] = ["file", "name"].map((wanted) => fields.find((one) => one.name === wanted));
  file.input.addEventListener("change", () => {
    const stem = file.read()?.name.split(".")[0] ?? "";
    if (!name.input.value) name.input.value = stem.replace(/[^\p{L}\p{N}_.+-]+/gu, "_");
  });
  const trouble = problemBox();
  const told = el("p", { class: "told", role: "status" });
  const button = el("button", { type: "submit", class: "plain" }, "Check and upload");
  async function submit(event) {
    event.preventDefault();
    tell(trouble, null);
    replace(told);
    const values = valuesOf(fields);
    if (values === null) return;
    const form = new FormData();
    for (const [key, value] of Object.entries(values)) form.append(key, value);
    button.disabled = true;
    replace(told, "The server reads it…");
    try {
      const dataset = await send("POST", "/datasets", form);
      replace(told, "Kept as ", said(dataset.name), ".");
      for (const one of fields) one.input.value = "";
      done(dataset);
    } catch (error) {
      replace(told);
      // What is wrong inside the table is told with its places; what is wrong with a field, beside the field.
      if (!error.problem || error.problem.where || !tellField(fields, error.problem)) tell(trouble, error);
    } finally {
      button.disabled = false;
    }
  }
  return el("form", { class: "upload", novalidate: true, onsubmit: submit },
    el("div", { class: "form-fields" }, fields.map((one) => one.element)), el("div", { class: "buttons" }, button), told, trouble);
}
