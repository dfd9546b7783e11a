// node_calls.js: a node's newest calls: where they ran, why the newest of them ran there, and of one of them its log and its output.
import { get } from "/page/api.js";
import { element } from "/page/dom.js";
import { milliseconds } from "/page/format.js";
import { Details, state } from "/page/invocation_details.js";
import { placementOf } from "/page/placement.js";
import { Table } from "/page/table.js";

const COLUMNS = [
  { title: "Call", width: "14em", cell: (one) => one.id },
  { title: "Function", width: "2fr", cell: (one) => `${one.function}.${one.entry}` },
  { title: "State", width: "2fr", cell: state },
  { title: "Host", width: "1fr", cell: (one) => one.node || "" },
  { title: "Worker's lease", width: "1fr", cell: (one) => one.lease || "" },
  { title: "Ran", width: "8em", cell: (one) => (one.timings_ms ? milliseconds(one.timings_ms.run) : "") },
];

/** Of the flow `id`. */
export class NodeCalls {
  constructor(id) {
    this.id = id;
    this.details = new Details(element("div", { hidden: true }));
    this.table = new Table({ label: "Calls of the node", columns: COLUMNS, key: (one) => one.id, open: (one) => this.details.show(one),
      empty: "It has made no call that the gateway remembers." });
    this.fault = element("p", { class: "fault", role: "alert" });
    this.place = element("pre", { class: "place-told", "aria-label": "Why its newest call is where it is", hidden: true });
    this.node = element("div", {}, this.fault, this.place, this.table.node, this.details.node);
  }

  /** Those of which the key begins so; the newest thousand, newest first. */
  async listed(key) {
    return (await get(`/v1/invocations?limit=1000&key=${encodeURIComponent(key)}`)).invocations;
  }

  /** Of a flow of many calls the newest thousand may be those of other nodes: then of this one only its newest call is shown. */
  async callsOf(keys) {
    const calls = (await this.listed(`${this.id}-`)).filter((one) => keys.includes(one.idempotency_key));
    return calls.length > 0 || keys.length === 0 ? calls : (await this.listed(keys.at(-1))).filter((one) => one.idempotency_key === keys.at(-1));
  }

  /** `numbers`: of its calls, the newest last. */
  async show(numbers = []) {
    const keys = numbers.map((number) => `${this.id}-${number}`);
    try {
      const calls = await this.callsOf(keys);
      this.table.show(calls);
      this.fault.textContent = "";
      await this.showPlace(calls.find((one) => one.idempotency_key === keys.at(-1)) ?? calls[0]);
    } catch (error) {
      this.fault.textContent = error.message;
    }
  }

  /** Of the newest call; nothing: there is none. */
  async showPlace(newest) {
    if (this.newest !== newest?.id) this.place.textContent = "";
    this.newest = newest?.id;
    this.place.hidden = newest === undefined;
    if (newest === undefined) return;
    const words = await placementOf(newest);
    if (this.newest === newest.id) this.place.textContent = `Newest call, ${newest.id}${newest.node ? ` on ${newest.node}` : ""}: ${words}`;
  }

  close() {
    this.table.close();
    this.details.free();
  }
}
