// leases.js: what programs of the user hold, and the workers in it.
import { poll } from "/page/api.js";
import { element } from "/page/dom.js";
import { bytes, milliseconds } from "/page/format.js";
import { Table } from "/page/table.js";

const LEASE_COLUMNS = [
  { title: "Lease", width: "2fr", cell: (lease) => lease.id },
  { title: "State", width: "6em", cell: (lease) => lease.state },
  { title: "Holds", width: "2fr", cell: (lease) => (lease.kind === "memory" ? `memory, ${bytes(lease.memory_bytes)}`
    : `${lease.workers.length} of ${lease.workers_wanted} workers${lease.crew ? ", a crew" : ""}`) },
  { title: "Each with", width: "2fr", cell: (lease) => (lease.kind === "memory" ? "" : `${lease.cores_per_worker} cores, ${bytes(lease.memory_bytes)}`) },
  { title: "Hosts", width: "2fr", cell: (lease) => (lease.kind === "memory" ? lease.node
    : [...new Set(lease.workers.map((worker) => worker.node))].join(", ")) },
  { title: "Ends in", width: "1fr", cell: (lease) => milliseconds(lease.expires_in_ms) },
];
const WORKER_COLUMNS = [
  { title: "Worker's lease", width: "2fr", cell: (worker) => worker.lease },
  { title: "Of", width: "2fr", cell: (worker) => worker.of },
  { title: "Host", width: "2fr", cell: (worker) => worker.node },
  { title: "Cores", width: "5em", cell: (worker) => worker.cores },
  { title: "Memory", width: "1fr", cell: (worker) => bytes(worker.memory_bytes) },
  { title: "GPUs", width: "2fr", cell: (worker) => (worker.gpus.length > 0 ? `${worker.gpus.join(", ")} (${worker.gpu_model})` : "") },
];

export function show(content) {
  const leases = new Table({ label: "Leases", columns: LEASE_COLUMNS, key: (lease) => lease.id, empty: "No program of yours holds a lease." });
  const workers = new Table({ label: "Workers", columns: WORKER_COLUMNS, key: (worker) => `${worker.of}/${worker.lease}/${worker.number}`,
    empty: "No lease has a worker." });
  content.append(element("p", { class: "hint" }, "Leases of your own programs. Workers that the gateway holds for HTTP calls are counted with the hosts."),
    element("h2", {}, "Leases"), leases.node, element("h2", {}, "Workers"), workers.node);
  const stop = poll("/v1/leases", 1, (document) => {
    leases.show(document.leases);
    workers.show(document.leases.flatMap((lease) => (lease.workers || []).map((worker, number) => ({ ...worker, of: lease.id, number }))));
  });
  return () => {
    stop();
    [leases, workers].forEach((table) => table.close());
  };
}
