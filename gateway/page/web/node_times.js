// node_times.js: a flow's nodes as bars over time, in a table: only the bars that are seen are drawn.
import { element } from "/page/dom.js";
import { between, milliseconds } from "/page/format.js";
import { Table } from "/page/table.js";

const EACH_MS = 250;  // all bars move when time goes on

export class NodeTimes {
  constructor() {
    this.table = new Table({ label: "When each node ran", key: (node) => node.node, empty: "No node has begun.", columns: [
      { title: "Node", width: "14em", cell: (node) => node.node },
      { title: "Over time", width: "1fr", cell: (node) => this.bar(node) },
      { title: "Took", width: "7em", cell: (node) => milliseconds(this.end(node) - new Date(node.begun)) },
    ] });
    this.hint = element("p", { class: "hint" });
    this.node = element("div", { class: "node-times" }, this.table.node, this.hint);
    this.due = 0;
  }

  /** `nodes` by name. */
  show(nodes) {
    this.nodes = nodes;
    this.due ||= setTimeout(() => {
      this.due = 0;
      this.draw();
    }, EACH_MS);
  }

  end(node) { return node.ended ? +new Date(node.ended) : this.now; }

  bar(node) {
    const long = Math.max(1, this.until - this.from);
    const begin = new Date(node.begun) - this.from;
    return element("span", { class: "time" }, element("span", { class: `span ${node.state}`,
      title: `${node.node}: ${node.state}, ${between(node.begun, new Date(this.end(node)))}`,
      style: { left: `${(100 * begin) / long}%`, width: `${(100 * (this.end(node) - this.from - begin)) / long}%` } }));
  }

  draw() {
    const begun = [...this.nodes.values()].filter((node) => node.begun);
    this.now = Date.now();
    this.from = Infinity;
    this.until = 0;
    for (const node of begun) {
      this.from = Math.min(this.from, new Date(node.begun));
      this.until = Math.max(this.until, this.end(node));
    }
    this.table.show(begun);
    this.hint.textContent = begun.length === 0 ? "" : `${milliseconds(this.until - this.from)} in all`;
  }

  close() {
    clearTimeout(this.due);
    this.table.close();
  }
}
