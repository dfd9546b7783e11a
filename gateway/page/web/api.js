// api.js: what the page asks the gateway for. The browser's cookie says who asks. One place notices that the gateway is away or that the
// session is over, and tells whoever listens.

const ANSWER_WITHIN_MS = 30000;
const LONGEST_PAUSE_S = 5;

/** "lost" (detail: why), "found", "logged-out". */
export const connection = new EventTarget();
let lost = false;

function tell(name, detail) {
  connection.dispatchEvent(new CustomEvent(name, { detail }));
}

/** An answer that is no success: `status`, and the gateway's own words as message. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** No answer at all. */
export class Lost extends Error {}

async function refusalOf(response) {
  const text = await response.text();
  try {
    const problem = JSON.parse(text);
    return new Refused(response.status, problem.detail || problem.title || text);
  } catch {
    return new Refused(response.status, text || `the gateway answered with ${response.status}`);
  }
}

function noticeLost(error) {
  if (!lost) tell("lost", String(error.message || error));
  lost = true;
}

function noticeFound() {
  if (lost) tell("found");
  lost = false;
}

/** The response, if it is a success. `stop`: a signal of whoever does not want it any more. `range`: of bytes; one behind the end (416) is a
 * success. */
export async function request(method, path, { body, stop, quiet, tag, range } = {}) {
  let response;
  try {
    const signals = [AbortSignal.timeout(ANSWER_WITHIN_MS), ...(stop ? [stop] : [])];
    response = await fetch(path, {
      method,
      body: body === undefined ? undefined : JSON.stringify(body),
      headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...(tag ? { "If-None-Match": tag } : {}),
        ...(range ? { Range: range } : {}) },
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.any(signals),
    });
  } catch (error) {
    if (stop && stop.aborted) throw error;
    noticeLost(error);
    throw new Lost("the gateway does not answer");
  }
  noticeFound();
  if (response.ok || (tag && response.status === 304) || (range && response.status === 416)) return response;
  const refused = await refusalOf(response);
  if (refused.status === 401 && !quiet) tell("logged-out");
  throw refused;
}

export async function get(path, options) {
  const response = await request("GET", path, options);
  return response.status === 204 ? null : response.json();
}

export async function text(path, options) {
  return (await request("GET", path, options)).text();
}

/** Asks again and again, with a pause that grows while there is no answer, and not while nobody looks. `show` gets each answer that is another
 * one than before, `fail` each error but a lost connection. Returns what stops it. */
export function poll(path, seconds, show, fail = () => {}) {
  const stopping = new AbortController();
  let timer = 0;
  let pause = seconds;
  const told = { path: null, tag: null };
  const ask = async () => {
    timer = 0;
    if (document.hidden) return;
    try {
      const now = typeof path === "function" ? path() : path;
      const response = await request("GET", now, { stop: stopping.signal, tag: told.path === now ? told.tag : null });
      const answer = response.status === 200 ? await response.json() : null;
      if (stopping.signal.aborted) return;
      pause = seconds;
      if (answer !== null) {
        told.path = now;
        told.tag = response.headers.get("ETag");
        show(answer);
      }
    } catch (error) {
      if (stopping.signal.aborted) return;
      if (error instanceof Lost) {
        pause = Math.min(Math.max(pause, 0.5) * 2, LONGEST_PAUSE_S);
      } else {
        if (error instanceof Refused && error.status === 401) return;
        fail(error);
      }
    }
    timer = setTimeout(ask, pause * 1000);
  };
  const seen = () => {
    if (!document.hidden && timer === 0 && !stopping.signal.aborted) ask();
  };
  document.addEventListener("visibilitychange", seen);
  ask();
  return () => {
    stopping.abort();
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}

const REOPEN_AFTER_MS = 1000;

/** Server-sent events, for as long as they come: `listeners` by event; one that returns true ends it. Returns what stops it. */
export function events(path, listeners) {
  let source = null;
  let timer = 0;
  let over = false;
  const stop = () => {
    over = true;
    clearTimeout(timer);
    if (source) source.close();
  };
  const open = () => {
    source = new EventSource(path);
    for (const [name, listener] of Object.entries(listeners)) {
      source.addEventListener(name, (event) => {
        if (listener(JSON.parse(event.data))) stop();
      });
    }
    source.addEventListener("error", () => {
      if (over) return;
      // The browser comes back by itself only after some faults.
      source.close();
      timer = setTimeout(open, REOPEN_AFTER_MS);
    });
  };
  open();
  return stop;
}
