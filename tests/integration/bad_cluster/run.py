#!/usr/bin/python3
"""run.py PROGRAMS FUNCTIONS TEST_FUNCTIONS [CASE...]: what goes wrong in a cluster under running calls, beside real daemons. Exit
status 0: all is as it should be; 77: there is no Slurm here."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
from munge_daemon import CLOCK_FAKER, munged  # noqa: E402
from processes import alive, expect, family, words_of  # noqa: E402
from site_of_pilots import KNOWN_CLUSTER, automatic, run_beside  # noqa: E402
from slurm_cluster import chosen, wait_until  # noqa: E402

PROGRAMS, FUNCTIONS, TEST_FUNCTIONS = sys.argv[1:4]
# New jobs are looked at ten times a second: an array is to churn.
NODES = ("--nodes", "3", "--cores", "2", "--option", "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=5,bf_resolution=10,sched_min_interval=100000")
NODE_DOWN_S = 90  # SlurmdTimeout is 15 s; slurmctld looks every third of it, and pings before
ENOUGH_JOBS, ENOUGH_WITHIN_S = 400, 400


class Calls(threading.Thread):
    """One after the other, until it is told to stop. Each must have its result."""

    def __init__(self, site, function, data, expected, deadline="60s"):
        super().__init__()
        self.site, self.function, self.data, self.expected, self.deadline = site, function, data, expected, deadline
        self.enough = threading.Event()
        self.done, self.failed = 0, []

    def run(self):
        while not self.enough.is_set() and not self.failed:
            call = self.site.orchid("invoke", self.function, "--deadline", self.deadline, check=False, data=self.data)
            if call.returncode != 0 or self.expected not in call.stdout:
                self.failed.append(f"{call.returncode} {call.stdout} {call.stderr}")
            else:
                self.done += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, error, trace):
        self.enough.set()
        self.join()


def cluster_of(site):
    return json.loads(site.orchid("hosts", "--json").stdout)["clusters"][0]


def state_of_node(site, node):
    return site.cluster.run("sinfo", "--noheader", "--Node", "-n", node, "-o", "%T", check=False).split("\n")[0].rstrip("*")


def pilots_on(site, *nodes):
    """Their executors, by node."""
    for node in nodes:
        site.start_pilot("--partition", "idle", "--node-list", node)
    return {node: site.wait_for_executor(node) for node in nodes}


def ready_again(site, node):
    site.cluster.run("scontrol", "update", f"nodename={node}", "state=resume", check=False)
    wait_until(lambda: state_of_node(site, node) in ("idle", "mixed"), f"{node} is in service again", lambda: site.cluster.run("sinfo"))


def a_node_goes_down_under_running_calls(site):
    site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")
    first = pilots_on(site, "n1")["n1"]
    everybody, folder = family(first), site.folder_of(first)
    call = site.calling("sleeps", "6000")
    site.wait_until_running("sleeps")
    pilots_on(site, "n2")
    site.cluster.run("scontrol", "update", "nodename=n1", "state=down", "reason=test")
    out, err = call.communicate(timeout=60)
    expect(call.returncode == 0 and out == "6000", f"the result comes, once: {call.returncode} {out} {err}")
    wait_until(lambda: not any(map(alive, everybody)), "the pilot's processes are gone")
    expect(not folder.exists(), f"and its folder {folder}")
    ready_again(site, "n1")
    site.orchid("pilot", "stop", "--all")


def a_node_is_drained_under_running_calls(site):
    with site.other_settings(KNOWN_CLUSTER):
        site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")
        executors = pilots_on(site, "n1", "n2")
        call = site.calling("sleeps", "5000")
        site.wait_until_running("sleeps")
        drained = next(host["name"] for host in site.hosts() if host["cores_leased"] == 1)
        other = {"n1": "n2", "n2": "n1"}[drained]
        site.cluster.run("scontrol", "update", f"nodename={drained}", "state=drain", "reason=test")
        try:
            wait_until(lambda: {host["name"]: host["drained"] for host in site.hosts()} == {drained: True, other: False}, "the gateway knows it",
                       lambda: json.dumps(site.hosts()))
            explained = where_it_ran(site, "sleeps", "100")
            expect(f"on {other}: " in explained, f"the next one goes elsewhere: {explained}")
            out, err = call.communicate(timeout=60)
            expect(call.returncode == 0 and out == "5000", f"the call finishes: {call.returncode} {out} {err}")
            wait_until(lambda: all(host["cores_leased"] == 0 for host in site.hosts()), "workers that nobody uses are given back", site.said)
            explained = where_it_ran(site, "sleeps", "100")
            expect(f"on {other}: " in explained, f"so do later ones: {explained}")
            expect(alive(executors[drained]), "jobs on a drained node may go on")
        finally:
            ready_again(site, drained)
        site.orchid("pilot", "stop", "--all")


def where_it_ran(site, function, data):
    invocation = site.orchid("invoke", function, "--async", data=data).stdout.strip()
    site.orchid("wait", invocation)
    return site.orchid("explain", invocation).stdout


def a_killed_slurmd_harms_no_call(site):
    with site.other_settings(KNOWN_CLUSTER):
        site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")
        first = pilots_on(site, "n1")["n1"]
        everybody = family(first)
        with Calls(site, "sleeps", "300", "300") as calls:
            wait_until(lambda: calls.done > 0, "calls run")
            site.cluster.manage("stop", "slurmd n1")
            before = calls.done
            wait_until(lambda: calls.done >= before + 3 or calls.failed, "calls go on without the node's daemon")
            expect(alive(first), "on the same executor")
            pilots_on(site, "n2")
            wait_until(lambda: state_of_node(site, "n1") == "down", "slurmctld gives the node up", lambda: site.cluster.run("sinfo"), NODE_DOWN_S)
            wait_until(lambda: any(node["name"] == "n1" and "down" in node["why"] for node in cluster_of(site)["nodes"]), "the gateway knows it",
                       lambda: json.dumps(cluster_of(site)))
            before = calls.done
            wait_until(lambda: calls.done >= before + 3 or calls.failed, "calls go on elsewhere", lambda: site.said())
            site.cluster.manage("restart", "slurmd n1")
            wait_until(lambda: not any(map(alive, everybody)), "the job that slurmctld has given up is ended", site.trouble, 60)
            before = calls.done
            wait_until(lambda: calls.done >= before + 3 or calls.failed, "and calls go on", lambda: site.said())
        expect(not calls.failed, f"each call had its result: {calls.failed}")
        ready_again(site, "n1")
        site.orchid("pilot", "stop", "--all")
        expect(not site.executors(), "nothing is left")


def pilots_outlive_slurmctld(site):
    with site.other_settings(automatic(site)):
        site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
        with Calls(site, "hello", "orchid", "orchid") as calls:
            wait_until(lambda: calls.done > 0, "a pilot serves", site.trouble, 60)
            executors = site.executors()
            site.cluster.wait_until_saved(site.pilots()[0]["job"])
            site.cluster.manage("stop", "slurmctld")
            try:
                before = calls.done
                wait_until(lambda: calls.done >= before + 20 or calls.failed, "calls go on without slurmctld", site.said)
                expect(site.executors() == executors, "on the same pilots, and no others")
            finally:
                site.cluster.manage("restart", "slurmctld")
            wait_until(lambda: "idle" in site.cluster.run("sinfo", "--noheader", check=False), "slurmctld is back")
            wait_until(lambda: cluster_of(site)["state"] == "current", "the gateway knows it", lambda: json.dumps(cluster_of(site)), 60)
            before = calls.done
            wait_until(lambda: calls.done >= before + 20 or calls.failed, "calls go on", site.said)
        expect(not calls.failed, f"each call had its result: {calls.failed}")
        wait_until(lambda: not site.pilots(), "a pilot that nobody uses goes, as before", lambda: site.said() + site.trouble(), 60)


def demand_outlasts_a_slurmctld_that_is_down(site):
    with site.other_settings(automatic(site)):
        site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
        expect(not site.pilots(), "nobody serves")
        said = site.said_from_here()
        site.cluster.manage("stop", "slurmctld")
        try:
            call = site.calling("hello", "orchid", deadline="120s")
            wait_until(lambda: "the queue cannot be read" in said(), "the gateway says why there is no pilot", said)
            expect(call.poll() is None, "the call waits")
        finally:
            site.cluster.manage("restart", "slurmctld")
        out, err = call.communicate(timeout=150)
        expect(call.returncode == 0 and "orchid" in out, f"and is served when slurmctld is back: {call.returncode} {out} {err} {said()}")
        wait_until(lambda: not site.pilots(), "its pilot goes", lambda: said() + site.trouble(), 60)


def without_the_clusters_munge_key_demand_waits_and_it_is_said(site):
    usual = site.environment["SLURM_CONF"]
    with munged(site.cluster) as configuration:
        site.environment["SLURM_CONF"] = str(configuration)
        said = site.said_from_here()  # it is said once, perhaps before the call
        try:
            with site.other_settings(automatic(site)):
                site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
                call = site.calling("hello", "orchid")
                try:
                    wait_until(lambda: "the queue cannot be read" in said() and "munge" in said(), "the gateway says why there is no pilot", said)
                    expect(call.poll() is None, "the call waits")
                    wait_until(lambda: cluster_of(site)["state"] != "current" and "munge" in cluster_of(site)["message"], "'orchid hosts' says so, too",
                               lambda: json.dumps(cluster_of(site)))
                finally:
                    call.kill()
                    call.communicate()
        finally:
            site.environment["SLURM_CONF"] = usual
    with site.other_settings(automatic(site)):
        site.orchid("invoke", "hello", "--deadline", "60s", data="orchid")  # served with the right key
        wait_until(lambda: not site.pilots(), "its pilot goes", lambda: site.said() + site.trouble(), 60)


def demand_outlasts_a_partition_that_takes_no_jobs(site):
    site.cluster.run("scontrol", "update", "partitionname=idle", "state=drain")
    try:
        with site.other_settings(automatic(site)):
            site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
            said = site.said_from_here()
            call = site.calling("hello", "orchid", deadline="120s")
            wait_until(lambda: "a pilot was refused" in said(), "the gateway says that Slurm refuses pilots", said)
            expect("Required partition not available" in said(), f"and why: {said()}")
            expect(call.poll() is None and not site.pilots(), "the call waits")
            site.cluster.run("scontrol", "update", "partitionname=idle", "state=up")
            out, err = call.communicate(timeout=150)
            expect(call.returncode == 0 and "orchid" in out, f"and is served when it may be: {call.returncode} {out} {err} {said()}")
            wait_until(lambda: not site.pilots(), "its pilot goes", lambda: said() + site.trouble(), 60)
    finally:
        site.cluster.run("scontrol", "update", "partitionname=idle", "state=up")


def pilots_that_slurm_would_never_start_are_refused(site):
    """Where EnforcePartLimits is not set, Slurm takes jobs that are over a partition's limits, and lets them wait."""
    site.cluster.run("scontrol", "update", "partitionname=idle", "maxtime=5")
    try:
        done = site.orchid("pilot", "start", "--address", site.address, "--partition", "idle", "--time", "10m", check=False)
        expect(done.returncode == 3 and "would wait for ever" in done.stderr and "--time" in done.stderr, f"{done.returncode} {done.stderr}")
        expect(not site.pilots(), "none is left in the queue")
        with site.other_settings(automatic(site, longest="8m")):
            site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
            said = site.said_from_here()
            out, err = site.calling("hello", "orchid").communicate(timeout=90)
            expect("orchid" in out, f"shorter ones come, and serve the call: {out} {err} {said()}")
            expect("PartitionTimeLimit" in said() and "later ones last" in said(), f"which the gateway says: {said()}")
            wait_until(lambda: not site.pilots(), "the pilot goes", lambda: said() + site.trouble(), 60)
    finally:
        site.cluster.run("scontrol", "update", "partitionname=idle", "maxtime=infinite")


def pilots_that_end_at_once_are_not_followed_at_once(site):
    """There is no service of the site on these nodes."""
    nowhere = automatic(site, site=True, host_socket=str(site.folder / "no-service"))
    with site.other_settings(nowhere):
        site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
        said = site.said_from_here()
        call = site.calling("hello", "orchid", deadline="120s")
        died = re.compile(r"pilot (\d+) has ended on (n\d), and its executor has never joined: (\S+) says why")
        wait_until(lambda: len(died.findall(said())) >= 2, "the gateway says that pilots end", said, 90)
        first, second = died.findall(said())[:2]
        expect(first[1] != second[1], f"the next one is for another node: {said()}")
        expect("no-service" in pathlib.Path(first[2]).read_text(), f"its log says why: {pathlib.Path(first[2]).read_text()}")
        expect(said().count("submitted pilot") <= 3, f"there is a pause between them: {said()}")
        listed = site.orchid("pilot", "list").stderr
        expect("on demand has failed" in listed and "has never joined" in listed, f"'orchid pilot list' says so, too: {listed}")
        explained = site.orchid("explain").stderr
        expect("has never joined" in explained, f"and 'orchid explain': {explained}")
        call.kill()
        call.communicate()
        site.orchid("pilot", "stop", "--all")


def pilots_that_never_join_are_given_up(site):
    """Their nodes do not reach the gateway."""
    with site.other_settings(automatic(site, address="127.0.0.1:1", join_within="10s")):
        site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
        said = site.said_from_here()
        call = site.calling("hello", "orchid", deadline="180s")
        given_up = re.compile(r"pilot (\d+) is cancelled: it runs on (n\d), and its executor has not joined within 10 s: (\S+) says why")
        wait_until(lambda: given_up.search(said()), "nobody waits for them for ever", lambda: said() + site.trouble(), 90)
        job, node, log = given_up.search(said()).groups()
        wait_until(lambda: int(job) not in [one["job"] for one in site.pilots()], "it leaves its cores", lambda: site.cluster.run("squeue"))
        expect("127.0.0.1:1" in pathlib.Path(log).read_text(), f"its log says why: {pathlib.Path(log).read_text()}")
        listed = site.orchid("pilot", "list").stderr
        expect("has not joined" in listed, f"'orchid pilot list' says so, too: {listed}")
        wait_until(lambda: any(one["job"] > int(job) for one in site.pilots()), "the next one comes", said)
        queue = site.cluster.run("squeue", "--noheader", "--states=all", "-o", "%A %n%N").splitlines()
        others = [line for line in queue if int(line.split()[0]) > int(job)]
        expect(node not in "".join(others), f"to another node than {node}: {others} {said()}")
        call.kill()
        call.communicate(timeout=30)
        site.orchid("pilot", "stop", "--all")


def an_array_of_a_thousand_jobs_churns(site):
    with site.other_settings(automatic(site, start_within="30s")):
        site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
        site.cluster.run("sbatch", "--partition=batch", "--array=1-1000%4", "--job-name=churn", "--output=/dev/null", "--wrap", "exec true")
        worst_queue, looks, current = 0, 0, 0
        began = time.monotonic()
        give_up = began + ENOUGH_WITHIN_S

        def ended():
            return 1000 - len(site.cluster.run("squeue", "--noheader", "--array", "--name", "churn", "--format=%K").split())

        with contextlib.ExitStack() as all_calls:
            # The array fills two nodes again and again, which look free in between: pilots that wait for these have to try the third one.
            streams = [all_calls.enter_context(Calls(site, "hello", "orchid", "orchid", deadline="170s")) for _ in range(2)]
            while (ended() < ENOUGH_JOBS or not all(one.done for one in streams)) and time.monotonic() < give_up and not any(one.failed for one in streams):
                worst_queue = max(worst_queue, len([one for one in site.pilots() if one["state"] == "PENDING"]))
                looks += 1
                current += cluster_of(site)["state"] == "current"
            churned = ended()
            site.cluster.run("scancel", "--name", "churn")
        expect(not any(one.failed for one in streams), f"each call had its result: {[one.failed for one in streams]}")
        served = sum(one.done for one in streams)
        print(f"         {served} calls beside {churned} jobs of the array in {time.monotonic() - began:.0f} s")
        expect(churned >= ENOUGH_JOBS, f"jobs come and go: {churned} of 1000 within {ENOUGH_WITHIN_S} s")
        expect(served > 0, "calls are served beside the array")
        expect(worst_queue <= 2, f"never more pilots wait than may: {worst_queue}")
        expect(looks > 0 and current > 0.9 * looks, f"the gateway follows: {current} of {looks} looks")
        wait_until(lambda: cluster_of(site)["state"] == "current", "and is up to date afterwards", lambda: site.said() + site.trouble(), 60)
        wait_until(lambda: not site.pilots(), "pilots go with the demand", lambda: site.said() + site.trouble(), 60)


def a_nodes_clock_is_an_hour_wrong(site):
    for offset in (3600, -3600):
        with wrong_clock(site, offset) as environment:
            done = site.orchid("pilot", "start", "--json", "--address", site.address, "--host-identity", "node", "--time", "10m", "--scheduling", "normal", "--partition",
                               "idle", "--node-list", "n1", environment=environment)
            executor = site.wait_for_executor("n1")
            words = pathlib.Path(f"/proc/{executor}/cmdline").read_text().split("\0")
            left = int(words[words.index("--ends-in-s") + 1])
            expect(500 < left < 600, f"it knows its end all the same: {left} s")
            job = json.loads(done.stdout)["pilots"][0]["job"]
            expect("by this node's clock" in (site.state / "pilots" / f"{job}.log").read_text(), "its log says what is wrong")
            site.orchid("pilot", "stop", "--all")


def a_share_knows_its_end_whatever_the_clock_says(site):
    expect(CLOCK_FAKER, "a library that tells wrong times is there: apt install libfaketime")
    for offset in ("+3600s", "-3600s"):
        faked = f"LD_PRELOAD={CLOCK_FAKER} FAKETIME={offset} FAKETIME_DONT_FAKE_MONOTONIC=1"
        output = site.folder / "share.out"
        start = f"{faked} {site.programs}/orchid share start --address {site.address} --host-identity node"
        told = subprocess.run(["sbatch", "--parsable", "--time=10", "--nodelist=n1", f"--output={output}", "--wrap", f"{start}; exec sleep 600"],
                              env=site.environment, cwd="/tmp", capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, check=True)
        job = int(told.stdout)
        wait_until(site.executors, "the job is shared", lambda: f"{output.read_text() if output.exists() else ''}{site.said()}")
        executor = site.wait_for_executor("n1")
        words = pathlib.Path(f"/proc/{executor}/cmdline").read_text().split("\0")
        left = int(words[words.index("--ends-in-s") + 1])
        expect(500 < left < 600, f"by a clock that is {offset} wrong it ends in {left} s: {output.read_text()}")
        site.cluster.run("scancel", str(job))
        wait_until(lambda: not site.executors() and not site.cluster.state_of(job), "the job is gone, and the share with it", site.trouble)


@contextlib.contextmanager
def wrong_clock(site, offset):
    """On the nodes: with the folder of Slurm's commands, which comes first in a pilot's path, comes another date."""
    folder = site.folder / "commands"
    folder.mkdir()
    for command in ("sbatch", "squeue", "scancel", "scontrol", "srun"):
        (folder / command).symlink_to(f"/usr/bin/{command}")
    date = folder / "date"
    date.write_text(f'#!/bin/sh\nif [ "$1" = -d ]; then exec /usr/bin/date "$@"; fi\nexec /usr/bin/date -d "{offset} seconds" "$@"\n')
    date.chmod(0o755)
    try:
        yield {"PATH": f"{folder}:{os.environ['PATH']}"}
    finally:
        shutil.rmtree(folder)


def process_of(site, command):
    """That the gateway has beside it."""
    return next((pid for pid in family(site.gateway.pid) if command in words_of(pid)), None)


def pilots_that_wait_do_not_outlast_their_gateway(site):
    site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
    full = site.cluster.run("sbatch", "--parsable", "--partition=batch", "--nodes=3", "--exclusive", "--output=/dev/null", "--wrap", "exec sleep 600")
    site.cluster.wait_for_state(full, "RUNNING")
    with site.other_settings(automatic(site, gateway_grace="15s")):
        call = site.calling("hello", "orchid")
        wait_until(site.pilots, "a pilot by demand waits", lambda: site.said() + site.trouble())
        own = site.start_pilot("--partition", "idle")
        wait_until(lambda: process_of(site, "guard"), "there is somebody to look after them", site.said)
        keeper, first_guard = process_of(site, "keep"), process_of(site, "guard")
        site.stop_gateway(kill=True)
        wait_until(lambda: not alive(keeper), "who starts pilots is gone, too")
        call.kill()
        call.communicate(timeout=30)
        site.start_gateway("[pilots]\ngateway_grace = \"2s\"\n")
        wait_until(lambda: not alive(first_guard), "for a gateway that is back nothing is cancelled")
        expect(own in [one["job"] for one in site.pilots()], f"its pilots wait as before: {site.pilots()}")
        wait_until(lambda: process_of(site, "guard"), "it has its own guard", site.said)
        guard = process_of(site, "guard")
        site.stop_gateway(kill=True)
        wait_until(lambda: not site.pilots(), "of one that does not come back no pilot waits any more", lambda: site.cluster.run("squeue"))
        wait_until(lambda: not alive(guard), "and nobody is left")
    site.cluster.run("scancel", full)


def pilots_that_start_in_an_outage_do_not_outlast_it(site):
    full = site.cluster.run("sbatch", "--parsable", "--partition=batch", "--nodes=3", "--exclusive", "--output=/dev/null", "--wrap", "exec sleep 600")
    site.cluster.wait_for_state(full, "RUNNING")
    with site.other_settings("[pilots]\ngateway_grace = \"20s\"\n"):
        late = site.start_pilot("--partition", "idle", "--gateway-grace", "10m")
        wait_until(lambda: process_of(site, "guard"), "there is somebody to look after it", site.said)
        guard = process_of(site, "guard")
        site.stop_gateway(kill=True)
        site.cluster.run("scancel", full)
        site.cluster.wait_for_state(str(late), "RUNNING")
        wait_until(lambda: not site.pilots(), "it is gone when the outage has lasted too long", lambda: site.cluster.run("squeue"), 60)
        wait_until(lambda: not alive(guard), "and nobody is left")


def with_its_guard_gone_too_slurm_removes_what_waits(site):
    full = site.cluster.run("sbatch", "--parsable", "--partition=batch", "--nodes=3", "--exclusive", "--output=/dev/null", "--wrap", "exec sleep 600")
    site.cluster.wait_for_state(full, "RUNNING")
    with site.other_settings(""):
        site.start_pilot("--partition", "idle", "--wait-at-most", "5s")
        wait_until(lambda: process_of(site, "guard"), "there is somebody to look after it", site.said)
        guard = process_of(site, "guard")
        site.stop_gateway(kill=True)
        os.kill(guard, 9)
        wait_until(lambda: not site.pilots(), "Slurm removes it", lambda: site.cluster.run("squeue"), 120)
    site.cluster.run("scancel", full)


def a_time_limit_ends_no_call(site):
    site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")
    done = site.orchid("pilot", "start", "--json", "--address", site.address, "--host-identity", "node", "--time", "1m", "--scheduling", "normal", "--partition", "idle",
                       "--node-list", "n1")
    job = json.loads(done.stdout)["pilots"][0]["job"]
    first = site.wait_for_executor("n1")
    everybody = family(first)
    pilots_on(site, "n2")
    with Calls(site, "sleeps", "300", "300") as calls, Calls(site, "sleeps", "500", "500") as others:
        wait_until(lambda: not alive(first) or calls.failed or others.failed, "the pilot's time is over", site.trouble, 90)
        before = calls.done
        wait_until(lambda: calls.done > before + 3 or calls.failed, "calls go on")
    expect(not calls.failed and not others.failed, f"each call had its result: {calls.failed} {others.failed}")
    expect(not any(map(alive, everybody)), "nothing of it is left")
    wait_until(lambda: "JobState=COMPLETED" in site.cluster.run("scontrol", "show", "job", str(job)), "it went by itself, before Slurm's limit", site.trouble)
    site.orchid("pilot", "stop", "--all")


def main():
    slurm_cluster.skip_without_slurm()
    cases = [a_node_goes_down_under_running_calls, a_node_is_drained_under_running_calls, a_killed_slurmd_harms_no_call,
             pilots_outlive_slurmctld, demand_outlasts_a_slurmctld_that_is_down,
             without_the_clusters_munge_key_demand_waits_and_it_is_said, demand_outlasts_a_partition_that_takes_no_jobs,
             pilots_that_slurm_would_never_start_are_refused, pilots_that_end_at_once_are_not_followed_at_once,
             pilots_that_never_join_are_given_up, an_array_of_a_thousand_jobs_churns, a_nodes_clock_is_an_hour_wrong, a_share_knows_its_end_whatever_the_clock_says,
             pilots_that_wait_do_not_outlast_their_gateway, pilots_that_start_in_an_outage_do_not_outlast_it,
             with_its_guard_gone_too_slurm_removes_what_waits, a_time_limit_ends_no_call]
    cases, = chosen(cases, wanted=sys.argv[4:])
    run_beside(PROGRAMS, NODES, cases)


if __name__ == "__main__":
    main()
