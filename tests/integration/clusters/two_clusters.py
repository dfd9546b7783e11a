"""One gateway with two real clusters side by side: their nodes have the same names, and a flow has a node on each."""
import contextlib
import json
import pathlib
import subprocess

from processes import expect
from site_of_pilots import automatic, orchid_beside
from slurm_cluster import started, wait_until

SOURCE = pathlib.Path(__file__).resolve().parent / "parts.cpp"
OTHER = "moss"
CELLS = 200_000
# Each has what the other one has not: memory for `fill`, two cores for `total`.
PILOTS = {"orchid": ("--cores", "1", "--memory", "3GiB"), OTHER: ("--cores", "2", "--memory", "1536MiB")}
NEEDS = {"fill": "1 core, 1800MiB", "total": "2 cores, 64MiB"}
DATA_MEMORY = "256MiB"
FLOW = """flow: across
inputs: {cells: u64}
nodes:
  made: {kind: call, function: fill.fill}
  sum: {kind: call, function: total.total}
edges:
  - {from: cells, to: made}
  - {from: made, to: sum}
outputs: {sum: sum}
"""

PLACED = """flow: placed
inputs: {{cells: u64}}
nodes:
  made: {{kind: call, function: placed.fill, constraints: {{cluster: {first}}}}}
  sum: {{kind: call, function: placed.total, constraints: {{cluster: {second}}}}}
edges:
  - {{from: cells, to: made}}
  - {{from: made, to: sum}}
outputs: {{sum: sum}}
"""


def settings_of(clusters):
    sources = ", ".join(f'"slurm:{one.configuration}"' for one in clusters)
    return f'sources = [{sources}]\n[slurm]\ninterval = "200ms"\nrequests_per_minute = 3000\n'


def hosts_by_cluster(site):
    """Those of pilots that have joined."""
    return {host["cluster"]: host["name"] for host in site.hosts() if host["executors"][0]["state"] == "connected"}


def start_pilots(site, clusters):
    """One in each, for which the user has that cluster's settings in the environment."""
    for name, cluster in clusters.items():
        job = json.loads(site.orchid("pilot", "start", "--json", "--address", site.address, "--host-identity", "node", "--time", "10m",
                                     "--scheduling", "normal", "--partition", "idle", "--node-list", "n1", "--data-memory", DATA_MEMORY,
                                     *PILOTS[name], environment={"SLURM_CONF": str(cluster.configuration)}).stdout)["pilots"][0]["job"]
        expect(job > 0, f"a pilot is on its way in {name}")
    wait_until(lambda: set(hosts_by_cluster(site)) == set(clusters), "an executor of each cluster comes",
               lambda: json.dumps(site.hosts()) + site.said(), 60)


def hosts_and_clusters_are_told_apart(site, clusters):
    found = hosts_by_cluster(site)
    expect(sorted(found.values()) == ["n1", "n1~2"], f"two nodes of one name are two hosts: {found}")
    told = json.loads(site.orchid("hosts", "--json").stdout)["clusters"]
    expect({one["cluster"]: one["state"] for one in told} == dict.fromkeys(clusters, "current"), f"both clusters are known: {told}")
    lines = [line.split() for line in site.orchid("hosts").stdout.splitlines()]
    for name, host in found.items():
        expect([host, name, "connected"] in [line[:3] for line in lines], f"'orchid hosts' says that {host} is in {name}: {lines}")
    # Each job is its own cluster's, also where both have the same number.
    for node in (node for one in told for node in one["nodes"] if node["name"] == "n1"):
        expect(node["cores_free"] < node["cores"], f"its pilot has cores of each: {told}")


def a_worker_goes_where_it_is_to_be(site, clusters):
    found = hosts_by_cluster(site)
    for name in clusters:
        why = {one["host"]: one for one in json.loads(site.orchid("explain", "--json", "--cluster", name).stdout)["hosts"]}
        for cluster, host in found.items():
            expect(why[host]["fits"] == (cluster == name), f"a worker for {name} finds room there alone: {why}")
            expect(cluster == name or "another cluster" in why[host]["text"], f"and it says why: {why}")


def place_of(site, flow, node):
    words = site.orchid("explain", flow, node).stdout
    expect("the call ran on " in words, f"the place of {node} is known: {words}")
    return words.partition("the call ran on ")[2].partition(",")[0]


def a_flow_goes_across_them(site):
    for name, needs in NEEDS.items():
        module = site.folder / f"{name}.orc"
        site.orchid("build", SOURCE, "-o", module)
        site.orchid("deploy", module, "--name", name, "--needs", needs)
    file = site.folder / "across.yaml"
    file.write_text(FLOW)
    flow = site.orchid("flow", "submit", file, "--input", f"cells={CELLS}").stdout.strip()
    wait_until(lambda: json.loads(site.orchid("flow", "show", "--json", flow).stdout)["state"] in ("done", "failed"), "the flow ends",
               lambda: site.orchid("flow", "logs", flow).stdout + site.said(), 90)
    outputs = site.orchid("flow", "show", "--json", flow)
    expect(json.loads(outputs.stdout)["state"] == "done", f"it ends well: {outputs.stdout}{site.orchid('flow', 'logs', flow).stdout}")
    calls = {one["entry"]: one["timings_ms"]["transfer"] for one in json.loads(site.orchid("status", "--json").stdout)["invocations"]}
    expect(calls["fill"] == 0 and calls["total"] > 0, f"only the sum has waited for data, which came from the other cluster: {calls}")
    found = hosts_by_cluster(site)
    places = place_of(site, flow, "made"), place_of(site, flow, "sum")
    expect(places == (found["orchid"], found[OTHER]), f"what needs memory is made in the one, and summed up where the cores are: {places}, {found}\n"
           f"{site.orchid('explain', flow, 'made').stdout}{json.dumps(site.hosts())}")


def deploy_what_runs_anywhere(site):
    module = site.folder / "placed.orc"
    site.orchid("build", SOURCE, "-o", module)
    site.orchid("deploy", module, "--name", "placed", "--needs", "1 core, 64MiB")


def call_of(site, call):
    return json.loads(site.orchid("status", "--json", call).stdout)


def a_call_waits_for_its_cluster(site):
    """Which is there, and has nobody yet."""
    wait_until(lambda: OTHER in [one["cluster"] for one in json.loads(site.orchid("hosts", "--json").stdout)["clusters"]],
               "the gateway hears of the cluster", site.said, 30)
    call = site.orchid("invoke", "placed.twice", "--args", "[21]", "--async", "--cluster", OTHER).stdout.strip()
    expect(call_of(site, call)["state"] == "queued", f"it waits: {call_of(site, call)}")
    return call


def it_has_run_there(site, call, why=lambda: ""):
    wait_until(lambda: call_of(site, call)["state"] == "done", "the call that has waited ends", lambda: json.dumps(call_of(site, call)) + why(), 60)
    ended = call_of(site, call)
    expect((ended["outcome"], ended["cluster"]) == ("ok", OTHER), f"it ran in its cluster: {ended}")
    return ended


def an_unknown_cluster_is_refused(site, clusters):
    wrong = "fern"
    told = f"knows no cluster '{wrong}', only {' and '.join(sorted(clusters))}"
    refused = site.orchid("invoke", "placed.twice", "--args", "[21]", "--cluster", wrong, check=False)
    expect(refused.returncode != 0 and told in refused.stderr, f"a call is told that there is none of the name: {refused}")
    call = site.orchid("invoke", "placed.twice", "--args", "[21]", "--async", "--cluster", wrong).stdout.strip()
    wait_until(lambda: call_of(site, call)["state"] == "done", "a stored call hears that nobody has come with its cluster",
               lambda: json.dumps(call_of(site, call)), 60)
    stored = call_of(site, call)
    expect(stored["outcome"] == "bad_request" and told in stored["message"], f"one that is stored ends so: {stored}")
    file = site.folder / "lost.yaml"
    file.write_text(PLACED.format(first="orchid", second=wrong))
    ended = site.orchid("flow", "run", file, "--input", "cells=10", check=False)
    expect(ended.returncode != 0 and told in ended.stdout + ended.stderr, f"and a flow stops there: {ended}")


def nodes_are_in_their_clusters(site):
    """Whatever else would be free, and in either order."""
    found = hosts_by_cluster(site)
    for first, second in (("orchid", OTHER), (OTHER, "orchid")):
        file = site.folder / "placed.yaml"
        file.write_text(PLACED.format(first=first, second=second))
        planned = site.orchid("flow", "plan", file, "--input", f"cells={CELLS}").stdout
        expect(f"in the cluster {first}" in planned and f"in the cluster {second}" in planned, f"the plan says where: {planned}")
        expect(all(f"{host} (in {name}, " in planned for name, host in found.items()), f"and which host is in which: {planned}")
        flow = site.orchid("flow", "submit", file, "--input", f"cells={CELLS}").stdout.strip()
        wait_until(lambda: json.loads(site.orchid("flow", "show", "--json", flow).stdout)["state"] in ("done", "failed"), "the flow ends",
                   lambda: site.orchid("flow", "logs", flow).stdout + site.said(), 90)
        expect(json.loads(site.orchid("flow", "show", "--json", flow).stdout)["state"] == "done", site.orchid("flow", "logs", flow).stdout)
        places = place_of(site, flow, "made"), place_of(site, flow, "sum")
        expect(places == (found[first], found[second]), f"each node ran where it was to: {places}, {found}")
    site.orchid("flow", "run", file, "--input", f"cells={CELLS}")
    calls = json.loads(site.orchid("status", "--json").stdout)["invocations"][:2]
    expect({one["entry"]: one["node"] for one in calls} == {"fill": found[OTHER], "total": found["orchid"]}, f"in the foreground, too: {calls}")


def start_anew(site, settings):
    """Workers that nobody uses go soon, and with them the pilots' use."""
    site.stop_gateway()
    site.start_gateway('worker_idle_time = "1s"\n' + settings)


@contextlib.contextmanager
def keeper_in(site, cluster):
    """'orchid pilot keep' with that cluster's settings in its environment; what it has said."""
    command = [site.programs / "orchid", "pilot", "keep", "--partition", "idle", "--address", site.address, "--host-identity", "node",
               "--scheduling", "normal", "--idle-time", "2s", "--max-cores", "1"]
    said = site.folder / "keeper.log"
    with open(said, "wb") as log, subprocess.Popen(command, env={**site.environment, "SLURM_CONF": str(cluster.configuration)}, stdout=log,
                                                   stderr=log) as keeper:
        try:
            yield said.read_text
        finally:
            keeper.terminate()
            keeper.wait(timeout=60)


def its_pilots_have_gone(site, cluster, said):
    wait_until(lambda: not cluster.run("squeue", "--noheader") and OTHER not in hosts_by_cluster(site), "pilots that nobody uses go",
               lambda: cluster.run("squeue") + said() + site.said(), 60)


def a_keeper_of_its_own_meets_a_clusters_demand(site, first, second):
    """The gateway makes no pilots at all. Nothing but the stored call says that any is wanted."""
    second.clear()
    its_pilots_have_gone(site, second, site.said)
    start_anew(site, settings_of((first, second)))
    call = site.orchid("invoke", "placed.twice", "--args", "[21]", "--async", "--cluster", OTHER).stdout.strip()
    with keeper_in(site, second) as said:
        it_has_run_there(site, call, lambda: said() + site.said())
        expect("submitted pilot" in said(), f"the keeper says what it has done: {said()}")
        its_pilots_have_gone(site, second, said)


def a_keeper_stands_beside_the_gateways_own(site, first, second):
    """The gateway makes pilots in the first cluster; calls that name the other one wait for its keeper's."""
    first.clear()
    start_anew(site, automatic(site, beside=settings_of((first, second))))
    with keeper_in(site, second) as said:
        for name in (OTHER, "orchid"):
            done = site.orchid("invoke", "placed.twice", "--args", "[21]", "--cluster", name, "--deadline", "60s", check=False)
            expect(done.returncode == 0 and float(done.stdout) == 42, f"a call finds a worker in {name}: {done}{said()}{site.said()}")
            expect("submitted pilot" in said(), f"that of {OTHER} is its keeper's: {said()}")
        its_pilots_have_gone(site, second, said)


def serve(programs, first):
    with started("--nodes", "1", "--cores", "2", "--name", OTHER) as second:
        clusters = {"orchid": first, OTHER: second}
        with orchid_beside(programs, first, settings_of(clusters.values())) as site:
            try:
                deploy_what_runs_anywhere(site)
                waiting = a_call_waits_for_its_cluster(site)
                start_pilots(site, clusters)
                node = it_has_run_there(site, waiting)["node"]
                expect(node == hosts_by_cluster(site)[OTHER], f"on its host: {node}")
                hosts_and_clusters_are_told_apart(site, clusters)
                a_worker_goes_where_it_is_to_be(site, clusters)
                a_flow_goes_across_them(site)
                nodes_are_in_their_clusters(site)
                an_unknown_cluster_is_refused(site, clusters)
                a_keeper_of_its_own_meets_a_clusters_demand(site, first, second)
                a_keeper_stands_beside_the_gateways_own(site, first, second)
            finally:
                second.clear()
