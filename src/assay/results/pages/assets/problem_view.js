// Problems as the server reports them: code, place, what is wrong and how to fix it.

import { el, replace, userText } from "./dom.js";
import { count } from "./numbers.js";

function place(where) {
  const parts = [["row", where.row], ["line", where.line], ["column", where.column]].filter(([, value]) => value !== undefined && value !== null);
  return el("span", { class: "place" }, userText(where.file), parts.map(([name, value]) => [`, ${name} `, userText(typeof value === "number" ? count(value) : value)]));
}

function one(problem) {
  return el("li", {},
    el("p", {}, el("code", {}, problem.code), " ", problem.where ? [place(problem.where), ": "] : null, userText(problem.what)),
    el("p", { class: "fix" }, "Fix: ", userText(problem.fix)));
}

// Returns the list of problems of a rejected request or a failed evaluation.
export function problemList(problems) {
  return el("ul", { class: "problems" }, problems.flatMap((problem) => [problem, ...(problem.others ?? [])]).map(one));
}

// Shows an error in `box`; null clears it. An error without a problem from the server shows its own message.
export function showError(box, error) {
  box.hidden = error === null;
  if (error === null) replace(box);
  else replace(box, error.problem ? problemList([error.problem]) : el("p", {}, userText(error.message)));
}

// Returns an empty box for problems.
export function problemBox() {
  return el("div", { class: "trouble", role: "alert", hidden: true });
}
