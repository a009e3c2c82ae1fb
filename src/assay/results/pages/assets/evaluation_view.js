// Parts shared by the list of evaluations and the page of one: state, progress and actions.

import { el } from "./dom.js";
import { confirmed } from "./confirming.js";
import { count, percent } from "./numbers.js";
import { mayChange, send } from "./team_api.js";

export const STATES = ["queued", "running", "stopping", "stopped", "complete", "failed"];
const IN_PROGRESS = ["running", "stopping"];

export function isOver(evaluation) {
  return ["stopped", "complete", "failed"].includes(evaluation.state);
}

export function stateMark(evaluation) {
  return el("span", { class: `status s-${evaluation.state}` }, evaluation.state);
}

// Returns a progress bar; null where the state says enough.
export function progressBar(evaluation) {
  const { progress } = evaluation;
  if (evaluation.state === "queued" && !progress.n_samples) return el("span", { class: "of" }, "waiting for a worker");
  if (evaluation.state === "complete" || !progress.n_samples) return IN_PROGRESS.includes(evaluation.state) ? el("span", { class: "of" }, "reading datasets") : null;
  return [
    el("progress", { max: 1, value: progress.share_done, "aria-label": `evaluation ${evaluation.id}: samples done` }),
    el("span", { class: "of" }, `${count(progress.n_done)} of ${count(progress.n_samples)} · ${percent(progress.share_done, 0)}`),
  ];
}

// Returns the seconds from start to end, or to now; null before the start.
export function tookSeconds(evaluation) {
  if (evaluation.started_at === null) return null;
  const end = evaluation.finished_at === null ? Date.now() : Date.parse(evaluation.finished_at);
  return Math.max(0, (end - Date.parse(evaluation.started_at)) / 1000);
}

// Returns buttons for the actions that `who` may take. Calls `done(evaluation)` with the new state, null after a
// deletion, and `failed(error)` if the server rejects the action.
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
    found.push(button("stop", "Stop", [`Stop evaluation ${evaluation.id}?`, "All answers are kept, and you can resume it later.", "Stop"], "POST", `${path}/stop`));
  }
  if (evaluation.state === "stopped" || evaluation.state === "failed") found.push(button("resume", "Resume", null, "POST", `${path}/resume`));
  if (!IN_PROGRESS.includes(evaluation.state)) {
    found.push(button("delete", "Delete", [`Delete evaluation ${evaluation.id}?`, "This also deletes its run with all answers and scores.", "Delete"], "DELETE", path));
  }
  return found;
}
