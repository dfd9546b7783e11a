#!/usr/bin/python3
"""data_hosts.py PROGRAMS [CASE...]: flows whose data goes from node to node between two hosts, as far as the network can see: more than 1 GiB
moves, the gateway's host carries none of it, and what several nodes need is copied once per host. Exit status 77: namespaces are not permitted."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_process import Gateway, launch, wait_for  # noqa: E402 (found only after the line above)
from network_hosts import TIMEOUT_S, another_machine, network_hosts  # noqa: E402
from processes import expect, family  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
COUNT = 1 << 23  # of doubles: 64 MiB an object
BYTES = COUNT * 8
SUM = COUNT * (COUNT - 1) // 2
MEMORY = 1024 * MIB  # for data, of each executor
KINDS = ("cpu", "dpu")  # of the two hosts; a node says by it where it runs
HOPS = 8  # of each flow
LARGEST_SHARE = 16 * MIB  # in the gateway, of what moves in each flow


def hops():
    """Each node adds what all of them share to what the one before it has made on the other host, where two more look at it."""
    nodes = ["  shared: {kind: call, function: parts.fill, constraints: {kind: cpu}}"]
    edges = ["  - {from: count, to: shared}"]
    before = "shared"
    for hop in range(1, HOPS + 1):
        here, there = KINDS[hop % 2], KINDS[(hop + 1) % 2]
        nodes.append(f"  hop{hop}: {{kind: call, function: parts.add, takes: [values, others], constraints: {{kind: {here}}}}}")
        edges += [f"  - {{from: {before}, to: hop{hop}.values}}", f"  - {{from: shared, to: hop{hop}.others}}"]
        for name in "ab":
            nodes.append(f"  look{hop}{name}: {{kind: call, function: parts.total, constraints: {{kind: {there}}}}}")
            edges.append(f"  - {{from: hop{hop}, to: look{hop}{name}}}")
        before = f"hop{hop}"
    outputs = ", ".join(f"sum{hop}{name}: look{hop}{name}" for hop in range(1, HOPS + 1) for name in "ab")
    return "\n".join(["flow: hops", "inputs: {count: u64}", "nodes:", *nodes, "edges:", *edges, f"outputs: {{{outputs}}}", ""])


class TwoHosts(Gateway):
    """The gateway is on the first host, and reached by the network alone; an executor is on each of the two others."""

    def __init__(self, hosts, folder, environment):
        super().__init__(PROGRAMS, folder, environment, "")
        self.hosts, self.token_file, self.address = hosts, None, None
        (self.folder / "hops.yaml").write_text(hops())

    def start(self):
        self.process, self.ready = launch(
            [*self.hosts[0].entry(), PROGRAMS / "orchid-gateway", "--state", self.folder / "g", "--socket", self.folder / "gateway.sock", "--listen",
             f"{self.hosts[0].address}:0"], self.environment, self.log)
        self.token_file = next((self.folder / "g").rglob("token"))
        self.address = self.ready["urls"][0]
        for number, kind in enumerate(KINDS, start=1):
            self.executors.append(subprocess.Popen(
                [*self.hosts[number].entry(), *another_machine(self.folder, number), PROGRAMS / "orchid-executor", "--gateway",
                 self.address.rpartition("/")[2], "--token-file", self.token_file, "--runtime", self.folder / f"r-{number}", "--state",
                 self.folder / f"s-{number}", "--cores", "2", "--data-memory", str(MEMORY), "--kind", kind, "--lane-listen",
                 f"{self.hosts[number].address}:0"],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True))
        wait_for(self.metrics, lambda all_: all_.get("orchid_data_memory_bytes", 0) == MEMORY * len(KINDS), "both executors are there", self.said)

    def orchid(self, *words, check=True, timeout=TIMEOUT_S):
        """On the gateway's host, so that what it says to the gateway is counted there, too."""
        done = subprocess.run(
            [*self.hosts[0].entry(), PROGRAMS / "orchid", *words], capture_output=True, text=True, timeout=timeout, check=False,
            env={**self.environment, "ORCHID_GATEWAY": self.address, "ORCHID_TOKEN": self.token_file.read_text().strip()}, stdin=subprocess.DEVNULL)
        expect(not check or done.returncode == 0, f"orchid {' '.join(map(str, words))} goes well: {done.stdout}{done.stderr}\n{self.said()}")
        return done

    def sent_and_received(self, number):
        """By the network, of all that is on the host."""
        reads = [f"/sys/class/net/{link}/statistics/{way}_bytes" for link in ("link0", "lo") for way in ("rx", "tx")]
        done = subprocess.run([*self.hosts[number].entry(), "cat", *reads], check=True, capture_output=True, timeout=TIMEOUT_S)
        return sum(map(int, done.stdout.split()))

    def read_and_written(self):
        """By the gateway and the processes that it keeps, from files and pipes."""
        lines = [line.split(": ") for pid in family(self.process.pid) for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()]
        return sum(int(value) for name, value in lines if name in ("rchar", "wchar"))

    def counted(self):
        metrics = self.metrics()
        return {"copies": metrics["orchid_data_copied_total"], "copied bytes": metrics["orchid_data_copied_bytes_total"],
                "gateway's network": self.sent_and_received(0), "gateway's files": self.read_and_written(),
                "executors' network": min(self.sent_and_received(1), self.sent_and_received(2))}


def check(site, before, outputs):
    after = site.counted()
    difference = {name: after[name] - before[name] for name in before}
    print(f"  {difference}", flush=True)
    expect(outputs == {f"sum{hop}{name}": float(SUM * (hop + 1)) for hop in range(1, HOPS + 1) for name in "ab"}, f"the sums: {outputs}")
    # One for what all hops share, and one of what each of them makes, though three nodes need that on the other host.
    copies = 1 + HOPS
    expect(difference["copies"] == copies, f"each object is copied once: {difference['copies']} copies and not {copies}\n{site.said()}")
    expect(difference["copied bytes"] == copies * BYTES, "and as a whole")
    expect(difference["executors' network"] >= copies * BYTES, "by their network")
    for name in ("gateway's network", "gateway's files"):
        expect(difference[name] < LARGEST_SHARE, f"{name}: {difference[name]} bytes while {copies * BYTES} bytes moved")
    return copies * BYTES


def in_the_foreground(site):
    before = site.counted()
    done = site.orchid("flow", "run", site.folder / "hops.yaml", "--input", f"count={COUNT}")
    return check(site, before, json.loads(done.stdout))


def submitted(site):
    before = site.counted()
    id_ = site.orchid("flow", "submit", site.folder / "hops.yaml", "--input", f"count={COUNT}").stdout.strip()
    ended = wait_for(lambda: site.document("flow", "show", id_), lambda one: one["state"] in ("done", "failed"), "the flow has ended", site.said, TIMEOUT_S)
    expect(ended["state"] == "done", f"it goes well: {ended.get('message')}\n{site.said()}")
    return check(site, before, json.loads(site.orchid("flow", "result", id_).stdout))


ELEMENTS = """flow: elements
optimise: [speed]
inputs: {numbers: span<u64>, values: data<f64>}
nodes:
  each: {kind: map, each: parts.element, takes: [number, values], window: 2}
edges: [{from: numbers, to: each.number}, {from: values, to: each.values}]
outputs: {found: each}
"""


def speed_knows_where_data_is(site):
    """Before the flow runs, and while it does."""
    (site.folder / "elements.yaml").write_text(ELEMENTS)
    (site.folder / "values").write_bytes(struct.pack("<4096d", *range(4096)))
    site.orchid("data", "put", "values", site.folder / "values")
    host = site.document("data", "list")["data"][0]["hosts"][0]
    given = ["--input", "numbers=" + json.dumps(list(range(2000))), "--input", "values=values"]
    there = f"its 32 KiB are on {host}"
    plan = site.document("flow", "plan", site.folder / "elements.yaml", *given)
    expect(there in plan["nodes"][0]["why"], f"the plan says so: {plan}")
    done = json.loads(site.orchid("flow", "run", site.folder / "elements.yaml", *given, "--json").stdout)
    expect(there in done["nodes"][0]["why"], f"the flow in the foreground says so: {done['nodes']}")
    id_ = site.orchid("flow", "submit", site.folder / "elements.yaml", *given).stdout.strip()
    ended = wait_for(lambda: site.document("flow", "show", id_), lambda one: one["state"] in ("done", "failed"), "the flow has ended", site.said, TIMEOUT_S)
    expect(ended["state"] == "done" and there in ended["nodes"][0]["why"], f"the submitted one says so: {ended}")
    return 0


AHEAD = """flow: ahead
optimise: [prefetch]
inputs: {many: u64, few: u64, seconds: u64}
nodes:
  large: {kind: call, function: parts.fill, constraints: {kind: cpu}}
  small: {kind: call, function: parts.fill, constraints: {kind: dpu}}
  slow: {kind: call, function: waits, constraints: {kind: cpu}}
  last: {kind: call, function: parts.total_of, takes: [more, values, others], constraints: {kind: dpu}}
edges:
  - {from: many, to: large}
  - {from: few, to: small}
  - {from: seconds, to: slow}
  - {from: slow, to: last.more}
  - {from: large, to: last.values}
  - {from: small, to: last.others}
outputs: {sum: last}
"""


def data_goes_ahead_to_where_a_node_may_run(site):
    """Before the node begins, and not to the host that has most of it: the node may not run there."""
    site.orchid("build", HERE / "waits.cpp", "-o", site.folder / "waits.orc")
    site.orchid("deploy", site.folder / "waits.orc")
    (site.folder / "ahead.yaml").write_text(AHEAD)
    before = site.metrics()
    given = ["--input", "many=131072", "--input", "few=1024"]
    id_ = site.orchid("flow", "submit", site.folder / "ahead.yaml", *given, "--input", "seconds=300").stdout.strip()
    copied = wait_for(lambda: site.metrics()["orchid_data_copied_bytes_total"] - before["orchid_data_copied_bytes_total"], bool,
                      "data is copied ahead", site.said)
    expect(copied == MIB, f"the large object goes to the small one, and not {copied} bytes\n{site.said()}")
    states = {node["node"]: node["state"] for node in site.document("flow", "show", id_)["nodes"]}
    expect(states == {"large": "done", "small": "done", "slow": "running", "last": "waiting"}, f"before the node begins: {states}")
    site.orchid("flow", "cancel", id_)
    id_ = site.orchid("flow", "submit", site.folder / "ahead.yaml", *given, "--input", "seconds=1").stdout.strip()
    ended = wait_for(lambda: site.document("flow", "show", id_), lambda one: one["state"] in ("done", "failed"), "the flow has ended", site.said, TIMEOUT_S)
    expect(ended["state"] == "done", f"it goes well: {ended.get('message')}\n{site.said()}")
    # The second flow's, too, and nothing else.
    copied = site.metrics()["orchid_data_copied_bytes_total"] - before["orchid_data_copied_bytes_total"]
    expect(copied == 2 * MIB, f"each large object once, and not {copied} bytes")
    return 2 * MIB


CASES = (in_the_foreground, submitted, speed_knows_where_data_is, data_goes_ahead_to_where_a_node_may_run)


def main():
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), "LANG": "C.UTF-8"}
    wanted = sys.argv[2:]
    with network_hosts(3) as hosts, tempfile.TemporaryDirectory(prefix="orchid-", dir="/tmp") as folder:
        site = TwoHosts(hosts, folder, environment)
        try:
            site.start()
            module = site.folder / "parts.orc"
            site.orchid("build", HERE / "data_parts.cpp", "-o", module)
            site.orchid("deploy", module, "--name", "parts")
            moved = 0
            for case in CASES:
                if not wanted or case.__name__ in wanted:
                    moved += case(site)
                    print(f"{case.__name__}: ok", flush=True)
            expect(bool(wanted) or moved > 1024 * MIB, f"more than 1 GiB in all, and not {moved}")
        finally:
            site.stop()
            site.log.close()


main()
