// reading_worker.js: a worker: a text becomes {flow} or {problem}.
import { parse } from "./yaml_text.js";

self.addEventListener("message", ({ data }) => self.postMessage(parse(data)));
