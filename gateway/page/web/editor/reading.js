// reading.js: reads texts in a worker: a thousand nodes take longer than a key that is pressed may.

export class Reading {
  #worker = new Worker("/page/editor/reading_worker.js", { type: "module" });
  #asked = [];  // answers come in the order of the questions

  constructor() {
    this.#worker.addEventListener("message", ({ data }) => this.#asked.shift().resolve(data));
    this.#worker.addEventListener("error", (event) => {
      this.#worker = null;
      for (const { reject } of this.#asked.splice(0)) reject(new Error(event.message));
    });
  }

  /** As parse of yaml_text.js. Rejects where there is no worker. */
  read(text) {
    if (!this.#worker) return Promise.reject(new Error("there is no worker"));
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject });
      this.#worker.postMessage(text);
    });
  }
}
