// flow_model.js: a flow as plain data, and what an edit makes of it. Nothing here knows a page, a text or a gateway; no
// function changes what it is given. Documents may be wrong in any way: what cannot be drawn is left out of `view`.

const isMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const asMap = (value) => (isMap(value) ? value : {});
const asList = (value) => (Array.isArray(value) ? value : []);
const text = (value) => (value === null || value === undefined ? "" : String(value));

/** Objects of documents have any keys, also those that every object inherits. */
export const own = (map, key) => (isMap(map) && Object.hasOwn(map, key) ? map[key] : undefined);
export const withKey = (map, key, value) => Object.fromEntries([...Object.entries(asMap(map)).filter(([name]) => name !== key), [key, value]]);
const replaced = (map, key, value) => Object.fromEntries(Object.entries(asMap(map)).map(([name, old]) => [name, name === key ? value : old]));
const without = (map, key) => Object.fromEntries(Object.entries(asMap(map)).filter(([name]) => name !== key));
const renamed = (map, from, to) => Object.fromEntries(Object.entries(asMap(map)).map(([name, value]) => [name === from ? to : name, value]));

/** "a.b" is a and b; "a" is a and nothing. */
export function halves(place) {
  const dot = place.indexOf(".");
  return dot < 0 ? [place, ""] : [place.slice(0, dot), place.slice(dot + 1)];
}

/** What of a document can be drawn. */
export function view(flow) {
  return {
    name: text(own(flow, "flow")),
    inputs: Object.entries(asMap(own(flow, "inputs"))).map(([name, type]) => ({ name, type: text(type) })),
    nodes: Object.entries(asMap(own(flow, "nodes"))).map(([name, fields]) => ({ name, kind: text(own(fields, "kind")), fields: asMap(fields) })),
    edges: asList(own(flow, "edges")).map((edge) => ({
      from: text(own(edge, "from")), to: text(own(edge, "to")), hasValue: isMap(edge) && Object.hasOwn(edge, "value"), value: own(edge, "value") })),
    outputs: Object.entries(asMap(own(flow, "outputs"))).map(([name, from]) => ({ name, from: text(from) })),
  };
}

/** `wanted`, or that with the first number that makes it new. */
export function freeName(flow, wanted) {
  const taken = new Set([...Object.keys(asMap(own(flow, "nodes"))), ...Object.keys(asMap(own(flow, "inputs")))]);
  if (!taken.has(wanted)) return wanted;
  for (let i = 2; ; ++i) if (!taken.has(`${wanted}-${i}`)) return `${wanted}-${i}`;
}

export const isName = (name) => /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name);

function edited(flow, key, value) {
  return Object.hasOwn(flow, key) ? replaced(flow, key, value) : withKey(flow, key, value);
}

/** The nodes of another flow, with the edges among them; names that are taken get a number. Also says what they are called. */
export function addNodes(flow, other) {
  let result = flow;
  const names = new Map();
  for (const [name, fields] of Object.entries(asMap(own(other, "nodes")))) {
    const free = freeName(result, name);
    names.set(name, free);
    result = edited(result, "nodes", withKey(own(result, "nodes"), free, fields));
  }
  const moved = (place) => {
    const [name, port] = halves(text(place));
    return names.has(name) ? names.get(name) + (port ? `.${port}` : "") : null;
  };
  const edges = asList(own(other, "edges")).flatMap((edge) => {
    const to = moved(own(edge, "to"));
    if (to === null) return [];
    if (isMap(edge) && Object.hasOwn(edge, "value")) return [{ value: edge.value, to }];
    const from = moved(own(edge, "from"));
    return from === null ? [] : [{ from, to }];
  });
  if (edges.length > 0) result = edited(result, "edges", [...asList(own(result, "edges")), ...edges]);
  return { flow: result, names: [...names.values()] };
}

/** With all that names it: edges to and from it, and outputs. */
export function removeNode(flow, name) {
  let result = edited(flow, "nodes", without(own(flow, "nodes"), name));
  result = removeEdges(result, (edge) => halves(edge.to)[0] === name || halves(edge.from)[0] === name);
  return removeOutputs(result, (from) => halves(from)[0] === name);
}

function removeEdges(flow, isGone) {
  if (own(flow, "edges") === undefined) return flow;
  const all = view(flow).edges;
  return edited(flow, "edges", asList(own(flow, "edges")).filter((_, index) => !isGone(all[index])));
}

function removeOutputs(flow, isGone) {
  if (own(flow, "outputs") === undefined) return flow;
  return edited(flow, "outputs", Object.fromEntries(Object.entries(asMap(own(flow, "outputs"))).filter(([, from]) => !isGone(text(from)))));
}

/** Takes the edge to a port away. A port may be named by its node alone if it is the node's only one. */
export const disconnect = (flow, to, isOnly) =>
  removeEdges(flow, (edge) => edge.to === to || (isOnly && edge.to === halves(to)[0]));

export const connect = (flow, from, to) => edited(flow, "edges", [...asList(own(flow, "edges")), { from, to }]);

/** A port's value in the place of an edge. */
export function setValue(flow, to, isOnly, value) {
  const result = disconnect(flow, to, isOnly);
  return edited(result, "edges", [...asList(own(result, "edges")), { value, to }]);
}

export const setInput = (flow, name, type) => edited(flow, "inputs", edited(asMap(own(flow, "inputs")), name, type));

export function removeInput(flow, name) {
  const result = edited(flow, "inputs", without(own(flow, "inputs"), name));
  return removeOutputs(removeEdges(result, (edge) => edge.from === name), (from) => from === name);
}

export function addOutput(flow, wanted, from) {
  const outputs = asMap(own(flow, "outputs"));
  let name = wanted;
  for (let i = 2; Object.hasOwn(outputs, name); ++i) name = `${wanted}-${i}`;
  return edited(flow, "outputs", withKey(outputs, name, from));
}

export const removeOutput = (flow, name) => edited(flow, "outputs", without(own(flow, "outputs"), name));

/** Of a node, or of the flow as a whole (`node` is null). `undefined` takes the field away. */
export function setField(flow, node, field, value) {
  if (node === null) return value === undefined ? without(flow, field) : edited(flow, field, value);
  const fields = asMap(own(own(flow, "nodes"), node));
  const next = value === undefined ? without(fields, field) : edited(fields, field, value);
  return edited(flow, "nodes", replaced(own(flow, "nodes"), node, next));
}

/** A node, an input or an output, with all that names it. */
export function rename(flow, what, from, to) {
  let result = edited(flow, what, renamed(own(flow, what), from, to));
  if (what === "outputs") return result;
  const moved = (place) => {
    const [name, port] = halves(text(place));
    return name === from ? to + (port ? `.${port}` : "") : place;
  };
  const isMoved = (key) => key === "from" || (key === "to" && what === "nodes");
  const movedIn = (edge) =>
    (isMap(edge) ? Object.fromEntries(Object.entries(edge).map(([key, value]) => [key, isMoved(key) ? moved(value) : value])) : edge);
  const { edges, outputs } = result;
  if (Array.isArray(edges)) result = edited(result, "edges", edges.map(movedIn));
  if (isMap(outputs)) result = edited(result, "outputs", Object.fromEntries(Object.entries(outputs).map(([name, place]) => [name, moved(place)])));
  return result;
}
