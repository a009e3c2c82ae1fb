// The preview of a dataset: rows, methods, columns, warnings, and the first rows as text.

import { el, replace, userText } from "./dom.js";
import { dataTable } from "./data_table.js";
import { count } from "./numbers.js";
import { problemList } from "./problem_view.js";
import { read } from "./team_api.js";

const LONGEST = 400;
const LONG = 40;

// Each preview takes a process of the server: load one at a time, and each dataset once.
const looked = new Map();
let last = Promise.resolve();

export function looksAt(name) {
  if (!looked.has(name)) {
    const look = last.then(() => read(`/datasets/${encodeURIComponent(name)}`));
    last = look.catch(() => null);
    looked.set(name, look);
  }
  return looked.get(name);
}

function cell(value) {
  const text = typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
  const isLong = text.length > LONG || text.includes("\n");
  return userText(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text, { class: isLong ? "long" : null });
}

// Returns one line with the number of rows and the methods.
export function sizeWords(preview) {
  const n = preview.tasks.reduce((sum, task) => sum + task.n_samples, 0);
  const methods = [...new Set(preview.tasks.flatMap((task) => task.methods))];
  return `${count(n)} rows${preview.tasks.length > 1 ? ` in ${count(preview.tasks.length)} tasks` : ""} · ${methods.join(", ")}`;
}

// Returns the warnings of a dataset as a list; null without any.
export function oddities(preview) {
  const found = preview.tasks.flatMap((task) => task.findings);
  return found.length ? el("ul", { class: "notes" }, found.map((text) => el("li", {}, userText(text)))) : null;
}

function taskView(task) {
  return [
    el("h3", {}, userText(task.name)),
    el("p", { class: "faint" }, `${count(task.n_samples)} rows · ${task.methods.join(", ")} · ${task.dialect}`),
    task.findings.length ? el("ul", { class: "notes" }, task.findings.map((text) => el("li", {}, userText(text)))) : null,
    task.rows.length ? dataTable(task.columns.map((column) => userText(column)), task.rows.map((row) => task.columns.map((column) => cell(row[column]))), `First rows of ${task.name}`) : null,
  ];
}

// Returns a box that shows the preview once it is loaded.
export function datasetPreview(name) {
  const box = el("div", { class: "preview", "aria-busy": "true" }, el("p", { class: "faint" }, "Reading the dataset…"));
  looksAt(name).then(
    (preview) => replace(box, preview.tasks.map(taskView)),
    (error) => replace(box, error.problem ? problemList([error.problem]) : el("p", { class: "trouble" }, error.message)),
  ).finally(() => box.removeAttribute("aria-busy"));
  return box;
}
