#!/usr/bin/python3
"""batches_elsewhere.py PROGRAMS [CASE...]: step functions whose cores are taken back while they step, and go on at another executor. What was done
before is not done again, or no more of it than since the last file."""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402 (found only after the line above)
from walks import Walk, deploy  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
BATCH, EACH_FILE = 10, 4
MEMORY = str(64 << 20)
CORES = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))


def start_executor(site, name, *options):
    """On this machine, which is called so there."""
    before = site.connected()
    executor = site.add_executor(name, "--node", name, "--scheduling", "normal", "--lane-listen", "127.0.0.1:0", "--cores", "2", "--data-memory",
                                 MEMORY, *options)
    wait_for(lambda: site.connected() - before, bool, f"executor {name} is there", site.said)
    return executor


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


CASES = (the_owner_ends_the_executor,)

for case in CASES:
    if len(sys.argv) == 2 or case.__name__ in sys.argv[2:]:
        with gateway(PROGRAMS, {**os.environ}) as one:
            deploy(one)
            case(one)
        print(f"{case.__name__}: ok", flush=True)
