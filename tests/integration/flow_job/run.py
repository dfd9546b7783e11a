#!/usr/bin/python3
"""run.py PROGRAMS [CASE...]: a step function that steps on pilots, beside real daemons: a batch job takes the cores of its pilot, or the pilot's time
is over, and it goes on at another one. Exit status 0: all is as it should be; 77: there is no Slurm here."""
import contextlib
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
from slurm_cluster import chosen, measured, started, wait_until  # noqa: E402
from site_of_pilots import orchid_beside  # noqa: E402
from walks import Walk, deploy  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
NODES = ("--nodes", "2", "--cores", "2")
PLACES = ("n1", "n2")
BATCH, EACH_FILE = 20, 10
END_DEADLINE_S = 15
PILOT_DEADLINE_S = 120  # of one that has a minute


@contextlib.contextmanager
def keeper_of_files(site):
    """An executor that runs no steps, and has a directory for what is to be kept."""
    files = site.folder / "files"
    files.mkdir(mode=0o700)
    command = [site.programs / "orchid-executor", "--gateway", site.address, "--token-file", site.state / "token", "--runtime",
               site.folder / "keeper-r", "--state", site.folder / "keeper-s", "--host-id", "keeper", "--node", "keeper", "--kind", "dpu",
               "--cores", "1", "--data-memory", "64MiB", "--data-durable", files, "--lane-listen", "127.0.0.1:0"]
    with open(site.folder / "keeper.log", "ab") as log:
        keeper = subprocess.Popen(command, env=site.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_until(lambda: any(one["state"] == "connected" for host in site.hosts() for one in host["executors"]), "the keeper is there", site.said)
        yield
    finally:
        keeper.terminate()
        try:
            keeper.wait(END_DEADLINE_S)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()


def start_pilot(site, node, time="10m"):
    job = site.start_pilot("--partition", "idle", "--cores", "2", "--node-list", node, "--data-memory", "64MiB", time=time)
    site.wait_for_executor(node)
    return job


def begun_walk(site, name, time="10m"):
    """And the job of its pilot; there is another one by then."""
    job = start_pilot(site, PLACES[0], time)
    walk = Walk(site, site.runtime / "gateway.sock", name, BATCH, EACH_FILE)
    walk.await_batches(EACH_FILE + 1)
    start_pilot(site, PLACES[1])
    return walk, job


def ends_well_elsewhere(walk, done):
    walk.await_batches(done + 2 * EACH_FILE)
    walk.went_on_from_there(walk.end(), done, PLACES)
    walk.site.orchid("pilot", "stop", "--all")


def a_batch_job_takes_the_cores(site):
    walk, pilot = begun_walk(site, "preempted")
    done = walk.batches()
    job = site.cluster.submit("--partition=batch", f"--nodelist={PLACES[0]}", "--ntasks=2")
    site.cluster.wait_for_state(job, "RUNNING")
    wait_until(lambda: site.cluster.state_of(pilot) != "RUNNING", "the pilot has gone", walk.said)
    ends_well_elsewhere(walk, done)
    site.cluster.run("scancel", str(job))


def the_time_of_the_job_is_over(site):
    walk, pilot = begun_walk(site, "timed", "1m")
    done = walk.batches()
    wait_until(lambda: site.cluster.state_of(pilot) != "RUNNING", "the pilot's time is over", walk.said, PILOT_DEADLINE_S)
    ends_well_elsewhere(walk, done)


def main():
    slurm_cluster.skip_without_slurm()
    cases, = chosen([a_batch_job_takes_the_cores, the_time_of_the_job_is_over], wanted=sys.argv[2:])
    with started(*NODES) as cluster, orchid_beside(PROGRAMS, cluster) as site, keeper_of_files(site):
        deploy(site)
        for case in cases:
            measured(case, site)


if __name__ == "__main__":
    main()
