// invocations.js: the user's invocations, newest first, and one of them with its times, its log and its output.
import { request, text } from "/page/api.js";
import { bar, button, element } from "/page/dom.js";
import { bytes, count, milliseconds, time } from "/page/format.js";
import { InvocationBook, PARTS, whole } from "/page/invocation_book.js";
import { preview } from "/page/preview.js";
import { Table } from "/page/table.js";

function state(one) {
  if (one.state === "done") return one.outcome || "done";
  return one.progress === undefined ? one.state : `${one.state}, ${Math.round(100 * one.progress)} %`;
}

export function timesOf(one) {
  const all = PARTS.map((part) => ({ class: part, value: (one.timings_ms || {})[part] || 0, title: part }));
  return { all, total: all.reduce((sum, part) => sum + part.value, 0) };
}

function timeBar(one) {
  const { all, total } = timesOf(one);
  return bar(all.map((part) => ({ ...part, value: Number(part.value.toFixed(3)) })), total);
}

const COLUMNS = [
  { title: "Invocation", width: "12em", cell: (one) => one.id },
  { title: "Function", width: "2fr", cell: (one) => `${one.function}.${one.entry}` },
  { title: "State", width: "2fr", cell: state },
  { title: "Accepted", width: "9em", cell: (one) => time(one.accepted) },
  { title: "Took", width: "6em", cell: (one) => milliseconds(whole(one)) },
  { title: "Time went to", width: "9em", cell: timeBar },
  { title: "Host", width: "1fr", cell: (one) => one.node || "" },
  { title: "Attempt", width: "5em", cell: (one) => one.attempt },
  { title: "Output", width: "6em", cell: (one) => (one.output_size === undefined ? "" : bytes(one.output_size)) },
];

class Details {
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
    const log = element("pre", { class: "log" }, "…");
    const output = element("div", {}, "…");
    const cancel = one.state === "done" ? null : button("Cancel", () =>
      request("DELETE", `/v1/invocations/${encodeURIComponent(one.id)}`).catch((error) => { output.textContent = error.message; }));
    this.node.hidden = false;
    this.node.replaceChildren(element("h2", {}, `Invocation ${one.id}`), cancel ?? "", this.facts(one), element("h3", {}, "Log"), log,
      element("h3", {}, "Output"), output);
    const of = `/v1/invocations/${encodeURIComponent(one.id)}`;
    text(`${of}/logs`).then((words) => { log.textContent = words || "It wrote nothing."; }, (error) => { log.textContent = error.message; });
    try {
      const content = new Uint8Array(await (await request("GET", `${of}/output`)).arrayBuffer());
      if (this.shown !== one.id) return;
      const shown = preview(content);
      this.free = shown.free;
      output.replaceChildren(shown.node);
    } catch (error) {
      if (this.shown === one.id) output.textContent = error.message;
    }
  }
}

export function show(content) {
  const number = element("p", { class: "hint", "aria-live": "polite" });
  const details = new Details(element("section", { class: "details", hidden: true, "aria-label": "The chosen invocation" }));
  const table = new Table({ label: "Invocations", columns: COLUMNS, key: (one) => one.id, open: (one) => details.show(one),
    empty: "No function of yours was called." });
  table.node.classList.add("tall");
  const filter = element("input", { type: "search", id: "filter", on: { input: () => update() } });
  let all = [];
  const update = () => {
    const words = filter.value.trim().toLowerCase();
    const kept = words === "" ? all : all.filter((one) => `${one.id} ${one.function}.${one.entry} ${one.node || ""} ${state(one)}`.toLowerCase().includes(words));
    number.textContent = `${count(kept.length, "invocation")}${kept.length < all.length ? ` of ${all.length}` : ""}, newest first`;
    table.show(kept);
  };
  content.append(element("h2", {}, "Invocations"), element("p", { class: "tools" }, element("label", { for: "filter" }, "Filter "), filter), number,
    table.node, details.node);
  const book = new InvocationBook((list) => {
    all = list;
    update();
    details.follow(list);
  });
  return () => {
    book.close();
    table.close();
    details.free();
  };
}
