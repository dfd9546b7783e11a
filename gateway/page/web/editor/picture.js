// picture.js: what is to be drawn of a flow: boxes with their ports, and links between ports. Plain data; where boxes stand is
// found by layout.js.
import { endsOf } from "./ports.js";
import { halves, own, view } from "./flow_model.js";

const rowHeight = 22;
const headHeight = 40;
const widest = 260;
const letter = 7.3;  // the mean width of a letter, in units of the drawing

/** Where an edge to a new output of the flow is dropped. */
export const newOutput = "+";

const functionFields = ["function", "partition", "hand_out", "divide", "each", "solve", "merge", "gather", "combine", "then", "else", "file"];

/** What a node does, in a line. */
export function summary(fields) {
  return functionFields.flatMap((field) => {
    const value = own(fields, field);
    const name = typeof value === "string" ? value : own(value, "function");
    return typeof name === "string" ? [name] : [];
  }).join(", ");
}

export function shortened(text, most) {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

/** {boxes: [{id, sort, name, title, detail, width, height, ports, sources}], links: [{from, to, fromBox, toBox}], ends}.
 * Ports and sources are those of endsOf, with `y` in their box. */
export function picture(flow, shapes) {
  const ends = endsOf(flow, shapes);
  const { inputs, nodes, edges, outputs } = view(flow);
  const boxes = [];
  const ofInput = new Map(ends.sources.filter((source) => source.node === null).map((source) => [source.name, source]));
  for (const { name, type } of inputs) boxes.push(box("input", name, type, [], [ofInput.get(name)]));
  const byNode = (list) => {
    const map = new Map();
    for (const one of list) if (one.node !== null) map.set(one.node, [...(map.get(one.node) ?? []), one]);
    return map;
  };
  const ports = byNode(ends.ports);
  const sources = byNode(ends.sources);
  for (const { name, kind, fields } of nodes)
    boxes.push(box("node", name, kind, ports.get(name) ?? [], sources.get(name) ?? [], summary(fields)));
  for (const { name, from } of outputs)
    boxes.push(box("output", name, "output", [{ place: `>${name}`, name, type: "", node: null, edge: { from } }], []));
  boxes.push(box("new", newOutput, "new output", [{ place: newOutput, name: "", type: "", node: null }], []));
  return { boxes, links: linksOf(ends, edges, outputs), ends };
}

function box(sort, name, kind, ports, sources, detail = "") {
  const rows = Math.max(ports.length, sources.length, 1);
  const label = ({ name: own, type }) => (own + type).length + 3;
  const wide = (list) => Math.max(0, ...list.map(label));
  const letters = Math.max(name.length + 2, kind.length + 2, Math.min(detail.length, 30) + 2, wide(ports) + (sort === "node" ? wide(sources) : 0));
  const row = (one, index) => ({ ...one, y: headHeight + (detail ? 16 : 0) + (index + 0.5) * rowHeight });
  return {
    id: `${sort}:${name}`, sort, name, title: name, kind, detail,
    width: Math.min(Math.max(letters * letter + 24, 110), widest), height: headHeight + (detail ? 16 : 0) + rows * rowHeight + 6,
    ports: ports.map(row), sources: sources.map(row),
  };
}

function linksOf(ends, edges, outputs) {
  const sources = new Map(ends.sources.map((source) => [source.place, source]));
  // "to: flow" is enough for a flow with one output.
  const sourceOf = (from) => sources.get(from) ?? ends.sources.find((source) => source.node !== null && source.node === halves(from)[0]);
  const boxOf = (source) => (source.node === null ? `input:${source.name}` : `node:${source.node}`);
  const links = [];
  for (const port of ends.ports) {
    if (!port.edge || port.edge.hasValue) continue;
    const source = sourceOf(port.edge.from);
    if (source) links.push({ from: source.place, to: port.place, fromBox: boxOf(source), toBox: `node:${port.node}` });
  }
  for (const { name, from } of outputs) {
    const source = sourceOf(from);
    if (source) links.push({ from: source.place, to: `>${name}`, fromBox: boxOf(source), toBox: `output:${name}` });
  }
  return links;
}
