// How the server understands a dataset: rows, methods, columns, what is odd, and the first rows as text.

import { el, replace, said } from "./dom.js";
import { dataTable } from "./data_table.js";
import { count } from "./numbers.js";
import { problemList } from "./problem_view.js";
import { read } from "./team_api.js";

const LONGEST = 400;
const LONG = 40;

// Each look takes a process of the server: one at a time, and each dataset once.
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
  return said(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text, { class: isLong ? "long" : null });
}

// How many rows a dataset has, and how they are asked: one line.
export function sizeWords(preview) {
  const n = preview.tasks.reduce((sum, task) => sum + task.n_samples, 0);
  const methods = [...new Set(preview.tasks.flatMap((task) => task.methods))];
  return `${count(n)} rows${preview.tasks.length > 1 ? ` in ${count(preview.tasks.length)} tasks` : ""} · ${methods.join(", ")}`;
}

// What is odd about a dataset, as a list; null where nothing is.
export function oddities(preview) {
  const found = preview.tasks.flatMap((task) => task.findings);
  return found.length ? el("ul", { class: "notes" }, found.map((text) => el("li", {}, said(text)))) : null;
}

function taskView(task) {
  return [
    el("h3", {}, said(task.name)),
    el("p", { class: "faint" }, `${count(task.n_samples)} rows · ${task.methods.join(", ")} · ${task.dialect}`),
    task.findings.length ? el("ul", { class: "notes" }, task.findings.map((text) => el("li", {}, said(text)))) : null,
    task.rows.length ? dataTable(task.columns.map((column) => said(column)), task.rows.map((row) => task.columns.map((column) => cell(row[column]))), `First rows of ${task.name}`) : null,
  ];
}

// A box that shows the dataset when it has been looked at.
export function datasetPreview(name) {
  const box = el("div", { class: "preview", "aria-busy": "true" }, el("p", { class: "faint" }, "The server reads it…"));
  looksAt(name).then(
    (preview) => replace(box, preview.tasks.map(taskView)),
    (error) => replace(box, error.problem ? problemList([error.problem]) : el("p", { class: "trouble" }, error.message)),
  ).finally(() => box.removeAttribute("aria-busy"));
  return box;
}
