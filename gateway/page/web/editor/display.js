// display.js: shows the session and the selection in the picture, the text, the form and the lines around them.
import { keepDraft, keepFiles } from "./files.js";
import { picture } from "./picture.js";

export class Display {
  #parts;
  #states = new Map();  // of nodes, while a flow runs
  #shown = { boxes: [], links: [], ends: { sources: [], ports: [] } };
  #planned = 0;  // a timer

  /** `parts`: {session, selection, canvas, layout, panel, text, tell, verdict, undo, redo}; the last three are elements. */
  constructor(parts) {
    this.#parts = parts;
    const { session, selection, panel } = parts;
    session.addEventListener("changed", () => this.#showChange());
    session.addEventListener("checked", () => this.#showReport());
    session.addEventListener("files", () => this.#keepFiles());
    selection.addEventListener("marked", () => this.#mark());
    selection.addEventListener("chosen", () => this.#planPanel());
    selection.addEventListener("opened", () => {
      this.#showPanel();
      panel.focus();
    });
  }

  #keepFiles() {
    if (!keepFiles(this.#parts.session.files)) this.#parts.tell("This browser does not keep the files that are sent along: have them at hand.", true);
    this.#planPanel();
  }

  showStates(states) {
    this.#states = states;
    this.#mark();
  }

  #showChange() {
    const { session, text, tell, verdict, undo, redo } = this.#parts;
    this.#states = new Map();
    text.set(session.text);
    undo.disabled = !session.canUndo;
    redo.disabled = !session.canRedo;
    if (!keepDraft(session.text)) tell("This browser keeps no draft: save the flow before you leave.", true);
    if (session.problem) return this.#showFaults();
    verdict.className = "";
    verdict.textContent = "checking …";
    return this.#draw();
  }

  #showReport() {
    this.#showFaults();
    if (!this.#parts.session.problem) this.#draw();
  }

  #draw() {
    const { session, selection, layout, canvas } = this.#parts;
    const shown = picture(session.flow, session.report.nodes);
    canvas.root.setAttribute("aria-busy", "true");
    layout.ask(shown, (places) => {
      this.#shown = shown;
      if (!shown.boxes.some((box) => box.id === selection.box)) selection.box = null;
      canvas.draw(shown, places, { ...this.#marks(), focus: selection.focus });
      canvas.root.setAttribute("aria-busy", "false");
      selection.focus = null;
      this.#planPanel();
    });
  }

  #marks() {
    const { session, selection } = this.#parts;
    // Those whose functions are open, unknown or wrong.
    const faulty = session.isChecked ? session.report.nodes.filter((node) => !node.known).map((node) => node.node) : [];
    return { selected: selection.box, pending: selection.pending, states: this.#states, faulty: new Set(faulty) };
  }
  #mark() { this.#parts.canvas.mark(this.#marks()); }

  /** When the browser has moved the focus, so that it stays where the user goes. */
  #planPanel() {
    clearTimeout(this.#planned);
    this.#planned = setTimeout(() => this.#showPanel(), 0);
  }

  #showPanel() {
    clearTimeout(this.#planned);
    const { panel, selection } = this.#parts;
    panel.show(this.#shown.boxes.find((box) => box.id === selection.box) ?? null, this.#shown.ends);
  }

  #showFaults() {
    const { session, text, verdict } = this.#parts;
    const { problem, report, checkFailed } = session;
    // The gateway's word on a text that cannot be read counts, as soon as it is there.
    const isOwn = problem && (!session.isChecked || report.faults.length === 0);
    const [faults, total] = isOwn ? [[problem], 1] : [report.faults, report.faults_total];
    text.mark(faults, total);
    verdict.className = checkFailed || total > 0 ? "faulty" : "good";
    if (checkFailed) verdict.textContent = `The flow could not be checked: ${checkFailed}`;
    else if (problem) verdict.textContent = `The text cannot be read at ${faults[0].line}:${faults[0].column}; the picture stays as it was.`;
    else verdict.textContent = total > 0 ? `${total} ${total === 1 ? "fault" : "faults"}` : "good";
  }
}
