// OpenAPI schemas in words, and as types of form fields.

// Returns a schema without null: `string or null` becomes `string`.
export function whole(schema) {
  const kinds = (schema.oneOf ?? schema.anyOf ?? []).filter((one) => one.type !== "null");
  // A value that can be a string is entered as a string.
  const kept = kinds.find((one) => one.type === "string") ?? kinds[0];
  const { oneOf, anyOf, ...own } = schema;
  const found = kept ? { ...kept, ...own } : own;
  if (Array.isArray(found.type)) found.type = found.type.find((one) => one !== "null");
  if (found.enum) found.enum = found.enum.filter((one) => one !== null);
  return found;
}

export function mayBeNull(schema) {
  return (schema.oneOf ?? schema.anyOf ?? []).some((one) => one.type === "null") || (Array.isArray(schema.type) && schema.type.includes("null"));
}

// Returns the name of the referenced schema; null without a reference.
export function referred(schema) {
  return schema.$ref ? schema.$ref.split("/").at(-1) : null;
}

// Returns a type as a list of texts and `{ ref }` for other schemas.
export function typeWords(schema) {
  const ref = referred(schema);
  if (ref) return [{ ref }];
  const many = (schema.oneOf ?? schema.anyOf)?.filter((one) => Object.keys(one).length);
  if (many) return many.flatMap((one, nth) => [...(nth ? [" or "] : []), ...typeWords(one)]);
  if (schema.enum) return [schema.enum.map((one) => JSON.stringify(one)).join(" or ")];
  if (schema.type === "array") return ["list of ", ...typeWords(schema.items ?? {})];
  if (schema.format === "binary") return ["file"];
  if (schema.type === "object" && schema.additionalProperties) return ["object of ", ...typeWords(schema.additionalProperties)];
  return [(Array.isArray(schema.type) ? schema.type.join(" or ") : schema.type) ?? "anything"];
}

// Returns the bounds of a value in words.
export function bounds(schema) {
  const { minimum, maximum, exclusiveMinimum, minItems, maxItems, minLength, maxLength } = whole(schema);
  const range = (low, high, of) => (low === undefined && high === undefined ? null : `${of}${low === undefined ? "" : `at least ${low}`}${low !== undefined && high !== undefined ? ", " : ""}${high === undefined ? "" : `at most ${high}`}`);
  return [exclusiveMinimum === undefined ? null : `greater than ${exclusiveMinimum}`, range(minimum, maximum, ""), range(minItems, maxItems, "items: "), range(minLength, maxLength, "characters: ")].filter(Boolean).join("; ");
}
