// flow_calls.js: the calls of a flow's nodes: when each ran on which worker, and where the time of each node went.
import { get } from "/page/api.js";
import { bar, element, svg } from "/page/dom.js";
import { count, milliseconds } from "/page/format.js";
import { PARTS } from "/page/invocation_book.js";
import { timesOf } from "/page/invocation_details.js";
import { Table } from "/page/table.js";

const ROW = 20;
const NAMES = 260;
const LEAST_WIDTH = 600;
const MOST_LANES = 200;
const EACH_MS = 3000;  // the gateway is asked for a thousand calls at once
const APART_MS = 100;  // a thousand bars are a picture's work by themselves
const HUES = 12;

/** Of the calls that have reached a worker, by its host and lease. */
function lanesOf(calls) {
  const lanes = new Map();
  for (const call of calls) {
    if (!call.node || call.end === undefined) continue;
    const name = `${call.node} ${call.lease || ""}`;
    if (!lanes.has(name)) lanes.set(name, []);
    lanes.get(name).push(call);
  }
  return [...lanes.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Where it began on its worker: of its parts the run is the last one. */
function withTimes(call, node, hue) {
  const end = call.finished ? Date.parse(call.finished) : undefined;
  const { run = 0, link = 0 } = call.timings_ms || {};
  return { ...call, of: node, hue, end, begin: end === undefined ? undefined : end - run - link };
}

export class FlowCalls {
  constructor(id) {
    this.of = `/v1/flows/${encodeURIComponent(id)}`;
    this.id = id;
    this.picture = svg("svg", { class: "worker-times", role: "img", "aria-label": "Nodes over workers", on: {
      pointerover: ({ target }) => {
        if (target.matches(".call") && !target.firstChild) target.append(svg("title", {}, target.getAttribute("aria-label")));
      },
    } });
    this.parts = new Table({ label: "Where the time of each node went", key: (one) => one.node, empty: "No call of a node has ended.", columns: [
      { title: "Node", width: "14em", cell: (one) => one.node },
      { title: "Time", width: "2fr", cell: (one) => bar(one.parts.map(([title, value]) => ({ class: title, value, title: `${title} (ms)` })), this.most) },
      { title: "went to", width: "2fr", cell: (one) => one.parts.filter(([, value]) => value > 0)
        .map(([title, value]) => `${title} ${milliseconds(value)}`).join(", ") },
    ] });
    this.hint = element("p", { class: "hint" });
    const legend = element("p", { class: "legend" }, ...PARTS.flatMap((part) => [element("i", { class: part }), ` ${part} `]));
    this.scroll = element("div", { class: "scroll" }, this.picture);
    this.node = element("div", {}, element("h3", {}, "Nodes over workers"), this.scroll, element("h3", {}, "Where time went"), legend,
      this.parts.node, this.hint);
    this.open = true;
  }

  /** Soon, and not more often than the gateway should be asked. */
  changed() {
    this.due ??= setTimeout(() => {
      this.due = undefined;
      if (this.open) this.read();
    }, this.shown ? EACH_MS : 0);
    this.shown = true;
  }

  async read() {
    try {
      const flow = await get(this.of);
      const { invocations } = await get(`/v1/invocations?limit=1000&key=${encodeURIComponent(`${this.id}-`)}`);
      if (this.open) this.show(flow.nodes || [], invocations);
    } catch (error) {
      this.hint.textContent = error.message;
    }
  }

  show(nodes, invocations) {
    const owner = new Map();
    nodes.forEach((node, place) => (node.calls || []).forEach((number) => owner.set(`${this.id}-${number}`, { node: node.node, hue: place % HUES })));
    const calls = invocations.filter((one) => owner.has(one.idempotency_key))
      .map((one) => withTimes(one, owner.get(one.idempotency_key).node, owner.get(one.idempotency_key).hue));
    this.drawParts(nodes, calls);
    this.lanesDue = setTimeout(() => this.drawLanes(lanesOf(calls)), APART_MS);
    this.hint.textContent = calls.length === 0 ? "The gateway remembers no call of this flow."
      : `Of ${count(calls.length, "call")}: of each node the newest 32 that the gateway remembers.`;
  }

  drawLanes(lanes) {
    const shown = lanes.slice(0, MOST_LANES);
    const all = shown.flatMap(([, calls]) => calls);
    const from = Math.min(...all.map((call) => call.begin));
    const until = Math.max(from + 1, ...all.map((call) => call.end));
    const width = Math.max(LEAST_WIDTH, this.scroll.clientWidth - 20);
    const x = (at) => NAMES + ((width - NAMES) * (at - from)) / (until - from);
    this.picture.setAttribute("width", width);
    this.picture.setAttribute("height", Math.max(1, shown.length) * ROW);
    this.picture.replaceChildren(...shown.flatMap(([name, calls], place) => [
      svg("text", { x: 0, y: place * ROW + 14 }, name.length > 34 ? `${name.slice(0, 33)}…` : name),
      ...calls.map((call) => svg("rect", { class: `call hue-${call.hue}`, x: x(call.begin), y: place * ROW + 3,
        width: Math.max(1, x(call.end) - x(call.begin)), height: ROW - 6, rx: 2,
        "aria-label": `${call.of}: ${call.function}.${call.entry}, ${call.outcome || call.state}, ${milliseconds((call.timings_ms || {}).run)}` })),
    ]));
  }

  drawParts(nodes, calls) {
    const sums = new Map();
    for (const call of calls) {
      if (!sums.has(call.of)) sums.set(call.of, new Map(PARTS.map((part) => [part, 0])));
      for (const part of timesOf(call).all) sums.get(call.of).set(part.title, sums.get(call.of).get(part.title) + part.value);
    }
    const rows = nodes.filter((node) => sums.has(node.node))
      .map(({ node }) => ({ node, parts: [...sums.get(node)].map(([title, value]) => [title, Number(value.toFixed(3))]) }));
    this.most = Math.max(0, ...rows.map(({ parts }) => parts.reduce((sum, [, value]) => sum + value, 0)));
    this.parts.show(rows);
  }

  close() {
    this.open = false;
    clearTimeout(this.due);
    clearTimeout(this.lanesDue);
    this.parts.close();
  }
}
