// layout_worker.js: a worker that says where a flow's nodes and edges are drawn: {number, size, nodes, edges} → {number, width, height,
// nodes: [{name, x, y}], edges: [[{x, y}]]}. dagre draws well, and takes seconds for a thousand nodes: large flows are laid out in layers,
// in time that grows with nodes and edges.
import "/page/lib/dagre.js";
import { layered } from "./editor/layers.js";

const MOST_FOR_DAGRE = 120;
const GAP = { x: 60, y: 16 };
const MARGIN = 12;

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

/** Straight edges, between boxes that all have one size. */
function inLayers(size, count, edges) {
  const { positions, width, height } = layered({
    boxes: Array.from({ length: count }, (_, node) => [node, size.width, size.height]), links: edges, gaps: { inLayer: GAP.y, ofLayers: GAP.x, margin: MARGIN },
  });
  const places = positions.map(([, [x, y]]) => ({ x: x + size.width / 2, y: y + size.height / 2 }));
  return {
    width,
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
