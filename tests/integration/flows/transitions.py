#!/usr/bin/python3
"""transitions.py PROGRAMS [CASE...]: a small flow whose processes are killed at each of its transitions. Its calls last until the test lets them
pass, one after the other, so that each point is met: the flow has heard of a call's end, or has not yet, or has written it down and asked for
nothing that follows from it. Each time it is done, with its result, and each of its calls was made once."""
import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from comparisons import same  # noqa: E402 (found only after the line above)
from gated_flow import CALLS, Journal, Small, deploy  # noqa: E402
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402
from processes import expect  # noqa: E402
from submitted_flows import add_executor, ask, await_death, connection_to, flow_processes, kill_flows, kill_gateway  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
ATTEMPTS = 5  # to meet a point that the gateway may not have reached
ANSWER_PATIENCE_S = 5


class Missed(Exception):
    """The gateway has replaced a process that stood still before the test had done with it."""


def met(site, case):
    """The machine may be slow: then the point is tried again."""
    for _ in range(ATTEMPTS):
        try:
            case(site)
            return
        except Missed:
            site.process.send_signal(signal.SIGCONT)
            for one in wait_for(lambda: ask(site, "GET", "/v1/flows"), lambda told: told[0] == 200, "somebody answers", site.said)[1]["flows"]:
                ask(site, "DELETE", f"/v1/flows/{one['id']}")
    sys.exit(f"{case.__name__}: in {ATTEMPTS} attempts the point was not met\n{site.said()}")


@contextlib.contextmanager
def missed_if_gone():
    try:
        yield
    except (ProcessLookupError, FileNotFoundError) as error:
        raise Missed from error


def wake(process):
    with missed_if_gone():
        os.kill(process, signal.SIGCONT)


def stop_flows(site):
    """It is to be killed within a second: the gateway takes a process that stands still for lost."""
    process, = flow_processes(site)
    os.kill(process, signal.SIGSTOP)
    return process


def await_requests(site, process, are_there=True):
    """Of the gateway, that the process has not taken."""
    with missed_if_gone():
        inode = os.readlink(f"/proc/{process}/fd/3").strip("socket:[]")

    def bytes_waiting():
        with missed_if_gone():
            os.kill(process, 0)
        done = subprocess.run(["ss", "--unix", "--all", "--no-header"], capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=True)
        return sum(int(fields[2]) for fields in map(str.split, done.stdout.splitlines()) if fields[5] == inode)
    wait_for(bytes_waiting, lambda count: (count > 0) == are_there, f"requests of the gateway are {'there' if are_there else 'taken'}", site.said)


@contextlib.contextmanager
def asked_and_unheard(site, method, path, body=None, headers=None):
    """A request whose answer nobody reads."""
    with contextlib.closing(connection_to(site)) as connection:
        connection.request(method, path, json.dumps(body) if body is not None else None, headers or {})
        yield


def within(seconds, condition):
    give_up = time.monotonic() + seconds
    while not condition() and time.monotonic() < give_up:
        time.sleep(0.02)
    return condition()


def kill(site, process):
    with missed_if_gone():
        os.kill(process, signal.SIGKILL)
    await_death(site, process)


def restart(site, process):
    """The gateway, which stands still, and the process of the flows."""
    kill(site, process)
    site.process.kill()
    site.process.wait(COMMAND_TIMEOUT_S)
    site.start()


def each_call_is_made_once(small, before):
    same("how often each was started", set(small.end_well(before).values()), {1})
    small.delete()


def killed_when_it_has_heard(site):
    """It is as it was: nothing has happened meanwhile."""
    for point in range(len(CALLS) + 1):
        small = Small(site).submit()
        seen = small.go_to(point)
        before = small.invocations()
        kill_flows(site)
        same(f"the flow after {point} calls", small.document(), seen)
        each_call_is_made_once(small, before)


def killed_before_it_hears(site):
    for point in range(len(CALLS)):
        small = Small(site).submit()
        small.go_to(point)
        process = stop_flows(site)
        small.let_pass()
        before = small.invocations()
        kill(site, process)
        each_call_is_made_once(small, before)


def killed_with_the_gateway_when_it_has_heard(site):
    for point in (0, 3, 8, len(CALLS)):
        small = Small(site).submit()
        seen = small.go_to(point)
        before = small.invocations()
        kill_gateway(site, also_flows=True)
        same(f"the flow after {point} calls", small.document(), seen)
        under_way = {one["idempotency_key"] for one in before if one["state"] != "done"}
        again = {key for key, attempt in small.end_well(before).items() if attempt > 1}
        expect(again <= under_way, f"only those whose worker was lost with the gateway are started again: {again}, and not {under_way}")
        small.delete()


def killed_with_the_gateway_before_it_asks(site):
    """What follows from a call's end was not asked of the gateway."""
    for point in (0, 1, 4, 8, 11):
        for _ in range(ATTEMPTS):
            small = Small(site).submit()
            small.go_to(point)
            before = hears_and_cannot_ask(site, small)
            if before:
                break
            small.delete()
        expect(before, f"the point is met after {point} calls")
        same("how often each was started", set(small.end_well(before).values()), {1})
        small.delete()


def hears_and_cannot_ask(site, small):
    """The gateway stands still from when it has answered. Its calls then; nothing: it stood still before it had answered."""
    journal = Journal(site)
    process = stop_flows(site)
    small.let_pass()
    before = small.invocations()
    site.process.send_signal(signal.SIGSTOP)
    wake(process)
    if not within(ANSWER_PATIENCE_S, lambda: journal.has_heard(small.id, small.passed)):
        site.process.send_signal(signal.SIGCONT)
        return None
    restart(site, process)
    return before


def submitted_twice(site, small, known):
    """The same key: the flow that was on disk, and a new one if none was."""
    small.submit()
    expect(known in (None, small.id), f"the flow of the key is {known}: {small.id}")
    same("all flows", [one["id"] for one in ask(site, "GET", "/v1/flows")[1]["flows"]], [small.id])
    each_call_is_made_once(small, [])


def killed_before_a_submission_is_looked_at(site):
    small = Small(site)
    process = stop_flows(site)
    with asked_and_unheard(site, "POST", "/v1/flows", small.submission, small.header):
        await_requests(site, process)
        kill(site, process)
    submitted_twice(site, small, None)


def killed_while_a_submission_is_checked(site):
    """The functions cannot be asked for: the gateway stands still."""
    small = Small(site)
    process = stop_flows(site)
    with asked_and_unheard(site, "POST", "/v1/flows", small.submission, small.header):
        await_requests(site, process)
        site.process.send_signal(signal.SIGSTOP)
        wake(process)
        await_requests(site, process, are_there=False)
        restart(site, process)
    submitted_twice(site, small, None)


def killed_when_a_submission_is_on_disk(site):
    for kill_them in (kill_flows, lambda one: kill_gateway(one, also_flows=True)):
        small = Small(site)
        with asked_and_unheard(site, "POST", "/v1/flows", small.submission, small.header):
            known = wait_for(lambda one=small: Journal(site).flows().get(one.key), bool, "it is on disk", site.said)
            kill_them(site)
        submitted_twice(site, small, known)


def killed_before_it_hears_of_its_deletion(site):
    """All of it is there."""
    small = Small(site).submit()
    seen = small.go_to(3)
    before = small.invocations()
    process = stop_flows(site)
    with asked_and_unheard(site, "DELETE", f"/v1/flows/{small.id}"):
        await_requests(site, process)
        kill(site, process)
    same("the flow", small.document(), seen)
    each_call_is_made_once(small, before)


def order_on_disk(site, is_on_disk, method, path):
    """It has been written down, and nothing that follows: the gateway stands still."""
    process = stop_flows(site)
    with asked_and_unheard(site, method, path):
        await_requests(site, process)
        site.process.send_signal(signal.SIGSTOP)
        wake(process)
        wait_for(is_on_disk, bool, "it is on disk", site.said)
        kill(site, process)
        site.process.send_signal(signal.SIGCONT)


def calls_are_stopped(site, small, count):
    wait_for(small.invocations, lambda made: all(one["state"] == "done" for one in made), "its calls are stopped", site.said)
    same("how they have ended", collections.Counter(one["outcome"] for one in small.invocations()), {"ok": small.passed, "cancelled": count})


def killed_when_its_deletion_is_on_disk(site):
    """Nothing of it is there, and its calls come to an end."""
    small, journal = Small(site).submit(), Journal(site)
    small.go_to(2)
    files = sorted(path.name for path in journal.folder.iterdir())
    order_on_disk(site, lambda: not journal.left_of(small.id), "DELETE", f"/v1/flows/{small.id}")
    status = wait_for(lambda: ask(site, "GET", f"/v1/flows/{small.id}")[0], lambda status: status != 503, "somebody answers", site.said)
    same("the flow", status, 404)
    same("what is left of it on disk", journal.left_of(small.id), [])
    same("the files", sorted(path.name for path in journal.folder.iterdir()), files)
    calls_are_stopped(site, small, 3)
    small.forget_gates()


def killed_when_its_cancellation_is_on_disk(site):
    small = Small(site).submit()
    small.go_to(2)
    order_on_disk(site, lambda: Journal(site).is_cancelled(small.id), "POST", f"/v1/flows/{small.id}/cancel")
    same("its state", small.document()["state"], "cancelled")
    calls_are_stopped(site, small, 3)
    before = small.ended()
    same("it goes on", ask(site, "POST", f"/v1/flows/{small.id}/retry")[0], 200)
    small.await_result()
    same("its calls", collections.Counter(one["outcome"] for one in small.invocations()), {"ok": len(CALLS), "cancelled": 3})
    expect(all(one in small.invocations() for one in before), "those that had ended are not made again")
    small.delete()


CASES = (killed_when_it_has_heard, killed_before_it_hears, killed_with_the_gateway_when_it_has_heard, killed_with_the_gateway_before_it_asks,
         killed_before_a_submission_is_looked_at, killed_while_a_submission_is_checked, killed_when_a_submission_is_on_disk,
         killed_before_it_hears_of_its_deletion, killed_when_its_deletion_is_on_disk, killed_when_its_cancellation_is_on_disk)

with gateway(PROGRAMS, {**os.environ}) as one:
    add_executor(one, "flows")
    deploy(one)
    for case in CASES:
        if len(sys.argv) == 2 or case.__name__ in sys.argv[2:]:
            met(one, case)
            print(f"{case.__name__}: ok", flush=True)
