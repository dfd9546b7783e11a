#!/usr/bin/env python3
"""./dev cluster: a Slurm cluster on this machine: real munged, slurmctld and slurmd, in a directory of its own.

Everything that it starts is ended by `down`, also when the script was killed in the middle; nothing else on the machine is
touched, also when it runs a Slurm of its own: other ports, another munge key and socket, another spool.
"""
import argparse
import contextlib
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import cluster_accounting
import cluster_files
import cluster_processes

# By full path, and as the file that is behind it: started under another name Debian's slurmd ignores every Gres=.
PROGRAMS = {"munged": "/usr/sbin/munged", "slurmctld": "/usr/sbin/slurmctld", "slurmd": "/usr/sbin/slurmd",
            "sinfo": "/usr/bin/sinfo", "scancel": "/usr/bin/scancel"}
ALL_PROGRAMS = PROGRAMS | cluster_accounting.PROGRAMS
EXPECTED = {"munged": "munged", "slurmctld": "slurmctld-wlm", "slurmd": "slurmd-wlm"}
PACKAGES = "munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins"
MARK = "orchid-cluster"  # a file that says: this directory is ours to remove
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10
LOCK_TIMEOUT_S = 90
COMMAND_TIMEOUT_S = 15
START_ATTEMPTS = 3
PORT_TAKEN = "Address already in use"


class Failure(Exception):
    pass


class PortTaken(Failure):
    pass


def check_programs(accounting=False):
    wanted = {path: PACKAGES for path in PROGRAMS.values()}
    if accounting:
        wanted |= {path: cluster_accounting.PACKAGES for path in cluster_accounting.PROGRAMS.values()}
    for path, packages in wanted.items():
        if not os.path.exists(path):
            raise Failure(f"there is no {path}: apt-get install --no-install-recommends {packages}")
    for name, path in PROGRAMS.items():
        real = os.path.basename(os.path.realpath(path))
        if real != EXPECTED.get(name, real):
            raise Failure(f"{path} is {real}, not {EXPECTED[name]}: another package (slurm-wlm-emulator?) has taken its place; "
                          "remove it, or choose with update-alternatives")


class Cluster:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory).resolve()
        self.configuration = self.directory / "slurm.conf"

    @contextlib.contextmanager
    def held(self):
        """One command at a time works on a directory; another waits. The lock goes with its holder, however that ends."""
        give_up = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            self.directory.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self.directory.exists() and os.path.samestat(os.fstat(lock), os.stat(self.directory)):
                    break  # and not one that was removed meanwhile
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise Failure(f"another './dev cluster' has been working on {self.directory} for {LOCK_TIMEOUT_S} s") from None
            os.close(lock)
            time.sleep(0.05)
        try:
            yield
        finally:
            os.close(lock)

    def check_is_ours(self):
        if any(self.directory.iterdir()) and not (self.directory / MARK).exists():
            raise Failure(f"{self.directory} has other files in it: choose an empty --directory, or one that is not there yet")

    def clear(self):
        """The mark goes last: what is left by one that was killed here is still known as ours."""
        for entry in sorted(self.directory.iterdir(), key=lambda one: one.name == MARK):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)

    def environment(self):
        return {**os.environ, "SLURM_CONF": str(self.configuration)}

    def start(self, name):
        """`name` is "munged", "mariadbd", "slurmdbd", "slurmctld" or "slurmd NODE"."""
        program, _, node = name.partition(" ")
        folder = self.directory / "munge"
        arguments = {"munged": ["--foreground", "--force", f"--key-file={folder}/key", f"--socket={folder}/socket",
                                f"--pid-file={folder}/pid", f"--seed-file={folder}/seed", f"--log-file={folder}/log"],
                     "slurmctld": ["-D", "-f", str(self.configuration)],
                     "slurmd": ["-D", "-N", node, "-f", str(self.configuration)],
                     **cluster_accounting.arguments(self.directory)}[program]
        environment = {**self.environment(), **(cluster_accounting.environment(self.directory) if program == "slurmdbd" else {})}
        with open(self.log(name), "ab") as output:
            return subprocess.Popen([ALL_PROGRAMS[program], *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                    start_new_session=True, env=environment, cwd=self.directory)

    def log(self, name):
        return self.directory / f"{name.rpartition(' ')[2]}.log"

    def up(self, options):
        check_programs(options.accounting)
        problem = cluster_files.problem_with(self.directory, options)
        if problem:
            raise Failure(problem)
        self.check_is_ours()
        if cluster_processes.of_cluster(self.configuration):
            raise Failure(f"a cluster runs in {self.directory} already; './dev cluster down' ends it")
        for attempt in range(START_ATTEMPTS):
            try:
                self.start_all(options)
                break
            except PortTaken:
                self.end_processes()
                if attempt == START_ATTEMPTS - 1:
                    raise
            except BaseException:
                self.end_processes()
                raise
        who_gives_way = ("QOS: normal (default), idle (preempted by normal)." if options.accounting else
                         "Partitions: batch (default), idle (preempted by batch).")
        print(f"{options.nodes} nodes of {options.cores} cores are idle. For this shell:\n\n"
              f"    export SLURM_CONF={self.configuration}\n\n{who_gives_way}")

    def start_all(self, options):
        self.clear()
        (self.directory / MARK).touch()
        cluster_files.write(self.directory, options)
        running = {"munged": self.start("munged")}
        self.wait_until((self.directory / "munge" / "socket").exists, "munged has made no socket", running)
        if options.accounting:
            self.start_accounting(options, running)
        for name in ["slurmctld", *(f"slurmd {node}" for node in cluster_files.node_names(options))]:
            running[name] = self.start(name)
        self.wait_until(lambda: self.node_states().count("idle") == options.nodes, "the nodes do not become idle", running)

    def start_accounting(self, options, running):
        """Before slurmctld, which ends without it."""
        made = cluster_accounting.make_database(self.directory)
        if made.returncode != 0:
            raise Failure(f"mariadb-install-db failed: {made.stdout}")
        running["mariadbd"] = self.start("mariadbd")
        self.wait_until(cluster_accounting.socket_of(self.directory).exists, "mariadbd has made no socket", running)
        running["slurmdbd"] = self.start("slurmdbd")
        self.wait_until(lambda: self.slurm("sacctmgr", "--noheader", "list", "cluster").returncode == 0, "slurmdbd does not answer", running)
        for words in cluster_accounting.entries(options.name):
            done = self.slurm("sacctmgr", "--immediate", *words)
            if done.returncode != 0:
                raise Failure(f"sacctmgr {' '.join(words)} failed: {done.stdout}{done.stderr}")

    def wait_until(self, condition, what, running):
        give_up = time.monotonic() + START_TIMEOUT_S
        while not condition():
            for name, process in running.items():
                if process.poll() is not None:
                    said = last_lines(self.log(name))
                    kind = PortTaken if PORT_TAKEN in said else Failure
                    raise kind(f"{name} has ended: {said}\nIts files are in {self.directory}; './dev cluster down' removes them")
            if time.monotonic() > give_up:
                raise Failure(f"{what} within {START_TIMEOUT_S} s: {last_lines(self.log(list(running)[-1]))}")
            time.sleep(0.05)

    def slurm(self, name, *arguments):
        return subprocess.run([ALL_PROGRAMS[name], *arguments], env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=COMMAND_TIMEOUT_S, check=False)

    def node_states(self):
        try:
            asked = self.slurm("sinfo", "--noheader", "-N", "-p", "batch", "-o", "%T")
        except subprocess.TimeoutExpired:
            return []
        return asked.stdout.split() if asked.returncode == 0 else []

    def status(self):
        running = cluster_processes.daemons(self.configuration)
        if not running:
            print(f"no cluster runs in {self.directory}")
            return 1
        for name, pid in sorted(running.items()):
            print(f"{pid:>8}  {name:<12} {self.log(name)}")
        print("nodes: " + (", ".join(self.node_states()) or "slurmctld does not answer"))
        return 0

    def restart(self, name, stop_only):
        """A daemon as after a crash: killed, and started again with the state that it has left."""
        if not self.configuration.exists():
            raise Failure(f"there is no cluster in {self.directory}")
        known = [*(one for one in ("munged", "mariadbd", "slurmdbd", "slurmctld") if self.log(one).exists()),
                 *(f"slurmd {entry.stem}" for entry in self.directory.glob("n*.log"))]
        if name not in known:
            raise Failure(f"no daemon is called '{name}'; there are: {', '.join(sorted(known))}")
        pid = cluster_processes.daemons(self.configuration).get(name)
        if pid is not None:
            started = cluster_processes.started_at(pid)
            cluster_processes.send(pid, started, signal.SIGKILL)
            wait_until(lambda: cluster_processes.started_at(pid) != started, STOP_TIMEOUT_S, f"{name} does not end")
        if not stop_only:
            self.start(name)
            wait_until(lambda: name in cluster_processes.daemons(self.configuration), START_TIMEOUT_S, f"{name} does not start")

    def down(self):
        self.check_is_ours()
        if "slurmctld" in cluster_processes.daemons(self.configuration):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.slurm("scancel", "--full", "--signal=KILL", "--state=RUNNING")
                self.slurm("scancel", "--state=PENDING")
        self.end_processes()
        self.clear()
        self.directory.rmdir()

    def end_processes(self):
        left = cluster_processes.end(self.configuration, STOP_TIMEOUT_S)
        if left:
            raise Failure(f"these do not end: {sorted(left)}")
        cluster_files.remove_groups(self.directory)


def last_lines(log):
    with contextlib.suppress(OSError):
        return " / ".join(pathlib.Path(log).read_text(errors="replace").splitlines()[-5:]) or "it has said nothing"
    return "there is no log"


def wait_until(condition, seconds, what):
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            raise Failure(f"{what} within {seconds} s")
        time.sleep(0.05)


def arguments():
    parser = argparse.ArgumentParser(prog="./dev cluster", description="a Slurm cluster on this machine, for tests and for trying Orchid")
    parser.add_argument("--directory", default="build/cluster", help="where it lives (default: build/cluster)")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start it, and wait until all nodes are idle")
    up.add_argument("--nodes", type=int, default=4)
    up.add_argument("--cores", type=int, default=4, help="of each node; they need not exist")
    up.add_argument("--sockets", type=int, default=1, help="of each node")
    up.add_argument("--threads", type=int, default=1, help="of each core")
    up.add_argument("--memory", type=int, default=4096, help="MiB of each node")
    up.add_argument("--gpus", type=int, default=0, help="of each node, made up, for scheduling")
    up.add_argument("--dpus", type=int, default=0, help="how many nodes have the feature dpu: the last ones")
    up.add_argument("--accounting", action="store_true", help="slurmdbd with its database; a QOS gives way then, in place of a partition")
    up.add_argument("--cgroups", action="store_true", help="jobs in control groups, version 1 or 2, that hold them to their cores")
    up.add_argument("--name", default="orchid", help="of the cluster")
    up.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="another line for slurm.conf; repeatable")
    up.add_argument("--node-option", default="", metavar="TEXT", help="more for each node's line in slurm.conf")
    commands.add_parser("down", help="end it, its jobs too, and remove its directory")
    commands.add_parser("status", help="what runs; exit status 1: nothing")
    for name, text in [("stop", "kill one daemon"), ("restart", "kill one daemon and start it again")]:
        one = commands.add_parser(name, help=f"{text}: munged, slurmctld, 'slurmd n1', or with --accounting mariadbd, slurmdbd")
        one.add_argument("daemon")
    return parser.parse_args()


def run(options):
    cluster = Cluster(options.directory)
    if options.command == "status":
        return cluster.status()
    if options.command == "down" and not cluster.directory.exists():
        # Its processes may be there all the same, when somebody has removed the directory.
        cluster.end_processes()
        print(f"there is no cluster in {cluster.directory}")
        return 0
    with cluster.held():
        if options.command == "up":
            cluster.up(options)
        elif options.command == "down":
            cluster.down()
        else:
            cluster.restart(options.daemon, stop_only=options.command == "stop")
    return 0


def main():
    def interrupted(number, frame):
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    try:
        return run(arguments())
    except Failure as failure:
        print(f"cluster: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("cluster: interrupted; what had started is ended", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
