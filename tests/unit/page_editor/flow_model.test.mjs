import assert from "node:assert/strict";
import { test } from "node:test";
import * as model from "./editor/flow_model.js";

const flow = Object.freeze({
  flow: "f",
  inputs: Object.freeze({ a: "f64" }),
  nodes: Object.freeze({ one: Object.freeze({ kind: "call", function: "g" }), two: Object.freeze({ kind: "flow", file: "x.yaml" }) }),
  edges: Object.freeze([Object.freeze({ from: "a", to: "one" }), Object.freeze({ from: "one", to: "two.x" }), Object.freeze({ value: 3, to: "two.y" })]),
  outputs: Object.freeze({ r: "two.out", s: "one" }),
});

test("what is wrong in a document is left out of what is drawn", () => {
  for (const wrong of [{}, { nodes: 5, edges: {}, inputs: [1], outputs: null }, { nodes: { a: null }, edges: [null, 7, []], inputs: { b: null }, outputs: { r: {} } }])
    assert.doesNotThrow(() => model.view(wrong));
  assert.deepEqual(model.view({ nodes: { a: null } }).nodes, [{ name: "a", kind: "", fields: {} }]);
});

test("a node goes with its edges and outputs", () => {
  const left = model.removeNode(flow, "one");
  assert.deepEqual(left.edges, [{ value: 3, to: "two.y" }]);
  assert.deepEqual(left.outputs, { r: "two.out" });
  assert.deepEqual(Object.keys(left.nodes), ["two"]);
});

test("a new name is in all places that had the old one, and in no others", () => {
  const node = model.rename(flow, "nodes", "two", "three");
  assert.deepEqual(node.edges.map((edge) => edge.to), ["one", "three.x", "three.y"]);
  assert.equal(node.outputs.r, "three.out");
  const input = model.rename(flow, "inputs", "a", "b");
  assert.deepEqual(input.edges[0], { from: "b", to: "one" });
  assert.deepEqual(Object.keys(model.rename(flow, "outputs", "r", "q").outputs), ["q", "s"]);
});

test("nodes of a template come with the edges among them, and take names that are free", () => {
  const { flow: more, names } = model.addNodes(flow, { inputs: { v: "f64" }, nodes: { one: { kind: "call" }, n: { kind: "call" } },
    edges: [{ from: "v", to: "one" }, { from: "one", to: "n.1" }, { value: 1, to: "n.2" }], outputs: { r: "n" } });
  assert.deepEqual(names, ["one-2", "n"]);
  assert.deepEqual(more.edges.slice(3), [{ from: "one-2", to: "n.1" }, { value: 1, to: "n.2" }]);
  assert.deepEqual(more.inputs, flow.inputs);
});

test("a port's edge or value goes, also when it is named by its node alone", () => {
  assert.equal(model.disconnect(flow, "one.1", true).edges.length, 2);
  assert.equal(model.disconnect(flow, "one.1", false).edges.length, 3);
  assert.deepEqual(model.setValue(flow, "two.y", false, 4).edges.at(-1), { value: 4, to: "two.y" });
  assert.equal(model.setValue(flow, "two.y", false, 4).edges.length, 3);
});

test("outputs and inputs", () => {
  assert.equal(model.addOutput(flow, "r", "one").outputs["r-2"], "one");
  assert.deepEqual(model.removeInput(flow, "a").edges.length, 2);
  assert.equal(model.freeName(flow, "a"), "a-2");
  assert.ok(model.isName("a-1_b") && !model.isName("1a") && !model.isName("a.b") && !model.isName("") && !model.isName("a".repeat(65)));
});
