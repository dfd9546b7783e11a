// functions.js: what is deployed, and how its calls have ended.
import { poll } from "/page/api.js";
import { element } from "/page/dom.js";
import { bytes, time } from "/page/format.js";
import { Table } from "/page/table.js";

function failed(one) {
  const ended = Object.entries(one.calls.ended).filter(([outcome]) => outcome !== "ok" && one.calls.ended[outcome] > 0);
  return ended.map(([outcome, number]) => `${number} ${outcome}`).join(", ");
}

const COLUMNS = [
  { title: "Function", width: "2fr", cell: (one) => one.name },
  { title: "Entries", width: "3fr", cell: (one) => one.entries.map((entry) => entry.name + (entry.signature ? ` ${entry.signature}` : "")).join(", ") },
  { title: "Version", width: "7em", cell: (one) => one.version.replace("sha256:", "").slice(0, 10) },
  { title: "Versions", width: "5em", cell: (one) => one.versions },
  { title: "Deployed", width: "1fr", cell: (one) => time(one.created) },
  { title: "Size", width: "6em", cell: (one) => bytes(one.size) },
  { title: "For", width: "1fr", cell: (one) => [...new Set(one.targets.map((target) => target.arch))].join(", ") },
  { title: "Needs", width: "1fr", cell: (one) => one.needs || "1 core" },
  { title: "Calls", width: "6em", cell: (one) => one.calls.total },
  { title: "went well", width: "6em", cell: (one) => one.calls.ended.ok || 0 },
  { title: "Failed", width: "2fr", cell: failed },
];

export function show(content) {
  const table = new Table({ label: "Functions", columns: COLUMNS, key: (one) => one.name, empty: "Nothing is deployed: 'orchid build', then 'orchid deploy'." });
  content.append(element("h2", {}, "Functions"), element("p", { class: "hint" }, "The newest version of each; its calls since the gateway started."), table.node);
  const stop = poll("/v1/functions", 2, (document) => table.show(document.functions));
  return () => {
    stop();
    table.close();
  };
}
