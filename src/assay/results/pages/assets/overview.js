// The head of a run's page: the score and its company, the parts, the plots, the settings.

import { el, said } from "./dom.js";
import { count, part } from "./numbers.js";

function scoreCard(row) {
  return el("div", { class: "score" },
    el("span", { class: "label" }, said(row.label), " · ", row.method),
    el("b", {}, row.shown, row.is_share ? el("small", {}, " %") : null),
    el("span", {}, `95 % interval ${row.interval}`),
    el("span", {}, `${count(row.n_scored + row.n_unanswered)} of ${count(row.n)} scored`),
    el("span", {}, `unanswered ${part(row.n_unanswered, row.n)}, truncated ${part(row.n_truncated, row.n)}, failed ${part(row.n_failed, row.n)}`));
}

export function overview(run) {
  const heads = run.rows.filter((row) => row.is_headline && row.group === null);
  return [
    el("header", {},
      el("p", { class: "kicker" }, "Run ", said(run.name)),
      el("h1", {}, said(run.manifest.model.name))),
    el("div", { class: "scores" }, heads.map(scoreCard)),
  ];
}
