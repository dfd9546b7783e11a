// session.js: the flow that is being edited: its text, which is the truth, what the text says, and what the gateway says of it.
// Events: "changed" (the text, and perhaps the flow), "checked" (the report), "refused" (detail: why an edit was not made), "files" (those of nodes
// of kind flow, which are sent along; they are no part of the text, nor of its history).
import { History } from "./history.js";
import { addOutput, connect } from "./flow_model.js";
import { endsOf, refusal } from "./ports.js";
import { newOutput } from "./picture.js";
import { parse, patched } from "./yaml_text.js";

const checkAfterMs = 250;
const readAfterMs = 100;  // while somebody types
const nothing = { faults: [], faults_total: 0, nodes: [] };

export class Session extends EventTarget {
  #history;
  #check;
  #timer = null;
  #reading = null;  // a timer, while the newest text has not been read
  #readAside;
  #checkedText = null;  // what `report` is of
  #asking = null;  // {text, files, done}

  /** `check` asks the gateway for a report of a text and files, and rejects if there is none. `readAside` parses what is typed without keeping the
   * page waiting. */
  constructor(text, check, readAside = async (one) => parse(one), files = {}) {
    super();
    this.files = files;  // texts by name; never changed in place
    this.#readAside = readAside;
    this.#check = check;
    this.#history = new History(text);
    this.flow = {};  // as the newest text that could be read says
    this.problem = null;  // why the text cannot be read
    this.report = nothing;
    this.checkFailed = "";
    this.#read();
  }

  get text() { return this.#history.text; }
  get canUndo() { return this.#history.canUndo; }
  get canRedo() { return this.#history.canRedo; }

  #read(read = parse(this.text)) {
    clearTimeout(this.#reading);
    this.#reading = null;
    this.problem = read.problem ?? null;
    if (read.flow) this.flow = read.flow;
  }

  async #readTyped() {
    const text = this.text;
    const read = await this.#readAside(text).catch(() => parse(text));
    // Somebody has typed on, or what was typed had to be read at once.
    if (text === this.text && this.#reading !== null) this.#changed(read);
  }

  #changed(read) {
    this.#read(read);
    this.dispatchEvent(new Event("changed"));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.checked(), checkAfterMs);
  }

  start() { this.#changed(); }

  refuse(why) { this.dispatchEvent(new CustomEvent("refused", { detail: why })); }

  /** `change` makes another flow of this one. False: refused. */
  edit(change) {
    if (this.#reading !== null) this.#read();
    if (this.problem) {
      const { line, column, message } = this.problem;
      this.refuse(`the text cannot be read at ${line}:${column}: ${message}; mend it first, or undo`);
      return false;
    }
    const flow = change(this.flow);
    this.#history.put(patched(this.text, flow));
    this.#changed({ flow });
    return true;
  }

  type(text) {
    this.#history.put(text, performance.now());
    clearTimeout(this.#reading);
    this.#reading = setTimeout(() => this.#readTyped(), readAfterMs);
  }
  replace(text) {
    this.#history.put(text);
    this.#changed();
  }
  undo() {
    this.#history.undo();
    this.#changed();
  }
  redo() {
    this.#history.redo();
    this.#changed();
  }

  /** Whether `report` is of the newest text. */
  get isChecked() { return this.#checkedText === this.text; }

  /** Without a text it is not sent along any more. */
  setFile(name, text) {
    const { [name]: _, ...others } = this.files;
    this.files = text === undefined ? others : { ...others, [name]: text };
    this.dispatchEvent(new Event("files"));
    return this.checkAgain();
  }

  checkAgain() {
    this.#checkedText = null;
    return this.checked();
  }

  /** When the newest text has been checked, or could not be. */
  async checked() {
    while (this.#checkedText !== this.text) {
      const { text, files } = this;
      if (this.#asking?.text !== text || this.#asking.files !== files) this.#asking = { text, files, done: this.#ask(text, files) };
      await this.#asking.done;
      if (this.checkFailed) return;
    }
  }

  async #ask(text, files) {
    this.checkFailed = "";
    try {
      const report = await this.#check(text, files);
      if (text !== this.text || files !== this.files) return;
      this.#checkedText = text;
      // While the text cannot be read, the picture and its types stay.
      this.report = { ...report, nodes: this.problem ? this.report.nodes : report.nodes };
    } catch (error) {
      this.checkFailed = error.message;
    }
    this.#asking = null;
    this.dispatchEvent(new Event("checked"));
  }

  /** An edge; false, with the reason told, if there may be none. */
  async connect(from, to) {
    if (this.#reading !== null) this.#read();
    await this.checked();
    const { sources, ports } = endsOf(this.flow, this.report.nodes);
    const source = sources.find((one) => one.place === from);
    if (!source) return false;
    if (to === newOutput) return this.edit((flow) => addOutput(flow, source.node === null ? source.name : "result", from));
    const port = ports.find((one) => one.place === to);
    if (!port) {
      this.refuse(`there is no port '${to}' any more`);
      return false;
    }
    const why = refusal(this.flow, source, port);
    if (why) {
      this.refuse(why);
      return false;
    }
    return this.edit((flow) => connect(flow, from, port.isOnly && port.name === "1" ? port.node : port.place));
  }
}
