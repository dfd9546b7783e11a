import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import * as model from "./editor/flow_model.js";
import { inline, parse, patched, sameValue, written } from "./editor/yaml_text.js";

const templates = readdirSync("templates").filter((name) => name.endsWith(".yaml")).map((name) => [name, readFileSync(`templates/${name}`, "utf8")]);

const commented = `# On top.
flow: sums   # the name

inputs:
  a: span<f64>   # first
  # Above b.
  b: span<f64>
nodes:
  # Above one.
  one: {kind: call, function: f, takes: [x, y]}   # beside one
  two:
    kind: call   # beside the kind
    function: g
edges:
  - {from: a, to: one.x}   # beside the first edge
  - {from: b, to: one.y}
  - from: one   # in a block
    to: two
outputs: {r: two}   # at the end
`;

const after = (text, change) => {
  const read = parse(text);
  assert.equal(read.problem, undefined);
  const wanted = change(read.flow);
  const result = patched(text, wanted);
  assert.deepEqual(parse(result).flow, wanted);
  return result;
};
const lines = (text) => text.split("\n");
const differing = (a, b) => ({ gone: lines(a).filter((line) => !lines(b).includes(line)), come: lines(b).filter((line) => !lines(a).includes(line)) });

test("a text that says the flow already stays as it is", () => {
  for (const [, text] of [...templates, ["", commented]]) assert.equal(after(text, (flow) => flow), text);
});

test("an edit changes the words that it is about, and no others", () => {
  assert.deepEqual(differing(commented, after(commented, (flow) => model.setField(flow, "two", "function", "h"))),
    { gone: ["    function: g"], come: ["    function: h"] });
  assert.deepEqual(differing(commented, after(commented, (flow) => model.setField(flow, "one", "window", 4))),
    { gone: ["  one: {kind: call, function: f, takes: [x, y]}   # beside one"], come: ["  one: {kind: call, function: f, takes: [x, y], window: 4}   # beside one"] });
  assert.deepEqual(differing(commented, after(commented, (flow) => model.setField(flow, "two", "retry", { attempts: 5 }))),
    { gone: [], come: ["    retry: {attempts: 5}"] });
  assert.deepEqual(differing(commented, after(commented, (flow) => model.connect(flow, "a", "two.z"))), { gone: [], come: ["  - {from: a, to: two.z}"] });
  assert.deepEqual(differing(commented, after(commented, (flow) => model.addOutput(flow, "s", "one"))),
    { gone: ["outputs: {r: two}   # at the end"], come: ["outputs: {r: two, s: one}   # at the end"] });
  assert.deepEqual(differing(commented, after(commented, (flow) => model.setInput(flow, "b", "f64"))), { gone: ["  b: span<f64>"], come: ["  b: f64"] });
});

test("what is renamed keeps its place and its comments", () => {
  const text = after(commented, (flow) => model.rename(flow, "nodes", "one", "first"));
  assert.match(text, /# Above one\.\n {2}first: \{kind: call, function: f, takes: \[x, y\]\} {3}# beside one/);
  assert.match(text, /- \{from: a, to: first\.x\} {3}# beside the first edge/);
  assert.match(text, /- from: first {3}# in a block/);
});

test("what is taken away goes with the comment on its line; comments above it stay", () => {
  const text = after(commented, (flow) => model.removeNode(flow, "one"));
  assert.deepEqual(lines(text).filter((line) => /one/.test(line)), ["  # Above one."]);
  assert.match(text, /# On top\.\nflow: sums {3}# the name\n\ninputs:\n {2}a: span<f64> {3}# first\n/);
  const none = after(text, (flow) => model.removeNode(flow, "two"));
  assert.deepEqual(parse(none).flow.nodes, {});
  assert.match(after(none, (flow) => model.addNodes(flow, { nodes: { n: { kind: "call", function: "?" } } }).flow), /n: \{kind: call, function: '\?'\}/);
});

test("sections that are not there, or are empty, are begun", () => {
  const text = after("flow: f\nnodes:\nedges:\n", (flow) => model.addNodes(flow, { nodes: { n: { kind: "call", function: "?" } } }).flow);
  assert.equal(text, "flow: f\nnodes:\n  n: {kind: call, function: '?'}\nedges:\n");
  const more = after(text, (flow) => model.addOutput(model.setInput(model.connect(flow, "a", "n"), "a", "f64"), "r", "n"));
  assert.equal(more, "flow: f\nnodes:\n  n: {kind: call, function: '?'}\nedges:\n  - {from: a, to: n}\ninputs:\n  a: f64\noutputs:\n  r: n\n");
  assert.equal(after("flow: f", (flow) => ({ ...flow, nodes: {} })), "flow: f\nnodes: {}");
});

test("JSON is edited as JSON", () => {
  const text = JSON.stringify({ flow: "f", nodes: { a: { kind: "call", function: "g" } }, edges: [], outputs: { r: "a" } }, null, 2);
  const result = after(text, (flow) => model.setField(flow, "a", "function", "h"));
  assert.equal(result, text.replace('"g"', '"h"'));
  const { flow } = parse(text);
  for (const change of [model.addNodes(flow, { nodes: { b: { kind: "call", function: "?" } } }).flow, model.connect(flow, "x", "a"), model.setInput(flow, "x", "f64"),
    model.rename(flow, "nodes", "a", "c"), model.removeNode(flow, "a"), model.addOutput(flow, "s", "a")])
    assert.deepEqual(JSON.parse(patched(text, change)), change);
});

test("texts with anchors and merges come out right, if not as they were written", () => {
  const text = "flow: f\nnodes:\n  a: &a {kind: call, function: g}\n  b: *a\n  c: {<<: *a, function: h}\nedges: []\noutputs: {}\n";
  after(text, (flow) => model.setField(flow, "b", "function", "x"));
  after(text, (flow) => model.setField(flow, "a", "function", "x"));
  after(text, (flow) => model.setField(flow, "c", "window", 3));
});

test("a text that cannot be read has a place", () => {
  assert.deepEqual(Object.keys(parse("flow: f\nnodes: {a: [}\n").problem), ["line", "column", "message"]);
  assert.equal(parse("flow: f\nnodes: {a: [}\n").problem.line, 2);
  assert.equal(parse("flow: f\nflow: g\n").problem.line, 2);
  assert.match(parse("- 1\n").problem.message, /a flow is a map/);
  assert.match(parse("").problem.message, /a flow is a map/);
  const laughs = ["flow: f", "a: &a [x, x, x, x, x, x, x, x, x, x]"];
  for (let i = 98; i < 108; ++i) {
    const [name, before] = [String.fromCharCode(i), String.fromCharCode(i - 1)];
    laughs.push(`${name}: &${name} [${Array(10).fill(`*${before}`).join(", ")}]`);
  }
  assert.ok(parse(laughs.join("\n")).problem);
});

test("keys that every object inherits are keys like others", () => {
  const text = "flow: f\nnodes:\n  constructor: {kind: call, function: g}\n  __proto__: {kind: call, function: g}\n  toString: {kind: call, function: g}\n";
  assert.deepEqual(model.view(parse(text).flow).nodes.map((node) => node.name), ["constructor", "__proto__", "toString"]);
  const result = after(text, (flow) => model.setField(flow, "__proto__", "function", "h"));
  assert.equal(model.view(parse(result).flow).nodes[1].fields.function, "h");
});

test("a value is written so that it is read as the same", () => {
  const texts = ["", "yes", "null", "~", "1", "0x1F", "1e3", "a: b", "# no comment", "- x", "[", "{", "a\nb", "\u2028", "\u0000", "'", "\"", "é", "😀", " a ",
    "?", "*a", "&a", "!t", "%", "@", "`", "span<f64>", "span<{f64,u32}>", "a,b", "f.g@0123456789"];
  for (const value of [...texts, 1, 1.5, -0.25, true, false, null, [], {}, [["x"], { a: [1] }], { "a b": { "": 1 } }])
    assert.deepEqual(parse(`k: ${inline(value)}\n`).flow, { k: value }, inline(value));
});

test("a new text says what it was made of", () => {
  for (const [name, text] of templates) assert.deepEqual(parse(written(parse(text).flow)).flow, parse(text).flow, name);
});

/** A small generator of numbers, so that a failure comes again. */
function numbers(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("any sequence of edits on any template leaves a text that says just that", () => {
  for (let seed = 1; seed <= 150; ++seed) {
    const below = numbers(seed);
    const pick = (list) => list[below(list.length)];
    let text = pick([...templates.map(([, one]) => one), commented]);
    for (let step = 0; step < 12; ++step) {
      const { flow } = parse(text);
      const { nodes, inputs, outputs, edges } = model.view(flow);
      const node = nodes.length > 0 ? pick(nodes).name : null;
      const changes = [
        () => model.addNodes(flow, parse(pick(templates)[1]).flow).flow,
        () => (node ? model.removeNode(flow, node) : flow),
        () => (node ? model.rename(flow, "nodes", node, model.freeName(flow, "renamed")) : flow),
        () => (node ? model.setField(flow, node, pick(["function", "window", "retry", "takes"]), pick([undefined, "f.g", 3, { attempts: 2 }, ["a", "b"]])) : flow),
        () => (node ? model.connect(flow, pick(nodes).name, `${node}.${pick(["x", "y"])}`) : flow),
        () => (node ? model.setValue(flow, node, true, pick([1, "text", [1, 2], { a: 1 }])) : flow),
        () => (edges.length > 0 ? model.disconnect(flow, pick(edges).to, false) : flow),
        () => model.setInput(flow, pick(["a", "b", "value"]), pick(["f64", "span<{f64,u32}>"])),
        () => (inputs.length > 0 ? model.removeInput(flow, pick(inputs).name) : flow),
        () => (node ? model.addOutput(flow, "r", node) : flow),
        () => (outputs.length > 0 ? model.removeOutput(flow, pick(outputs).name) : flow),
      ];
      const wanted = pick(changes)();
      const result = patched(text, wanted);
      assert.ok(sameValue(parse(result).flow, wanted), `seed ${seed}, step ${step}:\n${text}\nbecame\n${result}\nfor\n${JSON.stringify(wanted)}`);
      text = result;
    }
  }
});
