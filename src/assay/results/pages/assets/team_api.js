// Access to the team API, and the permissions of the visitor.

import { answered, fetched } from "./source.js";

const ROOT = "/api/v1";
const ROLES = ["reader", "runner", "owner"];

// Sends a GET request to the API.
export function read(path) {
  return fetched(`${ROOT}${path}`);
}

// Sends a request that changes something. A form is sent as it is, everything else as JSON.
export async function send(method, path, body) {
  const isForm = body instanceof FormData;
  const headers = { accept: "application/json", ...(body === undefined || isForm ? {} : { "content-type": "application/json" }) };
  return answered(await fetch(`${ROOT}${path}`, { method, headers, body: body === undefined || isForm ? body : JSON.stringify(body) }));
}

// Returns the address of an API stream.
export function stream(path) {
  return `${ROOT}${path}`;
}

let asked = null;

// Returns the visitor: their name (null without a token) and their role.
export function visitor() {
  asked = asked ?? read("/me");
  return asked;
}

// Returns whether a visitor has at least the permissions of a role.
export function may(who, role) {
  return ROLES.indexOf(who.role) >= ROLES.indexOf(role);
}

// Returns whether a visitor may stop, resume or delete an evaluation.
export function mayChange(who, evaluation) {
  return may(who, "owner") || (may(who, "runner") && who.name === evaluation.submitted_by);
}

let described = null;

// Returns the OpenAPI document, fetched once; forms are built from it.
export function apiDocument() {
  described = described ?? read("/openapi.json");
  return described;
}

// Returns a schema of the document by name. References to lists of allowed values are replaced by these lists.
export async function schemaOf(name) {
  const { schemas } = (await apiDocument()).components;
  const values = (reference) => schemas[reference.split("/").pop()];
  return JSON.parse(JSON.stringify(schemas[name]), (_, part) => (part?.$ref && values(part.$ref)?.enum ? values(part.$ref) : part));
}
