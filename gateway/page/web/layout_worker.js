// layout_worker.js: a worker that says where a flow's nodes and edges are drawn: {number, size, nodes, edges} → {number, width, height,
// nodes: [{name, x, y}], edges: [[{x, y}]]}. dagre draws well, and takes seconds for a thousand nodes: large flows are laid out in layers,
// in time that grows with nodes and edges.
importScripts("/page/lib/dagre.js");

const MOST_FOR_DAGRE = 120;
const GAP = { x: 60, y: 16 };
const MARGIN = 12;
const SWEEPS = 4;

/** Numbers stand for names: those are keys of dagre's own objects, and users chose them. */
function byDagre(size, count, edges) {
  const graph = new self.dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: GAP.y, ranksep: GAP.x, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  for (let node = 0; node < count; node += 1) graph.setNode(String(node), { ...size });
  for (const [from, to] of edges) graph.setEdge(String(from), String(to));
  self.dagre.layout(graph);
  return {
    width: graph.graph().width,
    height: graph.graph().height,
    places: [...Array(count).keys()].map((node) => ({ x: graph.node(String(node)).x, y: graph.node(String(node)).y })),
    edges: graph.edges().map((edge) => graph.edge(edge).points),
  };
}

/** The layer of each node: one behind the last of those before it. */
function layersOf(count, before, after) {
  const layer = new Array(count).fill(0);
  const missing = before.map((list) => list.length);
  const ready = [...Array(count).keys()].filter((node) => missing[node] === 0);
  for (let next = 0; next < ready.length; next += 1) {
    for (const to of after[ready[next]]) {
      layer[to] = Math.max(layer[to], layer[ready[next]] + 1);
      missing[to] -= 1;
      if (missing[to] === 0) ready.push(to);
    }
  }
  const layers = [];
  layer.forEach((place, node) => (layers[place] ??= []).push(node));
  return layers.filter((nodes) => nodes);
}

function mean(nodes, row, otherwise) {
  return nodes.length === 0 ? otherwise : nodes.reduce((sum, node) => sum + row[node], 0) / nodes.length;
}

/** Each layer in the order of what its nodes are connected to, from both sides in turn. */
function order(layers, before, after) {
  const row = [];
  const place = (nodes) => nodes.forEach((node, at) => { row[node] = at - nodes.length / 2; });
  layers.forEach(place);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const [way, beside] = sweep % 2 === 0 ? [layers, before] : [[...layers].reverse(), after];
    for (const nodes of way) {
      const wanted = new Map(nodes.map((node) => [node, mean(beside[node], row, row[node])]));
      nodes.sort((a, b) => wanted.get(a) - wanted.get(b));
      place(nodes);
    }
  }
  return row;
}

function inLayers(size, count, edges) {
  const before = Array.from({ length: count }, () => []);
  const after = Array.from({ length: count }, () => []);
  for (const [from, to] of edges) {
    before[to].push(from);
    after[from].push(to);
  }
  const layers = layersOf(count, before, after);
  const row = order(layers, before, after);
  const tallest = Math.max(1, ...layers.map((nodes) => nodes.length));
  const height = tallest * (size.height + GAP.y) + 2 * MARGIN;
  const places = new Array(count);
  layers.forEach((nodes, layer) => {
    for (const node of nodes) {
      places[node] = { x: MARGIN + size.width / 2 + layer * (size.width + GAP.x), y: height / 2 + (row[node] + 0.5) * (size.height + GAP.y) };
    }
  });
  return {
    width: layers.length * (size.width + GAP.x) - GAP.x + 2 * MARGIN,
    height,
    places,
    edges: edges.map(([from, to]) => [
      { x: places[from].x + size.width / 2, y: places[from].y }, { x: places[to].x - size.width / 2, y: places[to].y },
    ]),
  };
}

self.addEventListener("message", ({ data }) => {
  const numbers = new Map(data.nodes.map((name, number) => [name, number]));
  const edges = data.edges.map((edge) => edge.map((name) => numbers.get(name)));
  const lay = data.nodes.length > MOST_FOR_DAGRE ? inLayers : byDagre;
  const laid = data.nodes.length === 0 ? { width: 1, height: 1, places: [], edges: [] } : lay(data.size, data.nodes.length, edges);
  self.postMessage({
    number: data.number, width: laid.width, height: laid.height, edges: laid.edges,
    nodes: data.nodes.map((name, number) => ({ name, ...laid.places[number] })),
  });
});
