// Form fields built from the schema of a request body.

import { el, replace, userText } from "./dom.js";
import { mayBeNull, whole } from "./schema_words.js";

const UNSET = "default";

// Renders text with `code` in backquotes.
export function described(text) {
  return text.split("`").map((piece, nth) => (nth % 2 ? el("code", {}, piece) : piece));
}

function choice(name, values, label) {
  const select = el("select", { id: `f-${name}` }, el("option", { value: "" }, UNSET), values.map((value) => el("option", { value }, label(value))));
  return { element: select, input: select, read: () => select.value };
}

function control(name, schema, placeholder) {
  if (schema.type === "boolean") {
    const { read, ...rest } = choice(name, ["true", "false"], (value) => (value === "true" ? "yes" : "no"));
    return { ...rest, read: () => (read() === "" ? undefined : read() === "true") };
  }
  if (schema.enum) {
    const { read, ...rest } = choice(name, schema.enum, (value) => value);
    return { ...rest, read: () => read() || undefined };
  }
  if (schema.type === "array" && schema.items?.enum) {
    const boxes = schema.items.enum.map((value) => el("input", { type: "checkbox", value }));
    const element = el("span", { class: "boxes", id: `f-${name}`, role: "group", "aria-label": name }, boxes.map((box) => el("label", {}, box, box.value)));
    return { element, input: boxes[0], read: () => (boxes.some((box) => box.checked) ? boxes.filter((box) => box.checked).map((box) => box.value) : undefined) };
  }
  if (schema.type === "array") {
    const area = el("textarea", { id: `f-${name}`, rows: 2, placeholder: "one per line", spellcheck: "false" });
    const lines = () => area.value.split("\n").filter((line) => line !== "");
    return { element: area, input: area, read: () => (lines().length ? lines() : undefined) };
  }
  if (schema.type === "object") {
    const area = el("textarea", { id: `f-${name}`, rows: 2, placeholder: "name=value, one per line", spellcheck: "false" });
    const pairs = () => area.value.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => [line.split("=")[0].trim(), line.includes("=") ? line.slice(line.indexOf("=") + 1).trim() : ""]);
    return { element: area, input: area, read: () => (pairs().length ? Object.fromEntries(pairs()) : undefined) };
  }
  if (schema.format === "binary") {
    const file = el("input", { id: `f-${name}`, type: "file" });
    return { element: file, input: file, read: () => file.files[0] };
  }
  const isNumber = schema.type === "integer" || schema.type === "number";
  const input = el("input", { id: `f-${name}`, type: isNumber ? "number" : "text", step: schema.type === "number" ? "any" : null, min: schema.minimum, max: schema.maximum, placeholder, autocomplete: "off", spellcheck: "false" });
  // A browser returns no value for an invalid number; checkValidity() reports it before anything is sent.
  return { element: input, input, read: () => (input.value.trim() === "" ? undefined : isNumber ? Number(input.value) : input.value) };
}

// Returns one field: `name`, `element`, `read()` for its value (undefined: not set), `showError(text)` to show an error.
export function field(name, schema, { label = name, isRequired = false } = {}) {
  const found = whole(schema);
  const { element, input, read } = control(name, found, mayBeNull(schema) ? UNSET : null);
  const trouble = el("span", { class: "trouble", id: `t-${name}`, role: "alert" });
  if (isRequired) input.setAttribute("required", "");
  input.setAttribute("aria-describedby", `t-${name}`);
  const isGroup = element.classList.contains("boxes");
  return {
    name, input, read,
    element: el("div", { class: "field" },
      isGroup ? el("span", { class: "name" }, label) : el("label", { class: "name", for: `f-${name}` }, label),
      element,
      found.description ? el("span", { class: "hint" }, described(found.description)) : null, trouble),
    showError: (text) => {
      replace(trouble, text ? userText(text) : null);
      if (text) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
      if (text) input.closest("details")?.setAttribute("open", "");
    },
  };
}

// Returns fields for the properties of a schema, except those in `without`.
export function fieldsOf(schema, { without = [] } = {}) {
  const required = schema.required ?? [];
  return Object.entries(schema.properties).filter(([name]) => !without.includes(name)).map(([name, one]) => field(name, one, { isRequired: required.includes(name) }));
}

// Returns the values of all fields that are set. Shows an error at each invalid field and returns null if there is one.
export function valuesOf(fields) {
  const values = {};
  let isGood = true;
  for (const one of fields) {
    one.showError(null);
    if (one.input.checkValidity && !one.input.checkValidity()) {
      one.showError(one.input.validationMessage);
      if (isGood) one.input.focus();
      isGood = false;
    }
    const value = one.read();
    if (value !== undefined) values[one.name] = value;
  }
  return isGood ? values : null;
}

// A field as error messages name it: `settings.shots: ...`, `--max-tokens ...`, `'spec'`.
const NAMED = /^(?:\w+\.)*(\w+):|--([\w-]+)|'(\w+)'/g;

// Shows an error next to the field that it names; returns false if it names none.
export function showFieldError(fields, problem) {
  const spoken = [...problem.what.matchAll(NAMED)].map((found) => (found[1] ?? found[2] ?? found[3]).replaceAll("-", "_"));
  const found = fields.find((one) => spoken.includes(one.name));
  if (!found) return false;
  found.showError(`${problem.what}. Fix: ${problem.fix}`);
  found.input.focus();
  return true;
}
