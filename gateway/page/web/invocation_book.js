// invocation_book.js: the invocations that the page knows: the gateway tells of its newest, and those that were told before stay here.
import { get, poll } from "/page/api.js";

const AT_ONCE = 1000;  // the most that the gateway tells of
const AT_FIRST = 1000;
const EACH_TIME = 250;
const MOST = 10000;
const LOOKED_AFTER = 4;  // that have not ended and are no longer among the newest, at a time

export class InvocationBook {
  /** `changed(list)`: newest first. */
  constructor(changed) {
    this.changed = changed;
    this.known = new Map();
    this.limit = AT_FIRST;
    this.stopping = new AbortController();
    this.stopPolling = poll(() => `/v1/invocations?limit=${this.limit}`, 1, (document) => this.take(document.invocations));
  }

  take(newest) {
    const told = new Set();
    let overlaps = this.known.size === 0;
    for (const one of newest) {
      overlaps ||= this.known.has(one.id);
      told.add(one.id);
      this.keep(one);
    }
    // Between two looks more came than one look tells of: the next one asks for more.
    this.limit = overlaps ? EACH_TIME : AT_ONCE;
    const list = [...this.known.values()].sort((a, b) => b.acceptedAt - a.acceptedAt);
    for (const one of list.splice(MOST)) this.known.delete(one.id);
    this.changed(list);
    this.lookAfter(list.filter((one) => one.state !== "done" && !told.has(one.id)).slice(-LOOKED_AFTER));
  }

  /** Its times as numbers, once: they are looked at with each picture. */
  keep(one) {
    one.acceptedAt = Date.parse(one.accepted);
    one.finishedAt = one.finished ? Date.parse(one.finished) : undefined;
    this.known.set(one.id, one);
  }

  async lookAfter(list) {
    for (const one of list) {
      try {
        this.keep(await get(`/v1/invocations/${encodeURIComponent(one.id)}`, { stop: this.stopping.signal }));
      } catch (error) {
        if (error.status === 404) this.known.delete(one.id);
      }
    }
  }

  close() {
    this.stopping.abort();
    this.stopPolling();
  }
}

export const PARTS = ["transfer", "queue", "place", "compile", "link", "run"];

/** How long it took in all, in ms; nothing: it has not ended. */
export function whole(one) {
  return one.finishedAt === undefined ? undefined : one.finishedAt - one.acceptedAt;
}
