// Comparing options by likelihood: every normalisation, computed from the stored numbers.

const divided = (total, n) => (total === null || total === undefined || !n ? null : total / n);
const less = (total, other) => (total === null || total === undefined || other === null || other === undefined ? null : total - other);

export const WAYS = {
  sum: { label: "Sum", unit: "nats", value: (option) => option.sum_logprob ?? null },
  per_token: { label: "Per token", unit: "nats per token", value: (option) => divided(option.sum_logprob, option.n_tokens) },
  per_char: { label: "Per character", unit: "nats per character", value: (option) => divided(option.sum_logprob, option.n_chars) },
  per_byte: { label: "Per byte", unit: "nats per byte", value: (option) => divided(option.sum_logprob, option.n_bytes) },
  pmi: { label: "Minus the value without the question (pmi)", unit: "nats", value: (option) => less(option.sum_logprob, option.unconditional) },
};
// Normalisations that only single rules use, in addition to those shown for every sample.
const FIRST_COUNTED = { label: "Per token, counting the first token", unit: "nats per token", value: (option) => divided(option.sum_logprob, option.n_tokens + 1) };
const MEAN_DIFFERENCE = { label: "Per token, minus the value without the question", unit: "nats per token", value: (option) => divided(less(option.sum_logprob, option.unconditional), option.n_tokens) };
const OF_RULES = { whole_text_mean: [WAYS.per_token, FIRST_COUNTED], mean_difference: [MEAN_DIFFERENCE] };
const SAME = 1e-6;

// Returns the index of the best value (the first of equals), the runner-up and the margin; null without any value.
export function ranked(values) {
  let best = null;
  values.forEach((value, index) => {
    if (value !== null && (best === null || value > values[best])) best = index;
  });
  if (best === null) return null;
  const others = values.filter((value, index) => index !== best && value !== null);
  const next = others.length ? Math.max(...others) : null;
  return { best, next, margin: next === null ? null : values[best] - next };
}

// Returns the numbers of a sample's options: from its score, or from the responses if it has no score yet.
export function optionNumbers(score, sample, answered) {
  if (score?.options?.some((option) => "sum_logprob" in option)) return score.options;
  const found = new Map();
  for (const [ask, outcome] of answered) if (ask.role === "option") found.set(ask.index, { label: sample.labels?.[ask.index] ?? String(ask.index), ...outcome });
  for (const [ask, outcome] of answered) if (ask.role === "unconditional" && found.has(ask.index)) found.get(ask.index).unconditional = outcome.sum_logprob;
  return [...found].sort(([a], [b]) => a - b).map(([, option]) => option);
}

// Returns whether ranking by a normalisation gives the score's answer and margin.
function explains(way, options, score) {
  const found = ranked(options.map(way.value));
  if (!found || options[found.best].label !== score.answer) return false;
  return found.margin === null || score.margin === undefined || Math.abs(found.margin - score.margin) <= SAME * Math.max(1, Math.abs(score.margin));
}

// Returns the normalisation that decided; null if it is none of these.
export function decidingWay(options, score) {
  if (!score?.rule) return null;
  const name = score.rule.replace(/^sentence_/, "").replace(/_(?:whole|after_equal_values)$/, "");
  const candidates = OF_RULES[name] ?? (WAYS[name] ? [WAYS[name]] : []);
  return candidates.find((way) => explains(way, options, score)) ?? null;
}

// Returns the normalisations that these options can be compared by, and the one that decided.
export function waysFor(options, score) {
  const deciding = decidingWay(options, score);
  const ways = Object.values(WAYS).filter((way) => way === deciding || options.every((option) => way.value(option) !== null));
  if (deciding && !ways.includes(deciding)) ways.unshift(deciding);
  return { ways, deciding };
}
