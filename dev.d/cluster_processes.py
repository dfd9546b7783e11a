"""Which processes belong to a cluster of ./dev cluster, and how all of them are ended.

A cluster's processes are found, not remembered: by the SLURM_CONF in the environment with which they were started, and what
they have started by itself. So they are found too when the script that started them was killed, and its record is damaged.
"""
import contextlib
import os
import pathlib
import signal
import time

DAEMONS = ("munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd")
# Names of the kernel (15 bytes), which Debian's links do not change: the name is that of the file that was asked for.
OWN_NAMES = (*DAEMONS, "slurmstepd")


def started_at(pid):
    """In clock ticks since the machine's start, which with the number names a process; None: it is gone."""
    fields = stat_fields(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def stat_fields(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


def numbers():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and int(entry) != os.getpid()]


def command_line(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def is_started_for(pid, configuration):
    """A daemon, a step, or a job's process, of the cluster with this slurm.conf."""
    try:
        name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    if f"SLURM_CONF={configuration}".encode() not in variables:
        return False
    return name in OWN_NAMES or any(variable.startswith(b"SLURM_JOB_ID=") for variable in variables)


def of_cluster(configuration):
    """{pid: started_at} of all of them, with everything below them."""
    parents = {pid: int(fields[1]) for pid in numbers() if (fields := stat_fields(pid))}
    found = {pid for pid in parents if is_started_for(pid, configuration)}
    grown = True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in found} - found
        found |= below
        grown = bool(below)
    return {pid: started for pid in found if (started := started_at(pid)) is not None}


def daemons(configuration):
    """{"slurmctld": pid, "slurmd n1": pid, ...} of those that run."""
    found = {}
    for pid in numbers():
        words = command_line(pid)
        name = os.path.basename(words[0]) if words else ""
        # slurmstepd has no such arguments, and a fork of slurmd lives for a moment: the elder one is the daemon.
        if name in DAEMONS and started_at(pid) is not None and is_started_for(pid, configuration):
            label = f"slurmd {words[words.index('-N') + 1]}" if "-N" in words[:-1] else name
            found[label] = min(pid, found.get(label, pid))
    return found


def end(configuration, seconds):
    """Ends all, first asked, then killed. Returns those that are still there: none, unless the kernel holds them."""
    victims = {}
    for sign in (signal.SIGTERM, signal.SIGKILL):
        give_up = time.monotonic() + seconds
        while True:
            fresh = {pid: at for pid, at in of_cluster(configuration).items() if victims.get(pid) != (at, sign)}
            for pid, started in fresh.items():
                send(pid, started, sign)
                victims[pid] = (started, sign)
            left = [pid for pid, (started, _) in victims.items() if started_at(pid) == started]
            if not left:
                return []
            if time.monotonic() > give_up:
                break
            time.sleep(0.05)
    return left


def send(pid, started, sign):
    """To this very process: the number may belong to another one by now, which a pidfd rules out."""
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if started_at(pid) == started:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(process, sign)
    finally:
        os.close(process)
