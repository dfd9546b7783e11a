// flow_graph.js: a flow as a graph. A worker lays it out, so that a large one does not hold up the page; when a node changes, only that
// node's element does.
import { element, svg } from "/page/dom.js";

const NODE = { width: 168, height: 46 };
const LONGEST_NAME = 22;

function shortened(text) {
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - 1)}…` : text;
}

export class FlowGraph {
  /** `open(name)`: somebody has chosen a node. */
  constructor(open) {
    this.open = open;
    this.nodes = new Map();
    this.picture = svg("svg", { class: "graph", role: "group", "aria-label": "The flow's nodes" });
    this.node = element("div", { class: "scroll graph-box", tabindex: 0 }, this.picture);
    this.layouter = new Worker("/page/layout_worker.js", { type: "module" });
    this.asked = 0;
    this.layouter.addEventListener("message", (event) => {
      if (event.data.number === this.asked) this.draw(event.data);
    });
  }

  /** `nodes`: as the flow's document has them. */
  show(nodes) {
    this.asked += 1;
    this.told = new Map(nodes.map((one) => [one.node, one]));
    const edges = nodes.flatMap((one) => (one.after || []).map((before) => [before, one.node]));
    this.layouter.postMessage({ number: this.asked, size: NODE, nodes: nodes.map((one) => one.node), edges });
  }

  draw({ width, height, nodes, edges }) {
    this.nodes.clear();
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.picture.setAttribute("width", width);
    this.picture.setAttribute("height", height);
    const lines = edges.map((points) => svg("polyline", { class: "edge", "marker-end": "url(#edge-head)", points: points.map((point) => `${point.x},${point.y}`).join(" ") }));
    const boxes = nodes.map((place) => this.box(place));
    const head = svg("marker", { id: "edge-head", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      svg("path", { class: "edge-head", d: "M0,0 L8,4 L0,8 z" }));
    this.picture.replaceChildren(svg("defs", {}, head), ...lines, ...boxes);
    for (const one of this.told.values()) this.change(one);
  }

  box({ name, x, y }) {
    const choose = () => this.open(name);
    const label = svg("text", { x: 10, y: 18 }, shortened(name));
    const progress = svg("text", { x: 10, y: 36, class: "progress" });
    const done = svg("rect", { class: "done-part", x: 0, y: NODE.height - 4, width: 0, height: 4 });
    const group = svg("g", { class: "node waiting", tabindex: 0, role: "button", transform: `translate(${x - NODE.width / 2} ${y - NODE.height / 2})`, on: {
      click: choose,
      keydown: (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          choose();
        }
      },
    } }, svg("title", {}, name), svg("rect", { class: "box", width: NODE.width, height: NODE.height, rx: 6 }), done, label, progress);
    this.nodes.set(name, { group, progress, done });
    return group;
  }

  /** One node, as an event tells it. */
  change(one) {
    if (this.told) this.told.set(one.node, { ...this.told.get(one.node), ...one });
    const shown = this.nodes.get(one.node);
    if (!shown) return;
    shown.group.setAttribute("class", `node ${one.state}`);
    shown.group.setAttribute("aria-label", `${one.node}: ${one.kind}, ${one.state}, ${one.done} of ${one.total}`);
    shown.progress.textContent = `${one.kind}, ${one.state}${one.total > 1 ? ` ${one.done}/${one.total}` : ""}`;
    shown.done.setAttribute("width", one.total > 0 ? (NODE.width * one.done) / one.total : 0);
  }

  close() {
    this.layouter.terminate();
  }
}
