// pilots.js: batch jobs that are there to bring cores, shares of jobs, and what is wanted.
import { poll } from "/page/api.js";
import { element } from "/page/dom.js";
import { bytes, milliseconds } from "/page/format.js";
import { Table } from "/page/table.js";

const GRANT_COLUMNS = [
  { title: "Kind", width: "6em", cell: (one) => one.grant.source },
  { title: "Cluster", width: "1fr", cell: (one) => one.grant.cluster || "" },
  { title: "Job", width: "8em", cell: (one) => (one.grant.job === undefined ? "" : String(one.grant.job)) },
  { title: "Node", width: "2fr", cell: (one) => one.grant.node || one.host },
  { title: "Of", width: "1fr", cell: (one) => one.owner },
  { title: "State", width: "1fr", cell: (one) => (one.grant.draining ? "gives back" : one.state) },
  { title: "Cores in use", width: "8em", cell: (one) => `${one.cores_leased} of ${one.cores.length}` },
  { title: "Memory", width: "1fr", cell: (one) => `${bytes(one.memory_leased_bytes)} of ${bytes(one.memory_bytes)}` },
  { title: "Ends in", width: "1fr", cell: (one) => milliseconds(one.grant.ends_in_ms) },
];

function size(one) {
  const gpus = one.gpus ? `, ${one.gpus} GPU${one.gpu_model ? ` ${one.gpu_model}` : ""}` : "";
  return `${one.cores} cores, ${bytes(one.memory_bytes)}${gpus}`;
}

const WANTED_COLUMNS = [
  { title: "Workers", width: "6em", cell: (row) => row.workers },
  { title: "Each with", width: "3fr", cell: (row) => row.alternatives.map(size).join(" or ") },
  { title: "Where", width: "3fr", cell: (row) => Object.entries(row.constraints || {})
    .filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value !== ""))
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(", ") : value}`).join("; ") || "anywhere" },
];

export function show(content) {
  const grants = new Table({ label: "Pilots and shares", columns: GRANT_COLUMNS, key: (one) => one.id,
    empty: "No cores of batch jobs are here. 'orchid pilot' submits pilots; 'orchid share' offers idle cores of a job." });
  let number = 0;
  const wanted = new Table({ label: "Wanted", columns: WANTED_COLUMNS, key: (row) => row.number, empty: "Nothing waits for workers." });
  content.append(element("h2", {}, "Pilots and shares"), grants.node, element("h2", {}, "Wanted"), wanted.node);
  const stop = poll("/v1/hosts", 2, (document) => {
    grants.show(document.hosts.flatMap((host) => host.executors.filter((one) => one.grant.source !== "local")
      .map((one) => ({ ...one, host: host.name || host.hostname }))));
    number = 0;
    wanted.show((document.demand ? document.demand.wanted : []).map((row) => ({ ...row, number: number++ })));
  });
  return () => {
    stop();
    [grants, wanted].forEach((table) => table.close());
  };
}
