#!/usr/bin/python3
"""run.py PROGRAMS MPIRUN [CASE...]: batch jobs of two MPI ranks that offload to pilots, beside real daemons. Exit status 0: all is as
it should be; 77: there is no Slurm here."""
import contextlib
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
from slurm_cluster import chosen, measured, started, wait_until  # noqa: E402
from processes import alive, expect, family  # noqa: E402
from site_of_pilots import SHORT_GRACE, orchid_beside  # noqa: E402

PROGRAMS, MPIRUN = pathlib.Path(sys.argv[1]), sys.argv[2]
NODES = ("--nodes", "2", "--cores", "2")
CORE = min(os.sched_getaffinity(0))
SLICES, POINTS, NO_END = "20000", "1000", "1000000"
ROUND = re.compile(r"round (\d+): pi (\S+), digest (\w+), (\d+) slices here, (\d+) on workers, \S+ s\n")
# Environment first: where a gateway of this user runs here anyhow, the one of the test is named.
RUNS_HERE = pathlib.Path(f"/tmp/orchid-{os.geteuid()}/gateway.json").exists()


class MpiJob:
    """Two ranks on n1, which have one core of this machine: n2 is on it as well, and its workers work only on idle ones. What it finds of Orchid is what a job's environment tells: the home directory."""

    def __init__(self, site, name, *, rounds=NO_END, alone=False, knows_gateway=True):
        self.site, self.name, self.folder = site, name, site.folder / name
        self.folder.mkdir()
        state = self.folder / "home" / ".local" / "state" / "orchid"
        state.mkdir(parents=True)
        if knows_gateway:
            (state / "gateway").symlink_to(site.state)
        named = f"export ORCHID_GATEWAY=http://{site.address}" if knows_gateway and RUNS_HERE else ""
        options = "--alone" if alone else f"--until {self.folder}/enough"
        (self.folder / "job.sh").write_text(f"""#!/bin/bash
unset ORCHID_GATEWAY ORCHID_TOKEN XDG_STATE_HOME
export HOME={self.folder}/home XDG_RUNTIME_DIR={self.folder}/none TMPDIR={self.folder}
{named}
taskset --cpu-list {CORE} {MPIRUN} --allow-run-as-root --oversubscribe --bind-to none --mca ras ^slurm --mca plm ^slurm -n 2 \\
  {PROGRAMS}/integral-mpi {options} {SLICES} {POINTS} {rounds} > {self.folder}/out 2> {self.folder}/err
echo $? > {self.folder}/status.new
mv {self.folder}/status.new {self.folder}/status
""")
        self.job = int(site.cluster.run("sbatch", "--parsable", "--partition=batch", "--nodelist=n1", "--ntasks=2", "--time=10",
                                        f"--output={self.folder}/slurm.log", str(self.folder / "job.sh")))

    def rounds(self):
        """Of each that is over: its digest, and how many slices were computed by ranks and by workers."""
        with contextlib.suppress(FileNotFoundError):
            found = ROUND.findall((self.folder / "out").read_text())
            return [(digest, int(here), int(there)) for _, _, digest, here, there in found]
        return []

    def said(self):
        texts = [path.read_text()[-2000:] for path in (self.folder / "out", self.folder / "err", self.folder / "slurm.log") if path.exists()]
        return "\n".join([*texts, self.site.cluster.run("squeue", check=False)])

    def wait_for_round(self, condition, what):
        """One that begins after now."""
        begun = len(self.rounds()) + 1
        wait_until(lambda: any(map(condition, self.rounds()[begun:])), f"{self.name}: {what}", self.said, seconds=60)

    def wait_for_workers(self):
        self.wait_for_round(lambda one: one[2] > 0, "workers compute a part")

    def wait_for_the_ranks_alone(self):
        self.wait_for_round(lambda one: one[2] == 0, "the ranks compute all")

    def wait_for_another_round(self):
        self.wait_for_round(lambda one: True, "it goes on")

    def digest(self):
        """Of all rounds, once the program has ended well and nothing is left of it."""
        (self.folder / "enough").touch()
        wait_until((self.folder / "status").exists, f"{self.name} ends", self.said, seconds=60)
        status = int((self.folder / "status").read_text())
        expect(status == 0, f"{self.name} ends well: {status}\n{self.said()}")
        wait_until(lambda: not self.site.cluster.state_of(self.job), f"{self.name} leaves the queue", self.said)
        expect(not self.processes(), f"no process of it is left: {self.processes()}")
        rounds = self.rounds()
        expect(all(here + there == int(SLICES) for _, here, there in rounds), "each slice is computed once in a round")
        digests = {digest for digest, _, _ in rounds}
        expect(len(digests) == 1, f"all rounds have the same result: {digests}")
        print(f"         {self.name}: {len(rounds)} rounds, {sum(there for _, _, there in rounds)} slices on workers")
        return digests.pop()

    def processes(self):
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if str(self.folder) in entry.read_text() and alive(int(entry.parent.name)):
                    found.append(entry.parent.name)
        return found


def result_without_orchid(site):
    return MpiJob(site, "alone", rounds="2", alone=True, knows_gateway=False).digest()


def pilots_appear_and_are_preempted(site, expected):
    job = MpiJob(site, "preempted")
    job.wait_for_the_ranks_alone()
    site.start_pilot("--partition", "idle", "--cores", "2", "--node-list", "n2")
    everybody = family(site.wait_for_executor("n2"))
    job.wait_for_workers()
    other = site.cluster.submit("--partition=batch", "--nodelist=n2", "--ntasks=2")
    site.cluster.wait_for_state(other, "RUNNING")
    expect(not any(map(alive, everybody)), "no process of the pilot is left beside the batch job")
    job.wait_for_the_ranks_alone()
    site.cluster.run("scancel", str(other))
    site.start_pilot("--partition", "idle", "--cores", "2", "--node-list", "n2")
    site.wait_for_executor("n2")
    job.wait_for_workers()
    expect(job.digest() == expected, "bit for bit the result without Orchid")
    site.orchid("pilot", "stop", "--all")


def without_a_gateway_the_ranks_compute_all(site, expected):
    job = MpiJob(site, "nowhere", rounds="5", knows_gateway=False)
    wait_until((job.folder / "status").exists, "it ends", job.said, seconds=60)
    expect(job.digest() == expected, "bit for bit the result without Orchid")
    expect(len(job.rounds()) == 5, "all rounds are there")
    expect(RUNS_HERE or all(there == 0 for _, _, there in job.rounds()), "the ranks have computed all")


def a_killed_gateway_costs_nothing_but_its_workers(site, expected):
    job = MpiJob(site, "killed")
    site.start_pilot("--partition", "idle", "--cores", "2", "--node-list", "n2", "--gateway-grace", SHORT_GRACE)
    everybody = family(site.wait_for_executor("n2"))
    job.wait_for_workers()
    site.stop_gateway(kill=True)
    job.wait_for_another_round()
    wait_until(lambda: site.cluster.run("squeue", "--noheader", "-o", "%A") == str(job.job), "the pilot has ended", job.said)
    expect(not any(map(alive, everybody)), "no process of it is left")
    job.wait_for_the_ranks_alone()
    expect(job.digest() == expected, "bit for bit the result without Orchid")
    site.start_gateway()


def main():
    slurm_cluster.skip_without_slurm()
    if RUNS_HERE:
        print("not tested: that ranks find the gateway by its file alone, since another one of this user runs here")
    cases = [without_a_gateway_the_ranks_compute_all, pilots_appear_and_are_preempted, a_killed_gateway_costs_nothing_but_its_workers]
    cases, = chosen(cases, wanted=sys.argv[3:])
    with started(*NODES) as cluster, orchid_beside(PROGRAMS, cluster) as site:
        expected = measured(result_without_orchid, site)
        for case in cases:
            measured(case, site, expected)


if __name__ == "__main__":
    main()
