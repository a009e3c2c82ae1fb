// The API as a page: every address, what it takes and what it answers, from the OpenAPI document.

import { el, replace, said } from "./dom.js";
import { fetched } from "./source.js";
import { API } from "./team.js";

export async function showApi(main) {
  const document_ = await fetched(`${API}/openapi.json`);
  const { schemas } = document_.components;
  replace(main, el("div", { class: "runs team api" },
    el("h1", {}, "API"), el("p", {}, document_.info.description),
    el("p", {}, "The whole document: ", el("a", { href: `${API}/openapi.json` }, `${API}/openapi.json`)),
    Object.entries(document_.paths).flatMap(([path, item]) => Object.entries(item).map(([method, one]) => operation(method, path, one, schemas))),
    el("h2", {}, "Bodies"),
    Object.entries(schemas).filter(([, schema]) => schema.properties).map(([name, schema]) => body(name, schema))));
}

function operation(method, path, one, schemas) {
  const content = Object.values(one.requestBody?.content ?? {})[0];
  const answers = Object.entries(one.responses).map(([status, answer]) => el("li", {}, el("b", {}, status), " ", answer.description, " ", kind(Object.values(answer.content ?? {})[0]?.schema)));
  return el("details", { class: "operation" },
    el("summary", {}, el("code", {}, el("b", {}, method.toUpperCase()), " ", path), " ", el("span", { class: "of" }, one.description.split("\n")[0])),
    el("p", {}, one.description),
    one.parameters?.length ? el("ul", {}, one.parameters.map((parameter) => el("li", {}, el("code", {}, parameter.name), ` (${parameter.in}) `, parameter.description ?? ""))) : null,
    content ? el("p", {}, "Takes ", kind(content.schema)) : null,
    el("ul", {}, answers));
}

function last(reference) {
  return reference.split("/").pop();
}

// The type of a field in words, with a link to its body.
function kind(schema) {
  if (!schema) return "";
  if (schema.$ref) return el("a", { href: `#${last(schema.$ref)}` }, last(schema.$ref));
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return several.map((one, nth) => [nth ? " | " : "", kind(one)]);
  if (schema.type === "array") return ["list of ", kind(schema.items ?? {})];
  return [schema.type ?? "anything"].flat().join(" | ");
}

function body(name, schema) {
  return el("section", { id: name }, el("h3", {}, name), el("p", { class: "of" }, schema.description ?? ""),
    el("div", { class: "runs-scroll" }, el("table", {}, el("tbody", {}, Object.entries(schema.properties).map(([field, one]) =>
      el("tr", {}, el("td", {}, el("code", {}, field)), el("td", {}, kind(one)), el("td", {}, said(one.description ?? ""))))))));
}
