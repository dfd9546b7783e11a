#!/usr/bin/python3
"""transitions_of_executors.py PROGRAMS [POINT...]: a small flow whose executor is killed, with its workers, at each of the flow's transitions. What
was under way is started again on the next executor; what had ended is not, and the flow is done with its result."""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gated_flow import CALLS, Small, deploy  # noqa: E402 (found only after the line above)
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402
from processes import alive, expect, family  # noqa: E402
from submitted_flows import add_executor  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
CORES = "2"  # fewer than there are calls at a time


def kill_executor(site):
    """Its workers end with it."""
    executor = site.executors.pop()
    below = family(executor.pid)[1:]
    executor.send_signal(signal.SIGKILL)
    executor.wait(COMMAND_TIMEOUT_S)
    wait_for(lambda: [pid for pid in below if alive(pid)], lambda left: not left, "its workers have ended", site.said)
    wait_for(site.connected, lambda connected: not connected, "the gateway has seen it end", site.said)


def killed_when_the_flow_has_heard(site, point):
    small = Small(site).submit()
    small.go_to(point)
    before = small.invocations()
    under_way = {one["idempotency_key"] for one in before if one["state"] != "done"}
    expect(point == len(CALLS) or under_way, f"after {point} calls there is one that the executor takes along")
    begun = wait_for(small.begun, lambda keys: len(keys) == min(len(under_way), int(CORES)), "workers have its calls", site.said)
    kill_executor(site)
    add_executor(site, "flows", "--cores", CORES)
    again = {key for key, attempt in small.end_well(before).items() if attempt > 1}
    expect(begun <= again <= under_way, f"if {point} calls had ended, {begun} are started again, and no more than {under_way}: {again}")
    small.delete()


with gateway(PROGRAMS, {**os.environ}) as one:
    add_executor(one, "flows", "--cores", CORES)
    deploy(one)
    for at in map(int, sys.argv[2:]) if len(sys.argv) > 2 else range(len(CALLS) + 1):
        killed_when_the_flow_has_heard(one, at)
        print(f"the executor is killed when {at} calls have ended: ok", flush=True)
