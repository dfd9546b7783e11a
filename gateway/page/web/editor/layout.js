// layout.js: where boxes stand. The work is done in a worker, so that the page stays fluid.

/** One at a time: what is asked for meanwhile replaces what waits. */
export class Layout {
  #worker = new Worker("/page/editor/layout_worker.js", { type: "module" });
  #waiting = null;
  #running = null;

  constructor(failed) {
    this.#worker.addEventListener("message", (event) => this.#done(event.data));
    this.#worker.addEventListener("error", () => failed("the picture cannot be laid out: reload the page"));
  }

  /** `place` is called with {positions: Map of [x, y] by box, width, height}, unless a newer picture comes first. */
  ask(picture, place) {
    this.#waiting = { picture, place };
    if (!this.#running) this.#next();
  }

  #next() {
    this.#running = this.#waiting;
    this.#waiting = null;
    if (!this.#running) return;
    const { boxes, links } = this.#running.picture;
    this.#worker.postMessage({
      boxes: boxes.map(({ id, width, height }) => [id, width, height]),
      links: links.map(({ fromBox, toBox }) => [fromBox, toBox]),
    });
  }

  #done({ positions, width, height }) {
    const { place } = this.#running;
    if (!this.#waiting) place({ positions: new Map(positions), width, height });
    this.#next();
  }
}
