#!/usr/bin/python3
"""run.py PROGRAMS SOURCES: flows as people run them: the examples as their READMEs say, each kind of node, both ways to call, and wrong
documents, functions that fail, and Ctrl-C, each with its exit status and what is said of it."""
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

PROGRAMS, SOURCES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
MANY = 1_000_000
MANY_TIMEOUT_S = 240  # on cores that others use as well
LENGTH_4 = ("--input", "digest=098f6bcd4621d373cade4e832627b4f6", "--input", "alphabet=abcdefghijklmnopqrstuvwxyz", "--input", "length=4")


def deploy(site, name, source):
    module = site.folder / f"{name}.orc"
    site.orchid("build", source, "-o", module)
    site.orchid("deploy", module, "--name", name)


def of_map(each, more=""):
    return (f"flow: m\ninputs: {{n: u64}}\nnodes:\n  work: {{kind: map, takes: [n], partition: {{function: parts.up_to, takes: [n]}}, "
            f"each: parts.{each}{more}}}\nedges: [{{from: n, to: work.n}}]\noutputs: {{r: work}}\n")


def examples(site):
    search = SOURCES / "functions/md5search/search.yaml"
    for way in ([], ["--by-gateway"]):
        done = site.orchid("flow", "run", search, *LENGTH_4, *way)
        same("the string", json.loads(done.stdout), "test")
        expect_in("progress", "search: done in", done.stderr)
    expect_in("check", "good; 1 node", site.orchid("flow", "check", search).stdout)
    plan = json.loads(site.orchid("flow", "plan", search, "--json").stdout)
    same("what the search would do", [plan["way"], plan["waves"], plan["nodes"][0]["why"], plan["nodes"][0]["critical"]],
           ["lease", 1, "as many pieces as md5pieces.pieces gives", True])
    if not plan["nodes"][0]["seconds"] or plan["hosts"][0]["cores"] < 1:
        sys.exit(f"calls went through the gateway, and their times are not known: {plan}")
    expect_in("the same for people", "hosts: ", site.orchid("flow", "plan", search).stdout)
    expect_in("why", "--by-gateway asks for that", site.orchid("flow", "plan", search, "--by-gateway").stdout)
    sweep = SOURCES / "functions/sweep/sweep.yaml"
    site.orchid("flow", "run", sweep, "--input", "points=200", "--input", "seen=60", "--output", "results")
    drag, cost = json.loads((site.folder / "results/best.json").read_text())
    if not (0 < drag < 0.1 and 0 <= cost < 1):
        sys.exit(f"the best of the sweep is {drag} with a cost of {cost}")
    document = json.loads(site.orchid("flow", "run", sweep, "--input", "points=50", "--input", "seen=60", "--json").stdout)
    same("outcome", document["outcome"], "done")
    same("nodes", [(node["node"], node["state"]) for node in document["nodes"]], [("runs", "done"), ("best", "done")])


def all_kinds(site):
    path = flow(site, "inner", "flow: inner\ninputs: {x: u64}\nnodes: {t: {kind: call, function: parts.twice}}\n"
                               "edges: [{from: x, to: t}]\noutputs: {y: t}\n")
    path = flow(site, "all", "flow: all\ninputs: {n: u64}\nnodes:\n"
                             "  first: {kind: flow, file: inner.yaml}\n"
                             "  grow: {kind: iterate, function: parts.twice, times: 100, until: {function: parts.is_large}}\n"
                             "  large: {kind: call, function: parts.is_large}\n"
                             "  choose: {kind: if, takes: [large, x], then: parts.twice, else: parts.throws_at_five}\n"
                             "  lead: {kind: master, hand_out: parts.hand_out, each: parts.twice, gather: parts.add}\n"
                             "  conquer: {kind: divide, divide: parts.halves, solve: parts.twice, combine: parts.sum}\n"
                             "edges:\n  - {from: n, to: first.x}\n  - {from: first, to: grow}\n  - {from: grow, to: large}\n"
                             "  - {from: large, to: choose.large}\n  - {from: grow, to: choose.x}\n"
                             "  - {value: 0, to: lead}\n  - {from: first, to: conquer}\n"
                             "outputs: {r: choose, g: grow, l: lead, c: conquer}\n")
    wanted = {"r": 3072, "g": 1536, "l": 30, "c": 12}
    for way in ([], ["--by-gateway"]):
        same(f"all kinds, {way}", json.loads(site.orchid("flow", "run", path, "--input", "n=3", *way).stdout), wanted)
    submitted = site.orchid("flow", "submit", path, "--input", "n=3").stdout.strip()
    site.orchid("flow", "watch", submitted)
    same("all kinds, submitted", json.loads(site.orchid("flow", "result", submitted).stdout), wanted)


def wrong_documents(site):
    path = flow(site, "wrong", of_map("twyce"))
    for command in ("check", "run"):
        done = site.orchid("flow", command, path, check=False)
        same(f"status of {command}", done.returncode, 2)
        expect_in("fault", "wrong.yaml:4:", done.stderr)
        expect_in("fault", "twyce", done.stderr)
    path = flow(site, "good", of_map("twice"))
    done = site.orchid("flow", "run", path, check=False)
    same("status without input", done.returncode, 2)
    expect_in("what to do", "--input n=u64", done.stderr)
    done = site.orchid("flow", "run", path, "--input", "n=many", check=False)
    same("status of a wrong input", done.returncode, 2)
    done = site.orchid("flow", "run", path, "--input", "n=0", check=False)
    expect_in("an empty map", "there are no pieces", done.stderr)


def inputs_and_outputs(site):
    path = flow(site, "piped", of_map("twice"))
    done = subprocess.run([PROGRAMS / "orchid", "flow", "run", path, "--input", "n=@-"], input="3", capture_output=True, text=True,
                          env={**os.environ, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"}, timeout=COMMAND_TIMEOUT_S, check=False)
    same("an input from standard input", (done.returncode, done.stdout), (0, "[2,4,6]\n"))
    done = site.orchid("flow", "run", path, "--input", "n=3", "--output", "/proc/none", check=False)
    if done.returncode == 0:
        sys.exit("a folder that cannot be made was taken")
    expect_in("a folder that cannot be made", "making the folder /proc/none", done.stderr)
    if "work: done" in done.stderr:
        sys.exit("the flow ran although its results could not be written")


def failing_functions(site):
    for each, outcome in (("crashes_at_five", "function_crashed"), ("throws_at_five", "function_error: std::invalid_argument: five is too many")):
        path = flow(site, each, of_map(each))
        for way in ([], ["--by-gateway"]):
            done = site.orchid("flow", "run", path, "--input", "n=9", *way, check=False)
            same(f"status of {each}", done.returncode, 1)
            expect_in(each, f"node 'work', piece 5 of 9, attempt 1: {outcome}", done.stderr)
    done = site.orchid("flow", "run", site.folder / "throws_at_five.yaml", "--input", "n=9", "--json", check=False)
    same("output of a failure", done.stdout, "")
    document = json.loads(done.stderr)
    same("a failure as a document", [document["error"], document["outcome"], document["exit_status"]], ["function_error", "failed", 1])
    path = flow(site, "again", of_map("throws_at_five", ", retry: {attempts: 2, back_off: 10ms, outcomes: [function_error]}"))
    done = site.orchid("flow", "run", path, "--input", "n=9", check=False)
    expect_in("another attempt", "piece 5 of 9, attempt 1: function_error", done.stderr)
    expect_in("another attempt", "; it is tried again", done.stderr)
    expect_in("the last one", "piece 5 of 9, attempt 2", done.stderr)


def deadlines_pass(site):
    """What never ends is ended, outside the function: on a lease and through the gateway."""
    path = flow(site, "late", of_map("stays_at_three", ", deadline: 500ms"))
    for way in ([], ["--by-gateway"]):
        done = site.orchid("flow", "run", path, "--input", "n=3", "--workers", "2", *way, check=False)
        same(f"status of a call that is late, {way}", done.returncode, 4)
        expect_in("late", "node 'work', piece 3 of 3, attempt 1: deadline_exceeded", done.stderr)


def many_pieces(site):
    """A partitioner that gives a million, and so many calls of a map."""
    text = of_map("twice", ", merge: parts.length")
    done = site.orchid("flow", "run", flow(site, "many", text), "--input", f"n={MANY}", "--workers", "2", timeout=MANY_TIMEOUT_S)
    same("many pieces", json.loads(done.stdout), MANY)


def goes_on_from_its_state(site):
    path = flow(site, "state", of_map("throws_at_five"))
    done = site.orchid("flow", "run", path, "--input", "n=9", "--state", "kept", check=False)
    same("status", done.returncode, 1)
    expect_in("hint", "goes on from there", done.stderr)
    done = site.orchid("flow", "run", path, "--state", "kept", check=False)
    expect_in("again", "piece 5 of 9", done.stderr)
    other = flow(site, "different", of_map("twice"))
    done = site.orchid("flow", "run", other, "--state", "kept", check=False)
    same("status with another flow's state", done.returncode, 2)
    expect_in("why", "of another flow", done.stderr)


def interrupted(site, way):
    text = of_map("stays_at_three").replace("nodes:\n", "nodes:\n  first: {kind: call, function: parts.twice}\n")
    path = flow(site, "stays", text.replace("{from: n, to: work.n}", "{from: n, to: first}, {from: first, to: work.n}"))
    state, said = site.folder / f"stopped{len(way)}", site.folder / f"said{len(way)}"
    with said.open("w") as log:
        process = subprocess.Popen([PROGRAMS / "orchid", "flow", "run", path, "--input", "n=3", "--workers", "2", "--state", state, *way],
                                   env={**os.environ, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"}, cwd=site.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        wait_for(said.read_text, lambda text: "first: done in" in text, "the first node has ended", site.said)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=COMMAND_TIMEOUT_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    same("status after Ctrl-C", (process.returncode, out), (1, ""))
    expect_in("what is said", "the flow was cancelled", said.read_text())
    same("the state that is kept", json.loads(state.read_text())["outcome"], "cancelled")
    # Nothing of it goes on: neither in the gateway nor on the cores of the lease.
    wait_for(lambda: [one for one in site.document("status")["invocations"] if one["state"] != "done"], lambda open_: not open_,
             "no invocation goes on", site.said)
    wait_for(lambda: site.document("leases")["leases"], lambda leases: not leases,
             "no lease is left", site.said)


def templates(site):
    listed = {one["name"] for one in site.document("flow", "new")["templates"]}
    same("templates", listed, {path.stem for path in (SOURCES / "functions/templates").glob("*.yaml")})
    for name in sorted(listed):
        text = site.orchid("flow", "new", name).stdout
        path = flow(site, f"new-{name}", text)
        done = site.orchid("flow", "check", path, check=False)
        same(f"status of the template {name}", done.returncode, 2)
        faults = [line for line in done.stderr.splitlines() if line]
        wrong = [line for line in faults if "is left open" not in line and "other.yaml" not in line]
        same(f"faults of the template {name}", wrong, [])
    own = site.folder / "own"
    own.mkdir()
    (own / "mine.yaml").write_text("# A flow of my own.\nflow: mine\n")
    expect_in("a template of one's own", "flow: mine", site.orchid("flow", "new", "mine", "--templates", own).stdout)


with gateway(PROGRAMS, {**os.environ}) as one:
    one.add_executor("flow")
    wait_for(lambda: [executor["state"] for host in one.document("hosts")["hosts"] for executor in host["executors"]], bool,
             "an executor is there", one.said)
    for function, source in (("md5pieces", SOURCES / "functions/md5search/md5pieces.cpp"), ("sweep", SOURCES / "functions/sweep/sweep.cpp"),
                             ("parts", HERE / "parts.cpp")):
        deploy(one, function, source)
    examples(one)
    all_kinds(one)
    wrong_documents(one)
    inputs_and_outputs(one)
    failing_functions(one)
    deadlines_pass(one)
    many_pieces(one)
    goes_on_from_its_state(one)
    interrupted(one, [])
    interrupted(one, ["--by-gateway"])
    templates(one)
print("flows: ok")
