// What the pages of a team's server share: asking it to do something, and how an evaluation is told.

import { el, replace, said } from "./dom.js";
import { count } from "./numbers.js";
import { showSignIn } from "./sign_in.js";

export const API = "/api/v1";
export const ENDED = ["stopped", "complete", "failed"];

// Sends a request that changes something; an error has the server's own words: code, what, fix.
export async function sent(method, path, body) {
  const asked = { method, headers: { accept: "application/json" } };
  if (body !== undefined) {
    asked.headers["content-type"] = "application/json";
    asked.body = JSON.stringify(body);
  }
  const response = await fetch(API + path, asked);
  const answer = response.status === 204 ? null : await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const error = new Error(answer.what ?? `${path}: ${response.status}`);
  error.status = response.status;
  error.told = [answer, ...(answer.others ?? [])];
  throw error;
}

function place(where) {
  return [said(where.file), where.row ? ` row ${where.row}` : "", where.column ? [", column ", said(where.column)] : ""];
}

// Problems as a list: what is wrong, where, and what to do.
export function problems(told) {
  return el("ul", { class: "problems" }, told.map((one) => el("li", {},
    el("code", {}, one.code ?? ""), " ", one.where ? [place(one.where), ": "] : "", said(one.what ?? ""),
    one.fix ? el("span", { class: "of" }, said(one.fix)) : null)));
}

// Shows why something was not done; who may not do it can show another token.
export function showTrouble(box, main, error) {
  if (!error.told) throw error;
  const needsToken = error.status === 401 || error.told[0].code === "WEB-013";
  replace(box, problems(error.told),
    needsToken ? el("button", { type: "button", class: "plain", onclick: () => showSignIn(main) }, "Show a token") : null);
  box.hidden = false;
}

export function evaluationState(one) {
  return el("span", { class: `status e-${one.state}` }, one.state);
}

// How far an evaluation is: a bar with numbers while it goes on, the numbers alone when it has ended.
export function progress(one) {
  const { n_samples: samples, n_done: done, n_failed: failed, share_done: share } = one.progress;
  if (!samples) return null;
  return [
    ENDED.includes(one.state) ? null : el("progress", { max: 1, value: share, "aria-label": "share done" }),
    el("span", { class: "of" }, `${count(done)} of ${count(samples)} samples`, failed ? [", ", el("b", { class: "trouble" }, `${count(failed)} failed`)] : ""),
  ];
}

export function day(iso) {
  return iso === null ? "" : new Date(iso).toLocaleString(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

export function names(list) {
  return list.map((name, nth) => [nth ? ", " : "", said(name)]);
}
