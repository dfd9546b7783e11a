// node_times.js: a flow's nodes as bars over time.
import { element, svg } from "/page/dom.js";
import { between, milliseconds } from "/page/format.js";

const ROW = 20;
const NAMES = 200;
const LEAST_WIDTH = 600;
const MOST = 500;
const EACH_MS = 250;  // hundreds of bars are made anew

export class NodeTimes {
  constructor() {
    this.picture = svg("svg", { class: "node-times", role: "img", "aria-label": "When each node ran" });
    this.hint = element("p", { class: "hint" });
    this.node = element("div", { class: "scroll" }, this.picture, this.hint);
    this.due = false;
  }

  show(flow, nodes) {
    this.told = { flow, nodes };
    if (this.due) return;
    this.due = true;
    setTimeout(() => {
      this.due = false;
      this.draw();
    }, EACH_MS);
  }

  draw() {
    const begun = [...this.told.nodes.values()].filter((node) => node.begun);
    const shown = begun.slice(0, MOST);
    const from = Math.min(...shown.map((node) => +new Date(node.begun)));
    const end = (node) => (node.ended ? +new Date(node.ended) : Date.now());
    const until = Math.max(from + 1, ...shown.map(end));
    const width = Math.max(LEAST_WIDTH, this.node.clientWidth - 20);
    const height = Math.max(1, shown.length) * ROW;
    const x = (at) => NAMES + ((width - NAMES) * (at - from)) / (until - from);
    this.picture.setAttribute("width", width);
    this.picture.setAttribute("height", height);
    this.picture.replaceChildren(...shown.flatMap((node, place) => {
      const begin = x(+new Date(node.begun));
      return [
        svg("text", { x: 0, y: place * ROW + 14 }, node.node.length > 26 ? `${node.node.slice(0, 25)}…` : node.node),
        svg("rect", { class: `span ${node.state}`, x: begin, y: place * ROW + 3, width: Math.max(1, x(end(node)) - begin), height: ROW - 6, rx: 2 },
          svg("title", {}, `${node.node}: ${node.state}, ${between(node.begun, node.ended || new Date().toISOString())}`)),
      ];
    }));
    this.hint.textContent = begun.length === 0 ? "No node has begun." : `${milliseconds(until - from)} in all${
      begun.length > MOST ? `; the first ${MOST} of ${begun.length} nodes that have begun` : ""}`;
  }
}
