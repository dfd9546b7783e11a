// layout_worker.js: a worker: {boxes: [[id, width, height]], links: [[from, to]]} becomes {positions: [[id, [x, y]]], width, height}.
// dagre's pictures are the better ones; large flows are laid out in layers.
import "/page/lib/dagre.js";
import { layered } from "./layers.js";

const mostBoxes = 120;
const mostLinks = 240;

function byDagre({ boxes, links }) {
  const { dagre } = self;
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 24, ranksep: 56, marginx: 24, marginy: 24 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const [id, width, height] of boxes) graph.setNode(id, { width, height });
  for (const [from, to] of links) graph.setEdge(from, to);
  dagre.layout(graph);
  const positions = boxes.map(([id]) => {
    const { x, y, width, height } = graph.node(id);
    return [id, [x - width / 2, y - height / 2]];
  });
  const { width, height } = graph.graph();
  return { positions, width, height };
}

self.addEventListener("message", ({ data }) => {
  const isLarge = data.boxes.length > mostBoxes || data.links.length > mostLinks;
  self.postMessage(isLarge ? layered(data) : byDagre(data));
});
