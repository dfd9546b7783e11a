"""What a gateway says of a site with more than this machine has: hosts with GPUs and DPUs, clusters, batch jobs, a pilot, a lease, hours of samples; and how the page shows it."""
from comparisons import expect_in, same

GIB = 1 << 30


def executor(name, cores, **more):
    return {"id": f"ex-{name}", "owner": "ada", "version": "1", "state": "connected", "grant": {"source": "local"}, "cores": list(range(cores)),
            "cores_leased": 0, "memory_bytes": 64 * GIB, "memory_leased_bytes": 0, "gpus": [], "gpu_faults": [], "gpus_leased": 0, "workers_ready": 0,
            **more}


def host(name, kind, cores, executors, **more):
    return {"boot_id": name, "hostname": name, "name": name, "kind": kind, "cluster": "", "drained": False, "cores": cores, "cores_usable": cores,
            "cores_leased": 0, "gpus": [], "gpus_usable": 0, "gpus_leased": 0, "gpus_of_jobs": 0, "executors": executors, **more}


PILOT = executor("pilot", 12, grant={"source": "pilot", "cluster": "north", "job": 4711, "node": "n1", "draining": False, "ends_in_ms": 90_000},
                 cores_leased=3, memory_leased_bytes=8 * GIB, workers_ready=3)
HOSTS = [
    # Of 16 cores batch jobs have 4, and workers 3.
    host("n1", "cpu", 16, [PILOT], cluster="north", cores_usable=12, cores_leased=3),
    # Of six GPUs one cannot be used, batch jobs have two, and workers two.
    host("g1", "gpu", 8, [executor("gpu", 8, cores_leased=2, gpus=[0, 1, 2], gpus_leased=2, workers_ready=2,
                                   gpu_faults=[{"index": 3, "reason": "it has fallen off the bus"}])],
         cluster="south", cores_leased=2, gpus=[{"index": index, "model": "H100"} for index in range(6)], gpus_usable=3, gpus_leased=2, gpus_of_jobs=2, watts=712.4),
    host("d1", "dpu", 8, [executor("dpu", 8)], cluster="south", watts=37.0),
    host("away", "cpu", 8, [executor("away", 8)], drained=True),
]


def node(name, **more):
    return {"name": name, "kind": "cpu", "state": "usable", "why": [], "cores": 16, "cores_free": 12, "gpus": [], "gpus_free": 0, **more}


CLUSTERS = [
    {"source": "orchid-slurm", "cluster": "north", "state": "current", "nodes": [
        node("n1"), node("n2", state="unusable", why=["drained"], reason="a fan is broken", cores_free=16)]},
    {"source": "orchid-slurm", "cluster": "south", "state": "stale", "message": "it does not answer", "nodes": [
        node("g1", kind="gpu", cores=8, cores_free=8, gpus=[{"index": index, "type": "h100"} for index in range(4)], gpus_free=3)]},
]
DEMAND = {"cores_wanted": 6, "wanted": [{"workers": 3, "lifetime_ms": 0, "constraints": {"host": "", "cluster": "south", "avoid_host": []}, "alternatives": [
    {"cores": 2, "memory_bytes": GIB, "gpus": 1, "gpu_model": "H100"}, {"cores": 4, "memory_bytes": 2 * GIB, "gpus": 0}]}]}
LEASES = [
    {"id": "ls-workers", "kind": "workers", "state": "open", "workers_wanted": 3, "crew": True, "cores_per_worker": 1, "memory_bytes": 4 * GIB,
     "expires_in_ms": 60_000, "workers": [
         {"lease": "wl-1", "node": "g1", "cores": 1, "memory_bytes": 4 * GIB, "gpus": [0], "gpu_model": "H100"},
         {"lease": "wl-2", "node": "n1", "cores": 1, "memory_bytes": 4 * GIB, "gpus": [], "gpu_model": ""}]},
    {"id": "ls-memory", "kind": "memory", "state": "open", "memory_bytes": 2 * GIB, "node": "d1", "expires_in_ms": 5_000},
]
ALL = {"cores": 40, "memory_bytes": 256 * GIB, "gpus": 4}
SAMPLES = [
    {"at": 1_800_000_000_000, **ALL, "cores_usable": 40, "cores_leased": 20, "memory_leased_bytes": 0, "gpus_usable": 4, "gpus_leased": 0, "watts": 1000.0},
    {"at": 1_800_003_600_000, **ALL, "cores_usable": 36, "cores_leased": 5, "memory_leased_bytes": 8 * GIB, "gpus_usable": 3, "gpus_leased": 2,
     "watts": 749.4},
]
FLOWS = [{"id": f"fl-{number}", "name": "f", "state": state, "submitted": "2026-01-01T00:00:00Z", "nodes_total": 1, "nodes_done": 0}
         for number, state in enumerate(("running", "done", "running"))]
ANSWERS = {
    "/v1/hosts": {"hosts": HOSTS, "clusters": CLUSTERS, "demand": DEMAND},
    "/v1/leases": {"leases": LEASES},
    "/v1/flows": {"flows": FLOWS},
    "/v1/utilisation": {"interval_ms": 30_000, "most": 2880, "samples": SAMPLES},
}


def answered(chrome):
    """The page is given these on their way, whatever the gateway says; samples once, as those who ask for newer ones get none."""
    chrome.script("""const answers = arguments[0], honest = window.fetch;
        window.restored = () => { window.fetch = honest; };
        window.fetch = (path, options) => {
          const [name, query] = String(path).split('?');
          if (!(name in answers)) return honest(path, options);
          const isNewer = name === '/v1/utilisation' && query !== 'since=0';
          return Promise.resolve(Response.json(isNewer ? { ...answers[name], samples: [] } : answers[name]));
        };""", ANSWERS)


def rows_of(chrome, label):
    """Of a table that is seen: the cells of each row by the first one's text."""
    rows = chrome.script("""return [...document.querySelectorAll(`[aria-label='${arguments[0]}'] .row`)].filter((row) => row.checkVisibility())
        .map((row) => [...row.children].map((cell) => cell.textContent))""", label)
    return {row[0]: row[1:] for row in rows if row}


def bars_of(chrome, label):
    """What the bars of a table say, and how wide their parts are."""
    return chrome.script("""return [...document.querySelectorAll(`[aria-label='${arguments[0]}'] .bar`)].filter((bar) => bar.checkVisibility())
        .map((bar) => [bar.getAttribute('aria-label'), [...bar.children].map((part) => `${part.className} ${part.style.width}`)])""", label)


def hosts_are_shown(chrome):
    chrome.script("location.hash = 'hosts'")
    chrome.await_text("main", "north: current, 2 nodes; south: stale, 1 node (it does not answer)")
    for table, words in (("Hosts", "away"), ("Executors", "ex-away"), ("Nodes of clusters", "g1")):
        chrome.await_text(f"[aria-label='{table}']", words)
    same("hosts", rows_of(chrome, "Hosts"), {
        "n1": ["north", "cpu", "", "3 of 12", "8.0 GiB of 64.0 GiB", "", "", "1", ""],
        "g1": ["south", "gpu", "", "2 of 8", "0 B of 64.0 GiB", "2 of 3 in use (H100), 2 by batch jobs", "712 W", "1", "GPU 3: it has fallen off the bus"],
        "d1": ["south", "dpu", "", "0 of 8", "0 B of 64.0 GiB", "", "37 W", "1", ""],
        "away": ["", "cpu", "", "0 of 8", "0 B of 64.0 GiB", "", "", "1", "no new workers are placed there"]})
    same("their bars", bars_of(chrome, "Hosts"), [
        ["leased: 3, free: 9, of batch jobs: 4", ["leased 18.75%", "free 56.25%", "jobs 25%"]], ["leased: 2, free: 6, of batch jobs: 0", ["leased 25%", "free 75%"]],
        ["leased: 0, free: 8, of batch jobs: 0", ["free 100%"]], ["leased: 0, free: 8, of batch jobs: 0", ["free 100%"]]])
    same("the pilot's executor", rows_of(chrome, "Executors")["ex-pilot"], ["n1", "connected", "ada", "pilot", "3 of 12", "3", "", "1 min 30 s"])
    same("nodes", rows_of(chrome, "Nodes of clusters"), {
        "n1": ["north", "cpu", "usable", "", "", "12 of 16", ""], "n2": ["north", "cpu", "unusable", "drained: a fan is broken", "", "16 of 16", ""],
        "g1": ["south", "gpu", "usable", "", "", "8 of 8", "3 of 4"]})
    same("the first one's bar", bars_of(chrome, "Nodes of clusters")[0], ["of batch jobs: 4, free: 12", ["jobs 25%", "free 75%"]])


def leases_are_shown(chrome):
    chrome.script("location.hash = 'leases'")
    chrome.await_text("[aria-label='Leases']", "ls-memory")
    chrome.await_text("[aria-label='Workers']", "wl-2")
    same("leases", rows_of(chrome, "Leases"), {
        "ls-workers": ["open", "2 of 3 workers, a crew", "1 cores, 4.0 GiB", "g1, n1", "1 min 0 s"], "ls-memory": ["open", "memory, 2.0 GiB", "", "d1", "5.0 s"]})
    same("workers", rows_of(chrome, "Workers"), {
        "wl-1": ["ls-workers", "g1", "1", "4.0 GiB", "0 (H100)"], "wl-2": ["ls-workers", "n1", "1", "4.0 GiB", ""]})


def pilots_are_shown(chrome):
    chrome.script("location.hash = 'pilots'")
    chrome.await_text("[aria-label='Pilots and shares']", "4711")
    chrome.await_text("[aria-label='Wanted']", "south")
    same("pilots", rows_of(chrome, "Pilots and shares"),
         {"pilot": ["north", "4711", "n1", "ada", "connected", "3 of 12", "8.0 GiB of 64.0 GiB", "1 min 30 s"]})
    same("what is wanted", rows_of(chrome, "Wanted"), {"3": ["2 cores, 1.0 GiB, 1 GPU H100 or 4 cores, 2.0 GiB", "cluster: south"]})


def hours_are_shown(chrome):
    chrome.script("location.hash = 'overview'")
    chrome.await_text(".charts", "Power")
    chrome.await_text(".tiles", "2 running")
    chrome.await_text(".tiles", "4 hosts")
    tiles = chrome.text(".tiles")
    for words in ("4 hosts", "4 executors, 5 workers ready", "5 of 36 in use", "14 %", "2 of 3 in use", "6 cores", "of 3 flows"):
        expect_in("tiles", words, tiles)
    same("the bar of all cores", chrome.script("return document.querySelector('.tiles .bar').getAttribute('aria-label')"),
         "leased: 5, free: 31, of batch jobs: 4")
    same("charts", chrome.script("""return [...document.querySelectorAll('.chart')].filter((one) => one.checkVisibility())
        .map((one) => [one.querySelector('h3').textContent, one.querySelector('.now').textContent, one.querySelector('.used').getAttribute('points')])"""), [
            ["Cores", "5 cores now, of 36 cores", "0,120 0.0,61.0 600.0,105.3 600.0,120"],
            ["Memory of workers", "8.0 GiB now, of 256 GiB", "0,120 0.0,120.0 600.0,116.3 600.0,120"],
            ["GPUs", "2 GPUs now, of 3 GPUs", "0,120 0.0,120.0 600.0,61.0 600.0,120"],
            ["Power", "749 W now", "0,120 0.0,2.0 600.0,31.6 600.0,120"]])
