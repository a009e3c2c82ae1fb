// What an OpenAPI schema says, in words and in the kinds of fields that a form has.

// The part of a schema that is not null: `string or null` becomes `string`.
export function whole(schema) {
  const kinds = (schema.oneOf ?? schema.anyOf ?? []).filter((one) => one.type !== "null");
  // What may be a text may be written as one, whatever else it may be.
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

// The name of the schema that another refers to; null for none.
export function referred(schema) {
  return schema.$ref ? schema.$ref.split("/").at(-1) : null;
}

// A type as pieces: texts, and `{ ref }` for other schemas.
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

// The bounds of a value, in words.
export function bounds(schema) {
  const { minimum, maximum, exclusiveMinimum, minItems, maxItems, minLength, maxLength } = whole(schema);
  const range = (low, high, of) => (low === undefined && high === undefined ? null : `${of}${low === undefined ? "" : `at least ${low}`}${low !== undefined && high !== undefined ? ", " : ""}${high === undefined ? "" : `at most ${high}`}`);
  return [exclusiveMinimum === undefined ? null : `above ${exclusiveMinimum}`, range(minimum, maximum, ""), range(minItems, maxItems, "items: "), range(minLength, maxLength, "characters: ")].filter(Boolean).join("; ");
}
