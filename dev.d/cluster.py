#!/usr/bin/env python3
"""./dev cluster: a Slurm cluster on this machine: real munged, slurmctld and slurmd, in a directory of its own.

Everything that it starts is listed in DIRECTORY/processes.json and ended by `down`; nothing else on the machine is
touched, also when it runs a Slurm of its own: other ports, another munge key and socket, another spool.
"""
import argparse
import contextlib
import json
import os
import pathlib
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time

# By full path, and as the file that is behind it: started under another name Debian's slurmd ignores every Gres=.
DAEMONS = {"munged": "/usr/sbin/munged", "slurmctld": "/usr/sbin/slurmctld", "slurmd": "/usr/sbin/slurmd"}
EXPECTED = {"munged": "munged", "slurmctld": "slurmctld-wlm", "slurmd": "slurmd-wlm"}
PACKAGES = "munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins"
# For scheduling alone any character device is a GPU.
FAKE_GPUS = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"]
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 20
COMMAND_TIMEOUT_S = 15


class Failure(Exception):
    pass


def check_programs():
    for name, path in DAEMONS.items():
        if not os.path.exists(path):
            raise Failure(f"there is no {path}: apt-get install --no-install-recommends {PACKAGES}")
        real = os.path.basename(os.path.realpath(path))
        if real != EXPECTED[name]:
            raise Failure(f"{path} is {real}, not {EXPECTED[name]}: another package (slurm-wlm-emulator?) has taken its place; "
                          "remove it, or choose with update-alternatives")


def free_ports(count):
    """Ports that the kernel gives away now. Somebody may take one before the daemon does; `up` says so then."""
    with contextlib.ExitStack() as keep:
        sockets = [keep.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def slurm_conf(directory, options, ports):
    user = pwd.getpwuid(os.geteuid()).pw_name
    gres = f" Gres=gpu:{options.gpus}" if options.gpus else ""
    nodes = "\n".join(
        f"NodeName=n{i + 1} NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[i + 1]} Sockets=1 CoresPerSocket={options.cores} "
        f"ThreadsPerCore=1 RealMemory={options.memory}{gres}" for i in range(options.nodes))
    every = f"n[1-{options.nodes}]"
    return f"""ClusterName={options.name}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
CredType=cred/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU={max(1, options.memory // (2 * options.cores))}
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
SchedulerParameters=bf_interval=5,bf_resolution=10,sched_min_interval=100000
ReturnToService=2
SlurmdTimeout=15
SlurmctldTimeout=15
KillWait=5
MinJobAge=30
{"GresTypes=gpu" if options.gpus else ""}
{nodes}
PartitionName=batch Nodes={every} Default=YES PriorityTier=10 PreemptMode=OFF MaxTime=INFINITE State=UP
PartitionName=idle Nodes={every} PriorityTier=1 PreemptMode=CANCEL GraceTime=0 MaxTime=INFINITE State=UP
"""


def gres_conf(options):
    files = "\n".join(f"NodeName=n[1-{options.nodes}] Name=gpu File={device}" for device in FAKE_GPUS[:options.gpus])
    return f"AutoDetect=off\n{files}\n"


class Cluster:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory).resolve()
        self.record = self.directory / "processes.json"

    def environment(self):
        return {**os.environ, "SLURM_CONF": str(self.directory / "slurm.conf")}

    def processes(self):
        """What was started and still is what was started: a number may belong to another process by now."""
        try:
            known = json.loads(self.record.read_text())
        except FileNotFoundError:
            return []
        return [one for one in known if started_at(one["pid"]) == one["started"]]

    def start(self, name, command, log):
        with open(self.directory / log, "ab") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                                       env=self.environment())
        known = self.processes() + [{"name": name, "pid": process.pid, "started": started_at(process.pid), "log": log}]
        self.record.write_text(json.dumps(known, indent=1))
        return process

    def prepare(self, options):
        if options.gpus > len(FAKE_GPUS):
            raise Failure(f"at most {len(FAKE_GPUS)} GPUs can be made up")
        self.directory.mkdir(parents=True, exist_ok=True)
        for folder in ["state", "munge", *[f"n{i + 1}" for i in range(options.nodes)]]:
            (self.directory / folder).mkdir(exist_ok=True)
        ports = free_ports(options.nodes + 1)
        (self.directory / "slurm.conf").write_text(slurm_conf(self.directory, options, ports))
        (self.directory / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nConstrainCores=no\nConstrainRAMSpace=no\n")
        if options.gpus:
            (self.directory / "gres.conf").write_text(gres_conf(options))
        key = self.directory / "munge" / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)

    def start_munged(self):
        folder = self.directory / "munge"
        self.start("munged", [DAEMONS["munged"], "--foreground", "--force", f"--key-file={folder}/key", f"--socket={folder}/socket",
                              f"--pid-file={folder}/pid", f"--seed-file={folder}/seed", f"--log-file={folder}/log"], "munged.log")
        wait_until(lambda: (folder / "socket").exists(), START_TIMEOUT_S, "munged has made no socket", self.directory / "munged.log")

    def up(self, options):
        check_programs()
        if self.processes():
            raise Failure(f"a cluster runs in {self.directory} already; './dev cluster down' ends it")
        shutil.rmtree(self.directory, ignore_errors=True)
        self.prepare(options)
        try:
            self.start_munged()
            self.start("slurmctld", [DAEMONS["slurmctld"], "-D", "-c", "-f", str(self.directory / "slurm.conf")], "slurmctld.log")
            for i in range(options.nodes):
                self.start(f"slurmd n{i + 1}", [DAEMONS["slurmd"], "-D", "-N", f"n{i + 1}", "-f", str(self.directory / "slurm.conf")],
                           f"n{i + 1}.log")
            self.wait_for_nodes(options.nodes)
        except (Failure, KeyboardInterrupt):
            self.end_processes()
            raise
        print(f"{options.nodes} nodes of {options.cores} cores are idle. For this shell:\n\n"
              f"    export SLURM_CONF={self.directory}/slurm.conf\n\nPartitions: batch (default), idle (preempted by batch).")

    def wait_for_nodes(self, count):
        def all_idle():
            for one in json.loads(self.record.read_text()):
                if started_at(one["pid"]) != one["started"]:
                    raise Failure(f"{one['name']} has ended: {last_lines(self.directory / one['log'])}")
            return self.node_states().count("idle") == count
        wait_until(all_idle, START_TIMEOUT_S, "the nodes do not become idle", self.directory / "slurmctld.log")

    def slurm(self, *command):
        return subprocess.run(command, env=self.environment(), capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False)

    def node_states(self):
        try:
            asked = self.slurm("sinfo", "--noheader", "-N", "-p", "batch", "-o", "%T")
        except subprocess.TimeoutExpired:
            return []
        return asked.stdout.split() if asked.returncode == 0 else []

    def status(self):
        running = self.processes()
        if not running:
            print(f"no cluster runs in {self.directory}")
            return 1
        for one in running:
            print(f"{one['pid']:>8}  {one['name']:<12} {self.directory / one['log']}")
        print("nodes: " + (", ".join(self.node_states()) or "slurmctld does not answer"))
        return 0

    def down(self):
        if not self.directory.exists():
            print(f"there is no cluster in {self.directory}")
            return
        if any(one["name"] == "slurmctld" for one in self.processes()):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.slurm("scancel", "--full", "--signal=KILL", "--state=RUNNING")
                self.slurm("scancel", "--state=PENDING")
        self.end_processes()
        shutil.rmtree(self.directory, ignore_errors=True)

    def end_processes(self):
        """Steps outlive their slurmd: they are found by their spool."""
        victims = {one["pid"]: one["started"] for one in self.processes()}
        for sign in (signal.SIGTERM, signal.SIGKILL):
            victims.update(self.steps())
            for pid, started in victims.items():
                if started_at(pid) == started:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, sign)
            gone = lambda: not any(started_at(pid) == started for pid, started in victims.items()) and not self.steps()
            with contextlib.suppress(Failure):
                wait_until(gone, STOP_TIMEOUT_S, "", None)
                return
        raise Failure(f"these do not end: {sorted(pid for pid, started in victims.items() if started_at(pid) == started)}")

    def steps(self):
        """slurmstepd of this cluster's nodes, and what runs below them."""
        found = {}
        wanted = f"SLURM_CONF={self.directory}/slurm.conf".encode()
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                is_step = (entry / "comm").read_text().startswith("slurmstepd")
                variables = (entry / "environ").read_bytes().split(b"\0")
                in_job = any(v.startswith(b"SLURM_JOB_ID=") for v in variables)
                if wanted in variables and (is_step or in_job):
                    found[int(entry.name)] = started_at(int(entry.name))
        return found


def started_at(pid):
    """In clock ticks since the machine's start, which with the number names a process; None: it is gone."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def last_lines(log):
    with contextlib.suppress(OSError):
        return " / ".join(pathlib.Path(log).read_text(errors="replace").splitlines()[-5:]) or "it has said nothing"
    return "there is no log"


def wait_until(condition, seconds, what, log):
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            raise Failure(f"{what} within {seconds} s: {last_lines(log)}" if log else what)
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser(prog="./dev cluster", description="a Slurm cluster on this machine, for tests and for trying Orchid")
    parser.add_argument("--directory", default="build/cluster", help="where it lives (default: build/cluster)")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start it, and wait until all nodes are idle")
    up.add_argument("--nodes", type=int, default=4)
    up.add_argument("--cores", type=int, default=4, help="of each node; they need not exist")
    up.add_argument("--memory", type=int, default=4096, help="MiB of each node")
    up.add_argument("--gpus", type=int, default=0, help="of each node, made up, for scheduling")
    up.add_argument("--name", default="orchid", help="of the cluster")
    commands.add_parser("down", help="end it, its jobs too, and remove its directory")
    commands.add_parser("status", help="what runs; exit status 1: nothing")
    options = parser.parse_args()
    cluster = Cluster(options.directory)
    try:
        if options.command == "up":
            cluster.up(options)
        elif options.command == "down":
            cluster.down()
        else:
            return cluster.status()
    except Failure as failure:
        print(f"cluster: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
