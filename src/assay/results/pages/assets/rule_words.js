// The rules that decide, in words. Extraction's rules are tried in this order; docs/how-it-works/concepts.md tells more.

const WORDS = {
  // An option in what was written.
  whole_reply: "the whole reply is the answer",
  hash_label: "the last line marks the answer with ####",
  stated_label: "the last phrase that announces an answer names this option",
  opening_label: "the reply opens with the label, as an option is written",
  equals_choice: "the reply is the text of this option",
  stated_choice: "the last phrase that announces an answer gives this option's text",
  last_line_label: "the last paragraph of the reply is the label and nothing else",
  contrasted_label: "the reply ends by replacing one option with this one: not A but B",
  judged_label: "the reply judges the options one by one, and this is the only one it calls right",
  remaining_label: "the reply turns down every other option",
  ordinal_option: "the reply names this option by its place, such as the second option",
  paired_choice: "the last sentence names this option by its text and its label",
  contained_choice: "this is the only option whose text the reply gives as an answer",
  lone_label: "the label closes the reply or has a line for itself, and no other is named",
  // A number.
  hash_marks: "the number after the last ####",
  boxed: "the number in the last box or answer tag",
  stated_number: "the number that the last answer phrase gives",
  bold_number: "the only number in bold, as the last sentence gives no single one",
  last_number: "the number that the last sentence with a result comes to",
  // A text.
  framed: "what stands in the last box or answer tag",
  stated_text: "what the last answer phrase gives, to the end of its sentence",
  first_line: "the first line of the reply",
  whole_output: "the whole output, as no post-processor was named",
  raw_reply: "the reply to the letter, as the original system compares it",
  vote: "the answer that most of the samples give",
  // The original's way of giving every reply an option.
  letter: "the reply is the label",
  phrase: "the original's phrases name the option",
  only_choice_inside: "this is the only option whose text the reply holds",
  edit_distance: "no option was found; this one is the nearest by edit distance, as in the original system",
  // Likelihoods and probabilities.
  sum: "the option whose text has the highest probability",
  per_token: "the highest log-probability per token",
  per_char: "the highest log-probability per character",
  per_byte: "the highest log-probability per byte",
  pmi: "the option that the question makes likelier by most (log-probability less that without the question)",
  whole_text_mean: "the highest mean log-probability over the whole text, question and option together",
  mean_difference: "the highest mean log-probability of the option, less that after a text that says nothing",
  sentence_sum: "the likeliest sentence",
  sentence_per_token: "the sentence with the highest log-probability per token behind the beginning that all share",
  label_probability: "the label that is most probable as the next token",
  // Others' code.
  process_results: "the task's own process_results",
  post_processing: "the author's own post-processing",
};

// Returns what a rule does; null when its name is all that is known.
export function ruleWords(rule) {
  if (!rule) return null;
  // Some rules end in what else is to be said: `label_probability: undecided, ...`, `sentence_sum_whole`.
  const name = Object.keys(WORDS).filter((one) => rule === one || rule.startsWith(`${one}:`) || rule.startsWith(`${one}_`) || rule.startsWith(`${one} `)).sort((a, b) => b.length - a.length)[0];
  return name ? WORDS[name] : null;
}
