#!/usr/bin/python3
"""run.py PROGRAMS SOURCES [CASE...]: flows that were handed over: what their owner sees of them, and that each comes to one end, with no call made
twice, whatever is killed meanwhile."""
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from comparisons import expect_in, same  # noqa: E402 (found only after the line above)
from flow_files import flow  # noqa: E402
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402
from processes import expect  # noqa: E402
from submitted_flows import (FLOW_DEADLINE_S, add_executor, ask, await_death, await_end, calls, flow_processes,  # noqa: E402
                             kill_flows, kill_gateway, state, submit)

PROGRAMS, SOURCES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
STRANGER = "nobody"
PIECES = 24
MANY = 10_000
SUM = PIECES * (PIECES + 1)


def of_map(each, more=""):
    return (f"flow: m\ninputs: {{n: u64}}\nnodes:\n  work: {{kind: map, takes: [n], partition: {{function: steps.up_to, takes: [n]}}, "
            f"each: steps.{each}{more}}}\n  total: {{kind: reduce, function: steps.sum, fan: 8}}\n"
            f"edges: [{{from: n, to: work.n}}, {{from: work, to: total}}]\noutputs: {{r: total}}\n")


def await_pieces(site, flow_id, count):
    wait_for(lambda: next(node["done"] for node in state(site, flow_id)["nodes"] if node["node"] == "work"), lambda done: done >= count,
             f"{count} pieces of {flow_id} are done", site.said)


def kill_all(site):
    """The executor with its workers, the process of the flows and the gateway, none of which sees another one end."""
    flows = flow_processes(site)
    os.killpg(site.executors[0].pid, signal.SIGKILL)
    for pid in flows:
        os.kill(pid, signal.SIGKILL)
    site.process.kill()
    site.process.wait(COMMAND_TIMEOUT_S)
    site.executors[0].wait(COMMAND_TIMEOUT_S)
    site.executors.clear()
    for pid in flows:
        await_death(site, pid)
    site.start()
    site.add_executor("again")


def kill_executor(site):
    os.killpg(site.executors[0].pid, signal.SIGKILL)
    site.executors[0].wait(COMMAND_TIMEOUT_S)
    site.executors.clear()
    site.add_executor("again")


def submitted_and_forgotten(site):
    path = flow(site, "first", of_map("slowly"))
    before = calls(site)
    flow_id = submit(site, path, "--key", "first", n=PIECES)
    same("the same key", submit(site, path, "--key", "first", n=PIECES), flow_id)
    listed = site.document("flow", "list")["flows"]
    same("the list", [one["id"] for one in listed], [flow_id])
    watched = site.orchid("flow", "watch", flow_id)
    expect_in("what is watched", f"work: done, {PIECES} of {PIECES}", watched.stderr)
    shown = await_end(site, flow_id)
    same("nodes", [(node["node"], node["state"]) for node in shown["nodes"]], [("work", "done"), ("total", "done")])
    expect_in("for people", "work", site.orchid("flow", "show", flow_id).stdout)
    expect_in("for people", flow_id, site.orchid("flow", "list").stdout)
    explained = site.orchid("explain", flow_id, "work").stdout
    expect_in("a node that is done", f"node work of flow m ({flow_id}): done, {PIECES} of {PIECES}", explained)
    expect_in("its newest call", "the call ran on ", explained)
    expect_in("all nodes", "total", site.orchid("explain", flow_id).stdout)
    same("the result", json.loads(site.orchid("flow", "result", flow_id).stdout), SUM)
    expect_in("the log", "total: done", site.orchid("flow", "logs", flow_id).stdout)
    after = calls(site)
    same("calls of pieces", after["steps.slowly"] - before["steps.slowly"], PIECES)
    status, _ = ask(site, "DELETE", f"/v1/flows/{flow_id}")
    same("a flow that is done is deleted", status, 204)


def killed(site, name, kill, points):
    """One outcome, and each call once, however often somebody is killed."""
    path = flow(site, name, of_map("slowly"))
    before = calls(site)
    flow_id = submit(site, path, n=PIECES)
    watch = subprocess.Popen([PROGRAMS / "orchid", "flow", "watch", flow_id, "--json"],
                             env={**site.environment, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"}, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        # Who has never had an answer takes the gateway for one that is not there.
        expect(select.select([watch.stdout], [], [], COMMAND_TIMEOUT_S)[0], f"{name}: who watches is told of the flow")
        for point in points:
            await_pieces(site, flow_id, point)
            kill(site)
        await_end(site, flow_id)
        said = watch.communicate(timeout=COMMAND_TIMEOUT_S)[1]
        same(f"{name}: status of who watched all the time ({said})", watch.returncode, 0)
    finally:
        if watch.poll() is None:
            watch.kill()
            watch.wait()
    same(f"{name}: the result", json.loads(site.orchid("flow", "result", flow_id).stdout), SUM)
    after = calls(site)
    same(f"{name}: calls of pieces", after["steps.slowly"] - before["steps.slowly"], PIECES)
    same(f"{name}: calls of the partition", after["steps.up_to"] - before["steps.up_to"], 1)
    kill(site)
    same(f"{name}: the result afterwards", json.loads(site.orchid("flow", "result", flow_id).stdout), SUM)


def the_process_of_the_flows_is_killed(site):
    killed(site, "flows", kill_flows, (0, 1, 5, 12, 20))


def the_gateway_is_killed(site):
    killed(site, "gateway", kill_gateway, (0, 6, 15))


def both_are_killed(site):
    killed(site, "both", lambda one: kill_gateway(one, also_flows=True), (3, 10))


def the_executor_is_killed(site):
    killed(site, "executor", kill_executor, (4, 12))


def all_are_killed(site):
    killed(site, "all", kill_all, (3, 14))


def a_piece_crashes(site):
    flow_id = submit(site, flow(site, "crashes", of_map("crashes_at_five")), n=9)
    failed = await_end(site, flow_id, "failed")
    expect_in("why", "node 'work', piece 5 of 9, attempt 1: function_crashed", failed["message"])
    expect_in("for people", "function_crashed", site.orchid("explain", flow_id, "work").stdout)


def a_call_is_late(site):
    flow_id = submit(site, flow(site, "late", of_map("never_ends", ", deadline: 500ms")), n=1)
    failed = await_end(site, flow_id, "failed")
    expect_in("why", "node 'work', piece 1 of 1, attempt 1: deadline_exceeded", failed["message"])


def a_node_that_fails_stops_the_flow(site):
    flow_id = submit(site, flow(site, "throws", of_map("throws_at_five")), n=9)
    failed = await_end(site, flow_id, "failed")
    expect_in("why", "node 'work', piece 5 of 9, attempt 1: function_error", failed["message"])
    watched = site.orchid("flow", "watch", flow_id, check=False)
    same("status of watch", watched.returncode, 1)
    expect_in("what to do", f"orchid flow retry {flow_id}", watched.stderr)
    expect_in("no result", "has outputs when it is done", site.orchid("flow", "result", flow_id, check=False).stderr)
    for order, why in (("resume", "is suspended"), ("cancel", "is failed already")):
        expect_in(order, why, site.orchid("flow", order, flow_id, check=False).stderr)
    before = calls(site)
    site.orchid("flow", "retry", flow_id)
    await_end(site, flow_id, "failed")
    mended = site.folder / "mended.cpp"
    mended.write_text((HERE / "steps.cpp").read_text().replace("number == 5", "number == 99"))
    site.deploy(mended, "steps")
    kill_flows(site)
    site.orchid("flow", "retry", flow_id)
    await_end(site, flow_id)
    same("the result of the mended function", json.loads(site.orchid("flow", "result", flow_id).stdout), 45)
    after = calls(site)
    same("the partition is not called again", after["steps.up_to"], before["steps.up_to"])


def what_is_gathered_is_too_large(site):
    """The results of a map are values, which pass through the gateway."""
    text = ("flow: large\ninputs: {n: span<u64>}\nnodes:\n  work: {kind: map, takes: [n], each: steps.much}\n"
            "  total: {kind: call, function: steps.size_of}\nedges: [{from: n, to: work}, {from: work, to: total}]\noutputs: {r: total}\n")
    path = flow(site, "large", text)
    fits = submit(site, path, n=[16 << 20] * 3)
    await_end(site, fits)
    same("the sum of what fits", json.loads(site.orchid("flow", "result", fits).stdout), 48 << 20)
    failed = await_end(site, submit(site, path, n=[16 << 20] * 5), "failed")
    for words in ("node 'total'", "83886088 bytes", "64 MiB", "a port of the type data<...>"):
        expect_in("why, and what to do", words, failed["message"])
    done = site.orchid("flow", "run", path, "--by-gateway", "--input", f"n={[16 << 20] * 5}", check=False)
    expect_in("the same in the foreground", "a port of the type data<...>", done.stderr)
    done = site.orchid("flow", "run", path, "--input", f"n={[16 << 20] * 5}")
    same("the sum on a lease", json.loads(done.stdout), 80 << 20)


def cancelled_and_tried_again(site):
    many = 4 * PIECES  # so that some are left for as long as it takes to say so
    flow_id = submit(site, flow(site, "cancelled", of_map("slowly")), n=many)
    await_pieces(site, flow_id, 3)
    expect_in("cancelled", "is cancelled", site.orchid("flow", "cancel", flow_id).stdout)
    same("state", state(site, flow_id)["state"], "cancelled")
    kill_flows(site)
    same("state after a restart", state(site, flow_id)["state"], "cancelled")
    expect_in("retried", "is running", site.orchid("flow", "retry", flow_id).stdout)
    await_end(site, flow_id)
    same("the result", json.loads(site.orchid("flow", "result", flow_id).stdout), many * (many + 1))


def deleted_while_it_runs(site):
    flow_id = submit(site, flow(site, "deleted", of_map("never_ends")), n=3)
    wait_for(lambda: calls(site)["steps.never_ends"], lambda count: count > 0, "a piece is under way", site.said)
    expect_in("deleted", "deleted", site.orchid("flow", "delete", flow_id).stdout)
    done = site.orchid("flow", "show", flow_id, check=False)
    expect(done.returncode != 0, "a deleted flow is shown")
    expect_in("deleted", "there is no flow", done.stderr)
    wait_for(lambda: [one["state"] for one in ask(site, "GET", "/v1/invocations?limit=1000")[1]["invocations"] if one["entry"] == "never_ends"],
             lambda states: all(one == "done" for one in states), "its calls are cancelled", site.said)


def wrong_use(site):
    done = site.orchid("flow", "show", "fl-0123456789abcdef", check=False)
    same("status of an unknown flow", done.returncode, 2)
    expect_in("an unknown flow", "there is no flow 'fl-0123456789abcdef'", done.stderr)
    for method, path in (("GET", ""), ("GET", "/outputs"), ("GET", "/logs"), ("GET", "/events"), ("POST", "/cancel"), ("DELETE", "")):
        same(f"{method} {path} of an unknown flow", ask(site, method, f"/v1/flows/x{path}")[0], 404)
    wrong = of_map("slowley")
    done = site.orchid("flow", "submit", flow(site, "wrong", wrong), "--input", "n=3", check=False)
    same("status of a wrong document", done.returncode, 2)
    expect_in("a wrong document", "wrong.yaml:4:", done.stderr)
    status, problem = ask(site, "POST", "/v1/flows", {"document": wrong, "file": "f.yaml", "inputs": {"n": 3}})
    same("status of a wrong document", status, 400)
    expect_in("where", "f.yaml:4:", problem["detail"])
    status, problem = ask(site, "POST", "/v1/flows", {"document": of_map("slowly")})
    same("status without inputs", status, 400)
    expect_in("what is missing", "add n (u64)", problem["detail"])
    same("no body", ask(site, "POST", "/v1/flows")[0], 400)
    same("an empty key", ask(site, "POST", "/v1/flows", {}, headers={"Idempotency-Key": "k" * 300})[0], 400)


def checked_before_it_is_submitted(site):
    status, report = ask(site, "POST", "/v1/flows/check", {"document": of_map("slowly"), "file": "f.yaml"})
    same("a good document", (status, report["faults"], report["faults_total"]), (200, [], 0))
    same("its nodes", report["nodes"][0], {"node": "work", "known": True, "ports": [{"name": "n", "type": "u64"}],
                                           "outputs": [{"name": "", "type": "span<u64>"}]})
    status, report = ask(site, "POST", "/v1/flows/check", {"document": of_map("slowley"), "file": "f.yaml"})
    same("a wrong document", (status, report["faults"][0]["line"], report["nodes"][0]["known"]), (200, 4, False))
    expect_in("what is wrong", "slowley", report["faults"][0]["message"])
    same("the other node", report["nodes"][1]["ports"], [{"name": "1", "type": "span<u64>"}])
    status, report = ask(site, "POST", "/v1/flows/check", {"document": "flow: [\n"})
    same("no YAML", (status, len(report["faults"]), report["nodes"]), (200, 1, []))
    same("no submission", ask(site, "POST", "/v1/flows/check", {"text": ""})[0], 400)
    same("no body", ask(site, "POST", "/v1/flows/check")[0], 400)


def templates(_):
    """On a gateway of their own: a folder of the site's comes before Orchid's."""
    with tempfile.TemporaryDirectory(prefix="orchid-templates-", dir="/tmp") as folder:
        text = "# Ours. More of it.\nflow: ours\n"
        for name in ("ours", "map"):
            (pathlib.Path(folder) / f"{name}.yaml").write_text(text)
        (pathlib.Path(folder) / "large.yaml").write_text("#" * 2_000_000)
        with gateway(PROGRAMS, {**os.environ}, f"[flows]\ntemplates = [\"{folder}\", \"{folder}/none\"]\n") as site:
            status, listed = ask(site, "GET", "/v1/flows/templates")
            same("status", status, 200)
            found = {one["name"]: one for one in listed["templates"]}
            same("ours", found["ours"], {"name": "ours", "summary": "Ours", "text": text})
            same("ours in the place of another", found["map"]["text"], text)
            same("ours on the command line", site.orchid("flow", "new", "ours").stdout, text)
            same("Orchid's", found["reduce"]["text"], (SOURCES / "functions/templates/reduce.yaml").read_text())
            same("one that is too large", "large" in found, False)
            expect_in("why it is not there", "template_left_out", site.said())


def tenants_do_not_see_each_other(site):
    token = next((site.folder / "g/tokens").iterdir()).read_text().strip()
    mine = submit(site, flow(site, "mine", of_map("slowly")), n=PIECES)
    same("a stranger's list", ask(site, "GET", "/v1/flows", token=token), (200, {"flows": []}))
    same("a stranger sees", ask(site, "GET", f"/v1/flows/{mine}", token=token)[0], 404)
    same("a stranger deletes", ask(site, "DELETE", f"/v1/flows/{mine}", token=token)[0], 404)
    # Its flow may not use functions of others either.
    status, problem = ask(site, "POST", "/v1/flows", {"document": of_map("slowly"), "inputs": {"n": 3}}, token=token)
    same("a stranger uses", status, 400)
    expect_in("a stranger's functions", "steps", problem["detail"])
    same("a process for each", len(flow_processes(site)), 2)
    same("mine are still there", [one["id"] for one in site.document("flow", "list")["flows"] if one["id"] == mine], [mine])
    await_end(site, mine)


def restart_with(site, settings):
    site.stop()
    site.settings = settings
    site.start()


def a_tenant_is_gone(_):
    """On a gateway of its own. With the configuration's name goes the right, and what used it; flows wait for their owner's return."""
    invited = f"token_users = [\"{STRANGER}\"]\n"
    with gateway(PROGRAMS, {**os.environ}, invited) as site:
        def his():
            return next((site.folder / "g/tokens").iterdir()).read_text().strip()
        document = "flow: his\ninputs: {n: u64}\nnodes: {w: {kind: call, function: his.up_to}}\nedges: [{from: n, to: w}]\noutputs: {r: w}\n"
        module = site.folder / "steps.orc"
        site.orchid("build", HERE / "steps.cpp", "-o", module)
        as_him = {"ORCHID_GATEWAY": site.ready["urls"][0], "ORCHID_TOKEN": his()}
        subprocess.run([PROGRAMS / "orchid", "deploy", module, "--name", "his"], env={**site.environment, **as_him}, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=COMMAND_TIMEOUT_S, check=True)
        status, submitted = ask(site, "POST", "/v1/flows", {"document": document, "inputs": {"n": 3}}, token=his())
        same("submitted", (status, submitted.get("state")), (201, "running"))
        wait_for(lambda: ask(site, "GET", "/v1/invocations", token=his())[1]["invocations"], len, "its call waits", site.said)
        old = his()
        restart_with(site, "")
        same("his token", ask(site, "GET", "/v1/flows", token=old)[0], 401)
        same("its file", list((site.folder / "g/tokens").iterdir()), [])
        wait_for(site.said, lambda said: "event=flows_left" in said, "it is said that his flows are left")
        same("processes of flows", flow_processes(site), [])
        expect_in("what becomes of his calls", "event=invocations_left count=1", site.said())
        restart_with(site, invited)
        same("the token that he had", ask(site, "GET", "/v1/flows", token=old)[0], 401)
        wait_for(lambda: flow_processes(site), lambda pids: len(pids) == 1, "the process of his flows is there", site.said)
        expect_in("his calls are there again", "event=invocations_restored count=1", site.said())
        listed = ask(site, "GET", "/v1/flows", token=his())[1]["flows"]
        same("his flows", [(one["id"], one["state"]) for one in listed], [(submitted["id"], "running")])


def limits(_):
    """On a gateway of their own."""
    settings = "[flows]\nper_user = 2\nstore = \"1MiB\"\n"
    with gateway(PROGRAMS, {**os.environ}, settings) as site:
        with_functions(site)
        text = "flow: s\ninputs: {n: u64}\nnodes: {w: {kind: call, function: steps.never_ends}}\nedges: [{from: n, to: w}]\noutputs: {r: w}\n"
        path = flow(site, "small", text)
        first = submit(site, path, n=1)
        large = ask(site, "POST", "/v1/flows", {"document": text + "#" + "x" * 2_000_000, "inputs": {"n": 1}})
        same("more than the store has room for", large[0], 507)
        expect_in("what to do", "delete flows", large[1]["detail"])
        submit(site, path, n=2)
        done = site.orchid("flow", "submit", path, "--input", "n=3", check=False)
        expect_in("too many flows", "a user may have no more", done.stderr)
        site.orchid("flow", "cancel", first)
        submit(site, path, n=3)


def suspended_and_resumed(_):
    """On a gateway of their own, where an output has no room until another flow is deleted."""
    with gateway(PROGRAMS, {**os.environ}, "[flows]\nstore = \"1MiB\"\n") as site:
        with_functions(site)
        large = ("flow: large\ninputs: {n: u64}\nnodes: {w: {kind: call, function: steps.never_ends}}\nedges: [{from: n, to: w}]\noutputs: {r: w}\n"
                 "#" + "x" * 500_000 + "\n")
        first = submit(site, flow(site, "large", large), n=1)
        site.orchid("flow", "cancel", first)
        text = ("flow: much\ninputs: {n: u64}\nnodes:\n  w: {kind: call, function: steps.much}\n  v: {kind: call, function: steps.size_of}\n"
                "edges: [{from: n, to: w}, {from: w, to: v}]\noutputs: {r: v}\n")
        second = submit(site, flow(site, "much", text), n=700_000)
        stopped = wait_for(lambda: state(site, second), lambda one: one["state"] != "running", "the flow goes no further", site.said)
        same("its state", stopped["state"], "suspended")
        expect_in("why", "no more room", stopped["message"])
        site.orchid("flow", "delete", first)
        expect_in("resumed", f"{second} is running", site.orchid("flow", "resume", second).stdout)
        await_end(site, second)
        same("the result", json.loads(site.orchid("flow", "result", second).stdout), 700_000)
        same("calls of the first node", calls(site)["steps.much"], 1)


def many_nodes(site):
    """A document with very many nodes, which are asked for only where they are wanted; killed in the middle. Last: the gateway remembers its calls."""
    numbers = range(MANY)
    document = {"flow": "many", "inputs": {"n": "u64"}, "nodes": {f"n{i}": {"kind": "call", "function": "steps.throws_at_five"} for i in numbers},
                "edges": [{"from": "n", "to": f"n{i}"} for i in numbers], "outputs": {f"r{i}": f"n{i}" for i in numbers}}
    status, submitted = ask(site, "POST", "/v1/flows?nodes=none", {"document": json.dumps(document), "inputs": {"n": 7}})
    same("its status and nodes", (status, submitted["nodes_total"], "nodes" in submitted), (201, MANY, False))
    path = f"/v1/flows/{submitted['id']}"
    half_done = wait_for(lambda: ask(site, "GET", f"{path}?nodes=none")[1], lambda one: one["nodes_done"] >= MANY // 2, "half of it is done", site.said,
                         FLOW_DEADLINE_S)
    expect("nodes" not in half_done, "its nodes are told unasked")
    kill_flows(site)
    ended = wait_for(lambda: ask(site, "GET", f"{path}?nodes=none&wait=10s"), lambda one: one[0] == 200 and one[1]["state"] != "running",
                     "it has ended", site.said, FLOW_DEADLINE_S)[1]
    same("its end", (ended["state"], ended["nodes_done"], "nodes" in ended), ("done", MANY, False))
    nodes = ask(site, "GET", path)[1]["nodes"]
    same("its nodes", (len(nodes), {node["state"] for node in nodes}, {len(node["calls"]) for node in nodes}), (MANY, {"done"}, {1}))
    same("its outputs", ask(site, "GET", f"{path}/outputs"), (200, {f"r{i}": 7 for i in numbers}))
    same("nodes that are neither all nor none", ask(site, "GET", f"{path}?nodes=some")[0], 400)


def with_functions(site):
    add_executor(site, "flows")
    site.deploy(HERE / "steps.cpp", "steps")


CASES = [submitted_and_forgotten, the_process_of_the_flows_is_killed, the_gateway_is_killed, both_are_killed, the_executor_is_killed,
         all_are_killed, a_piece_crashes, a_call_is_late, a_node_that_fails_stops_the_flow, what_is_gathered_is_too_large, cancelled_and_tried_again, deleted_while_it_runs,
         wrong_use, checked_before_it_is_submitted, templates, tenants_do_not_see_each_other, a_tenant_is_gone, limits,
         suspended_and_resumed, many_nodes]

with gateway(PROGRAMS, {**os.environ}, f"token_users = [\"{STRANGER}\"]\n") as one:
    with_functions(one)
    for case in CASES:
        if len(sys.argv) == 3 or case.__name__ in sys.argv[3:]:
            case(one)
            print(f"{case.__name__}: ok", flush=True)
