#!/usr/bin/python3
"""optimisers.py PROGRAMS SOURCES: flows that are optimised, by optimisers of ours and by libraries of a user: good ones, and ones that lie, hang
or crash. Whatever they do, the flow gives what it gives without them, and what is wrong with them is said once."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from comparisons import expect_in, same  # noqa: E402 (found only after the line above)
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
SOURCES = pathlib.Path(sys.argv[2]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
COUNT = 50_000
TOTAL = COUNT * (COUNT + 1)


def flow(site, optimise):
    path = site.folder / "optimised.yaml"
    path.write_text(f"flow: optimised\noptimise: {optimise}\ninputs: {{n: u64}}\nnodes:\n  work: {{kind: map, takes: [n], partition: {{function: "
                    "optimised.up_to, takes: [n]}, each: optimised.doubles, merge: optimised.total}\nedges: [{from: n, to: work.n}]\noutputs: {r: work}\n")
    return path


def run(site, optimise):
    done = site.orchid("flow", "run", flow(site, optimise), "--input", f"n={COUNT}", "--workers", "2", "--json")
    document = json.loads(done.stdout)
    same(f"the result with {optimise}", document["outputs"]["r"], TOTAL)
    return document["nodes"][0].get("why", ""), done.stderr


def all_hosts_tell_their_watts(site):
    return all("watts" in host for host in site.document("hosts")["hosts"])


def ours_decide_and_say_why(site):
    planned = site.orchid("flow", "plan", flow(site, "[speed, granularity]"), "--input", f"n={COUNT}").stdout
    expect_in("what is planned", "optimised by speed: the node with the longest way", planned)
    expect_in("what is planned", "optimised by granularity: ", planned)
    told = all_hosts_tell_their_watts(site)
    why, said = run(site, "[speed, granularity, {power: {watts: 40, watts_per_core: 5}}]")
    for part in ("speed: ", "granularity: ", "power: "):
        expect_in("why", part, why)
    # A machine that can be asked what it draws may tell so for the first time meanwhile.
    if told:
        expect_in("what power goes by where hosts report", "by what hosts report", why)
    elif not all_hosts_tell_their_watts(site):
        expect_in("what power goes by where hosts report nothing", "by declared watts", why)
    if "optimiser" in said:
        sys.exit(f"nothing was wrong, and it was said: {said}")


def wrong_names_are_faults(site):
    checked = site.orchid("flow", "check", flow(site, "[haste]"), check=False)
    same("the status of a wrong name", checked.returncode, 2)
    expect_in("the fault", "optimised.yaml:2:12: there is no optimiser 'haste'", checked.stdout + checked.stderr)


def a_library_decides(site):
    why, said = run(site, "[{./as_told.so: {act: good}}]")
    expect_in("why", "as_told: ", why)
    if "decides in its place" in said:
        sys.exit(f"the library was given up: {said}")
    planned = site.orchid("flow", "plan", flow(site, "[./as_told.so]")).stdout
    expect_in("what is planned", "optimised by as_told: does as it is told", planned)


def bad_libraries_are_told_once(site):
    for act, trouble in (("no_calls", "into 0 calls"), ("many_calls", "into 1000000000 calls"), ("unknown_node", "speaks of node 4000000000"),
                         ("nobody", "on host 12 of"), ("hang", "does not decide within 100 ms"), ("crash", "has ended by signal 11")):
        why, said = run(site, f"[{{./as_told.so: {{act: {act}}}}}]")
        expect_in(f"what is said of one with {act}", trouble, said)
        same(f"how often it is said of one with {act}", said.count("'speed' decides in its place"), 1)
        expect_in(f"why with {act}", "speed: ", why)


def what_is_no_library_is_refused_before_the_flow_runs(site):
    done = site.orchid("flow", "run", flow(site, "[./missing.so]"), "--input", "n=5", check=False)
    if done.returncode == 0:
        sys.exit("a flow ran whose optimiser is not there")
    expect_in("the refusal", "optimiser './missing.so': ", done.stderr)


def a_submitted_flow_is_optimised(site):
    refused = site.orchid("flow", "submit", flow(site, "[./as_told.so]"), "--input", "n=5", check=False)
    if refused.returncode == 0:
        sys.exit("a library was taken for a submitted flow")
    expect_in("the refusal", "only 'orchid flow run' loads", refused.stderr)
    flow_id = site.orchid("flow", "submit", flow(site, "[speed, granularity]"), "--input", f"n={COUNT}").stdout.strip()
    site.orchid("flow", "watch", flow_id)
    same("the result", int(site.orchid("flow", "result", flow_id).stdout), TOTAL)
    expect_in("what is shown", "granularity: ", site.orchid("flow", "show", flow_id).stdout)


def flow_with_variants(site, variants="[squares_128.squares, squares_256.squares]"):
    path = site.folder / "variants.yaml"
    path.write_text("flow: variants\noptimise: [grid]\ninputs: {n: u64}\nnodes:\n  work:\n    kind: map\n    takes: [n]\n"
                    "    partition: {function: optimised.up_to, takes: [n]}\n    each: squares_64.squares\n"
                    f"    variants: {variants}\n    merge: optimised.total\n"
                    "edges: [{from: n, to: work.n}]\noutputs: {r: work}\n")
    return path


def variants_are_tried_and_kept(site, state):
    """The same kernel with three sizes of its groups: what it gives is the same with any."""
    for size in (64, 128, 256):
        site.orchid("build", HERE / "squares.cpp", "-o", site.folder / f"squares_{size}.orc", "--", "-O3", f"-DGROUP={size}")
        site.orchid("deploy", site.folder / f"squares_{size}.orc")
    names = [f"squares_{size}.squares" for size in (64, 128, 256)]
    pieces = 200
    wanted = sum((first + i) ** 2 for first in range(1, pieces + 1) for i in range(4096))
    path = flow_with_variants(site)
    planned = site.orchid("flow", "plan", path, "--input", f"n={pieces}").stdout
    expect_in("what is planned", "optimised by grid: nodes that have variants of their function", planned)
    expect_in("what is planned", f"grid: {names[0]}; {names[1]} was not tried yet; {names[2]} was not tried yet", planned)
    for turn in ("first", "second"):
        done = json.loads(site.orchid("flow", "run", path, "--input", f"n={pieces}", "--workers", "2", "--json").stdout)
        same(f"the result of the {turn} run", done["outputs"]["r"], wanted)
        expect_in(f"why in the {turn} run", "grid: squares_", done["nodes"][0]["why"])
        expect_in(f"why in the {turn} run", " times as long", done["nodes"][0]["why"])
    kept = json.loads((state / "orchid/flow-variants.json").read_text())["variants"]
    same("choices that were kept", len(kept), 1)
    same("functions without their versions", [name.split("@")[0] for name in kept[0]["functions"]], names)
    if not all("@" in name for name in kept[0]["functions"]) or not all(calls > 0 for calls in kept[0]["calls"]):
        sys.exit(f"not every variant was tried and kept with its version: {kept}")
    planned = site.orchid("flow", "plan", path, "--input", f"n={pieces}").stdout
    best = names[kept[0]["relative"].index(1.0)]
    expect_in("what is planned after a run", f"grid: {best}; ", planned)
    expect_in("what is planned after a run", " times as long", planned)
    if "not tried yet" in planned:
        sys.exit(f"what was learned is not in the plan: {planned}")

    # The same for a submitted flow, whose process keeps it.
    flow_id = site.orchid("flow", "submit", path, "--input", f"n={pieces}").stdout.strip()
    site.orchid("flow", "watch", flow_id)
    same("the result of a submitted flow", int(site.orchid("flow", "result", flow_id).stdout), wanted)
    expect_in("what is shown", "grid: squares_", site.orchid("flow", "show", flow_id).stdout)
    expect_in("what is explained", "grid: squares_", site.orchid("explain", flow_id, "work").stdout)


def wrong_variants_are_faults(site):
    for variants, fault in (("[optimised.total]", "variants.yaml:10:16: 'optimised.total' is u64(span<u64>), and 'squares_64.squares'"),
                            ("[squares_512.squares]", "variants.yaml:10:16: "),
                            ("[]", "variants.yaml:10:15: 'variants' of node 'work' is empty"),
                            (f"[{', '.join('v' + str(i) for i in range(17))}]", "node 'work' has 17 variants; it may have 16 at most")):
        checked = site.orchid("flow", "check", flow_with_variants(site, variants), check=False)
        same(f"the status with variants {variants}", checked.returncode, 2)
        expect_in("the fault", fault, checked.stdout + checked.stderr)


NEXT = """flow: next
optimise: [prefetch]
inputs: {n: u64}
nodes:
  first: {kind: call, function: waits}
  second: {kind: call, function: optimised.up_to}
edges: [{from: n, to: first}, {from: first, to: second}]
outputs: {r: second}
"""


def states(site, flow_id):
    return {node["node"]: node["state"] for node in site.document("flow", "show", flow_id)["nodes"]}


def a_worker_stands_before_the_next_node_begins(site):
    """While the only worker that the tenant has runs the node before it, which would last for longer than the test waits."""
    site.orchid("build", HERE / "waits.cpp", "-o", site.folder / "waits.orc")
    site.orchid("deploy", site.folder / "waits.orc")
    (site.folder / "next.yaml").write_text(NEXT)
    same("workers that were taken ahead, before", site.metrics()["orchid_workers_ahead_total"], 0)
    flow_id = site.orchid("flow", "submit", site.folder / "next.yaml", "--input", "n=300").stdout.strip()
    wait_for(lambda: site.metrics()["orchid_workers_ahead_total"], lambda count: count >= 1, "a worker is taken ahead", site.said)
    same("the flow meanwhile", states(site, flow_id), {"first": "running", "second": "waiting"})
    wait_for(lambda: [host["cores_leased"] for host in site.document("hosts")["hosts"]], lambda cores: cores == [2], "two cores have workers", site.said)
    # It is there for any call of the function.
    same("what a call finds", json.loads(site.orchid("invoke", "optimised.up_to", "--args", "[3]").stdout), [1, 2, 3])
    same("the flow still", states(site, flow_id), {"first": "running", "second": "waiting"})
    site.orchid("flow", "cancel", flow_id)
    # The first call may have had the first one.
    same("workers that were taken ahead are few", site.metrics()["orchid_workers_ahead_total"] in (1, 2), True)
    done = site.orchid("flow", "run", site.folder / "next.yaml", "--input", "n=1", "--json")
    same("the result", json.loads(done.stdout)["outputs"]["r"], [1])


def what_is_loaded_ahead_is_checked_as_calls_are(site):
    def load(name, *fields):
        words = [word for field in fields for word in ("--header", field)]
        done = subprocess.run(["curl", "--silent", "--max-time", "20", "--output", "/dev/null", "--write-out", "%{http_code}", "--request", "POST",
                               "--unix-socket", site.folder / "gateway.sock", *words, f"http://localhost/v1/functions/{name}/load"],
                              capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=True)
        return int(done.stdout)

    for status, *request in ((204, "optimised"), (204, "optimised", "Orchid-Host-Kind: gpu"), (404, "nobody"), (400, "optimised", "Orchid-Host-Kind: tpu"),
                             (400, "optimised", "Orchid-Device: both"), (400, "optimised", f"Orchid-Cluster: {'x' * 257}"),
                             (404, "optimised", "Orchid-Data: nothing"), (400, "optimised", "Orchid-Data: ,,")):
        same(f"the status of {request}", load(*request), status)
    # Not while the gateway has just started: hosts of that cluster may come yet.
    wait_for(lambda: load("optimised", "Orchid-Cluster: nowhere"), lambda status: status == 400, "an unknown cluster is refused", site.said)


# With one thread for HTTP: a worker belongs to the one that took it.
with tempfile.TemporaryDirectory() as folder, \
        gateway(PROGRAMS, {**os.environ, "XDG_STATE_HOME": folder}, "http_threads = 1\n") as one:
    one.add_executor("flow", "--cores", "2")
    wait_for(lambda: [executor["state"] for host in one.document("hosts")["hosts"] for executor in host["executors"]], bool,
             "an executor is there", one.said)
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", f"-I{SOURCES}/libs/optimiser/include", SOURCES / "tests/unit/optimiser/libraries/as_told.c",
                    "-o", one.folder / "as_told.so"], check=True, timeout=COMMAND_TIMEOUT_S)
    one.orchid("build", HERE / "optimised.cpp", "-o", one.folder / "optimised.orc")
    one.orchid("deploy", one.folder / "optimised.orc")
    a_worker_stands_before_the_next_node_begins(one)
    what_is_loaded_ahead_is_checked_as_calls_are(one)
    ours_decide_and_say_why(one)
    wrong_names_are_faults(one)
    a_library_decides(one)
    bad_libraries_are_told_once(one)
    what_is_no_library_is_refused_before_the_flow_runs(one)
    a_submitted_flow_is_optimised(one)
    variants_are_tried_and_kept(one, pathlib.Path(folder))
    wrong_variants_are_faults(one)
print("flows that are optimised: ok")
