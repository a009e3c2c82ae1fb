// Descriptions of scoring rules. Extraction tries its rules in this order; see docs/how-it-works/concepts.md.

const WORDS = {
  // Options in a reply.
  whole_reply: "the whole reply is the answer",
  hash_label: "the last line marks the answer with ####",
  stated_label: "the last answer phrase names this option",
  opening_label: "the reply starts with the label, written like an option",
  equals_choice: "the reply is the text of this option",
  stated_choice: "the last answer phrase contains this option's text",
  last_line_label: "the last paragraph of the reply is only the label",
  contrasted_label: "the reply ends by replacing one option with this one: not A but B",
  judged_label: "the reply discusses each option, and this is the only one it calls right",
  remaining_label: "the reply rejects every other option",
  ordinal_option: "the reply names this option by position, such as the second option",
  paired_choice: "the last sentence names this option by its text and its label",
  contained_choice: "this is the only option whose text the reply gives as an answer",
  lone_label: "the label ends the reply or is on its own line, and the reply names no other label",
  // Numbers.
  hash_marks: "the number after the last ####",
  boxed: "the number in the last box or answer tag",
  stated_number: "the number in the last answer phrase",
  bold_number: "the only bold number, since the last sentence contains no single number",
  last_number: "the result in the last sentence that has one",
  // Texts.
  framed: "the content of the last box or answer tag",
  stated_text: "the text after the last answer phrase, up to the end of its sentence",
  first_line: "the first line of the reply",
  whole_output: "the whole output, since the dataset names no post-processor",
  raw_reply: "the exact reply, as in the original system",
  vote: "the most common answer among the outputs",
  // Rules of original systems that assign an option to every reply.
  letter: "the reply is the label",
  phrase: "a phrase of the original system names the option",
  only_choice_inside: "this is the only option whose text the reply contains",
  edit_distance: "the reply names no option; this one is the closest by edit distance, as in the original system",
  // Likelihoods and probabilities.
  sum: "the option whose text has the highest probability",
  per_token: "the highest log-probability per token",
  per_char: "the highest log-probability per character",
  per_byte: "the highest log-probability per byte",
  pmi: "the option that becomes most likely through the question (log-probability minus the log-probability without the question)",
  whole_text_mean: "the highest mean log-probability over the whole text, question and option together",
  mean_difference: "the highest mean log-probability of the option, minus that after an uninformative text",
  sentence_sum: "the most likely sentence",
  sentence_per_token: "the sentence with the highest log-probability per token after the shared prefix",
  label_probability: "the most probable label as the next token",
  // The code of dataset authors.
  process_results: "the task's own process_results",
  post_processing: "the author's own post-processing",
};

// Returns the description of a rule; null for an unknown rule.
export function ruleWords(rule) {
  if (!rule) return null;
  // Some rule names have a suffix: `label_probability: undecided, ...`, `sentence_sum_whole`.
  const name = Object.keys(WORDS).filter((one) => rule === one || rule.startsWith(`${one}:`) || rule.startsWith(`${one}_`) || rule.startsWith(`${one} `)).sort((a, b) => b.length - a.length)[0];
  return name ? WORDS[name] : null;
}
