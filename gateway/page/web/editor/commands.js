// commands.js: what somebody who edits a flow can do, whether by keys, by pointing or by buttons.
import { download, fileName } from "./files.js";
import * as model from "./flow_model.js";
import { newOutput } from "./picture.js";
import { endsOf } from "./ports.js";
import { exported } from "./svg_export.js";
import { parse } from "./yaml_text.js";

const largestFile = 8 * 1024 * 1024;

/** "node:a" is of the sort "node", and about "a". */
function parts(key) {
  const colon = key.indexOf(":");
  return [key.slice(0, colon), key.slice(colon + 1)];
}

export class Commands {
  #session;
  #selection;
  #canvas;
  #runs;
  #tell;

  /** `tell(text, isRefused)` says what has been done, or why not. */
  constructor({ session, selection, canvas, runs, tell }) {
    this.#session = session;
    this.#selection = selection;
    this.#canvas = canvas;
    this.#runs = runs;
    this.#tell = tell;
  }

  get #ends() { return endsOf(this.#session.flow, this.#session.report.nodes); }

  /** The box that a key of the picture belongs to. */
  #boxOf(key) {
    const [sort, place] = parts(key);
    if (sort !== "s" && sort !== "p") return key;
    if (place === newOutput) return `new:${newOutput}`;
    if (sort === "p" && place.startsWith(">")) return `output:${place.slice(1)}`;
    const one = this.#ends[sort === "s" ? "sources" : "ports"].find((end) => end.place === place);
    return one && (one.node === null ? `input:${one.name}` : `node:${one.node}`);
  }

  select(key) {
    const box = this.#boxOf(key);
    if (box) this.#selection.choose(box);
  }

  open(key) {
    if (key === `new:${newOutput}`) this.press(`p:${newOutput}`);
    else this.#selection.open(key);
  }

  /** An output begins an edge, a port ends it. */
  press(key) {
    const [sort, place] = parts(key);
    const { pending } = this.#selection;
    if (sort === "s") {
      this.#selection.begin(pending === place ? null : place);
      this.#tell(pending === place ? "" : `An edge from '${place}': go to a port and press Enter, or Escape.`);
    } else if (place.startsWith(">")) {
      this.open(`output:${place.slice(1)}`);
    } else if (pending === null) {
      this.#tell("An edge begins at an output: press Enter on it, or draw from it to this port.", true);
    } else {
      this.connect(pending, place);
    }
  }

  async connect(from, to) {
    this.#selection.begin(null);
    if (await this.#session.connect(from, to)) this.#tell(`'${from}' goes to ${to === newOutput ? "a new output" : `'${to}'`} now.`);
  }

  remove(key) {
    const [sort, name] = parts(key);
    const change = sort === "p" ? this.#removalAt(name) : {
      node: (flow) => model.removeNode(flow, name),
      input: (flow) => model.removeInput(flow, name),
      output: (flow) => model.removeOutput(flow, name),
    }[sort];
    if (!change) return this.#tell("Here is nothing to remove.", true);
    if (sort !== "p") this.#selection.focus = `new:${newOutput}`;
    if (this.#session.edit(change)) this.#tell(sort === "p" ? "The edge is gone." : `'${name}' is gone.`);
    return undefined;
  }

  /** Of what comes to a port; nothing: nothing does. */
  #removalAt(place) {
    if (place.startsWith(">")) return (flow) => model.removeOutput(flow, place.slice(1));
    const port = this.#ends.ports.find((one) => one.place === place);
    return port?.edge && ((flow) => model.disconnect(flow, place, port.isOnly));
  }

  /** Gives up the edge that was begun; false: there was none. */
  cancel() {
    if (this.#selection.pending === null) return false;
    this.#tell("");
    this.#selection.begin(null);
    return true;
  }

  /** The form of the flow itself: in sight, or with the focus in it. */
  selectFlow() { this.#selection.choose(null); }
  openFlow() { this.#selection.open(null); }

  /** From a form to what it is about, or to where somebody was before it. */
  backToPicture() {
    const { box, last } = this.#selection;
    if (!this.#canvas.focus(box ?? last)) this.#canvas.root.querySelector("[data-key]")?.focus();
  }

  undo() { this.#step("undo", this.#session.canUndo); }
  redo() { this.#step("redo", this.#session.canRedo); }
  #step(what, isThere) {
    if (isThere) this.#session[what]();
    this.#tell(isThere ? "" : `There is nothing to ${what}.`);
  }

  run() { this.#runs.open(); }
  check() { return this.#session.checkAgain(); }

  get #name() { return model.view(this.#session.flow).name; }
  save() { download(fileName(this.#name, "yaml"), "application/yaml", this.#session.text); }
  saveSvg() { download(fileName(this.#name, "svg"), "image/svg+xml", exported(this.#canvas.root)); }

  async openFile(file) {
    if (file.size > largestFile) return this.#tell(`'${file.name}' is larger than 8 MiB.`, true);
    this.#selection.choose(null);
    this.#session.replace(await file.text());
    return this.#tell(`'${file.name}' is open.`);
  }

  newFrom(template) {
    this.#selection.choose(null);
    this.#session.replace(template.text);
    this.#tell(`A new flow from '${template.name}'. What was there comes back with Undo.`);
  }

  addFrom(template) {
    const { flow: other, problem } = parse(template.text);
    if (problem) return this.#tell(`The template cannot be read at ${problem.line}:${problem.column}: ${problem.message}`, true);
    let names = [];
    const isDone = this.#session.edit((flow) => {
      const added = model.addNodes(flow, other);
      ({ names } = added);
      return added.flow;
    });
    if (!isDone) return undefined;
    this.#selection.focus = names.length > 0 ? `node:${names[0]}` : null;
    return this.#tell(names.length > 0 ? `New: ${names.join(", ")}.` : "The template has no nodes.");
  }

  addInput() {
    const name = model.freeName(this.#session.flow, "input");
    if (this.#session.edit((flow) => model.setInput(flow, name, "f64"))) this.#selection.focus = `input:${name}`;
  }
}
