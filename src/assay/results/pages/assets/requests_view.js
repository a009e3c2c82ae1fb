// The time and tokens of each request, and whether its answer came from the cache.

import { el, userText } from "./dom.js";
import { dataTable } from "./data_table.js";
import { count, NOT_KNOWN, seconds } from "./numbers.js";

const written = (outcome) => (outcome.outputs ?? []).reduce((sum, output) => sum + output.n_tokens, 0);

// Columns: heading, format, and the number of a response; 0 means unknown.
const COLUMNS = [
  ["prompt tokens", count, ({ outcome }) => outcome.n_prompt_tokens],
  ["scored tokens", count, ({ outcome }) => (outcome.type === "likelihood" ? outcome.n_tokens : 0)],
  ["generated tokens", count, ({ outcome }) => written(outcome)],
  ["time to first token", seconds, (response) => response.first_s],
  ["latency", seconds, (response) => response.latency_s],
  ["share of the run's time", seconds, (response) => response.seconds],
];

function ending(response) {
  if (!response) return "no stored answer";
  if (response.outcome.type === "failure") return `failed: ${response.outcome.kind}`;
  return response.cached ? "from the cache" : "answered";
}

export function requestsView(asks, responses) {
  const found = asks.map((ask) => responses.get(ask.id) ?? null);
  const columns = COLUMNS.filter(([, , value]) => found.some((response) => response && value(response)));
  const rows = asks.map((ask, nth) => {
    const response = found[nth];
    return [userText(`${ask.role} ${ask.index}`), ...columns.map(([, shown, value]) => (response && value(response) ? shown(value(response)) : NOT_KNOWN)), ending(response)];
  });
  return el("section", { class: "part", "data-part": "requests" }, el("h2", {}, "Time and tokens"),
    dataTable(["request", ...columns.map(([name]) => name), "result"], rows, "requests"));
}
