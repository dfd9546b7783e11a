// layout_worker.js: a worker that says where a flow's nodes and edges are drawn: {number, size, nodes, edges} → {number, width, height,
// nodes: [{name, x, y}], edges: [[{x, y}]]}. Names of users are keys of dagre's own objects, so numbers stand for them.
importScripts("/page/lib/dagre.js");

self.addEventListener("message", ({ data }) => {
  const { number, size, nodes, edges } = data;
  const graph = new self.dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 50, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  const numbers = new Map(nodes.map((name, place) => [name, String(place)]));
  for (const place of numbers.values()) graph.setNode(place, { width: size.width, height: size.height });
  for (const [from, to] of edges) graph.setEdge(numbers.get(from), numbers.get(to));
  self.dagre.layout(graph);
  self.postMessage({
    number,
    width: Math.max(1, graph.graph().width || 1),
    height: Math.max(1, graph.graph().height || 1),
    nodes: nodes.map((name, place) => ({ name, x: graph.node(String(place)).x, y: graph.node(String(place)).y })),
    edges: graph.edges().map((edge) => graph.edge(edge).points),
  });
});
