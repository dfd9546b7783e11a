// ports.js: what can be connected to what. Types are what the gateway has found out of the functions' signatures; what it does
// not know yet has no type, and is connected by its name alone.
import { halves, own, view } from "./flow_model.js";

const words = (value) => (Array.isArray(value) ? value.map(String) : []);

/** Everything that an edge may begin or end at. `shapes`: `nodes` of a check's report.
 *   sources: [{place, node, name, type}]: inputs (without a node) and outputs of nodes
 *   ports:   [{place, node, name, type, edge, isOnly}]: `edge`, if there is one; isOnly: the node has no other */
export function endsOf(flow, shapes) {
  const { inputs, nodes, edges } = view(flow);
  const known = new Map(shapes.filter((shape) => shape.known).map((shape) => [shape.node, shape]));
  const byPort = new Map(edges.map((edge) => [edge.to, edge]));
  const named = new Map();  // ports that edges name, of nodes that say nothing themselves
  for (const edge of edges) {
    const [node, port] = halves(edge.to);
    if (!named.has(node)) named.set(node, []);
    if (port && !named.get(node).includes(port)) named.get(node).push(port);
  }
  const sources = inputs.map(({ name, type }) => ({ place: name, node: null, name, type }));
  const ports = [];
  for (const { name: node, kind, fields } of nodes) {
    const shape = known.get(node);
    const outputs = shape?.outputs ?? [{ name: "", type: "" }];
    for (const { name, type } of outputs)
      if (type !== "void") sources.push({ place: name ? `${node}.${name}` : node, node, name, type });
    const all = shape?.ports ?? guessed(kind, fields, named.get(node) ?? []).map((name) => ({ name, type: "" }));
    for (const { name, type } of all) {
      const isOnly = all.length === 1;
      const place = `${node}.${name}`;
      ports.push({ place, node, name, type, isOnly, edge: byPort.get(place) ?? (isOnly ? byPort.get(node) : undefined) });
    }
  }
  return { sources, ports };
}

/** Of a node whose functions are open: those that it names, those that edges name, or one. */
function guessed(kind, fields, named) {
  const takes = words(own(fields, "takes"));
  const all = takes.length > 0 ? takes : named;
  return all.length > 0 || kind === "flow" ? all : ["1"];
}

/** Why no edge may go from `source` to `port`; null: it may. */
export function refusal(flow, source, port) {
  if (port.edge) return `port '${port.name}' of node '${port.node}' has an edge already; take that away first`;
  if (source.type && port.type && source.type !== port.type)
    return `'${source.place}' is ${source.type}, and port '${port.name}' of node '${port.node}' takes ${port.type}`;
  if (source.node === null) return null;
  const path = pathBetween(flow, port.node, source.node);
  if (path) return `these nodes would wait for each other: ${[...path, port.node].join(" -> ")}; use a node of kind iterate`;
  return null;
}

/** Nodes from `from` to `to` along edges; null: there is no way. */
function pathBetween(flow, from, to) {
  const next = new Map();
  for (const edge of view(flow).edges) {
    if (!edge.from) continue;
    const [node] = halves(edge.from);
    if (!next.has(node)) next.set(node, []);
    next.get(node).push(halves(edge.to)[0]);
  }
  const before = new Map([[from, null]]);
  const queue = [from];
  for (let at = 0; at < queue.length; ++at) {
    const node = queue[at];
    if (node === to) {
      const path = [];
      for (let step = node; step !== null; step = before.get(step)) path.unshift(step);
      return path;
    }
    for (const one of next.get(node) ?? [])
      if (!before.has(one)) {
        before.set(one, node);
        queue.push(one);
      }
  }
  return null;
}
