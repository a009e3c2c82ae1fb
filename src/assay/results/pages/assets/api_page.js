// The API reference, built from the OpenAPI document: operations, parameters, bodies, responses and a curl command.

import { el, replace, userText } from "./dom.js";
import { copyButton } from "./copy.js";
import { fold } from "./folds.js";
import { described } from "./schema_fields.js";
import { bounds, mayBeNull, referred, typeWords } from "./schema_words.js";
import { apiDocument, stream } from "./team_api.js";

const METHODS = ["get", "post", "put", "patch", "delete"];
const TOKEN = '-H "Authorization: Bearer $ASSAY_TOKEN"';

export async function showApi(main) {
  const api = await apiDocument();
  const operations = Object.entries(api.paths).flatMap(([path, item]) => METHODS.filter((method) => item[method]).map((method) => ({ path, method, ...item[method] })));
  const tags = [...new Set(operations.flatMap((one) => one.tags ?? []))];
  const schemas = Object.entries(api.components.schemas);
  replace(main, el("div", { class: "api" },
    el("h1", {}, "API"),
    el("p", {}, described(api.info.description ?? "")),
    el("p", { class: "faint" }, `Version ${api.info.version} · `, el("a", { href: stream("/openapi.json") }, "OpenAPI document")),
    tags.map((tag) => el("section", { "aria-label": tag }, el("h2", {}, tag), operations.filter((one) => one.tags?.[0] === tag).map((one) => operation(one, api)))),
    el("section", { "aria-label": "bodies" }, el("h2", {}, "Bodies"), schemas.map(([name, schema]) =>
      fold(el("b", {}, name), () => [schema.description ? el("p", {}, described(schema.description)) : null, schemaTable(schema)], { class: "fold", id: `schema-${name}` })))));
}

// Returns a link that opens a body below and scrolls to it.
function bodyLink(name) {
  const id = `schema-${name}`;
  return el("a", { href: `#${id}`, onclick: (event) => {
    event.preventDefault();
    const found = document.getElementById(id);
    found.open = true;
    found.scrollIntoView();
    found.querySelector("summary").focus();
  } }, name);
}

function type(schema) {
  return typeWords(schema).map((piece) => (piece.ref ? bodyLink(piece.ref) : piece));
}

function table(headings, rows) {
  return el("div", { class: "scroll-x" }, el("table", { class: "facts" },
    el("thead", {}, el("tr", {}, headings.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, nth) => el(nth ? "td" : "th", nth ? {} : { scope: "row" }, cell)))))));
}

function words(schema, isRequired) {
  const limits = bounds(schema);
  const usual = schema.default === undefined || schema.default === null ? "" : `default ${JSON.stringify(schema.default)}`;
  const more = [isRequired ? "required" : "", limits, usual].filter(Boolean).join("; ");
  return [schema.description ? described(schema.description) : null, more ? el("span", { class: "of" }, more) : null];
}

function schemaTable(schema) {
  const properties = Object.entries(schema.properties ?? {});
  if (!properties.length) return el("p", {}, type(schema));
  return table(["field", "type", "description"], properties.map(([name, one]) => [el("code", {}, name), type(one), words(one, schema.required?.includes(name))]));
}

function resolved(schema, api) {
  const name = referred(schema);
  return name ? api.components.schemas[name] : schema;
}

// Returns an example value of a schema, with required fields only.
function example(schema, api) {
  const found = resolved(schema, api);
  if (found.enum) return found.enum[0];
  if (mayBeNull(found)) return null;
  if (found.type === "object") return Object.fromEntries((found.required ?? []).map((name) => [name, example(found.properties[name], api)]));
  if (found.type === "array") return [example(found.items?.oneOf?.[0] ?? found.items ?? {}, api)];
  return { integer: 1, number: 1, boolean: true }[found.type] ?? "…";
}

function commandLine(one, api) {
  const path = one.path.replace(/\{(\w+)(?::\w+)?\}/g, (_, name) => name.toUpperCase());
  const parts = ["curl -sf", one.method === "get" ? "" : `-X ${one.method.toUpperCase()}`, TOKEN];
  const [[kind, body] = [null, null]] = Object.entries(one.requestBody?.content ?? {});
  if (kind === "application/json") parts.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(example(body.schema, api))}'`);
  else if (kind) parts.push(...resolved(body.schema, api).required.map((name) => `-F ${name}=${resolved(body.schema, api).properties[name].format === "binary" ? "@FILE" : name.toUpperCase()}`));
  if (Object.values(one.responses).some((answer) => answer.content?.["text/event-stream"])) parts.push("-N");
  return [...parts, `${location.origin}${path}`].filter(Boolean).join(" ");
}

function operation(one, api) {
  const parameters = one.parameters ?? [];
  const bodies = Object.entries(one.requestBody?.content ?? {});
  const answers = Object.entries(one.responses ?? {});
  const line = commandLine(one, api);
  const [first, ...rest] = (one.description ?? one.summary ?? "").split("\n\n");
  return fold([el("span", { class: `verb v-${one.method}` }, one.method.toUpperCase()), " ", el("code", {}, userText(one.path)), " ", el("span", { class: "faint" }, described(first))], () => [
    rest.map((text) => el("p", {}, described(text))),
    el("div", { class: "curl" }, el("code", {}, line), copyButton(line)),
    parameters.length ? [el("h3", {}, "Parameters"), table(["name", "in", "type", "description"], parameters.map((parameter) => [el("code", {}, parameter.name), parameter.in, type(parameter.schema), words({ ...parameter.schema, description: parameter.description }, parameter.required)]))] : null,
    bodies.map(([kind, body]) => [el("h3", {}, "Body"), el("p", { class: "faint" }, kind, referred(body.schema) ? [": ", bodyLink(referred(body.schema))] : null), schemaTable(resolved(body.schema, api))]),
    el("h3", {}, "Responses"),
    table(["status", "description", "body"], answers.map(([status, answer]) => [status, answer.description, Object.entries(answer.content ?? {}).map(([kind, body]) => [type(body.schema ?? {}), kind === "application/json" ? null : el("span", { class: "of" }, kind)])])),
  ], { class: "fold" });
}
