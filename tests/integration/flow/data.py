#!/usr/bin/python3
"""data.py PROGRAMS: flows whose edges are data objects: the gateway carries none of their bytes, nothing is left but results, and what is
lost with its host is made again."""
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from comparisons import expect_in, same  # noqa: E402 (found only after the line above)
from flow_files import flow  # noqa: E402
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
BUDGET = "1536MiB"
COUNT = 1 << 23  # of doubles: 64 MiB an object
STEPS = 12
SUM = COUNT * (COUNT - 1) // 2
LARGEST_SHARE = 16 << 20  # of the bytes that move, in the gateway

CHAIN = f"""flow: chain
inputs: {{count: u64}}
nodes:
  made: {{kind: call, function: parts.fill}}
  grown: {{kind: iterate, function: parts.scale, takes: [state, by], times: {STEPS}}}
  halved: {{kind: call, function: parts.scale, takes: [values, by]}}
  sum: {{kind: call, function: parts.total}}
edges:
  - {{from: count, to: made}}
  - {{from: made, to: grown.state}}
  - {{value: 2.0, to: grown.by}}
  - {{from: grown, to: halved.values}}
  - {{value: 0.5, to: halved.by}}
  - {{from: halved, to: sum}}
outputs: {{sum: sum, halved: halved}}
"""
LATE = """flow: late
inputs: {count: u64, more: data<f64>}
nodes:
  made: {kind: call, function: parts.fill}
  twice: {kind: call, function: parts.scale, takes: [values, by]}
  sum: {kind: call, function: parts.late_total}
  given: {kind: call, function: parts.total}
edges:
  - {from: count, to: made}
  - {from: made, to: twice.values}
  - {value: 2.0, to: twice.by}
  - {from: twice, to: sum}
  - {from: more, to: given}
outputs: {sum: sum, given: given}
"""


def objects(site):
    return [one for one in site.document("data", "list")["data"] if one["state"] == "sealed"]


def moved_by(process):
    fields = dict(line.split(": ") for line in pathlib.Path(f"/proc/{process.pid}/io").read_text().splitlines())
    return int(fields["rchar"]) + int(fields["wchar"])


def add_executor(site, name):
    before = {executor["id"] for host in site.document("hosts")["hosts"] for executor in host["executors"]}
    site.add_executor(name, "--cores", "2", "--data-memory", BUDGET)
    wait_for(lambda: {executor["id"] for host in site.document("hosts")["hosts"] for executor in host["executors"]
                      if executor["state"] == "connected"} - before, bool, f"executor {name} is there", site.said)


def bytes_stay_where_they_are(site):
    before = moved_by(site.process)
    done = site.orchid("flow", "run", flow(site, "chain", CHAIN), "--input", f"count={COUNT}")
    carried = moved_by(site.process) - before
    outputs = json.loads(done.stdout)
    same("the sum", outputs["sum"], SUM * 2 ** STEPS / 2)
    if carried > LARGEST_SHARE:
        sys.exit(f"the gateway has read and written {carried} bytes while {COUNT * 8 * (STEPS + 2)} bytes moved")
    left = wait_for(lambda: objects(site), lambda all_: len(all_) == 1, "all but the result is dropped", site.said)
    same("the result that is data", (left[0]["id"], left[0]["bytes"]), (outputs["halved"], COUNT * 8))
    site.orchid("data", "delete", outputs["halved"])


def lost_data_is_made_again(site):
    """The host goes while a node looks at data of two others, and another one comes."""
    given = site.folder / "given"
    given.write_bytes(b"\0\0\0\0\0\0\xf0\x3f" * 4)  # 1.0
    site.orchid("data", "put", "given", given)
    with (site.folder / "said").open("w") as log:
        process = subprocess.Popen([PROGRAMS / "orchid", "flow", "run", flow(site, "late", LATE), "--input", "count=1000", "--input", "more=given"],
                                   env={**site.environment, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"}, cwd=site.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        wait_for((site.folder / "said").read_text, lambda text: "twice: done" in text and "given: done" in text, "the last node runs", site.said)
        lose_host(site, "second")
        out, _ = process.communicate(timeout=COMMAND_TIMEOUT_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    same(f"status ({(site.folder / 'said').read_text()})", process.returncode, 0)
    same("the results", json.loads(out), {"sum": 999000.0, "given": 4.0})
    expect_in("what is said", "it is made again", (site.folder / "said").read_text())


def lose_host(site, name):
    os.killpg(site.executors[0].pid, signal.SIGKILL)
    site.executors[0].wait(COMMAND_TIMEOUT_S)
    site.executors.clear()
    add_executor(site, name)


def submitted_flows_make_it_again_as_well(site):
    given = site.folder / "given"
    site.orchid("data", "put", "given", given)
    id_ = site.orchid("flow", "submit", site.folder / "late.yaml", "--input", "count=1000", "--input", "more=given").stdout.strip()
    states = lambda: {node["node"]: node["state"] for node in site.document("flow", "show", id_)["nodes"]}  # noqa: E731
    wait_for(states, lambda all_: all_["twice"] == "done" and all_["given"] == "done", "the last node runs", site.said)
    lose_host(site, "third")
    ended = wait_for(lambda: site.document("flow", "show", id_), lambda one: one["state"] in ("done", "failed"), "the flow has ended", site.said)
    same(f"its state ({ended.get('message')})", ended["state"], "done")
    same("its results", json.loads(site.orchid("flow", "result", id_).stdout), {"sum": 999000.0, "given": 4.0})
    expect_in("its log", "it is made again", site.orchid("flow", "logs", id_).stdout)


def what_was_given_and_is_lost_is_told(site):
    given = site.folder / "given"
    id_ = site.orchid("data", "put", "given", given, "--json").stdout
    site.orchid("data", "delete", json.loads(id_)["id"])
    done = site.orchid("flow", "run", site.folder / "late.yaml", "--input", "count=10", "--input", "more=nothing", check=False)
    same("status of unknown data", done.returncode, 2)
    expect_in("unknown data", "nothing", done.stderr)
    done = site.orchid("flow", "run", site.folder / "late.yaml", "--input", "count=10", "--input", f"more={json.loads(id_)['id']}", check=False)
    same(f"status of deleted data ({done.stderr})", done.returncode, 3)
    expect_in("deleted data", "node 'given'", done.stderr)


def wrong_edges(site):
    text = CHAIN.replace("{from: halved, to: sum}", "{from: count, to: sum}")
    done = site.orchid("flow", "check", flow(site, "wrong", text), check=False)
    same("status of a wrong edge", done.returncode, 2)
    expect_in("a wrong edge", "data<f64>", done.stderr)


CASES = (bytes_stay_where_they_are, lost_data_is_made_again, submitted_flows_make_it_again_as_well, what_was_given_and_is_lost_is_told, wrong_edges)

with gateway(PROGRAMS, {**os.environ}) as one:
    add_executor(one, "first")
    module = one.folder / "parts.orc"
    one.orchid("build", HERE / "data_parts.cpp", "-o", module)
    one.orchid("deploy", module, "--name", "parts")
    for case in CASES:
        if len(sys.argv) == 2 or case.__name__ in sys.argv[2:]:
            case(one)
            print(f"{case.__name__}: ok", flush=True)
