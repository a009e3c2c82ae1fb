// The team's API, as its pages ask it, and what whoever looks may do there.

import { answered, fetched } from "./source.js";

const ROOT = "/api/v1";
const ROLES = ["reader", "runner", "owner"];

// Reads a part of the API.
export function read(path) {
  return fetched(`${ROOT}${path}`);
}

// Has something done. A form is sent as it is, all else as JSON.
export async function send(method, path, body) {
  const isForm = body instanceof FormData;
  const headers = { accept: "application/json", ...(body === undefined || isForm ? {} : { "content-type": "application/json" }) };
  return answered(await fetch(`${ROOT}${path}`, { method, headers, body: body === undefined || isForm ? body : JSON.stringify(body) }));
}

// The address of a stream of the API.
export function stream(path) {
  return `${ROOT}${path}`;
}

let asked = null;

// Who looks at the page: their name, null without a token, and their role.
export function visitor() {
  asked = asked ?? read("/me");
  return asked;
}

// Whether somebody may do what a role may.
export function may(who, role) {
  return ROLES.indexOf(who.role) >= ROLES.indexOf(role);
}

// Whether somebody may stop, resume or delete an evaluation.
export function mayChange(who, evaluation) {
  return may(who, "owner") || (may(who, "runner") && who.name === evaluation.submitted_by);
}

let described = null;

// The OpenAPI document, fetched once: forms are made of it.
export function apiDocument() {
  described = described ?? read("/openapi.json");
  return described;
}

// A schema of the document by its name.
export async function schemaOf(name) {
  return (await apiDocument()).components.schemas[name];
}
