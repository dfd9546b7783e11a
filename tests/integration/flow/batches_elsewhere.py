#!/usr/bin/python3
"""batches_elsewhere.py PROGRAMS [CASE...]: step functions whose cores are taken back while they step, and go on at another executor. What was done
before is not done again, or no more of it than since the last file."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import signal
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from comparisons import same  # noqa: E402 (found only after the line above)
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402
from processes import expect  # noqa: E402
from submitted_flows import ask  # noqa: E402
from walks import Walk, deploy  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
BATCH, EACH_FILE = 10, 4
CALLS, CALL_MS = 20, 200
MEMORY = str(64 << 20)
CORES = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))


def start_executor(site, name, *options, pass_fds=()):
    """On this machine, which is called so there."""
    before = site.connected()
    executor = site.add_executor(name, "--node", name, "--scheduling", "normal", "--lane-listen", "127.0.0.1:0", "--cores", "2", "--data-memory",
                                 MEMORY, *options, pass_fds=pass_fds)
    wait_for(lambda: site.connected() - before, bool, f"executor {name} is there", site.said)
    return executor


@contextlib.contextmanager
def owned_and_other(site):
    """Two executors, and what gives the first one's owner its cores. The second begins when the block asks for it."""
    reader, feed = os.pipe()
    try:
        start_executor(site, "owned", "--grant", "share", "--job", "7", "--core-list", CORES, "--core-feed", str(reader), pass_fds=(reader,))
        os.write(feed, f"{CORES}\n".encode())
        yield lambda: start_executor(site, "other", "--host-id", "other"), lambda: os.write(feed, b"\n")
    finally:
        os.close(reader)
        os.close(feed)


def the_owner_takes_all_cores(site):
    """And leaves the executor its memory: the state goes from there to the other one, under way as it is."""
    with owned_and_other(site) as (start_other, take_cores):
        walk = Walk(site, site.folder / "gateway.sock", "taken", BATCH)
        walk.await_batches(5)
        start_other()
        done = walk.batches()
        take_cores()
        walk.await_batches(done + 10)
        walk.went_on_from_there(walk.end(), done, ("owned", "other"))


def calls_that_somebody_waits_for(site):
    """Some run when the cores are taken, and more than may wait for copies wait behind them: all of them go on elsewhere."""
    (site.folder / "state").write_bytes(struct.pack("<2Q", 3, 11))

    def call(_):
        told = json.loads(site.orchid("invoke", "batches.slow_number_of", "--data", "state", "--args", f"[{CALL_MS}]", "--deadline",
                                      f"{COMMAND_TIMEOUT_S}s", "--json").stdout)
        made = ask(site, "GET", f"/v1/invocations/{told['id']}")[1]
        return told["output"], made["node"], made["attempt"], made["timings_ms"]["transfer"]
    with owned_and_other(site) as (start_other, take_cores):
        site.orchid("data", "put", "state", site.folder / "state")
        same("where the data is", call(0)[:3], (11, "owned", 1))
        start_other()
        with concurrent.futures.ThreadPoolExecutor(CALLS) as pool:
            calls = [pool.submit(call, number) for number in range(CALLS)]
            wait_for(lambda: sum(one.done() for one in calls), lambda count: count > 0, "the first ones are done", site.said)
            take_cores()
            found = [one.result(COMMAND_TIMEOUT_S) for one in calls]
        same("the results", {output for output, *_ in found}, {11})
        expect(max(attempt for _, _, attempt, _ in found) <= 2, f"none is begun more often than it was evicted: {found}")
        went = [one for one in found if one[1] == "other" and one[3] > 0]
        expect(len(went) > 2, f"those that ran or waited at the first host go on at the other one: {found}\n{site.said()}")
        same("a later one", call(0)[:3], (11, "other", 1))


def the_owner_ends_the_executor(site):
    """Within milliseconds, with the state in its memory. What is in a file is at another executor, which runs no steps."""
    files = site.folder / "files"
    files.mkdir(mode=0o700)
    start_executor(site, "keeper", "--host-id", "keeper", "--kind", "dpu", "--data-durable", files)
    owned = start_executor(site, "owned", "--grant", "pilot", "--job", "7", "--core-list", CORES)
    walk = Walk(site, site.folder / "gateway.sock", "ended", BATCH, EACH_FILE)
    walk.await_batches(3 * EACH_FILE + 1)
    start_executor(site, "other")
    done = wait_for(walk.batches, lambda count: count % EACH_FILE == 2, "it is between two files", walk.said)
    owned.send_signal(signal.SIGTERM)
    owned.wait(COMMAND_TIMEOUT_S)
    site.executors.remove(owned)
    walk.await_batches(done + 2 * EACH_FILE)
    walk.went_on_from_there(walk.end(), done, ("owned", "other"))


CASES = (the_owner_takes_all_cores, calls_that_somebody_waits_for, the_owner_ends_the_executor)

for case in CASES:
    if len(sys.argv) == 2 or case.__name__ in sys.argv[2:]:
        with gateway(PROGRAMS, {**os.environ}) as one:
            deploy(one)
            case(one)
        print(f"{case.__name__}: ok", flush=True)
