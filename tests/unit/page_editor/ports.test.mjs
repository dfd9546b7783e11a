import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest } from "./editor/keyboard.js";
import { picture } from "./editor/picture.js";
import { endsOf, refusal } from "./editor/ports.js";

const flow = {
  inputs: { a: "f64", n: "u64" },
  nodes: { one: { kind: "call", function: "g" }, two: { kind: "call", function: "h", takes: ["x", "y"] }, three: { kind: "call", function: "?" } },
  edges: [{ from: "a", to: "one" }, { from: "one", to: "two.x" }, { value: 5, to: "two.y" }],
  outputs: { r: "two" },
};
const shapes = [
  { node: "one", known: true, ports: [{ name: "1", type: "f64" }], outputs: [{ name: "", type: "f64" }] },
  {
    node: "two", known: true, outputs: [{ name: "", type: "span<f64>" }],
    ports: [{ name: "x", type: "f64" }, { name: "y", type: "u64" }, { name: "z", type: "span<f64>" }],
  },
  { node: "three", known: false, ports: [], outputs: [] },
];
const { sources, ports } = endsOf(flow, shapes);
const source = (place) => sources.find((one) => one.place === place);
const port = (place) => ports.find((one) => one.place === place);

test("ports have the types of the functions, and the edges that end there", () => {
  assert.deepEqual(sources.map(({ place, type }) => [place, type]), [["a", "f64"], ["n", "u64"], ["one", "f64"], ["two", "span<f64>"], ["three", ""]]);
  assert.equal(port("one.1").edge.from, "a");
  assert.equal(port("two.y").edge.value, 5);
  assert.equal(port("two.z").edge, undefined);
});

test("a node whose function is open has the ports that it names, or one", () => {
  assert.deepEqual(ports.filter((one) => one.node === "three").map((one) => one.name), ["1"]);
  assert.deepEqual(endsOf({ nodes: { m: { kind: "map", takes: ["p", "q"] } } }, []).ports.map((one) => one.name), ["p", "q"]);
  assert.deepEqual(endsOf({ nodes: { f: { kind: "flow" } }, edges: [{ from: "a", to: "f.in" }] }, []).ports.map((one) => one.name), ["in"]);
});

test("a flow that is a node has outputs with names, and what gives nothing has none", () => {
  const ends = endsOf({ nodes: { f: { kind: "flow" }, g: { kind: "call" } } }, [
    { node: "f", known: true, ports: [], outputs: [{ name: "u", type: "f64" }, { name: "v", type: "u64" }] },
    { node: "g", known: true, ports: [], outputs: [{ name: "", type: "void" }] },
  ]);
  assert.deepEqual(ends.sources.map((one) => one.place), ["f.u", "f.v"]);
});

test("an edge of a wrong type is refused with both types", () => {
  assert.equal(refusal(flow, source("n"), port("two.z")), "'n' is u64, and port 'z' of node 'two' takes span<f64>");
  assert.equal(refusal(flow, source("a"), port("three.1")), null);
});

test("two edges to a port, and a circle, are refused", () => {
  assert.match(refusal(flow, source("one"), port("two.x")), /has an edge already/);
  const open = { ...flow, edges: [{ from: "one", to: "two.x" }, { from: "two", to: "three" }] };
  const free = endsOf(open, []).ports.find((one) => one.node === "one");
  assert.match(refusal(open, source("three"), free), /one -> two -> three -> one/);
  assert.match(refusal(open, source("one"), free), /wait for each other: one -> one/);
});

test("what is drawn are boxes with their ports, and links between those that exist", () => {
  const { boxes, links } = picture({ ...flow, edges: [...flow.edges, { from: "nobody", to: "three" }] }, shapes);
  assert.deepEqual(boxes.map((box) => box.id), ["input:a", "input:n", "node:one", "node:two", "node:three", "output:r", "new:+"]);
  assert.deepEqual(links.map(({ from, to }) => `${from}>${to}`), ["a>one.1", "one>two.x", "two>>r"]);
  for (const box of boxes) for (const one of [...box.ports, ...box.sources]) assert.ok(one.y > 0 && one.y < box.height);
});

test("an arrow key goes to the nearest place in its direction", () => {
  const places = [[10, 0], [100, 0], [12, 50], [-5, 0]];
  assert.equal(nearest([0, 0], places, [1, 0]), 0);
  assert.equal(nearest([10, 0], places, [1, 0]), 1);
  assert.equal(nearest([0, 0], places, [-1, 0]), 3);
  assert.equal(nearest([0, 0], places, [0, 1]), 2);
  assert.equal(nearest([0, 0], places, [0, -1]), -1);
});
