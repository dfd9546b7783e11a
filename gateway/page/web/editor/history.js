// history.js: the texts that a flow has had, for undo and redo. Both the picture and the text are made from the newest one.

const most = 500;

/** What is typed without a pause is one step. */
export class History {
  #texts;
  #at = 0;
  #typed = -Infinity;  // when the newest text was typed

  constructor(text) {
    this.#texts = [text];
  }

  get text() { return this.#texts[this.#at]; }
  get canUndo() { return this.#at > 0; }
  get canRedo() { return this.#at + 1 < this.#texts.length; }

  /** `now` in milliseconds, for what was typed; nothing for a step of its own. */
  put(text, now) {
    if (text === this.text) return;
    const goesOn = now !== undefined && now - this.#typed < 1000 && !this.canRedo && this.#at > 0;
    this.#typed = now ?? -Infinity;
    this.#texts.length = goesOn ? this.#at : this.#at + 1;
    this.#texts.push(text);
    if (this.#texts.length > most) this.#texts.shift();
    this.#at = this.#texts.length - 1;
  }

  undo() { return this.#move(this.canUndo ? -1 : 0); }
  redo() { return this.#move(this.canRedo ? 1 : 0); }

  #move(step) {
    this.#at += step;
    this.#typed = -Infinity;
    return this.text;
  }
}
