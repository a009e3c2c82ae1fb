// Filter expressions for lists of samples: outcome:wrong tokens>200 (group:history OR group:law) -percent "exact phrase"
//
// Terms next to each other must all hold. OR, AND, NOT and parentheses combine them; a minus sign negates a term. A
// term without a known column is a word to search for.

const COMPARISON = /^([A-Za-z_][\w.-]*)(:|!=|<=|>=|=|<|>)([^]*)$/;
const RANGE = /^(-?[\d.]+(?:e-?\d+)?)\.\.(-?[\d.]+(?:e-?\d+)?)$/i;
const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const ALWAYS = () => true;

class FilterProblem extends Error {}

// Splits a text into `(`, `)`, the operators and terms; quotes keep spaces and parentheses inside a term.
function tokensOf(text) {
  const tokens = [];
  let depth = 0;
  for (let at = 0; at < text.length;) {
    if (/\s/.test(text[at])) at += 1;
    else if (text[at] === "(" || (text[at] === "-" && text[at + 1] === "(")) {
      if (text[at] === "-") tokens.push("NOT");
      tokens.push("(");
      depth += 1;
      at += text[at] === "-" ? 2 : 1;
    } else if (text[at] === ")" && depth) {
      tokens.push(")");
      depth -= 1;
      at += 1;
    } else {
      const start = at;
      let isQuoted = false;
      // A parenthesis that opens inside a term belongs to it: f(x).
      for (let inside = 0; at < text.length && (isQuoted || !(/\s/.test(text[at]) || (text[at] === ")" && depth && !inside))); at++) {
        if (text[at] === '"') isQuoted = !isQuoted;
        else if (!isQuoted && text[at] === "(") inside += 1;
        else if (!isQuoted && text[at] === ")" && inside) inside -= 1;
      }
      if (isQuoted) throw new FilterProblem('a quote is not closed: add "');
      tokens.push(text.slice(start, at));
    }
  }
  if (depth) throw new FilterProblem("a parenthesis is not closed: add )");
  return tokens;
}

const unquoted = (text) => text.replaceAll('"', "");

function compareNumbers(operator, wanted, name) {
  const range = RANGE.exec(wanted);
  if (range && (operator === ":" || operator === "=")) return (value) => value >= Number(range[1]) && value <= Number(range[2]);
  if (!NUMBER.test(wanted)) throw new FilterProblem(`${name} is a number: write ${name}>5, ${name}=5 or ${name}:1..5 instead of ${name}${operator}${wanted}`);
  const number = Number(wanted);
  return { ":": (value) => value === number, "=": (value) => value === number, "!=": (value) => value !== number,
    "<": (value) => value < number, "<=": (value) => value <= number, ">": (value) => value > number, ">=": (value) => value >= number }[operator];
}

function compareTexts(operator, wanted, name) {
  if (!":=!=".includes(operator)) throw new FilterProblem(`${name} is a text: write ${name}:word (contains), ${name}=text (equals) or ${name}!=text`);
  const text = wanted.toLowerCase();
  return { ":": (value) => value.toLowerCase().includes(text), "=": (value) => value.toLowerCase() === text, "!=": (value) => value.toLowerCase() !== text }[operator];
}

function compareChoices(operator, wanted, name, values) {
  if (!":=!=".includes(operator)) throw new FilterProblem(`${name} is one of ${values.join(", ")}: write ${name}:${values[0]}`);
  const choice = values.find((one) => one.toLowerCase() === wanted.toLowerCase());
  if (choice === undefined) throw new FilterProblem(`${name}:${wanted}: expected one of ${values.map((one) => (one.includes(" ") ? `"${one}"` : one)).join(", ")}`);
  return operator === "!=" ? (value) => value !== choice : (value) => value === choice;
}

function compareLists(operator, wanted, name) {
  const compare = compareTexts(operator === "!=" ? "=" : operator, wanted, name);
  return operator === "!=" ? (values) => !values.some(compare) : (values) => values.some(compare);
}

// Reads one term; `context` has the columns, the searchable text, and collects names that are no column.
function readTerm(token, context) {
  if (token.startsWith("-") && token.length > 1 && !NUMBER.test(token)) {
    const test = readTerm(token.slice(1), context);
    return (place) => !test(place);
  }
  const found = token.startsWith('"') ? null : COMPARISON.exec(token);
  const column = found && context.columns[found[1].toLowerCase()];
  if (!column) {
    if (found && !token.includes("://")) context.unknown.push(found[1]);
    const word = unquoted(token).toLowerCase();
    return (place) => context.textOf(place).includes(word);
  }
  const [, name, operator, value] = found;
  const wanted = unquoted(value);
  if (!wanted && column.kind !== "text") throw new FilterProblem(`${name}${operator} needs a value`);
  if (column.kind === "flag") {
    const flag = column.values.find((one) => one === wanted.toLowerCase());
    if (flag === undefined || operator !== ":") throw new FilterProblem(`${name}${operator}${wanted}: expected ${column.values.map((one) => `${name}:${one}`).join(", ")}`);
    return (place) => column.has(place, flag);
  }
  const compare = { number: compareNumbers, text: compareTexts, choice: compareChoices, list: compareLists }[column.kind](operator, wanted, name, column.values);
  // A comparison with an unknown value does not hold.
  return (place) => {
    const here = column.get(place);
    return here !== null && here !== undefined && compare(here);
  };
}

function readFactor(tokens, context) {
  const token = tokens.shift();
  if (token === undefined) throw new FilterProblem("the expression ends too early: add a term");
  if (token === "NOT") {
    const test = readFactor(tokens, context);
    return (place) => !test(place);
  }
  if (token === "(") {
    const test = readAny(tokens, context);
    tokens.shift();
    return test;
  }
  if (token === "OR" || token === "AND" || token === ")") throw new FilterProblem(`${token} needs a term before it; to search for the word, write "${token}"`);
  return readTerm(token, context);
}

function readAll(tokens, context) {
  const tests = [readFactor(tokens, context)];
  while (tokens.length && tokens[0] !== ")" && tokens[0] !== "OR") {
    if (tokens[0] === "AND") tokens.shift();
    tests.push(readFactor(tokens, context));
  }
  return tests.length === 1 ? tests[0] : (place) => tests.every((test) => test(place));
}

function readAny(tokens, context) {
  const tests = [readAll(tokens, context)];
  while (tokens[0] === "OR") {
    tokens.shift();
    tests.push(readAll(tokens, context));
  }
  return tests.length === 1 ? tests[0] : (place) => tests.some((test) => test(place));
}

// Returns `test(place)`, and a `problem` if the expression cannot be read, or a `hint` about words that look like columns.
//
// `columns`: {name: {kind: "text" | "list" | "number" | "choice" | "flag", get(place), has(place, flag), values}};
// `textOf(place)`: the text, in lower case, in which words are searched.
export function parseFilter(text, columns, textOf) {
  const context = { columns, textOf, unknown: [] };
  try {
    const tokens = tokensOf(text);
    const test = tokens.length ? readAny(tokens, context) : ALWAYS;
    if (tokens.length) throw new FilterProblem(`unexpected ${tokens[0]}`);
    const hint = context.unknown.length ? `“${context.unknown[0]}” is not a column, so the term is searched as text. Columns: ${Object.keys(columns).join(", ")}.` : null;
    return { test, problem: null, hint };
  } catch (error) {
    if (!(error instanceof FilterProblem)) throw error;
    return { test: ALWAYS, problem: error.message, hint: null };
  }
}

// Returns a term that selects the samples whose column equals a text.
export function equalTerm(name, text) {
  return /^[\w.-]+$/.test(text) ? `${name}=${text}` : `${name}="${text.replaceAll('"', "")}"`;
}
