// invocations.js: the user's invocations, newest first, and one of them with its times, its log and its output.
import { element } from "/page/dom.js";
import { bytes, count, milliseconds, time } from "/page/format.js";
import { InvocationBook, whole } from "/page/invocation_book.js";
import { Details, state, timeBar } from "/page/invocation_details.js";
import { Table } from "/page/table.js";

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
