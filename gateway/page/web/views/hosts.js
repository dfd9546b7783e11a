// hosts.js: hosts and what has their cores and GPUs; the nodes of clusters.
import { poll } from "/page/api.js";
import { bar, element } from "/page/dom.js";
import { bytes, count, milliseconds } from "/page/format.js";
import { Table } from "/page/table.js";

function cores(host) {
  return bar([
    { class: "leased", value: host.cores_leased || 0, title: "leased" },
    { class: "free", value: (host.cores_usable || 0) - (host.cores_leased || 0), title: "free" },
    { class: "jobs", value: (host.cores || 0) - (host.cores_usable || 0), title: "of batch jobs" },
  ], host.cores);
}

function gpus(host) {
  const all = host.gpus || [];
  if (all.length === 0) return "";
  const jobs = host.gpus_of_jobs > 0 ? `, ${host.gpus_of_jobs} by batch jobs` : "";
  return `${host.gpus_leased} of ${host.gpus_usable} in use (${[...new Set(all.map((gpu) => gpu.model))].join(", ")})${jobs}`;
}

function memory(host) {
  const leased = host.executors.reduce((sum, one) => sum + one.memory_leased_bytes, 0);
  const offered = host.executors.reduce((sum, one) => sum + one.memory_bytes, 0);
  return `${bytes(leased)} of ${bytes(offered)}`;
}

/** What leases of memory have is no data of anybody's, and is told apart where the executor says it. */
function data(one) {
  if (!one.data_memory_bytes) return "";
  const leased = one.data_leased_bytes || 0;
  return `${bytes(one.data_used_bytes - leased)} of ${bytes(one.data_memory_bytes)}${leased > 0 ? `, ${bytes(leased)} leased` : ""}`;
}

function faults(host) {
  const all = host.executors.flatMap((one) => one.gpu_faults.map((gpu) => `GPU ${gpu.index}: ${gpu.reason}`));
  if (host.drained) all.unshift("no new workers are placed there");
  return all.join("; ");
}

const HOST_COLUMNS = [
  { title: "Host", width: "2fr", cell: (host) => host.name || host.hostname },
  { title: "Cluster", width: "1fr", cell: (host) => host.cluster || "" },
  { title: "Kind", width: "4em", cell: (host) => host.kind },
  { title: "Cores", width: "2fr", cell: cores },
  { title: "in use", width: "7em", cell: (host) => `${host.cores_leased ?? "?"} of ${host.cores_usable ?? "?"}` },
  { title: "Memory of workers", width: "2fr", cell: memory },
  { title: "GPUs", width: "2fr", cell: gpus },
  { title: "Power", width: "5em", cell: (host) => (host.watts === undefined ? "" : `${Math.round(host.watts)} W`) },
  { title: "Executors", width: "6em", cell: (host) => host.executors.length },
  { title: "Remarks", width: "2fr", cell: faults },
];
const EXECUTOR_COLUMNS = [
  { title: "Executor", width: "2fr", cell: (one) => one.id },
  { title: "Host", width: "2fr", cell: (one) => one.host },
  { title: "State", width: "7em", cell: (one) => one.state },
  { title: "Of", width: "1fr", cell: (one) => one.owner },
  { title: "Cores from", width: "1fr", cell: (one) => one.grant.source },
  { title: "Cores in use", width: "8em", cell: (one) => `${one.cores_leased} of ${one.cores.length}` },
  { title: "Workers ready", width: "9em", cell: (one) => one.workers_ready },
  { title: "Data", width: "1fr", cell: data },
  { title: "Ends in", width: "1fr", cell: (one) => milliseconds(one.grant.ends_in_ms) },
];
const NODE_COLUMNS = [
  { title: "Node", width: "2fr", cell: (node) => node.name },
  { title: "Cluster", width: "1fr", cell: (node) => node.cluster },
  { title: "Kind", width: "4em", cell: (node) => node.kind },
  { title: "State", width: "1fr", cell: (node) => node.state },
  { title: "Why", width: "2fr", cell: (node) => [node.why, node.reason].filter((text) => text).join(": ") },
  { title: "Cores", width: "2fr", cell: (node) => bar([
    { class: "jobs", value: node.cores - node.cores_free, title: "of batch jobs" },
    { class: "free", value: node.cores_free, title: "free" },
  ], node.cores) },
  { title: "free", width: "7em", cell: (node) => `${node.cores_free} of ${node.cores}` },
  { title: "GPUs free", width: "7em", cell: (node) => (node.gpus.length > 0 ? `${node.gpus_free} of ${node.gpus.length}` : "") },
];

export function show(content) {
  const hosts = new Table({ label: "Hosts", columns: HOST_COLUMNS, key: (host) => host.boot_id,
    empty: "No executor is connected: start orchid-executor, or orchid up." });
  const executors = new Table({ label: "Executors", columns: EXECUTOR_COLUMNS, key: (one) => one.id });
  const nodes = new Table({ label: "Nodes of clusters", columns: NODE_COLUMNS, key: (node) => `${node.cluster}/${node.name}`,
    empty: "The gateway knows of no cluster." });
  const clusters = element("p", { class: "hint" });
  content.append(
    element("p", { class: "legend" }, element("i", { class: "leased" }), " leased ", element("i", { class: "free" }), " free ",
      element("i", { class: "jobs" }), " of batch jobs"),
    element("h2", {}, "Hosts"), hosts.node, element("h2", {}, "Executors"), executors.node,
    element("h2", {}, "Nodes of clusters"), clusters, nodes.node);
  const stop = poll("/v1/hosts", 1, (document) => {
    hosts.show(document.hosts);
    executors.show(document.hosts.flatMap((host) => host.executors.map((one) => ({ ...one, host: host.name || host.hostname }))));
    const known = document.clusters || [];
    nodes.show(known.flatMap((cluster) => cluster.nodes.map((node) => ({ ...node, cluster: cluster.cluster }))));
    clusters.textContent = known.map((cluster) => `${cluster.cluster || cluster.source}: ${cluster.state}, ${count(cluster.nodes.length, "node")}${
      cluster.message ? ` (${cluster.message})` : ""}`).join("; ");
  });
  return () => {
    stop();
    [hosts, executors, nodes].forEach((table) => table.close());
  };
}
