#!/usr/bin/python3
"""slurm_pages.py PROGRAMS FUNCTIONS [CASE...]: what slurm.md, pilots.md and shares.md say is typed, in clusters of real daemons: the same
words, but for addresses, numbers of cores and jobs, and folders. Exit status 0: all is as the pages say; 77: there is no Slurm here."""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
from blocks import GUIDE, PROGRAMS, Terminal, block_with, commands_of  # noqa: E402
from slurm_cluster import SCRIPT, chosen, measured, script, started, wait_until  # noqa: E402

import cluster_files  # noqa: E402 (of dev.d, which the one before has added)

FUNCTIONS = pathlib.Path(sys.argv[2]).resolve()
SLURM, PILOTS, SHARES = (GUIDE / name for name in ("slurm.md", "pilots.md", "shares.md"))
PLUGIN = PROGRAMS.parent / "lib" / "spank_orchid.so"
NODES = ("--nodes", "2", "--cores", "2", "--option", "TaskPlugin=task/affinity")


def page_settings():
    """What slurm.md shows of orchid.toml, first."""
    return block_with(SLURM, "dpu_features").text


class Desk:
    """A folder that is somebody's home, a port for an `orchid up` of his, and terminals."""

    def __init__(self, folder, cluster=None):
        self.folder, self.cluster, self.port = folder, cluster, cluster_files.free_ports(1)[0]
        self.address = f"127.0.0.1:{self.port}"
        # The nodes of the test's cluster are this machine, so that a pilot says which of them it is on, and takes a loopback address.
        self.on_a_node = f"--address {self.address} --host-identity node"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("ORCHID_", "SLURM_", "XDG_"))}
        self.environment |= {"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder / "run"), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        (folder / "run").mkdir(mode=0o700)
        if cluster:
            self.environment["SLURM_CONF"] = str(cluster.configuration)

    def terminal(self):
        return Terminal(self.environment, self.folder)


@contextlib.contextmanager
def desk(cluster=None):
    with tempfile.TemporaryDirectory(prefix="orchid-", dir="/tmp") as folder:
        yield Desk(pathlib.Path(folder), cluster)


def page_partitions(cluster):
    """The cluster has the page's lines in place of its own that say the same."""
    lines = block_with(SLURM, "PriorityTier=10").text.splitlines()
    keys = {line.split()[0] if line.startswith("Partition") else line.partition("=")[0] for line in lines}
    kept = [line for line in cluster.configuration.read_text().splitlines()
            if (line.split() or [""])[0] not in keys and line.partition("=")[0] not in keys]
    cluster.configuration.write_text("\n".join([*kept, *lines]) + "\n")
    cluster.run("scontrol", "reconfigure")
    told = cluster.run("scontrol", "--oneliner", "show", "partition", "idle").split()
    missing = {"MaxTime=01:00:00", "PreemptMode=CANCEL", "PriorityTier=1", "GraceTime=0", "TotalNodes=2"} - set(told)
    if missing:
        sys.exit(f"the page's partition idle is not {missing}, but {told}")


def gives_way(cluster):
    """Another job gets the cores of the pilot."""
    job = cluster.submit("--nodes=2", "--exclusive")
    cluster.wait_for_state(job, "RUNNING")
    cluster.run("scancel", str(job))
    wait_until(lambda: not cluster.state_of(job), "the job is gone")


def pilots(cluster):
    with desk(cluster) as mine, mine.terminal() as login1:
        block = block_with(PILOTS, "orchid pilot list")
        text = block.replaced(("10.0.0.5:8080", mine.address), ("10.0.0.5:0", "127.0.0.1:0"), ("--cores 4", f"--cores 2 {mine.on_a_node}"),
                              ("pilot 4711: 4 cores", "pilot 4711: 2 cores"))
        (up, _), *commands = commands_of(text, "login1$ ")
        (mine.folder / "text.txt").write_text("to be or not to be\n")
        login1.start(up + " &" if not up.endswith("&") else up)
        login1.run(f"orchid deploy {FUNCTIONS}/wordcount.bc")
        for command, shown in commands:
            login1.shows(command, shown)
        wait_until(lambda: not cluster.run("squeue", "--noheader"), "the pilots have been stopped")


def beside_slurm(cluster):
    """The first lines of slurm.md; its pilot then gives way to a job."""
    with desk(cluster) as mine, mine.terminal() as login:
        (mine.folder / "orchid.toml").write_text(page_settings())
        block = block_with(SLURM, "orchid hosts --forecast")
        (up, _), *commands = commands_of(block.replaced(("0.0.0.0:8080", mine.address), ("--cores 4", f"--cores 2 {mine.on_a_node}")))
        login.start(f"{up} &")
        for command, _ in commands:
            login.shows(command, ["n1", "n2"] if "hosts" in command else ["pilot 1: 2 cores"])
        login.shows("orchid pilot list", ["1 RUNNING idle"])
        gives_way(cluster)
        login.shows("orchid hosts", ["n1", "n2"])


@contextlib.contextmanager
def held(file):
    """Who waits for it with `flock` does not go on before this ends."""
    with open(file, "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def shares_of(login):
    return json.loads(login.run("orchid share status --json"))["shares"]


def wait_for_cores(login, job, cores):
    """Until each node of the job shares so many."""
    def offered():
        return [len(one["cores"]) for one in shares_of(login) if one["job"] == job and one["state"] == "connected"]
    wait_until(lambda: offered() == cores, f"job {job} shares {cores} cores", lambda: login.run("orchid share status"), 60)


def shares(cluster):
    """The job script, what is typed beside it, and the line for sites with the plugin."""
    with desk(cluster) as mine, mine.terminal() as server, mine.terminal() as login:
        server.start(f"orchid up --listen {mine.address} &")
        block = block_with(SHARES, "./simulate")
        job_script = block.replaced(("--ntasks=32", "--ntasks=4"), ("=2G", "=512M"), ("-n 8", "-n 2"), ("-n 32", "-n 4"),
                                    ("cores:auto,mem:8G", f"cores:auto,mem:600M {mine.on_a_node}"))
        (mine.folder / "job.sh").write_text(job_script)
        for step in ("prepare", "simulate"):
            (mine.folder / step).write_text(f"#!/bin/sh\nexec timeout 120 flock --shared {mine.folder}/{step}.lock true\n")
            (mine.folder / step).chmod(0o755)
        with held(mine.folder / "simulate.lock"):
            with held(mine.folder / "prepare.lock"):
                job = int(login.run("sbatch --parsable --time=42 --output=job.out job.sh"))
                (status, shown), (stop, stopped) = commands_of(block_with(SHARES, "orchid share status").text)
                wait_for_cores(login, job, [1, 1])
                login.shows(status, shown)
            wait_for_cores(login, job, [0, 0])
            login.shows(stop.replace("4712", str(job)), [line.replace("4712", str(job)) for line in stopped])
        wait_until(lambda: not cluster.state_of(job), "the job ends", lambda: (mine.folder / "job.out").read_text())
        if PLUGIN.exists():
            with_plugin(cluster, mine, login)
        else:
            print("not tested: the plugin, without slurm/spank.h (package libslurm-dev)")


def with_plugin(cluster, mine, login):
    (cluster.directory / "plugstack.conf").write_text(f"optional {PLUGIN} orchid={PROGRAMS}/orchid\n")
    line = block_with(SHARES, "--orchid-share").replaced(("mem:8G", "mem:600M"))
    (mine.folder / "plain.sh").write_text(f"#!/bin/bash\n{line}exec timeout 120 flock --shared {mine.folder}/plain.lock true\n")
    with held(mine.folder / "plain.lock"):
        job = int(login.run("sbatch --parsable --nodes=1 --ntasks=2 --nodelist=n1 --output=plain.out plain.sh"))
        wait_for_cores(login, job, [2])
    wait_until(lambda: not cluster.state_of(job), "the job ends")


def on_one_cluster():
    with started(*NODES) as cluster:
        page_partitions(cluster)
        for case in (pilots, beside_slurm, shares):
            measured(case, cluster)
            cluster.clear()


def on_two_clusters():
    with started("--nodes", "1", "--cores", "2", "--name", "fern") as fern, started("--nodes", "1", "--cores", "2", "--name", "moss") as moss:
        files = ("/etc/slurm/fern.conf", fern.configuration), ("/etc/slurm/moss.conf", moss.configuration)
        with desk() as mine, mine.terminal() as login:
            (mine.folder / "orchid.toml").write_text(block_with(SLURM, 'sources = ["slurm:/etc/slurm/fern.conf"').replaced(*files))
            login.start(f"orchid up --listen {mine.address} --config orchid.toml &")
            block = block_with(SLURM, "orchid explain --cluster moss")
            commands = commands_of(block.replaced(*files, ("--cores 4", f"--cores 2 {mine.on_a_node}"), ("--cores 8", f"--cores 2 {mine.on_a_node}")))
            for command, _ in commands[:2]:
                login.shows(command, ["pilot 1: 2 cores on 1 node of partition idle"])
            login.shows(commands[2][0], ["fern connected"])
            login.shows(commands[2][0], ["moss connected"])
            said = login.run(commands[3][0])
            if not re.search("another cluster", said):
                sys.exit(f"'{commands[3][0]}' says nothing of hosts in other clusters: {said}")
        for cluster in (fern, moss):
            cluster.clear()


def without_a_cluster():
    """slurm.md's last section: a cluster that ./dev makes."""
    with desk() as mine:
        directory = mine.folder / "c"
        block = block_with(SLURM, "./dev cluster up --nodes 2")
        text = block.replaced(("./dev cluster", " ".join([*SCRIPT, "--directory", str(directory)])), ("$PWD/build/cluster", directory),
                              ("$PWD/build/release/bin", PROGRAMS), ("127.0.0.1:8080", mine.address))
        make, export, up, pilot, hosts, job, rest, end = (command for command, _ in commands_of(text))
        try:
            with mine.terminal() as login:
                login.run(make)
                login.run(export)
                login.start(up)
                login.shows(pilot, ["pilot 1: 2 cores"])
                login.shows(hosts, ["n1 orchid connected"])
                login.shows(job, ["Submitted batch job 2"])
                wait_until(lambda: "CD" in login.run("squeue --noheader --states=all --jobs=2 --format=%t"), "the job gets all cores, and ends")
                login.run(rest)
                login.run(end)
        finally:
            script(directory, "down")


def main():
    slurm_cluster.skip_without_slurm()
    if len(os.sched_getaffinity(0)) < 2:
        print("skipped: a share of a job needs two cores")
        sys.exit(slurm_cluster.SKIPPED)
    cases, = chosen([on_one_cluster, on_two_clusters, without_a_cluster], wanted=sys.argv[3:])
    for case in cases:
        measured(case)


if __name__ == "__main__":
    main()
