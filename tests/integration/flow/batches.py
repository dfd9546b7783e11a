#!/usr/bin/python3
"""batches.py PROGRAMS [CASE...]: step functions, whose state goes from batch to batch, and what flows keep as files: workers, executors and
gateways are killed in the middle, and flows go on from where they were."""
import collections
import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from flow_files import flow  # noqa: E402 (found only after the line above)
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402
from processes import expect, family, words_of  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
MEMORY = str(64 << 20)
WANTED, BATCH, EACH_FILE, SEED = 400, 10, 4, 7
BATCHES = WANTED // BATCH
FLOW_DEADLINE_S = 150  # the data of an executor that is gone is waited for, 30 s each time

WALK = f"""flow: walk
inputs: {{number: u64, wanted: u64}}
nodes:
  begun: {{kind: call, function: batches.start}}
  base: {{kind: call, function: batches.start}}
  walked: {{kind: iterate, function: batches.walk, takes: [state, base, wanted], steps: {BATCH}, durable: {EACH_FILE}}}
  of_it: {{kind: call, function: batches.number_of}}
  steps: {{kind: call, function: batches.steps_of}}
edges:
  - {{from: number, to: begun}}
  - {{value: 3, to: base}}
  - {{from: begun, to: walked.state}}
  - {{from: base, to: walked.base, durable: true}}
  - {{from: wanted, to: walked.wanted}}
  - {{from: walked, to: of_it}}
  - {{from: walked, to: steps}}
outputs: {{number: of_it, steps: steps}}
"""
COUNT = """flow: count
inputs: {wanted: u64}
nodes:
  counted: {kind: iterate, function: batches.count, takes: [from, to], budget: 50ms}
  halved: {kind: iterate, function: halve.halve, steps: 2}
edges:
  - {value: 0, to: counted.from}
  - {from: wanted, to: counted.to}
  - {value: 1000.0, to: halved}
outputs: {counted: counted, halved: halved}
"""


def number_after(steps):
    number = SEED
    for _ in range(steps):
        number = (number * 6364136223846793005 + 3) % 2**64
    return number


class Site:
    """A gateway, and executors that have one directory for durable data, one after the other."""

    def __init__(self, site):
        self.site, self.starts, self.directory = site, 0, site.folder / "durable"
        self.directory.mkdir(mode=0o700)

    def start_executor(self, *options, keeps=True):
        before = self.site.connected()
        self.starts += 1
        files = ("--data-durable", self.directory) if keeps else ()
        self.executor = self.site.add_executor(f"e{self.starts}", "--cores", "2", "--data-memory", MEMORY, *files, *options)
        wait_for(lambda: self.site.connected() - before, bool, "the executor is there", self.site.said)

    def kill_executor(self):
        os.killpg(self.executor.pid, signal.SIGKILL)
        self.executor.wait(COMMAND_TIMEOUT_S)
        self.site.executors.remove(self.executor)

    def workers(self):
        return [pid for pid in family(self.executor.pid) if words_of(pid)[0].endswith("/orchid-worker")]

    def deploy(self):
        for name, source in (("batches", "batches.cpp"), ("halve", "halve.c")):
            module = self.site.folder / f"{name}.orc"
            self.site.orchid("build", HERE / source, "-o", module)
            self.site.orchid("deploy", module, "--name", name)

    def submit(self):
        path = flow(self.site, "walk", WALK)
        return self.site.orchid("flow", "submit", path, "--input", f"number={SEED}", "--input", f"wanted={WANTED}").stdout.strip()

    def node(self, flow_id, name):
        return next(node for node in self.site.document("flow", "show", flow_id)["nodes"] if node["node"] == name)

    def await_batches(self, flow_id, count):
        wait_for(lambda: self.node(flow_id, "walked")["done"], lambda done: done >= count, f"{count} batches are done", self.site.said)

    def result(self, flow_id):
        ended = wait_for(lambda: self.site.document("flow", "show", flow_id), lambda one: one["state"] in ("done", "failed"),
                         "the flow has ended", self.site.said, FLOW_DEADLINE_S)
        expect(ended["state"] == "done", f"it is done: {ended}")
        result = json.loads(self.site.orchid("flow", "result", flow_id).stdout)
        expect(result == {"number": number_after(WANTED), "steps": WANTED}, f"the result is that of all steps: {result}")
        return self.site.orchid("flow", "logs", flow_id).stdout

    def calls(self):
        return collections.Counter(one["entry"] for one in self.site.invocations())

    def files(self):
        return [path for path in self.directory.rglob("*.data")]


def batches_by_time_and_by_steps(there):
    """States that are values: on workers of a lease, and through the gateway."""
    path = flow(there.site, "count", COUNT)
    for way in ([], ["--by-gateway"]):
        done = json.loads(there.site.orchid("flow", "run", path, "--input", "wanted=200", *way).stdout)
        expect(done["counted"] == 200 and 0.5 < done["halved"] <= 1, f"both have come to their ends: {done}")
    expect(1 < there.calls()["count"] <= 200 and there.calls()["halve"] == 5, f"in batches: {there.calls()}")
    one = there.site.orchid("invoke", "batches.count", "--args", "[[0, 2], 5, 9]").stdout
    expect(json.loads(one) == {"done": False, "steps": 2, "state": 7}, f"a batch by itself: {one}")


def a_walk_goes_on_when_workers_are_killed(there):
    before = there.calls()["walk"]
    flow_id = there.submit()
    for count in (6, 14):
        there.await_batches(flow_id, count)
        for pid in there.workers():
            os.kill(pid, signal.SIGKILL)
    there.result(flow_id)
    made = there.calls()["walk"] - before
    expect(BATCHES <= made <= BATCHES + 2 * (1 + EACH_FILE), f"each kill costs its batch: {made} batches")
    wait_for(there.files, lambda files: not files, "nothing is left of it", there.site.said)


def a_walk_goes_on_from_its_last_file_when_all_memory_is_lost(there):
    before = there.calls()
    flow_id = there.submit()
    there.await_batches(flow_id, 3 * EACH_FILE + 2)
    there.kill_executor()
    there.start_executor()
    log = there.result(flow_id)
    made = there.calls()
    expect(made["walk"] - before["walk"] <= BATCHES + 2 * EACH_FILE, f"it does not begin from zero: {made}, before {before}\n{log}")
    expect(made["start"] - before["start"] == 2, f"what is in files is not made again: {made}, before {before}\n{log}")
    expect("it is made again" in log, f"the log says that a state was lost: {log}")


def everything_is_killed(there):
    flow_id = there.submit()
    there.await_batches(flow_id, 2 * EACH_FILE + 1)
    there.site.process.kill()
    there.site.process.wait(COMMAND_TIMEOUT_S)
    there.kill_executor()
    there.site.start()
    there.start_executor()
    log = there.result(flow_id)
    expect(log.count("base: running") == 1, f"what is done and in a file is not done again: {log}")
    wait_for(there.files, lambda files: not files, "nothing is left of it", there.site.said)


def where_nobody_keeps_files_it_is_told(there):
    path = flow(there.site, "walk", WALK)
    there.kill_executor()
    there.start_executor(keeps=False)
    wait_for(lambda: there.site.orchid("flow", "check", path, check=False), lambda done: done.returncode == 2 and "--data-durable" in done.stderr,
             "a flow that nobody can keep is refused", there.site.said)
    source = there.site.folder / "some"
    source.write_bytes(b"bytes")
    there.site.orchid("data", "put", "some", source)
    done = there.site.orchid("data", "keep", "some", check=False)
    expect(done.returncode != 0 and "--data-durable" in done.stderr, f"nor can data be kept: {done.stderr}")
    there.kill_executor()
    there.start_executor()
    there.site.orchid("data", "put", "other", source)
    there.site.orchid("data", "keep", "other")
    expect(there.site.document("data", "describe", "other")["durable"], "it says that it is kept")
    there.kill_executor()
    there.start_executor()
    got = wait_for(lambda: there.site.orchid("data", "get", "other", check=False), lambda done: done.returncode == 0, "it is there again",
                   there.site.said)
    expect(got.stdout == "bytes", f"with its bytes: {got.stdout}")


def data_is_copied_to_who_keeps_files(there):
    listen = ("--lane-listen", "127.0.0.1:0")
    there.kill_executor()
    there.start_executor(*listen, keeps=False)
    source = there.site.folder / "source"
    source.write_bytes(b"copied")
    there.site.orchid("data", "put", "copied", source)
    without = there.executor
    there.start_executor(*listen)
    there.site.orchid("data", "keep", "copied")
    expect(there.files() != [], "the other one has it in a file")
    os.killpg(without.pid, signal.SIGKILL)
    without.wait(COMMAND_TIMEOUT_S)
    there.site.executors.remove(without)
    expect(there.site.orchid("data", "get", "copied").stdout == "copied", "it is there when the first one is not")
    # The first one may come back with its copy for a while, and would bring back what is deleted.
    wait_for(lambda: there.site.orchid("data", "delete", "copied", check=False), lambda done: done.returncode == 0, "it is deleted", there.site.said,
             seconds=60)


def a_walk_goes_on_elsewhere_when_its_place_is_taken_back(there):
    """The executor is asked to end: batches give what they have come to, and the next executor goes on with it."""
    before = there.calls()
    flow_id = there.submit()
    there.await_batches(flow_id, 2 * EACH_FILE + 1)
    there.executor.send_signal(signal.SIGTERM)
    there.executor.wait(COMMAND_TIMEOUT_S)
    there.site.executors.remove(there.executor)
    there.start_executor()
    log = there.result(flow_id)
    made = there.calls()["walk"] - before["walk"]
    expect(made <= BATCHES + 2 * EACH_FILE, f"it does not begin from zero: {made} batches\n{log}")


CASES = (batches_by_time_and_by_steps, a_walk_goes_on_when_workers_are_killed, a_walk_goes_on_from_its_last_file_when_all_memory_is_lost,
         everything_is_killed, where_nobody_keeps_files_it_is_told, data_is_copied_to_who_keeps_files,
         a_walk_goes_on_elsewhere_when_its_place_is_taken_back)

with gateway(PROGRAMS, {**os.environ}) as one:
    site = Site(one)
    site.start_executor()
    site.deploy()
    for case in CASES:
        if len(sys.argv) == 2 or case.__name__ in sys.argv[2:]:
            case(site)
            print(f"{case.__name__}: ok", flush=True)
