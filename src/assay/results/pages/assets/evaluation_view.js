// What the list of evaluations and the page of one show alike: state, progress, and what may be done.

import { el } from "./dom.js";
import { confirmed } from "./confirming.js";
import { count, percent } from "./numbers.js";
import { mayChange, send } from "./team_api.js";

export const STATES = ["queued", "running", "stopping", "stopped", "complete", "failed"];
const UNDER_WAY = ["running", "stopping"];

export function isOver(evaluation) {
  return ["stopped", "complete", "failed"].includes(evaluation.state);
}

export function stateMark(evaluation) {
  return el("span", { class: `status s-${evaluation.state}` }, evaluation.state);
}

// How far an evaluation is; nothing where that is told by its state.
export function progressBar(evaluation) {
  const { progress } = evaluation;
  if (evaluation.state === "queued" && !progress.n_samples) return el("span", { class: "of" }, "waits for a worker");
  if (evaluation.state === "complete" || !progress.n_samples) return UNDER_WAY.includes(evaluation.state) ? el("span", { class: "of" }, "reads its datasets") : null;
  return [
    el("progress", { max: 1, value: progress.share_done, "aria-label": `evaluation ${evaluation.id}: samples done` }),
    el("span", { class: "of" }, `${count(progress.n_done)} of ${count(progress.n_samples)} · ${percent(progress.share_done, 0)}`),
  ];
}

// How many seconds it took, or takes by now; null before it has begun.
export function tookSeconds(evaluation) {
  if (evaluation.started_at === null) return null;
  const end = evaluation.finished_at === null ? Date.now() : Date.parse(evaluation.finished_at);
  return Math.max(0, (end - Date.parse(evaluation.started_at)) / 1000);
}

// Buttons for what `who` may do with an evaluation. `done(evaluation)` is called with what became of it, null when it was
// deleted; `failed(error)` when the server refused.
export function actions(evaluation, who, { done, failed }) {
  if (!mayChange(who, evaluation)) return [];
  const path = `/evaluations/${evaluation.id}`;
  const button = (name, label, ask, method, at) => el("button", { type: "button", class: "plain", "data-do": name, "aria-label": `${label} evaluation ${evaluation.id}`, onclick: async () => {
    try {
      if (ask === null || await confirmed(...ask)) done(await send(method, at));
    } catch (error) {
      failed(error);
    }
  } }, label);
  const found = [];
  if (evaluation.state === "queued" || evaluation.state === "running") {
    found.push(button("stop", "Stop", [`Stop evaluation ${evaluation.id}?`, "What was answered is kept; it can be resumed.", "Stop it"], "POST", `${path}/stop`));
  }
  if (evaluation.state === "stopped" || evaluation.state === "failed") found.push(button("resume", "Resume", null, "POST", `${path}/resume`));
  if (!UNDER_WAY.includes(evaluation.state)) {
    found.push(button("delete", "Delete", [`Delete evaluation ${evaluation.id}?`, "Its run, with every answer and score, is deleted too.", "Delete it"], "DELETE", path));
  }
  return found;
}
