// run_form.js: values for a flow's inputs, its submission, and what becomes of it.
import { get, request } from "/page/api.js";
import { button, element } from "/page/dom.js";
import { sent } from "./catalogue.js";
import { view } from "./flow_model.js";
import { jsonOf } from "./schema_fields.js";

const askFor = "500ms";  // an answer comes when the flow has ended, or then; states of nodes meanwhile
const longestOutput = 20000;  // characters that are shown of one

/** JSON; a text needs no quotation marks. */
function valueOf(name, type, text) {
  if ((type === "string" || type === "bytes") && !text.trim().startsWith("\"")) return { value: text };
  if (type.startsWith("data")) return { value: text.trim() };
  return jsonOf(name, text);
}

export class RunForm {
  #root;
  #session;
  #told;
  #stop = null;

  /** `told` gets the states of nodes as they change. */
  constructor(root, session, told) {
    this.#root = root;
    this.#session = session;
    this.#told = told;
  }

  /** Asks for the inputs; a flow without any runs at once. */
  open() {
    this.#stop?.abort();
    const { inputs } = view(this.#session.flow);
    const status = element("p", { role: "status", id: "run-state" });
    const result = element("div", { id: "run-result" });
    const fields = inputs.map(({ name, type }) => {
      const id = `run-${name}`;
      return { name, type, input: element("input", { id, type: "text", autocomplete: "off", spellcheck: "false" }), id };
    });
    const start = element("button", { type: "submit", id: "run-start" }, "Run");
    const form = element("form", { on: { submit: (event) => {
      event.preventDefault();
      this.#submit(fields, { start, status, result });
    }, keydown: (event) => {
      if (event.key === "Escape") this.close();
    } } },
      element("h2", {}, "Run"),
      ...fields.map(({ name, type, input, id }) => element("div", { class: "row" }, element("label", { for: id }, `${name}: ${type}`), input)),
      start, button("Close", () => this.close(), { id: "run-close" }));
    this.#root.replaceChildren(form, status, result);
    this.#root.hidden = false;
    (fields[0]?.input ?? start).focus();
  }

  close() {
    this.#stop?.abort();
    this.#root.hidden = true;
    this.#root.replaceChildren();
  }

  async #submit(fields, { start, status, result }) {
    const inputs = [];
    for (const { name, type, input } of fields) {
      const { value, fault } = valueOf(name, type, input.value);
      if (fault) {
        status.textContent = fault;
        return input.focus();
      }
      inputs.push([name, value]);
    }
    start.disabled = true;
    result.replaceChildren();
    this.#stop = new AbortController();
    const stop = this.#stop.signal;
    try {
      const answer = await request("POST", "/v1/flows", { body: { ...sent(this.#session.text, this.#session.files), inputs: Object.fromEntries(inputs) }, stop });
      await this.#follow(await answer.json(), stop, status, result);
    } catch (error) {
      if (!stop.aborted) status.textContent = error.message;
    }
    start.disabled = false;
    return undefined;
  }

  async #follow(first, stop, status, result) {
    let flow = first;
    for (;;) {
      const { id, state, message, nodes_done: done, nodes_total: total } = flow;
      status.replaceChildren(`${state}${state === "running" ? ` (${done} of ${total} nodes are done)` : ""}${message ? `: ${message}` : ""} `,
        element("a", { href: `/#flows/${encodeURIComponent(id)}` }, id));
      status.dataset.state = state;
      this.#told(new Map((flow.nodes ?? []).map((node) => [node.node, node.state])));
      if (state !== "running") break;
      flow = await get(`/v1/flows/${encodeURIComponent(id)}?wait=${askFor}`, { stop });
    }
    if (flow.state !== "done") return;
    const outputs = await get(`/v1/flows/${encodeURIComponent(flow.id)}/outputs`, { stop });
    for (const [name, output] of Object.entries(outputs)) {
      const text = JSON.stringify(output);
      result.append(element("h3", {}, name), element("pre", {}, text.length > longestOutput ? `${text.slice(0, longestOutput)}…` : text));
    }
  }
}
