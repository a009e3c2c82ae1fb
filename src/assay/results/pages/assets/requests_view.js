// What each request took: time, tokens, and whether it was asked at all or answered from the cache.

import { el, said } from "./dom.js";
import { dataTable } from "./data_table.js";
import { count, NOT_KNOWN, seconds } from "./numbers.js";

const written = (outcome) => (outcome.outputs ?? []).reduce((sum, output) => sum + output.n_tokens, 0);

// Every column, and the number that it has of a response; 0 is not known.
const COLUMNS = [
  ["tokens read", count, ({ outcome }) => outcome.n_prompt_tokens],
  ["scored", count, ({ outcome }) => (outcome.type === "likelihood" ? outcome.n_tokens : 0)],
  ["written", count, ({ outcome }) => written(outcome)],
  ["first text", seconds, (response) => response.first_s],
  ["whole answer", seconds, (response) => response.latency_s],
  ["share of the run's time", seconds, (response) => response.seconds],
];

function ending(response) {
  if (!response) return "no answer is stored";
  if (response.outcome.type === "failure") return `failed: ${response.outcome.kind}`;
  return response.cached ? "from the cache" : "answered";
}

export function requestsView(asks, responses) {
  const found = asks.map((ask) => responses.get(ask.id) ?? null);
  const columns = COLUMNS.filter(([, , value]) => found.some((response) => response && value(response)));
  const rows = asks.map((ask, nth) => {
    const response = found[nth];
    return [said(`${ask.role} ${ask.index}`), ...columns.map(([, shown, value]) => (response && value(response) ? shown(value(response)) : NOT_KNOWN)), ending(response)];
  });
  return el("section", { class: "part", "data-part": "requests" }, el("h2", {}, "Time and tokens"),
    dataTable(["request", ...columns.map(([name]) => name), "ended"], rows, "requests"));
}
