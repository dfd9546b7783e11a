// flows.js: flows that were submitted, and one of them: its graph, its nodes over time, its log and its outputs.
import { events, get, poll, request, text } from "/page/api.js";
import { dataPreview, isDataId } from "/page/data_preview.js";
import { button, element } from "/page/dom.js";
import { FlowCalls } from "/page/flow_calls.js";
import { FlowGraph } from "/page/flow_graph.js";
import { between, time } from "/page/format.js";
import { NodeCalls } from "/page/node_calls.js";
import { NodeTimes } from "/page/node_times.js";
import { Table } from "/page/table.js";

const EDITOR = "/flows/edit";  // not in every gateway
const MOST_OF_A_TEXT = 64 * 1024;
const MOST_ATTEMPTS = 200;
const MOST_DATA_SHOWN = 16;
const LOG_EACH_MS = 1000;
const CHANGES_EACH_MS = 100;  // often enough for eyes, however many come

const COLUMNS = [
  { title: "Flow", width: "14em", cell: (flow) => flow.id },
  { title: "Name", width: "2fr", cell: (flow) => flow.name },
  { title: "State", width: "8em", cell: (flow) => flow.state },
  { title: "Nodes", width: "8em", cell: (flow) => (flow.nodes_total === undefined ? "" : `${flow.nodes_done} of ${flow.nodes_total}`) },
  { title: "Submitted", width: "9em", cell: (flow) => time(flow.submitted) },
  { title: "Took", width: "8em", cell: (flow) => between(flow.submitted, flow.ended) },
  { title: "Message", width: "3fr", cell: (flow) => flow.message || "" },
];

function showList(content) {
  const table = new Table({ label: "Flows", columns: COLUMNS, key: (flow) => flow.id, open: (flow) => { location.hash = `flows/${encodeURIComponent(flow.id)}`; },
    empty: "No flow was submitted: 'orchid flow submit FILE'." });
  const fault = element("p", { class: "fault", role: "alert" });
  const editor = element("p", { class: "tools" });
  request("HEAD", EDITOR, { quiet: true }).then(() => editor.append(element("a", { href: EDITOR }, "Draw a flow")), () => {});
  content.append(element("h2", {}, "Flows"), editor, fault, table.node);
  const stop = poll("/v1/flows", 1, (document) => {
    fault.textContent = "";
    table.show(document.flows);
  }, (error) => { fault.textContent = error.message; });
  return () => {
    stop();
    table.close();
  };
}

/** What can be asked of a flow in a state. */
const ACTS = { running: ["cancel"], suspended: ["resume", "cancel"], failed: ["retry"], cancelled: ["retry"], done: [] };

class FlowPage {
  constructor(content, id) {
    this.of = `/v1/flows/${encodeURIComponent(id)}`;
    this.calls = new NodeCalls(id);
    this.head = element("h2", {}, "Flow ", id);
    this.state = element("p", { class: "state", "aria-live": "polite" });
    this.acts = element("p", { class: "tools" });
    this.fault = element("p", { class: "fault", role: "alert" });
    this.about = element("div", {});
    this.details = element("section", { class: "details", hidden: true, "aria-label": "The chosen node" }, this.about, this.calls.node);
    this.attempts = element("ul", { class: "attempts" });
    this.outputs = element("pre", { class: "preview", "aria-label": "Outputs", hidden: true });
    this.data = element("div", { "aria-label": "Data among the outputs" });
    this.frees = [];  // of what is shown there
    this.log = element("pre", { class: "log" });
    this.graph = new FlowGraph((name) => this.choose(name, true));
    this.times = new NodeTimes();
    this.workers = new FlowCalls(id);
    this.nodes = new Map();
    this.changed = new Map();  // nodes, since they were drawn: the state in which they were drawn
    this.chosen = null;
    this.stopEvents = () => {};
    this.open = true;
    content.append(element("p", {}, element("a", { href: "#flows" }, "All flows")), this.head, this.state, this.acts, this.fault,
      this.graph.node, this.details, element("h3", {}, "Nodes over time"), this.times.node, this.workers.node, this.attempts, element("h3", {}, "Outputs"), this.outputs, this.data,
      element("h3", {}, "Log"), this.log);
    this.told = new Set();  // attempts: a stream that begins anew tells them again
    this.load();
  }

  /** The document has the graph; events tell what changes. */
  async load() {
    try {
      const flow = await get(this.of);
      if (!this.open) return;
      this.fault.textContent = "";
      this.head.textContent = `Flow ${flow.name} (${flow.id})`;
      this.showState(flow);
      this.nodes = new Map((flow.nodes || []).map((node) => [node.node, node]));
      this.graph.show([...this.nodes.values()]);
      this.times.show(this.nodes);
      this.workers.changed();
      this.follow();
    } catch (error) {
      this.fault.textContent = error.message;
      if (this.open && error.status !== 404) this.again = setTimeout(() => this.load(), 2000);
    }
  }

  follow() {
    this.stopEvents();
    this.stopEvents = events(`${this.of}/events`, {
      node: (node) => this.change(node),
      state: (flow) => this.tellState(flow),
      attempt: (attempt) => this.tellAttempt(`${time(attempt.at)} ${attempt.message}`),
      end: (flow) => {
        for (const node of flow.nodes || []) this.change(node);
        this.tellState(flow);
        return true;
      },
    });
    this.readLog();
  }

  tellAttempt(words) {
    if (this.told.has(words) || this.told.size >= MOST_ATTEMPTS) return;
    this.told.add(words);
    this.attempts.append(element("li", {}, words));
  }

  change(node) {
    const before = this.nodes.get(node.node) || {};
    this.nodes.set(node.node, { ...before, ...node });
    if (!this.changed.has(node.node)) this.changed.set(node.node, before.state);
    this.drawSoon();
  }

  tellState(flow) {
    this.flowTold = flow;
    this.drawSoon();
  }

  /** A thousand events may come in a second, and several of one node. */
  drawSoon() {
    this.drawDue ??= setTimeout(() => {
      this.drawDue = undefined;
      this.drawChanges();
    }, CHANGES_EACH_MS);
  }

  drawChanges() {
    if (this.flowTold) this.showState(this.flowTold);
    this.flowTold = undefined;
    if (this.changed.size === 0) return;
    const names = new Set(this.changed.keys());
    const changed = [...this.changed].map(([name, before]) => [this.nodes.get(name), before]);
    this.changed.clear();
    for (const [node] of changed) this.graph.change(node);
    this.times.show(this.nodes);
    this.workers.changed();
    if (changed.some(([node, before]) => node.state !== before)) this.readLogSoon();
    const chosen = changed.find(([node]) => node.node === this.chosen);
    if (chosen) this.choose(this.chosen, chosen[0].state !== chosen[1]);
    else if (this.nodes.get(this.chosen)?.after?.some((name) => names.has(name))) this.describe(this.chosen);
  }

  showState(flow) {
    const before = this.flow ? this.flow.state : null;
    this.flow = { ...this.flow, ...flow };
    this.state.textContent = `${flow.state}${flow.nodes_total === undefined ? "" : `, ${flow.nodes_done} of ${flow.nodes_total} nodes done`}${
      flow.message ? `: ${flow.message}` : ""}`;
    this.state.dataset.state = flow.state;
    if (before !== flow.state) {
      this.acts.replaceChildren(...(ACTS[flow.state] || []).map((act) => button(act[0].toUpperCase() + act.slice(1), () => this.act(act))));
      if (flow.state === "done") this.readOutputs();
      this.readLog();
    }
  }

  async act(act) {
    this.fault.textContent = "";
    try {
      const flow = await (await request("POST", `${this.of}/${act}`)).json();
      this.flowTold = undefined;  // older
      this.showState(flow);
      this.follow();
    } catch (error) {
      this.fault.textContent = error.message;
    }
  }

  async readOutputs() {
    try {
      const outputs = await text(`${this.of}/outputs`);
      this.outputs.textContent = outputs.slice(0, MOST_OF_A_TEXT) + (outputs.length > MOST_OF_A_TEXT ? "\n…" : "");
      const ids = Object.entries(JSON.parse(outputs)).filter(([, value]) => isDataId(value)).slice(0, MOST_DATA_SHOWN);
      this.showData(ids);
    } catch (error) {
      this.outputs.textContent = error.message;
    }
    this.outputs.hidden = false;
  }

  /** Of an output that is a data object, its content. */
  showData(ids) {
    this.freeData();
    this.data.replaceChildren(...ids.flatMap(([name, id]) => {
      const place = element("div", {}, "…");
      dataPreview(id).then((shown) => {
        place.replaceChildren(shown.node);
        if (this.open) this.frees.push(shown.free);
        else shown.free();
      }, (error) => { place.textContent = error.message; });
      return [element("h4", {}, `${name} (${id})`), place];
    }));
  }

  freeData() {
    for (const free of this.frees.splice(0)) free();
  }

  /** Many nodes may change at once. */
  readLogSoon() {
    this.logDue ??= setTimeout(() => {
      this.logDue = undefined;
      if (this.open) this.readLog();
    }, LOG_EACH_MS);
  }

  async readLog() {
    try {
      const words = await text(`${this.of}/logs`);
      this.log.textContent = words === "" ? "Nothing has happened." : words.slice(-MOST_OF_A_TEXT);
      this.words = words.split("\n");
    } catch (error) {
      this.log.textContent = error.message;
    }
  }

  /** Events do not tell them. */
  async readCalls(name) {
    try {
      const flow = await get(this.of);
      const node = (flow.nodes || []).find((one) => one.node === name);
      if (!this.open || this.chosen !== name || !node) return;
      this.nodes.get(name).why = node.why;
      this.describe(name);
      await this.calls.show(node.calls);
    } catch (error) {
      this.fault.textContent = error.message;
    }
  }

  /** `anew`: also its calls. */
  choose(name, anew) {
    if (!this.nodes.has(name)) return;
    this.chosen = name;
    this.describe(name);
    this.details.hidden = false;
    if (anew) this.readCalls(name);
  }

  /** The nodes before it that are not done. */
  waitsFor(node) {
    if (node.state !== "waiting") return "";
    return (node.after || []).map((name) => this.nodes.get(name)).filter((one) => one && one.state !== "done")
      .map((one) => `${one.node} (${one.state})`).join(", ");
  }

  describe(name) {
    const node = this.nodes.get(name);
    const rows = [["Kind", node.kind], ["State", node.state], ["Done", `${node.done} of ${node.total}`], ["After", (node.after || []).join(", ")],
      ["Waits for", this.waitsFor(node)], ["Optimisers", node.why || "have decided nothing of it"],
      ["Begun", time(node.begun)], ["Ended", time(node.ended)], ["Took", between(node.begun, node.ended)]];
    const said = (this.words || []).filter((line) => line.includes(` ${name}: `) || line.includes(` ${name}, `)).join("\n");
    this.about.replaceChildren(element("h3", {}, `Node ${name}`),
      element("dl", {}, ...rows.filter(([, value]) => value).flatMap(([title, value]) => [element("dt", {}, title), element("dd", {}, value)])),
      element("pre", { class: "log" }, said || "The log says nothing of it."));
  }

  close() {
    this.open = false;
    clearTimeout(this.again);
    clearTimeout(this.logDue);
    clearTimeout(this.drawDue);
    this.stopEvents();
    this.calls.close();
    this.workers.close();
    this.times.close();
    this.graph.close();
    this.freeData();
  }
}

export function show(content, words) {
  if (words.length === 0) return showList(content);
  const page = new FlowPage(content, words[0]);
  return () => page.close();
}
