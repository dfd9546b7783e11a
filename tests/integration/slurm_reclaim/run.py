#!/usr/bin/python3
"""run.py PROGRAMS CALLS TEST_FUNCTIONS [--rounds N]: batch jobs arrive on the nodes of pilots in whose workers calls run, N times: half
of them where callers reach the workers through local lanes, half where they do over UCX. Every call has its result, once, however often
it is evicted; and when a batch job starts, nothing of the pilot is left on its cores. Exit status 0: all is as it should be; 77: there
is no Slurm here."""
import argparse
import collections
import contextlib
import http.client
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
from slurm_cluster import started  # noqa: E402
from processes import expect, family  # noqa: E402
from site_of_pilots import orchid_beside  # noqa: E402

# Two nodes each: calls move to one of them when the other is taken. Those of the local lane are one host, with two cores in all. Without
# the option slurmctld would look at a job that has to preempt others up to 3 s after its submission.
CLUSTER = ("--nodes", "4", "--cores", "2", "--option", "SchedulerParameters=batch_sched_delay=0,bf_interval=5")
LANES = {"local": ("n1", "n2"), "ucx": ("n3", "n4")}
HOST_IDENTITY = {"local": "boot", "ucx": "node"}  # as this host, or each node as one of its own
PATIENT_MS = 20_000  # much longer than a pilot lives here
STEP_DEADLINE_S = 60
CALLS_END_DEADLINE_S = 120
LOOK_AGAIN_S = 0.05
EVICTIONS_SHOWN = 4  # of one call: it has had more attempts than the three after which a call is given up otherwise
ROUNDS_THAT_MEET_ALL = 10  # of each lane

# Who is still in the session of the pilot's step, zombies apart. One line, so that it arrives in one piece.
BATCH_SCRIPT = """#!/bin/bash
left=$(ps --no-headers -o pid=,stat=,args= --sid "$1" | awk '$2 !~ /^Z/')
echo "$SLURM_JOB_ID ${left//$'\\n'/; }" > "$2"
"""


class Arrivals:
    """What batch jobs say when they start: the job, and what they have found on their cores."""

    def __init__(self, folder):
        self.path, self.script = folder / "arrivals", folder / "batch.sh"
        os.mkfifo(self.path)
        self.pipe = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        self.script.write_text(BATCH_SCRIPT)
        self.text = ""

    def within(self, seconds):
        """Job and leftovers of each that has come meanwhile."""
        with contextlib.suppress(BlockingIOError):
            if select.select([self.pipe], [], [], seconds)[0]:
                self.text += os.read(self.pipe, 65536).decode()
        *lines, self.text = self.text.split("\n")
        return {int(job): left for job, _, left in (line.partition(" ") for line in lines)}


class Node:
    """A node whose pilots come and go. `state`: a pilot is "starting" or "serving", or a batch job is "arriving"."""

    def __init__(self, site, name, lane):
        self.site, self.name, self.lane = site, name, lane
        self.pilot = self.session = self.batch_job = None
        self.start_pilot()

    def enter(self, state):
        self.state, self.since = state, time.monotonic()

    def start_pilot(self):
        done = self.site.orchid("pilot", "start", "--json", "--address", self.site.address, "--partition", "idle", "--cores", "2",
                                "--node-list", self.name, "--time", "10m", "--host-identity", HOST_IDENTITY[self.lane])
        self.pilot = json.loads(done.stdout)["pilots"][0]["job"]
        self.enter("starting")

    def look(self, executors):
        """`executors`: those that the gateway knows, by their jobs."""
        if self.state == "starting" and self.pilot in executors:
            executor = executor_of(self.pilot, self.site.address)
            everybody = family(executor)
            self.session = os.getsid(executor)
            expect(len(everybody) >= 4, f"the pilot on {self.name} has started others: {everybody}")
            expect({session_of(pid) for pid in everybody} <= {self.session, None}, "all that a pilot starts is in the session of its step")
            self.enter("serving")
        if time.monotonic() - self.since > STEP_DEADLINE_S and self.state != "serving":
            sys.exit(f"{self.name}: {self.state} for {STEP_DEADLINE_S} s\n{self.site.trouble()}")

    def take(self, arrivals):
        """A batch job comes for all of its cores."""
        self.batch_job = int(self.site.cluster.run("sbatch", "--parsable", "--partition=batch", f"--nodelist={self.name}", "--ntasks=2",
                                                   "--output=/dev/null", str(arrivals.script), str(self.session), str(arrivals.path)))
        self.enter("arriving")

    def has_arrived(self, left):
        expect(not left, f"nothing of the pilot is on the cores of {self.name} when the batch job starts: {left}")
        self.start_pilot()


def executor_of(job, address):
    """Its process; the one before it on that node may not have ended altogether."""
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = entry.read_text().split("\0")
            if words[0].endswith("/orchid-executor") and address in words and words[words.index("--job") + 1] == str(job):
                return int(entry.parent.name)
    sys.exit(f"the gateway knows an executor of pilot {job}, and there is none")


def session_of(pid):
    with contextlib.suppress(ProcessLookupError):
        return os.getsid(pid)
    return None


def document(site, path):
    """Of the gateway; without a process for each look at it."""
    connection = http.client.HTTPConnection("localhost", timeout=30)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(site.runtime / "gateway.sock"))
    with contextlib.closing(connection):
        connection.request("GET", path)
        return connection.getresponse().read().decode()


def connected_executors(site):
    """By the job that has granted their cores."""
    return {executor["grant"]["job"]: executor for host in json.loads(document(site, "/v1/hosts"))["hosts"]
            for executor in host["executors"] if executor["state"] == "connected"}


def victim_among(nodes, executors):
    """One in whose workers calls run, when another one can take them over; one after the other."""
    serving = [node for node in nodes if node.state == "serving" and node.pilot in executors]
    if len(serving) < 2 or any(node.state == "arriving" for node in nodes):
        return None
    leased = {node: executors[node.pilot]["cores_leased"] for node in serving}
    most = max(serving, key=lambda node: leased[node])
    return most if leased[most] > 0 else None


def preempt(site, arrivals, nodes, rounds):
    """Batch jobs come until `rounds` pilots of each lane had to go; how many calls' cores each of these had."""
    taken = {lane: [] for lane in LANES}
    over = collections.Counter()
    since = time.monotonic()
    while sum(over.values()) < rounds * len(LANES):
        executors = connected_executors(site)
        for lane in LANES:
            group = [node for node in nodes if node.lane == lane]
            for node in group:
                node.look(executors)
            victim = victim_among(group, executors) if len(taken[lane]) < rounds else None
            if victim:
                taken[lane].append(executors[victim.pilot]["cores_leased"])
                victim.take(arrivals)
                since = time.monotonic()
        for job, left in arrivals.within(LOOK_AGAIN_S).items():
            node = next(node for node in nodes if node.batch_job == job)
            node.has_arrived(left)
            over[node.lane] += 1
        if time.monotonic() - since > STEP_DEADLINE_S:
            sys.exit(f"no pilot has had calls for {STEP_DEADLINE_S} s\n{site.trouble()}\n{document(site, '/v1/leases')}")
    return taken


def wait_until_serving(site, nodes):
    while any(node.state == "starting" for node in nodes):
        executors = connected_executors(site)
        for node in nodes:
            node.look(executors)
        time.sleep(LOOK_AGAIN_S)


def check(streams, rounds, metrics):
    for one in streams:
        print("         " + ", ".join(f"{name} {value}" for name, value in one.items() if value != ""))
    for one in streams:
        stream = one["stream"]
        expect(one["failed"] == 0 and one["answered"] == one["begun"], f"{stream}: every call has its result: {one}")
        if "lease" in stream:
            expect(one["told"] == one["begun"], f"{stream}: and has it once: {one}")
        if not stream.startswith("patient"):
            expect(one["answered"] > rounds, f"{stream}: calls went on all the time: {one}")
    # Which pilots go is chance: few rounds may miss a long call, and of two streams that retry by the same code, one has to be unlucky
    # often enough.
    patient = {one["stream"]: one["most_evictions"] for one in streams if one["stream"].startswith("patient")}
    if rounds >= ROUNDS_THAT_MEET_ALL:
        expect(all(patient.values()), f"each long call was evicted: {patient}")
        for kind in ("lease", "http"):
            expect(max(count for stream, count in patient.items() if kind in stream) >= EVICTIONS_SHOWN, f"{kind}: often enough to show anything: {patient}")
    ended = {line.split('"')[1]: int(float(line.split()[-1])) for line in metrics.splitlines() if line.startswith("orchid_invocations_total{")}
    expect({outcome: count for outcome, count in ended.items() if count} == {"ok": next(one for one in streams if one["stream"] == "http")["answered"]},
           f"the gateway has counted each call over HTTP once: {ended}")


def run(site, calls, functions, rounds):
    arrivals = Arrivals(site.folder)
    nodes = [Node(site, name, lane) for lane, names in LANES.items() for name in names]
    wait_until_serving(site, nodes)
    command = [calls, site.runtime / "gateway.sock", functions / "sleeps.bc", str(PATIENT_MS)]
    callers = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        ready = callers.stdout.readline() if select.select([callers.stdout], [], [], STEP_DEADLINE_S)[0] else ""
        expect(ready == "ready\n", f"the callers have leases: {ready} {document(site, '/v1/leases')}")
        began = time.monotonic()
        taken = preempt(site, arrivals, nodes, rounds)
        print(f"         {sum(map(len, taken.values()))} pilots preempted in {time.monotonic() - began:.0f} s, with calls on "
              f"{sum(map(sum, taken.values()))} cores")
        expect(callers.poll() is None, "the callers go on")
        wait_until_serving(site, nodes)
        out, _ = callers.communicate(timeout=CALLS_END_DEADLINE_S)
    except SystemExit:
        with contextlib.suppress(subprocess.TimeoutExpired):
            print(f"the callers say: {callers.communicate(timeout=PATIENT_MS / 1000 + 5)[0]}\n{site.said()}")
        raise
    finally:
        callers.kill()
        callers.wait()
    expect(callers.returncode == 0, f"the callers end well: {callers.returncode}")
    *logged, result = out.splitlines()  # UCX logs to standard output
    print("".join(f"         {line}\n" for line in logged), end="")
    check(json.loads(result), rounds, document(site, "/metrics"))
    site.orchid("pilot", "stop", "--all")
    expect(not site.executors(), "no executor is left")


def main():
    parser = argparse.ArgumentParser()
    for name in ("programs", "calls", "functions"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=100, help="pilots that are preempted, half of them for each lane")
    options = parser.parse_args()
    slurm_cluster.skip_without_slurm()
    with started(*CLUSTER) as cluster, orchid_beside(options.programs, cluster) as site:
        run(site, options.calls, options.functions, options.rounds // len(LANES))


if __name__ == "__main__":
    main()
