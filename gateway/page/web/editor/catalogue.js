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

/** As the gateway takes a flow, with the files of its nodes of kind `flow`, by name. */
export const sent = (text, files) => ({ document: text, ...(Object.keys(files).length > 0 ? { files } : {}) });

/** The gateway's report of them. */
export async function check(text, files) {
  const response = await request("POST", "/v1/flows/check", { body: sent(text, files) });
  return response.json();
}
