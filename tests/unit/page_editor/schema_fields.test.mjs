import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fieldsOfFlow, fieldsOfKind, shown, understood } from "./editor/schema_fields.js";

const schema = JSON.parse(readFileSync("flow.schema.json", "utf8"));
const kinds = ["call", "map", "reduce", "iterate", "if", "master", "divide", "flow"];
const field = (kind, name) => fieldsOfKind(schema, kind).find((one) => one.name === name);

test("each kind has the fields of its schema, and none has a shape that the form does not know", () => {
  for (const kind of kinds) {
    const fields = fieldsOfKind(schema, kind);
    assert.ok(fields.length > 0, kind);
    for (const one of fields) assert.notEqual(one.sort, "json", `${kind}.${one.name}`);
  }
  assert.deepEqual(fieldsOfKind(schema, "gang"), []);
  assert.equal(field("call", "function").sort, "function");
  assert.deepEqual([field("map", "partition").sort, field("map", "partition").hasTakes, field("map", "merge").hasTakes], ["step", true, false]);
  assert.equal(field("map", "until").sort, "until");
  assert.deepEqual(field("call", "retry").fields.map((one) => one.sort), ["integer", "text", "choices"]);
});

test("what a later schema adds is there by itself", () => {
  const later = structuredClone(schema);
  later.properties.optimisers = { type: "array", items: { enum: ["speed", "power"] } };
  later.properties.optimise = { type: ["array", "null"], items: { oneOf: [{ type: "string" }, { type: "object", properties: { power: { type: "object" } } }] } };
  const list = fieldsOfFlow(later).find((one) => one.name === "optimise");
  assert.deepEqual(understood(list, "speed, ./own.so"), { value: ["speed", "./own.so"] });
  assert.deepEqual(understood(list, '["speed", {"power": {"watts": 90}}]'), { value: ["speed", { power: { watts: 90 } }] });
  assert.match(understood(list, "[speed").fault, /is JSON/);
  assert.equal(shown(list, ["speed", "granularity"]), "speed, granularity");
  assert.equal(shown(list, ["speed", { power: { watts: 90 } }]), '["speed",{"power":{"watts":90}}]');
  later.definitions.call.properties.where = { type: "string" };
  later.definitions.call.properties.strange = { anyOf: [{ type: "string" }, { type: "object" }] };
  assert.equal(fieldsOfFlow(later).find((one) => one.name === "optimisers").sort, "choices");
  const call = fieldsOfKind(later, "call");
  assert.deepEqual(["where", "strange"].map((name) => call.find((one) => one.name === name).sort), ["text", "json"]);
});

test("what somebody writes becomes a value, or is refused", () => {
  assert.deepEqual(understood(field("call", "window"), "4"), { value: 4 });
  assert.match(understood(field("call", "window"), "0").fault, /'window' is a whole number from 1 to 65536/);
  assert.match(understood(field("call", "window"), "4.5").fault, /whole number/);
  assert.deepEqual(understood(field("call", "window"), " "), { value: undefined });
  assert.deepEqual(understood(field("call", "function"), ""), { value: "?" });
  assert.deepEqual(understood(field("call", "takes"), "a, b  c"), { value: ["a", "b", "c"] });
  assert.deepEqual(understood(field("map", "until"), "found"), { value: "found" });
  assert.deepEqual(understood(field("map", "until"), "f.g"), { value: { function: "f.g" } });
  assert.deepEqual(understood(field("map", "each"), "f.h", { function: "f.g", takes: ["x"] }), { value: { function: "f.h", takes: ["x"] } });
  assert.deepEqual(understood({ name: "x", sort: "json" }, "[1"), { fault: "'x' is JSON: 3, \"text\", [1, 2]" });
});

test("a value is shown as it is written", () => {
  assert.equal(shown(field("call", "takes"), ["a", "b"]), "a, b");
  assert.equal(shown(field("map", "until"), { function: "f" }), "f");
  assert.equal(shown(field("map", "each"), { function: "f", takes: [] }), "f");
  assert.equal(shown(field("call", "window"), undefined), "");
  assert.equal(shown(field("call", "takes"), 5), "5");
});
