#!/usr/bin/python3
"""faults.py PROGRAMS: a flow whose processes are killed, values that are too many or too large, and what goes on afterwards. The functions of
parts.cpp are there in two versions, which give different numbers: so it shows which results were made before."""
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from comparisons import expect_in, same  # noqa: E402 (found only after the line above)
from flow_files import flow  # noqa: E402
from flow_runs import Run  # noqa: E402
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
HERE = pathlib.Path(__file__).resolve().parent


def deploy(site, mended):
    module = site.folder / f"parts{mended}.orc"
    site.orchid("build", HERE / "parts.cpp", "-o", module, *(["--", "-DMENDED"] if mended else []))
    site.orchid("deploy", module, "--name", "parts")


def of_map(each, more=""):
    return (f"flow: m\ninputs: {{n: u64}}\nnodes:\n  first: {{kind: call, function: parts.twice}}\n  work: {{kind: map, takes: [n], partition: "
            f"{{function: parts.up_to, takes: [n]}}, each: parts.{each}{more}}}\nedges: [{{from: n, to: first}}, {{from: first, to: work.n}}]\n"
            f"outputs: {{r: work}}\n")


def goes_on_after_a_failure(site):
    deploy(site, 0)
    path = flow(site, "fails", of_map("throws_at_five"))
    done = site.orchid("flow", "run", path, "--input", "n=4", "--at-once", "1", "--state", "kept", check=False)
    same("status of the failure", done.returncode, 1)
    deploy(site, 1)
    done = site.orchid("flow", "run", path, "--state", "kept", "--at-once", "1")
    # Neither the first node nor the first four pieces were called again.
    same("the whole", json.loads(done.stdout), [1, 2, 3, 4, 1005, 1006, 1007, 1008])
    if (site.folder / "kept").exists():
        sys.exit("the state is still there, though the results were delivered")


def killed_run_goes_on(site):
    deploy(site, 0)
    path = flow(site, "killed", of_map("stays_at_three"))
    state = site.folder / "state"
    with Run(site, path, "--input", "n=2", "--workers", "2", "--state", state) as run:
        run.until("first: done in")
        wait_for(lambda: state.exists() and [node for node in json.loads(state.read_text())["nodes"] if node[1]["state"] == "done"], bool,
                 "the state has the first node", site.said)
        run.kill()
    same("the state that is kept", json.loads(state.read_text())["outcome"], "running")
    deploy(site, 1)
    done = site.orchid("flow", "run", path, "--state", state)
    numbers = json.loads(done.stdout)
    same("pieces", len(numbers), 4)  # twice of the first version
    same("those that stayed", numbers[2:], [1003, 1004])


def worker_is_killed(site):
    deploy(site, 0)
    path = flow(site, "naps", of_map("naps"))
    with Run(site, path, "--input", "n=1", "--workers", "1") as run:
        run.until("first: done in")
        workers = wait_for(lambda: descendants(site.executors[0].pid, "orchid-worker"), bool, "a worker runs", site.said)
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        same("a flow whose worker was killed", run.result(), (0, "[1,2]\n"))


def descendants(ancestor, name):
    """The processes of that name below one."""
    parents, names = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text()
        except OSError:
            continue
        head, _, tail = text.rpartition(")")
        parents[int(entry.name)] = int(tail.split()[1])
        names[int(entry.name)] = head.partition("(")[2]

    def is_below(process):
        while process in parents and process > 1:
            process = parents[process]
            if process == ancestor:
                return True
        return False

    return [process for process, its_name in names.items() if its_name == name[:15] and is_below(process)]


def gateway_is_killed(site):
    path = flow(site, "behind", of_map("naps"))
    with Run(site, path, "--input", "n=1", "--by-gateway") as run:
        run.until("first: done in")
        wait_for(lambda: [one for one in site.document("status")["invocations"] if one["state"] == "running" and "naps" in one["entry"]], bool,
                 "a piece runs", site.said)
        site.process.kill()
        site.process.wait()
        site.start()
        same("a flow whose gateway was killed", run.result(), (0, "[1,2]\n"))
    # Each piece is one invocation: none was made a second time beside itself.
    pieces = [one for one in site.document("status")["invocations"] if one["entry"] == "naps"]
    same("invocations of two pieces", len(pieces), 2)


def too_many_and_too_large(site):
    path = flow(site, "many", of_map("twice").replace("outputs: {r: work}", "outputs: {r: count}").replace(
        "edges: [", "  count: {kind: call, function: parts.length}\nedges: [{from: work, to: count}, "))
    done = site.orchid("flow", "run", path, "--input", "n=50000")
    same("a map of 100 000 pieces", json.loads(done.stdout), 100000)
    path = flow(site, "large", "flow: l\ninputs: {n: u64}\nnodes:\n  a: {kind: call, function: parts.much}\n"
                               "  b: {kind: call, function: parts.size_of}\nedges: [{from: n, to: a}, {from: a, to: b}]\noutputs: {r: b}\n")
    same("a value of a megabyte", json.loads(site.orchid("flow", "run", path, "--input", "n=1000000").stdout), 1000000)
    done = site.orchid("flow", "run", path, "--input", f"n={3 << 30}", check=False)
    same("status of what is too large", done.returncode, 1)
    expect_in("what is too large", "node 'a'", done.stderr)


def program_runs_a_flow(site):
    deploy(site, 1)
    environment = {**os.environ, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"}
    done = subprocess.run([PROGRAMS / "flow_program", "1"], env=environment, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=True)
    lines = done.stdout.split("\n")
    same("what the program says", lines[:5], ["first running", "first done", "all running", "all done", "done"])
    same("the results", lines[5:7], ["1001", "1002"])
    deploy(site, 0)
    done = subprocess.run([PROGRAMS / "flow_program", "2", "cancel"], env=environment, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S,
                          check=True)
    same("a flow that the program cancels", done.stdout.split("\n")[-2], "cancelled")


with gateway(PROGRAMS, {**os.environ}) as one:
    one.add_executor("flow")
    wait_for(lambda: [executor["state"] for host in one.document("hosts")["hosts"] for executor in host["executors"]], bool,
             "an executor is there", one.said)
    goes_on_after_a_failure(one)
    killed_run_goes_on(one)
    program_runs_a_flow(one)
    worker_is_killed(one)
    gateway_is_killed(one)
    too_many_and_too_large(one)
print("flows with faults: ok")
