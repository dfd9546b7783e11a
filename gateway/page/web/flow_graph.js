// flow_graph.js: a flow as a graph. A worker lays it out, so that a large one does not hold up the page. The picture is made of tiles: when a node
// changes, the browser draws its tile anew and no other one, and none that is out of sight.
import { element, svg } from "/page/dom.js";

const NODE = { width: 168, height: 46 };
const TILE = { width: 4 * NODE.width, height: 8 * NODE.height };
const LONGEST_NAME = 22;

function shortened(text) {
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - 1)}…` : text;
}

/** An SVG of a part of the picture, in the picture's own coordinates. */
function part(name, { x, y, width, height }, ...children) {
  return svg("svg", { class: name, viewBox: `${x} ${y} ${width} ${height}`, width, height, style: { left: `${x}px`, top: `${y}px` } }, ...children);
}

export class FlowGraph {
  /** `open(name)`: somebody has chosen a node. */
  constructor(open) {
    this.open = open;
    this.nodes = new Map();
    this.picture = element("div", { class: "graph", role: "group", "aria-label": "The flow's nodes" });
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
    this.picture.style.width = `${width}px`;
    this.picture.style.height = `${height}px`;
    const lines = edges.map((points) => svg("polyline", { class: "edge", "marker-end": "url(#edge-head)", points: points.map((point) => `${point.x},${point.y}`).join(" ") }));
    const head = svg("marker", { id: "edge-head", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      svg("path", { class: "edge-head", d: "M0,0 L8,4 L0,8 z" }));
    this.picture.replaceChildren(part("edges", { x: 0, y: 0, width, height }, svg("defs", {}, head), ...lines), ...this.tiles(nodes));
    for (const one of this.told.values()) this.change(one);
  }

  /** From left to right, as the flow goes on. A tile has room for nodes that begin in it and end beyond. */
  tiles(nodes) {
    const tiles = new Map();
    for (const place of nodes) {
      const [column, row] = [Math.floor((place.x - NODE.width / 2) / TILE.width), Math.floor((place.y - NODE.height / 2) / TILE.height)];
      const key = `${column} ${row}`;
      if (!tiles.has(key)) tiles.set(key, { column, row, boxes: [] });
      tiles.get(key).boxes.push(this.box(place));
    }
    return [...tiles.values()].sort((a, b) => a.column - b.column || a.row - b.row).map(({ column, row, boxes }) => part("nodes",
      { x: column * TILE.width - 2, y: row * TILE.height - 2, width: TILE.width + NODE.width + 4, height: TILE.height + NODE.height + 4 }, ...boxes));
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
