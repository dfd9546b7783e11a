#!/usr/bin/python3
"""data_full.py PROGRAMS [CASE...]: flows that find no room for their data: they end with what would help, and go on from there when that was
done; what was made before is not made again. In the foreground, and submitted."""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from comparisons import expect_in, same  # noqa: E402 (found only after the line above)
from flow_files import flow  # noqa: E402
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402
from submitted_flows import add_executor, await_end, calls, submit  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
MEMORY, FILES, TAKEN = 32 * MIB, 4 * MIB, 20 * MIB
REMAKES = 8
COUNT = 1 << 18  # of doubles in the first object: 2 MiB; the second one is eight times as large
NO_ROOM = ("node 'large'", "no_data_memory: an object of 16 MiB does not fit: of the 32 MiB that this executor keeps for data, 22 MiB are taken",
           "delete data that is not needed, or start the executor with a larger --data-memory")
FIRST = ("parts.fill", "parts.eight_times")


def sum_of(count):
    return float(count * (count - 1) // 2)


RESULT = sum_of(COUNT) + sum_of(8 * COUNT)


def two_objects(more="", durable=""):
    return (f"flow: two\ninputs: {{n: u64}}\nnodes:\n  first: {{kind: call, function: parts.fill}}\n"
            f"  wanted: {{kind: call, function: parts.eight_times}}\n  large: {{kind: call, function: parts.fill{more}}}\n"
            f"  sum: {{kind: call, function: parts.total_of, takes: [more, values, others]}}\n"
            f"edges: [{{from: n, to: first}}, {{from: first, to: wanted{durable}}}, {{from: wanted, to: large}}, {{value: 0, to: sum.more}}, "
            f"{{from: first, to: sum.values}}, {{from: large, to: sum.others}}]\noutputs: {{r: sum}}\n")


def put(site, name, size, *options):
    path = site.folder / name
    path.write_bytes(bytes(size))
    site.orchid("data", "put", name, path, *options)


def restart_executor(site, name, *options):
    for executor in site.executors:
        executor.terminate()
        executor.wait(COMMAND_TIMEOUT_S)
    site.executors.clear()
    wait_for(lambda: site.connected(), lambda there: not there, "the executor has gone", site.said)
    site.add_executor(name, *options)
    wait_for(lambda: site.connected(), bool, f"executor {name} is there", site.said)


def made_since(site, before):
    """Calls of what comes before the large object."""
    after = calls(site)
    return [after[entry] - before[entry] for entry in FIRST]


def result_of(site, flow_id):
    return json.loads(site.orchid("flow", "result", flow_id).stdout)


def a_submitted_flow_ends_and_is_retried(site):
    put(site, "taken", TAKEN)
    before = calls(site)
    flow_id = submit(site, flow(site, "two", two_objects()), n=COUNT)
    for attempt in (1, 2):
        failed = await_end(site, flow_id, "failed")
        for part in NO_ROOM:
            expect_in("why", part, failed["message"])
        same("nodes", {node["node"]: node["state"] for node in failed["nodes"]},
             {"first": "done", "wanted": "done", "large": "failed", "sum": "cancelled"})
        same("calls before the large object", made_since(site, before), [1 + attempt, 1])
        if attempt == 2:
            site.orchid("data", "delete", "taken")
        site.orchid("flow", "retry", flow_id)
    await_end(site, flow_id)
    same("the result", result_of(site, flow_id), RESULT)
    same("all calls", made_since(site, before), [4, 1])


def a_flow_in_the_foreground_ends_and_goes_on(site):
    put(site, "taken", TAKEN)
    path = flow(site, "two", two_objects())
    before = calls(site)
    done = site.orchid("flow", "run", path, "--input", f"n={COUNT}", "--state", "kept", check=False)
    same("status", done.returncode, 1)
    for part in NO_ROOM:
        expect_in("why", part, done.stderr)
    same("calls before the large object", made_since(site, before), [2, 1])
    site.orchid("data", "delete", "taken")
    same("the result", json.loads(site.orchid("flow", "run", path, "--state", "kept").stdout), RESULT)
    same("all calls", made_since(site, before), [3, 1])


def a_node_with_attempts_waits_for_room(site):
    put(site, "taken", TAKEN)
    text = two_objects(more=", retry: {attempts: 20, back_off: 100ms, outcomes: [function_error]}")
    flow_id = submit(site, flow(site, "waits", text), n=COUNT)
    wait_for(lambda: site.orchid("flow", "logs", flow_id).stdout, lambda log: log.count("; it is tried again") >= 2, "it is tried again", site.said)
    site.orchid("data", "delete", "taken")
    await_end(site, flow_id)
    same("the result", result_of(site, flow_id), RESULT)


BOTH = """flow: both
inputs: {n: u64}
nodes:
  one: {kind: call, function: parts.fill}
  other: {kind: call, function: parts.fill}
  sum: {kind: call, function: parts.total_of, takes: [more, values, others]}
edges:
  - {from: n, to: one}
  - {from: n, to: other}
  - {value: 0, to: sum.more}
  - {from: one, to: sum.values}
  - {from: other, to: sum.others}
outputs: {r: sum}
"""


def what_needs_more_than_there_is_comes_to_an_end(site):
    """One after the other is made, and takes the room of the other: not for ever. With more memory it goes on."""
    count = 18 * MIB // 8
    restart_executor(site, "one", "--cores", "1", "--data-memory", str(MEMORY))
    path = flow(site, "both", BOTH)
    before = calls(site)["parts.fill"]
    flow_id = submit(site, path, n=count)
    why = [await_end(site, flow_id, "failed")["message"]]
    made = calls(site)["parts.fill"] - before
    done = site.orchid("flow", "run", path, "--input", f"n={count}", "--state", "both", check=False)
    same("status in the foreground", done.returncode, 3)
    for said in (*why, done.stderr):
        for part in ("node 'sum'", "data_lost: no copy of 'd-", "it made room for others there", "start the executor with a larger --data-memory"):
            expect_in("why", part, said)
    same("how often both were made", made, 2 + REMAKES)
    restart_executor(site, "larger", "--cores", "2", "--data-memory", str(2 * MEMORY))
    site.orchid("flow", "retry", flow_id)
    await_end(site, flow_id)
    same("the result", result_of(site, flow_id), 2 * sum_of(count))
    same("in the foreground", json.loads(site.orchid("flow", "run", path, "--state", "both").stdout), 2 * sum_of(count))


def files_are_full(site):
    """What is to be kept as a file, and has no room there."""
    folder = site.folder / "durable"
    folder.mkdir(mode=0o700)
    restart_executor(site, "keeps", "--cores", "2", "--data-memory", str(MEMORY), "--data-durable", folder, "--data-durable-size", str(FILES))
    put(site, "kept", FILES - MIB, "--durable")
    before = calls(site)
    flow_id = submit(site, flow(site, "files", two_objects(durable=", durable: true")), n=COUNT)
    failed = await_end(site, flow_id, "failed")
    done = site.orchid("flow", "run", site.folder / "files.yaml", "--input", f"n={COUNT}", "--state", "files", check=False)
    for said in (failed["message"], done.stderr):
        for part in ("node 'first', its file", "may keep 4 MiB of data as files on this executor, and has 3 MiB", "delete durable data"):
            expect_in("why", part, said)
    site.orchid("data", "delete", "kept")
    site.orchid("flow", "retry", flow_id)
    await_end(site, flow_id)
    same("the result", result_of(site, flow_id), RESULT)
    same("the result in the foreground", json.loads(site.orchid("flow", "run", site.folder / "files.yaml", "--state", "files").stdout), RESULT)
    same("each object was made once in each of both", made_since(site, before), [4, 2])


CASES = (a_submitted_flow_ends_and_is_retried, a_flow_in_the_foreground_ends_and_goes_on, a_node_with_attempts_waits_for_room,
         what_needs_more_than_there_is_comes_to_an_end, files_are_full)

with gateway(PROGRAMS, {**os.environ}) as one:
    add_executor(one, "small", "--cores", "2", "--data-memory", str(MEMORY))
    one.deploy(HERE / "data_parts.cpp", "parts")
    for case in CASES:
        if len(sys.argv) == 2 or case.__name__ in sys.argv[2:]:
            case(one)
            print(f"{case.__name__}: ok", flush=True)
