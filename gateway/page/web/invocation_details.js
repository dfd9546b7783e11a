// invocation_details.js: one invocation: what is known of it, where its time went, its log and its output.
import { get, request, text } from "/page/api.js";
import { bar, button, element } from "/page/dom.js";
import { milliseconds } from "/page/format.js";
import { PARTS } from "/page/invocation_book.js";
import { placementOf } from "/page/placement.js";
import { preview } from "/page/preview.js";
import { typedOutput } from "/page/typed_output.js";

export function state(one) {
  if (one.state === "done") return one.outcome || "done";
  return one.progress === undefined ? one.state : `${one.state}, ${Math.round(100 * one.progress)} %`;
}

export function timesOf(one) {
  const all = PARTS.map((part) => ({ class: part, value: (one.timings_ms || {})[part] || 0, title: part }));
  return { all, total: all.reduce((sum, part) => sum + part.value, 0) };
}

export function timeBar(one) {
  const { all, total } = timesOf(one);
  return bar(all.map((part) => ({ ...part, value: Number(part.value.toFixed(3)) })), total);
}

/** Of the entry, as it was deployed last; nothing where nobody says. */
async function signatureOf(one) {
  try {
    const { entries } = await get(`/v1/functions/${encodeURIComponent(one.function)}`);
    return (entries.find((entry) => entry.name === one.entry) || {}).signature;
  } catch {
    return undefined;  // it has been deleted meanwhile
  }
}

export class Details {
  constructor(node) {
    this.node = node;
    this.shown = null;
    this.free = () => {};
  }

  facts(one) {
    const { all, total } = timesOf(one);
    const rows = [["Function", `${one.function}.${one.entry}`], ["Version", one.version], ["State", state(one)], ["Message", one.message],
      ["Host", one.node], ["Worker's lease", one.lease], ["Tier of the code", one.tier],
      ["Times", total > 0 ? all.map((part) => `${part.title} ${milliseconds(part.value)}`).join(", ") : ""]];
    return element("dl", {}, ...rows.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
  }

  /** The one that is shown may have begun or ended meanwhile. */
  follow(list) {
    if (this.shown === null || this.state === "done") return;
    const now = list.find((one) => one.id === this.shown);
    if (now && now.state !== this.state) this.show(now);
  }

  async show(one) {
    this.free();
    this.free = () => {};
    this.shown = one.id;
    this.state = one.state;
    const place = element("pre", { class: "place-told" }, "…");
    const log = element("pre", { class: "log" }, "…");
    const output = element("div", {}, "…");
    const cancel = one.state === "done" ? null : button("Cancel", () =>
      request("DELETE", `/v1/invocations/${encodeURIComponent(one.id)}`).catch((error) => { output.textContent = error.message; }));
    this.node.hidden = false;
    this.node.replaceChildren(element("h2", {}, `Invocation ${one.id}`), cancel ?? "", this.facts(one), element("h3", {}, "Why there"), place,
      element("h3", {}, "Log"), log, element("h3", {}, "Output"), output);
    placementOf(one).then((words) => { place.textContent = words; });
    const of = `/v1/invocations/${encodeURIComponent(one.id)}`;
    text(`${of}/logs`).then((words) => { log.textContent = words || "It wrote nothing."; }, (error) => { log.textContent = error.message; });
    try {
      const content = new Uint8Array(await (await request("GET", `${of}/output`)).arrayBuffer());
      if (this.shown !== one.id) return;
      const typed = typedOutput(content, await signatureOf(one));
      if (this.shown !== one.id) return;
      const shown = typed && typed.text !== undefined ? { node: element("pre", { class: "preview" }, typed.text), free() {} }
        : preview(typed ? typed.content : content);
      this.free = shown.free;
      output.replaceChildren(shown.node);
    } catch (error) {
      if (this.shown === one.id) output.textContent = error.message;
    }
  }
}
