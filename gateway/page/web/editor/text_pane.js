// text_pane.js: the flow as text, with its faults at their lines.
import { button, element } from "/page/dom.js";

const shownFaults = 200;

export class TextPane {
  #editor;
  #faults;
  #marked = [];
  #setting = false;

  /** `commands`: undo, redo, save and run; `changed` gets the text, and whether it was typed letter by letter. */
  constructor(place, faults, commands, changed) {
    this.#faults = faults;
    // Those of keyboard.js, which the editor would take for its own.
    const keys = {
      Tab: false, "Shift-Tab": false, "Ctrl-Z": () => commands.undo(), "Cmd-Z": () => commands.undo(), "Shift-Ctrl-Z": () => commands.redo(),
      "Shift-Cmd-Z": () => commands.redo(), "Ctrl-Y": () => commands.redo(), "Ctrl-S": () => commands.save(), "Ctrl-Enter": () => commands.run(),
    };
    this.#editor = window.CodeMirror(place, { mode: "yaml", lineNumbers: true, gutters: ["CodeMirror-linenumbers", "faults"], extraKeys: keys,
      undoDepth: 0, indentUnit: 2, tabSize: 2, lineWrapping: false, theme: "orchid" });
    this.#editor.getInputField().setAttribute("aria-label", "The flow as YAML");
    // What is pasted is a step of its own.
    this.#editor.on("change", (_, { origin }) => {
      if (!this.#setting) changed(this.#editor.getValue(), /^[+*]/.test(origin ?? ""));
    });
  }

  focus() { this.#editor.focus(); }

  /** Only what differs is replaced, so that the cursor stays where it is. */
  set(text) {
    const old = this.#editor.getValue();
    if (old === text) return;
    let begin = 0;
    while (begin < old.length && begin < text.length && old[begin] === text[begin]) ++begin;
    let end = 0;
    while (end < old.length - begin && end < text.length - begin && old[old.length - 1 - end] === text[text.length - 1 - end]) ++end;
    this.#setting = true;
    try {
      this.#editor.replaceRange(text.slice(begin, text.length - end), this.#editor.posFromIndex(begin), this.#editor.posFromIndex(old.length - end));
    } finally {
      this.#setting = false;
    }
  }

  /** [{file, line, column, message}], and how many there are in all. */
  mark(faults, total) {
    this.#editor.operation(() => {
      this.#editor.clearGutter("faults");
      for (const line of this.#marked) this.#editor.removeLineClass(line, "background", "fault-line");
      const own = faults.filter((fault) => !fault.file && fault.line > 0);
      this.#marked = own.map(({ line, message }) => {
        const mark = element("span", { class: "fault-mark", title: message, role: "img", "aria-label": message }, "●");
        this.#editor.setGutterMarker(line - 1, "faults", mark);
        return this.#editor.addLineClass(line - 1, "background", "fault-line");
      }).filter(Boolean);
    });
    const list = faults.slice(0, shownFaults).map(({ file, line, column, message }) =>
      element("li", {}, button(`${file ? `${file}:` : ""}${line}:${column}: ${message}`, () => this.#go(file, line, column), { class: "fault" })));
    if (total > list.length) list.push(element("li", {}, `and ${total - list.length} more`));
    this.#faults.replaceChildren(...list);
  }

  #go(file, line, column) {
    if (!file && line > 0) this.#editor.setCursor(line - 1, column - 1);
    this.#editor.focus();
  }
}
