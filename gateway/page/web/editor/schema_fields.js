// schema_fields.js: which fields a node has, as the gateway's schema of flows says. A field that a later schema adds is there by itself;
// one whose shape is not known here is edited as JSON. A list
// of words that may be more than words (optimisers with bounds) is written as words, or as JSON.

const refName = (schema) => schema.$ref?.split("/").at(-1);

function resolved(schema, root) {
  return schema.$ref ? resolved(root.definitions[refName(schema)], root) : schema;
}

function fieldOf(name, schema, root, required) {
  const whole = resolved(schema, root);
  const field = { name, required, description: whole.description ?? "" };
  if (refName(schema) === "function") return { ...field, sort: "function" };
  const choices = (whole.oneOf ?? []).map((one) => (refName(one) === "function" ? { isFunction: true } : resolved(one, root)));
  const object = choices.find((one) => one.properties?.function);
  if (object && choices.some((one) => one.isFunction)) return { ...field, sort: "step", hasTakes: Boolean(object.properties.takes) };
  if (object && choices.some((one) => one.const === "found")) return { ...field, sort: "until" };
  const types = [whole.type].flat();
  if (whole.enum) return { ...field, sort: "choice", choices: whole.enum };
  if (types.includes("array")) {
    const items = resolved(whole.items ?? {}, root);
    if (items.enum) return { ...field, sort: "choices", choices: items.enum };
    if (items.type === "string") return { ...field, sort: "words" };
    return { ...field, sort: (items.oneOf ?? []).some((one) => resolved(one, root).type === "string") ? "list" : "json" };
  }
  if (types.includes("integer")) return { ...field, sort: "integer", least: whole.minimum, most: whole.maximum };
  if (types.includes("boolean")) return { ...field, sort: "choice", choices: [true, false] };
  if (types.includes("string")) return { ...field, sort: "text" };
  if (types.includes("object") && whole.properties) return { ...field, sort: "group", fields: fieldsIn(whole, root) };
  return { ...field, sort: "json" };
}

function fieldsIn(schema, root, without = []) {
  return Object.entries(schema.properties ?? {}).filter(([name]) => !without.includes(name))
    .map(([name, one]) => fieldOf(name, one, root, (schema.required ?? []).includes(name)));
}

/** Of a node; none of a kind that the schema does not have. */
export function fieldsOfKind(root, kind) {
  const all = root.properties.nodes.additionalProperties.oneOf.map((one) => resolved(one, root));
  const found = all.find((one) => one.properties.kind.const === kind);
  return found ? fieldsIn(found, root, ["kind"]) : [];
}

/** Of the flow as a whole, beside what the picture shows. */
export const fieldsOfFlow = (root) => fieldsIn(root, root, ["flow", "functions", "inputs", "nodes", "edges", "outputs"]);

/** As somebody edits it; empty: there is none. */
export function shown(field, value) {
  if (value === undefined || value === null) return "";
  const isWords = Array.isArray(value) && (field.sort === "words" || (field.sort === "list" && value.every((one) => typeof one === "string")));
  if (isWords) return value.join(", ");
  if (field.sort === "until" || field.sort === "step") return typeof value === "object" ? String(value.function ?? "") : String(value);
  if (field.sort === "json" || typeof value === "object") return JSON.stringify(value);
  return String(value);
}

/** {value} (undefined: the field goes away) or {fault}. `before` is what the field says now. */
export function understood(field, text, before) {
  const trimmed = text.trim();
  if (trimmed === "") return field.required && field.sort === "function" ? { value: "?" } : { value: undefined };
  switch (field.sort) {
    case "integer": {
      const number = Number(trimmed);
      const isGood = Number.isSafeInteger(number) && number >= (field.least ?? -Infinity) && number <= (field.most ?? Infinity);
      return isGood ? { value: number } : { fault: `'${field.name}' is a whole number from ${field.least ?? "-∞"} to ${field.most ?? "∞"}` };
    }
    case "words":
      return { value: trimmed.split(/[\s,]+/).filter(Boolean) };
    case "list":
      return trimmed.startsWith("[") ? jsonOf(field.name, trimmed) : { value: trimmed.split(/[\s,]+/).filter(Boolean) };
    case "until":
      return { value: trimmed === "found" ? trimmed : { function: trimmed } };
    case "step":
      return { value: before && typeof before === "object" ? { ...before, function: trimmed } : trimmed };
    case "choice":
      return { value: field.choices.find((one) => String(one) === trimmed) };
    case "json":
      return jsonOf(field.name, trimmed);
    default:
      return { value: trimmed };
  }
}

export function jsonOf(name, text) {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { fault: `'${name}' is JSON: 3, "text", [1, 2]` };
  }
}
