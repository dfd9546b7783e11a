// sums.js: what all hosts have together.

const FIELDS = ["cores", "cores_usable", "cores_leased", "gpus_usable", "gpus_leased", "watts"];

export function sums(hosts) {
  const all = { gpus: 0, executors: 0, workers_ready: 0 };
  for (const field of FIELDS) all[field] = 0;
  for (const host of hosts) {
    for (const field of FIELDS) all[field] += host[field] || 0;
    all.gpus += (host.gpus || []).length;
    all.executors += host.executors.length;
    for (const executor of host.executors) all.workers_ready += executor.workers_ready;
  }
  return all;
}
