// overview.js: how much there is and how much of it is used, now and over the last hours.
import { poll } from "/page/api.js";
import { bar, element } from "/page/dom.js";
import { bytes, count, milliseconds, share } from "/page/format.js";
import { sums } from "/page/sums.js";
import { Chart } from "/page/chart.js";

function tile(title) {
  const number = element("p", { class: "number" });
  const parts = element("p", {});
  return { node: element("section", { class: "tile" }, element("h2", {}, title), number, parts), number, parts };
}

const CHARTS = [
  { title: "Cores", all: "cores", usable: "cores_usable", used: "cores_leased", text: (value) => count(value, "core") },
  { title: "Memory of workers", all: "memory_bytes", used: "memory_leased_bytes", text: bytes },
  { title: "GPUs", all: "gpus", usable: "gpus_usable", used: "gpus_leased", text: (value) => count(value, "GPU") },
  { title: "Power", used: "watts", text: (value) => `${Math.round(value)} W` },
];

export function show(content) {
  const tiles = { hosts: tile("Hosts"), cores: tile("Cores"), gpus: tile("GPUs"), wanted: tile("Waiting"), flows: tile("Flows") };
  const charts = CHARTS.map((one) => new Chart(one));
  const since = element("p", { class: "hint" });
  content.append(
    element("div", { class: "tiles" }, ...Object.values(tiles).map((one) => one.node)),
    element("h2", {}, "The last hours"), since,
    element("div", { class: "charts" }, ...charts.map((one) => one.node)));

  const showHosts = (document) => {
    const all = sums(document.hosts);
    tiles.hosts.number.textContent = count(document.hosts.length, "host");
    tiles.hosts.parts.textContent = `${count(all.executors, "executor")}, ${count(all.workers_ready, "worker")} ready`;
    tiles.cores.number.textContent = `${all.cores_leased} of ${all.cores_usable} in use`;
    tiles.cores.parts.replaceChildren(bar([
      { class: "leased", value: all.cores_leased, title: "leased" },
      { class: "free", value: all.cores_usable - all.cores_leased, title: "free" },
      { class: "jobs", value: all.cores - all.cores_usable, title: "of batch jobs" },
    ], all.cores), ` ${share(all.cores_leased, all.cores_usable)}`);
    tiles.gpus.number.textContent = all.gpus === 0 ? "none" : `${all.gpus_leased} of ${all.gpus_usable} in use`;
    const wanted = document.demand ? document.demand.cores_wanted : 0;
    tiles.wanted.number.textContent = wanted === 0 ? "nothing" : count(wanted, "core");
    tiles.wanted.parts.textContent = wanted === 0 ? "No call or lease waits for workers." : "Wanted by calls and leases that wait.";
  };
  const showFlows = ({ flows }) => {
    const running = flows.filter((flow) => flow.state === "running").length;
    tiles.flows.number.textContent = `${running} running`;
    tiles.flows.parts.textContent = `of ${count(flows.length, "flow")}`;
  };
  let samples = [];
  const newest = () => (samples.length > 0 ? samples[samples.length - 1].at : 0);
  const showHours = (document) => {
    samples = [...samples, ...document.samples].slice(-document.most);
    since.textContent = samples.length === 0 ? "The gateway has taken no sample yet."
      : `The gateway keeps a sample for each ${milliseconds(document.interval_ms)} since it started, ${count(document.most, "sample")} at most.`;
    for (const chart of charts) chart.show(samples);
  };
  const stops = [
    poll("/v1/hosts", 2, showHosts),
    poll("/v1/flows", 3, showFlows, () => { tiles.flows.number.textContent = "not known"; }),
    poll(() => `/v1/utilisation?since=${newest()}`, 10, showHours),
  ];
  return () => stops.forEach((stop) => stop());
}
