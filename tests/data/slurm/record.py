#!/usr/bin/python3
"""record.py ORCHID_SLURM: makes the recordings of this folder anew, with real clusters of ./dev cluster.

Each file has what slurmctld answered in one situation; the unit tests of orchid-slurm read them.
"""
import pathlib
import pwd
import re
import subprocess
import sys
import time

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parents[1] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)

NODES = ("--nodes", "3", "--gpus", "2", "--dpus", "1", "--cores", "8", "--sockets", "2", "--threads", "2")


def record(cluster, name, user=None):
    path = pathlib.Path("/tmp") / f"{name}-{time.monotonic_ns()}.jsonl"
    cluster.run(sys.argv[1], "--once", "--record", str(path), user=user)
    text = re.sub(r"/tmp/orchid-\w+", "/cluster", path.read_text())
    (here / f"{name}.jsonl").write_text(text)
    path.unlink()
    print(name)


def running(cluster, *options, **more):
    job = cluster.submit(*options, **more)
    cluster.wait_for_state(job, "RUNNING")
    return job


def usual_situations(cluster):
    record(cluster, "idle")
    running(cluster, "-n5", "-w", "n1", "-t", "10")
    running(cluster, "-n2", "-w", "n1", "-t", "20", "--gpus=1")
    record(cluster, "partly_used")
    cluster.clear()
    suspended = running(cluster, "-n4", "-w", "n1", "-t", "10")
    cluster.run("scontrol", "suspend", str(suspended))
    record(cluster, "suspended")
    cluster.run("scontrol", "resume", str(suspended))
    cluster.clear()
    running(cluster, "--exclusive", "-n1", "-w", "n2", "-t", "5", "--mem=512")
    record(cluster, "exclusive")
    cluster.clear()
    running(cluster, "-n2", "-w", "n1", "--exclusive=user", "-t", "5")
    record(cluster, "exclusive_user")
    cluster.clear()


def states_of_nodes(cluster):
    running(cluster, "-n2", "-w", "n1", "-t", "10")
    for node in ("n1", "n2"):
        cluster.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=bad fan")
    record(cluster, "drained")
    for node in ("n1", "n2"):
        cluster.run("scontrol", "update", f"nodename={node}", "state=resume")
    cluster.clear()
    cluster.run("scontrol", "create", "reservation", "reservationname=now", "users=root", "starttime=now", "duration=60", "nodes=n1")
    cluster.run("scontrol", "create", "reservation", "reservationname=later", "users=root", "starttime=now+2hours", "duration=60",
                "nodes=n2", "flags=maint")
    cluster.run("scontrol", "create", "reservation", "reservationname=cores", "users=root", "starttime=now", "duration=30", "nodes=n3",
                "corecnt=2")
    cluster.run("scontrol", "create", "reservation", "reservationname=nameless", "users=root", "starttime=now", "duration=30",
                "partitionname=batch", "corecnt=1", "nodecnt=1")
    slurm_cluster.wait_until(lambda: "RESERVED" in cluster.run("scontrol", "show", "node", "n1"), "n1 is reserved")
    record(cluster, "reserved")
    for name in ("now", "later", "cores", "nameless"):
        cluster.run("scontrol", "delete", f"reservationname={name}")


def queues(cluster):
    cluster.submit("--array=1-6%2", "-n2", "-t", "10", "-w", "n1")
    slurm_cluster.wait_until(lambda: cluster.run("squeue", "--noheader", "-t", "RUNNING").count("\n") == 1, "two tasks run")
    record(cluster, "array")
    cluster.clear()
    for node in ("n1", "n2", "n3"):
        running(cluster, "-n4", "-w", node, "-t", "10")
    waiting = cluster.submit("-N2", "--exclusive", "-w", "n1,n2", "-t", "5")
    slurm_cluster.wait_until(lambda: "SchedNodeList=" in cluster.run("scontrol", "show", "job", str(waiting)), "backfill has planned it")
    record(cluster, "planned")
    cluster.clear()
    stubborn = running(cluster, "-n4", "-w", "n1", "-t", "10", script_text="trap '' TERM; sleep 8; sleep 8")
    cluster.run("scancel", str(stubborn))
    cluster.wait_for_state(stubborn, "COMPLETING")
    record(cluster, "completing")
    cluster.clear()


def planned_gpus():
    """Of jobs that want them for each task, and for each socket."""
    with slurm_cluster.started(*NODES) as cluster:
        for node in ("n1", "n2"):
            running(cluster, "-n2", "-w", node, "-t", "10", "--gpus=2")
            options = ("-n2", "--gpus-per-task=1") if node == "n1" else ("-n4", "--sockets-per-node=2", "--gpus-per-socket=1")
            waiting = cluster.submit("-N1", "-w", node, "-t", "5", *options)
            slurm_cluster.wait_until(lambda job=waiting: "SchedNodeList=" in cluster.run("scontrol", "show", "job", str(job)),
                                     "backfill has planned it", lambda: cluster.run("squeue"), seconds=90)
        record(cluster, "planned_gpus")


def completing_in_part():
    """Of two nodes, with other cores on each."""
    with slurm_cluster.held_node("n2") as (epilog, hold):
        with slurm_cluster.started(*NODES, "--option", epilog) as cluster:
            running(cluster, "-n4", "-w", "n1", "-t", "10")
            job = running(cluster, "-N2", "-n16", "-w", "n1,n2", "-t", "10")
            cluster.run("scancel", str(job))
            slurm_cluster.wait_until(lambda: "NodeList=n2" in cluster.run("scontrol", "show", "job", str(job)), "it has left n1",
                                     lambda: cluster.run("scontrol", "show", "job", str(job)))
            record(cluster, "completing_in_part")
            hold.unlink()


def main():
    with slurm_cluster.started(*NODES) as cluster:
        usual_situations(cluster)
        states_of_nodes(cluster)
        queues(cluster)
    with slurm_cluster.started(*NODES, "--option", "PrivateData=jobs") as cluster:
        running(cluster, "-n6", "-w", "n1", "-t", "10", "--gpus=1")
        running(cluster, "-n2", "-w", "n2", "-t", "10", user=pwd.getpwnam("nobody").pw_uid)
        record(cluster, "private_data", user=pwd.getpwnam("nobody").pw_uid)
    with slurm_cluster.started(*NODES, "--node-option", "CoreSpecCount=2 MemSpecLimit=512") as cluster:
        running(cluster, "-n4", "-w", "n1", "-t", "10")
        record(cluster, "core_specialisation")
    planned_gpus()
    completing_in_part()


if __name__ == "__main__":
    subprocess.run([sys.argv[1], "--help"], check=True, stdout=subprocess.DEVNULL)
    main()
