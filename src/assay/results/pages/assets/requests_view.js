// What each request took: time, tokens, and whether it was asked at all or answered from the cache.

import { el, said } from "./dom.js";
import { dataTable } from "./data_table.js";
import { count, NOT_KNOWN, seconds } from "./numbers.js";

function tokens(outcome) {
  const known = (n) => (n ? count(n) : NOT_KNOWN);
  if (outcome.type === "failure") return [NOT_KNOWN, NOT_KNOWN, NOT_KNOWN];
  const written = outcome.type === "completion" ? outcome.outputs.reduce((sum, output) => sum + output.n_tokens, 0) : 0;
  return [known(outcome.n_prompt_tokens), known(outcome.type === "likelihood" ? outcome.n_tokens : 0), known(written)];
}

export function requestsView(asks, responses) {
  const rows = asks.map((ask) => {
    const response = responses.get(ask.id);
    if (!response) return [said(`${ask.role} ${ask.index}`), NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN, "no answer is stored"];
    return [said(`${ask.role} ${ask.index}`), ...tokens(response.outcome),
      response.first_s ? seconds(response.first_s) : NOT_KNOWN, response.latency_s ? seconds(response.latency_s) : NOT_KNOWN, response.seconds ? seconds(response.seconds) : NOT_KNOWN,
      response.cached ? "from the cache" : response.outcome.type === "failure" ? `failed: ${response.outcome.kind}` : "answered"];
  });
  return el("section", { class: "part", "data-part": "requests" }, el("h3", {}, "Time and tokens"),
    dataTable(["request", "tokens read", "scored", "written", "first text", "whole answer", "share of the run's time", ""], rows, "requests"));
}
