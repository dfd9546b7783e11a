// catalogue.js: what the gateway has for somebody who edits flows: functions, templates, the schema, and its checks.
import { get, request } from "/page/api.js";

/** What documents call a function's entries, with their signatures: [{name, signature}], sorted. */
function callable(functions) {
  return functions.flatMap(({ name, entries }) => entries.map((entry) => ({
    name: entries.length === 1 ? name : `${name}.${entry.name}`, signature: entry.signature ?? "bytes" })));
}

export async function loadCatalogue() {
  const [functions, templates, schema] = await Promise.all([get("/v1/functions"), get("/v1/flows/templates"), get("/v1/flow.schema.json")]);
  return { functions: callable(functions.functions), templates: templates.templates, schema };
}

/** The gateway's report of a text. */
export async function check(text) {
  const response = await request("POST", "/v1/flows/check", { body: { document: text } });
  return response.json();
}
