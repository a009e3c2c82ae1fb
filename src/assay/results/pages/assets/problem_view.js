// Problems as the server tells them: code, place, what is wrong, and what to do about it.

import { el, replace, said } from "./dom.js";
import { count } from "./numbers.js";

function place(where) {
  const parts = [["row", where.row], ["line", where.line], ["column", where.column]].filter(([, value]) => value !== undefined && value !== null);
  return el("span", { class: "place" }, said(where.file), parts.map(([name, value]) => [`, ${name} `, said(typeof value === "number" ? count(value) : value)]));
}

function one(problem) {
  return el("li", {},
    el("p", {}, el("code", {}, problem.code), " ", problem.where ? [place(problem.where), ": "] : null, said(problem.what)),
    el("p", { class: "fix" }, "Fix: ", said(problem.fix)));
}

// A list of problems, as a refusal or a failed evaluation has them.
export function problemList(problems) {
  return el("ul", { class: "problems" }, problems.flatMap((problem) => [problem, ...(problem.others ?? [])]).map(one));
}

// Puts what was thrown where `box` is, or empties it for null. What is no refusal of the server is told in its own words.
export function tell(box, error) {
  box.hidden = error === null;
  if (error === null) replace(box);
  else replace(box, error.problem ? problemList([error.problem]) : el("p", {}, said(error.message)));
}

// A place for problems, empty at first.
export function problemBox() {
  return el("div", { class: "trouble", role: "alert", hidden: true });
}
