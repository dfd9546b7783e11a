#!/usr/bin/python3
"""run.py PROGRAMS FUNCTIONS [CASE...]: a gateway that knows a real cluster through orchid-slurm. Exit status 0: all is as it should
be; 77: there is no Slurm here."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
import two_clusters  # noqa: E402
from gateway_process import gateway, wait_for  # noqa: E402
from slurm_cluster import chosen, measured, started  # noqa: E402

PROGRAMS, FUNCTIONS = sys.argv[1:3]
ROOT = pathlib.Path(__file__).resolve().parents[3]
CORES = len(os.sched_getaffinity(0))
# As many cores as this machine has, so that Slurm's numbers are this machine's.
NODES = ("--nodes", "3", "--gpus", "2", "--dpus", "1", "--cores", str(max(CORES, 2)))
LIMIT = 3000
SITE_CONFIGURATION = pathlib.Path("/etc/slurm/slurm.conf")
SETTINGS = f"""
sources = ["slurm"]
[slurm]
interval = "200ms"
requests_per_minute = {LIMIT}
"""


def expect(fact, what):
    if not fact:
        sys.exit(f"not so: {what}")


def cluster_of(site):
    return site.document("hosts")["clusters"][0]


def node_of(site, name):
    return next((node for node in cluster_of(site)["nodes"] if node["name"] == name), None)


def host_of(site):
    hosts = site.document("hosts")["hosts"]
    return hosts[0] if hosts else None


def with_known_nodes(cluster, settings=SETTINGS):
    return gateway(PROGRAMS, cluster.environment(), settings)


def wait_for_state(site, state, seconds=60):
    return wait_for(lambda: cluster_of(site), lambda c: c["state"] == state, f"the source becomes {state}", site.said, seconds)


def local_executor(site, node="n1"):
    """One that this machine's owner has started on a node of the cluster."""
    process = site.add_executor("local", "--node", node)
    wait_for(lambda: host_of(site), lambda host: host and host["executors"][0]["state"] == "connected", "the executor joins", site.said)
    return process


def what_the_cluster_has_is_shown(cluster):
    with with_known_nodes(cluster) as site:
        wait_for_state(site, "current")
        nodes = wait_for(lambda: cluster_of(site)["nodes"], lambda nodes: len(nodes) == 3, "three nodes are known", site.said)
        expect([node["kind"] for node in nodes] == ["gpu", "gpu", "dpu"], "kinds of nodes")
        expect([gpu["index"] for gpu in nodes[0]["gpus"]] == [0, 1] and nodes[0]["free_gpus"] == "0-1", "GPUs have indices")
        expect(nodes[2]["features"] == ["dpu"], "features")
        job = cluster.submit("-n1", "-w", "n1", "--gpus=1", "-t", "10")
        node = wait_for(lambda: node_of(site, "n1"), lambda n: n["gpus_free"] == 1, "the job's GPU is not free", site.said)
        expect(node["cores_free"] == node["cores"] - 1, "nor its core")
        shown = site.orchid("hosts").stdout
        expect("cluster " in shown and "dpu" in shown and "1 (1) of 2" in shown, f"people see it: {shown}")
        forecast = wait_for(lambda: node_of(site, "n1").get("forecast", []), lambda f: len(f) >= 2, "what will stay free is told", site.said)
        expect(forecast[0]["cores"] == node["cores"] - 1 and 0 < forecast[0]["until_s"] <= 600, f"until the job's end: {forecast}")
        expect(forecast[1]["cores"] == node["cores"], f"then all: {forecast}")
        expect(f"{node['cores'] - 1} for " in site.orchid("hosts", "--forecast").stdout, "people see that too")
        cluster.run("scancel", str(job))


def requests_keep_their_budget_and_are_counted(cluster):
    with with_known_nodes(cluster) as site:
        wait_for_state(site, "current")

        def of(name):
            return next((value for key, value in site.metrics().items() if key.startswith(name + "{")), None)

        wait_for(lambda: of("orchid_source_requests_total"), lambda value: value and value >= 4, "requests are counted", site.said)
        expect(of("orchid_source_requests_per_minute_limit") == LIMIT, "the budget is a metric")
        expect(of("orchid_source_requests_last_minute") <= LIMIT, "it is kept")
        expect(of("orchid_source_current") == 1 and of("orchid_source_nodes") == 3, "the source's state is one too")


def batch_jobs_take_cores_and_give_them_back(cluster):
    with with_known_nodes(cluster) as site:
        wait_for_state(site, "current")
        local_executor(site)
        wait_for(lambda: host_of(site), lambda host: host["name"] == "n1" and host["kind"] == "gpu", "it is node n1", site.said)
        expect(host_of(site)["cores_usable"] == CORES, "all cores are Orchid's")
        expect(host_of(site)["gpus_of_jobs"] == 0, "no job has its GPUs")
        job = cluster.submit(f"-n{CORES}", "--gpus=1", "-w", "n1", "-t", "10")
        wait_for(lambda: host_of(site), lambda host: host["cores_usable"] == 0, "the job's cores are taken from Orchid", site.said)
        expect(host_of(site)["gpus_of_jobs"] == 1, f"a GPU is the job's: {host_of(site)}")
        site.orchid("deploy", f"{FUNCTIONS}/hello.bc")
        refused = site.orchid("invoke", "hello", "--in", "/dev/null", "--deadline", "1s", check=False)
        expect(refused.returncode in (3, 4), f"no call runs beside it: {refused.returncode} {refused.stderr}")
        why = site.orchid("explain").stdout
        expect("n1" in why and "0 of 0 cores free" in why, f"explain says why: {why}")
        expect("no executor: " in why, f"and which nodes have none: {why}")
        cluster.run("scancel", str(job))
        wait_for(lambda: host_of(site), lambda host: host["cores_usable"] == CORES, "they come back", site.said)
        failed = re.search("'orchid explain (i-[0-9a-f]+)' says why", refused.stderr)
        expect(failed is not None, f"the call says how to ask: {refused.stderr}")
        then = site.orchid("explain", failed.group(1)).stdout
        expect("reached no worker" in then and "0 of 0 cores free" in then, f"and that is explained as it was: {then}")
        call = site.orchid("invoke", "hello", "--in", "/dev/null", "--async")
        invocation = call.stdout.strip()
        site.orchid("wait", invocation)
        explained = site.orchid("explain", invocation).stdout
        expect("the call ran on " in explained and "  on n1: " in explained, f"a call is explained: {explained}")
        expect("cores free, wanted 1" in explained, f"with the place's room: {explained}")


def a_drained_node_gets_nothing_new(cluster):
    with with_known_nodes(cluster) as site:
        wait_for_state(site, "current")
        local_executor(site)
        cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=test")
        try:
            wait_for(lambda: host_of(site), lambda host: host["drained"], "the drain is seen", site.said)
            expect("drained" in site.orchid("explain").stdout, "explain says so")
            expect(node_of(site, "n1")["reason"] == "test", "in the administrator's words")
        finally:
            cluster.run("scontrol", "update", "nodename=n1", "state=resume")
        wait_for(lambda: host_of(site), lambda host: not host["drained"], "it is back", site.said)


def the_source_is_started_again(cluster):
    with with_known_nodes(cluster) as site:
        wait_for_state(site, "current")
        children = subprocess.run(["pgrep", "-P", str(site.process.pid), "-x", "orchid-slurm"], capture_output=True, text=True, check=True)
        os.kill(int(children.stdout), signal.SIGKILL)
        state = wait_for(lambda: cluster_of(site), lambda c: c["starts"] == 2, "it is started again", site.said)
        expect(len(state["nodes"]) == 3, "what was known stays meanwhile")
        wait_for_state(site, "current")
        os.kill(int(subprocess.run(["pgrep", "-P", str(site.process.pid), "-x", "orchid-slurm"], capture_output=True, text=True,
                                   check=True).stdout), signal.SIGSTOP)
        wait_for(lambda: cluster_of(site), lambda c: c["starts"] == 3, "one that says nothing is, too", site.said, 60)


def without_slurmctld_calls_go_on(cluster):
    with with_known_nodes(cluster) as site:
        wait_for_state(site, "current")
        local_executor(site)
        site.orchid("deploy", f"{FUNCTIONS}/hello.bc")
        cluster.manage("stop", "slurmctld")
        try:
            state = wait_for_state(site, "stale", 90)
            expect(state["message"], "the reason is shown")
            expect(len(state["nodes"]) == 3, "what was known stays")
            site.orchid("invoke", "hello", "--in", "/dev/null")
        finally:
            cluster.manage("restart", "slurmctld")
        wait_for_state(site, "current", 90)


def doctors_word(site, of="batch system"):
    checks = json.loads(site.orchid("doctor", "--json", check=False).stdout)["checks"]
    return next(one for one in checks if one["check"] == of)


def runs_here(site):
    local_executor(site)
    site.orchid("deploy", f"{FUNCTIONS}/hello.bc")
    site.orchid("invoke", "hello", "--in", "/dev/null")


def a_wrong_configuration_harms_nothing(cluster):
    with tempfile.TemporaryDirectory(prefix="orchid-") as folder:
        file = pathlib.Path(folder) / "slurm.conf"
        for text in (None, "ClusterName=x\nNodeName=[[[ nonsense\n"):
            if text is not None:
                file.write_text(text)
            with gateway(PROGRAMS, {**cluster.environment(), "SLURM_CONF": str(file)}, SETTINGS) as site:
                state = wait_for(lambda: cluster_of(site), lambda c: c["state"] == "down" and c["message"], "the source ends", site.said)
                expect("slurm.conf" in state["message"], f"it says why: {state['message']}")
                said = doctors_word(site)
                expect(said["health"] == "warning" and "slurm.conf" in said["detail"] and "orchid-slurm --once" in said["remedy"],
                       f"so does the doctor: {said}")
                runs_here(site)


@contextlib.contextmanager
def orchid_up(environment):
    """As a user would start it; what runs commands beside it, as a program on another node would find it: by the state directory."""
    with tempfile.TemporaryDirectory(prefix="orchid-", dir="/tmp") as folder:
        private = {**environment, "HOME": folder, "XDG_STATE_HOME": f"{folder}/state", "XDG_RUNTIME_DIR": f"{folder}/none"}
        for name in ("ORCHID_GATEWAY", "ORCHID_TOKEN"):
            private.pop(name, None)
        orchid = pathlib.Path(PROGRAMS) / "orchid"
        with (pathlib.Path(folder) / "log").open("wb") as log:
            up = subprocess.Popen([orchid, "up", "--runtime", f"{folder}/run"], env=private, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if pathlib.Path(f"/tmp/orchid-{os.geteuid()}/gateway.json").exists():  # another one, that would be found first
            private["ORCHID_GATEWAY"] = f"unix:{folder}/run/gateway.sock"

        def run(*words):
            return subprocess.run([orchid, *words], env=private, cwd=folder, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                                  check=False)
        try:
            wait_for(lambda: run("hosts", "--json").stdout, lambda told: '"connected"' in told, "it is up",
                     lambda: (pathlib.Path(folder) / "log").read_text())
            yield run
        finally:
            up.terminate()
            up.wait(timeout=30)


def without_any_slurm_the_machine_itself_serves(_):
    if SITE_CONFIGURATION.exists():
        print(f"not tested: a machine without Slurm, since this one has {SITE_CONFIGURATION}")
        return
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}

    def doctors_finding(run):
        return next(one for one in json.loads(run("doctor", "--json").stdout)["checks"] if one["check"] == "batch system")
    with orchid_up({**environment, "PATH": "/nonexistent"}) as run:
        expect(json.loads(run("hosts", "--json").stdout)["clusters"] == [], "no batch system is asked")
        expect(run("deploy", f"{FUNCTIONS}/hello.bc").returncode == 0 and run("invoke", "hello", "--in", "/dev/null").returncode == 0, "calls run")
        said = doctors_finding(run)
        expect(said["health"] == "ok" and said["detail"].startswith("none"), f"the doctor finds nothing wrong: {said}")
        refused = run("pilot", "start", "--address", "login1:1", "--partition", "idle", "--memory", "1GiB")
        expect(refused.returncode == 3 and "no Slurm here" in refused.stderr, f"and pilots say what they miss: {refused.stderr}")
    with orchid_up(environment) as run:
        said = doctors_finding(run)
        expect(said["health"] == "warning" and "SLURM_CONF" in said["remedy"], f"commands without a configuration are noticed: {said}")


def a_site_writes_its_own_source(_):
    with tempfile.TemporaryDirectory(prefix="orchid-") as folder:
        machines = pathlib.Path(folder) / "machines"
        machines.write_text(f"n1 10.0.0.1 {CORES} 1024\nn2 10.0.0.2 8 2048\n")
        source = f"{ROOT}/docs/examples/capacity_source.py {machines}"
        with gateway(PROGRAMS, dict(os.environ), f'sources = ["{source}"]\n') as site:
            wait_for(lambda: cluster_of(site)["nodes"], lambda nodes: len(nodes) == 2, "its nodes are known", site.said)
            expect(cluster_of(site)["source"] == "capacity_source.py" and cluster_of(site)["cluster"] == str(machines), "under its program's name")
        with gateway(PROGRAMS, dict(os.environ), 'sources = ["none"]\n') as site:
            expect(site.document("hosts")["clusters"] == [], "without a source there is no cluster")


def one_gateway_serves_two_clusters(cluster):
    two_clusters.serve(PROGRAMS, cluster)


def main():
    slurm_cluster.skip_without_slurm()
    cases = [what_the_cluster_has_is_shown, requests_keep_their_budget_and_are_counted, batch_jobs_take_cores_and_give_them_back,
             a_drained_node_gets_nothing_new, the_source_is_started_again, without_slurmctld_calls_go_on, a_wrong_configuration_harms_nothing,
             without_any_slurm_the_machine_itself_serves, a_site_writes_its_own_source,
             one_gateway_serves_two_clusters]
    cases, = chosen(cases, wanted=sys.argv[3:])
    with started(*NODES) as cluster:
        for case in cases:
            measured(case, cluster)
            cluster.clear()


if __name__ == "__main__":
    if shutil.which("curl") is None:
        sys.exit("curl is missing; './dev setup' installs it")
    main()
