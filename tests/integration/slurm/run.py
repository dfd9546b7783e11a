#!/usr/bin/python3
"""run.py ORCHID_SLURM CHECK_SOURCE OTHER_RELEASE [CASE...]: orchid-slurm beside real daemons. Exit status 0: all is as it should be;
77: there is no Slurm here."""
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
from munge_daemon import munged  # noqa: E402
from slurm_cluster import chosen, cluster_processes, measured, started  # noqa: E402
from source import Source, running  # noqa: E402

PROGRAM, CHECKER, OTHER_RELEASE = sys.argv[1:4]
QUICK = ("--interval-ms", "200", "--requests-per-minute", "6000")
NODES = ("--nodes", "3", "--gpus", "2", "--dpus", "1", "--cores", "8", "--sockets", "2", "--threads", "2")
STATUS = {"unsupported": 3, "bad_configuration": 4, "unreachable": 5, "denied": 6, "unauthenticated": 6, "timed_out": 7}


def expect(fact, what):
    if not fact:
        sys.exit(f"not so: {what}")


def source_of(cluster, *options, **more):
    return running(PROGRAM, CHECKER, cluster, *QUICK, *options, **more)


def run_job(cluster, *options, **more):
    job = cluster.submit(*options, **more)
    cluster.wait_for_state(job, "RUNNING")
    return job


def idle_cpus(cluster):
    """Slurm's own count, by node; its commands know nothing of suspended jobs."""
    lines = cluster.run("scontrol", "--oneliner", "show", "node").splitlines()
    return {re.search(r"NodeName=(\S+)", one)[1]: int(re.search(r"CPUEfctv=(\d+)", one)[1]) - int(re.search(r"CPUAlloc=(\d+)", one)[1])
            for one in lines}


def jobs_take_cores_and_give_them_back(cluster):
    with source_of(cluster) as source:
        source.start()
        expect([source.nodes[n]["kind"] for n in ("n1", "n2", "n3")] == ["gpu", "gpu", "dpu"], "kinds of nodes")
        expect(all(node["free_cores"] == "0-7" for node in source.nodes.values()), "all cores are free")
        job = run_job(cluster, "-n5", "-w", "n1", "--gpus=1", "-t", "10")
        source.wait(lambda: source.jobs.get(job, {}).get("state") == "running", "the job is seen")
        source.wait(lambda: source.nodes["n1"]["cores_free"] == 5, "its cores are not free")
        share = source.jobs[job]["shares"][0]
        printed = cluster.run("scontrol", "show", "job", "-d", str(job))
        cpus = numbers_of(re.search(r"CPU_IDs=(\S+)", printed)[1])
        expect(numbers_of(share["cores"]) == sorted({cpu // 2 for cpu in cpus}), f"{share} are the cores of {cpus}")
        expect(share["gpus"] == "0" and source.nodes["n1"]["free_gpus"] == "1", "one GPU is taken, the other one free")
        expect(share["memory_bytes"] == 6 * 128 << 20, "and memory for each CPU")
        expect(not set(numbers_of(share["cores"])) & set(numbers_of(source.nodes["n1"]["free_cores"])), "nothing is counted twice")
        for name, idle in idle_cpus(cluster).items():
            expect(source.nodes[name]["cores_free"] * 2 == idle, f"{name} has {idle} idle CPUs")
        expect(source.forecasts["n1"][0]["until"] == source.jobs[job]["end_time"], "the forecast knows when it ends")
        cluster.run("scancel", str(job))
        source.wait(lambda: job not in source.jobs and source.nodes["n1"]["free_cores"] == "0-7", "all is given back")


def numbers_of(text):
    found = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def exclusive_suspended_and_array_jobs_are_counted(cluster):
    with source_of(cluster) as source:
        source.start()
        alone = run_job(cluster, "-n1", "--exclusive", "-w", "n2", "--mem=512", "-t", "10")
        source.wait(lambda: source.nodes["n2"]["cores_free"] == 0 and source.nodes["n2"]["gpus_free"] == 0, "it owns the node")
        expect(source.jobs[alone]["exclusive"] and source.nodes["n2"]["memory_free_bytes"] == 3584 << 20, "but not its memory")
        job = run_job(cluster, "-n4", "-w", "n1", "-t", "10")
        cluster.run("scontrol", "suspend", str(job))
        source.wait(lambda: source.jobs.get(job, {}).get("state") == "suspended", "the job is suspended")
        expect(source.nodes["n1"]["cores_free"] == 6, "and keeps its cores")
        cluster.run("scontrol", "resume", str(job))
        source.wait(lambda: source.jobs[job]["state"] == "running", "the job goes on")
        array = cluster.submit("--array=1-4%2", "-n2", "-w", "n3", "-t", "10")

        def waiting():
            return [one.get("array_tasks") for one in source.jobs.values() if one.get("array") == array and one["state"] == "pending"]
        source.wait(lambda: source.nodes["n3"]["cores_free"] == 6 and waiting() == ["3-4%2"], "two of its tasks run, the others wait")
    cluster.clear()


def nodes_that_take_no_work_say_why(cluster):
    with source_of(cluster) as source:
        source.start()
        cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=bad fan")
        source.wait(lambda: source.nodes["n1"].get("why") == ["drained"], "it is drained")
        node = source.nodes["n1"]
        expect(node["state"] == "unusable" and node["reason"] == "bad fan" and node["cores_free"] == 0, f"and has nothing free: {node}")
        cluster.run("scontrol", "update", "nodename=n1", "state=resume")
        source.wait(lambda: source.nodes["n1"]["state"] == "usable", "it is back")
        cluster.run("scontrol", "create", "reservation", "reservationname=r", "users=root", "starttime=now", "duration=10", "nodes=n2",
                    "flags=maint,ignore_jobs")
        source.wait(lambda: "maintenance" in source.nodes["n2"].get("why", []), "a reserved node is named")
        cluster.run("scontrol", "delete", "reservationname=r")
        source.wait(lambda: source.nodes["n2"]["state"] == "usable", "until the reservation is gone")
        cluster.manage("stop", "slurmd n3")
        cluster.run("scontrol", "update", "nodename=n3", "state=down", "reason=gone")
        source.wait(lambda: "down" in source.nodes["n3"].get("why", []), "a node without a daemon is down")
        cluster.manage("restart", "slurmd n3")
        cluster.run("scontrol", "update", "nodename=n3", "state=resume", check=False)
        source.wait(lambda: source.nodes["n3"]["state"] == "usable", "and comes back", seconds=60)


def backfill_bounds_the_hole(cluster):
    with source_of(cluster) as source:
        source.start()
        first = run_job(cluster, "-n4", "-w", "n1", "-t", "10")
        waiting = cluster.submit("-N2", "--exclusive", "-w", "n1,n2", "-t", "5")
        source.wait(lambda: source.jobs.get(waiting, {}).get("planned_nodes") == ["n1", "n2"], "it is planned", seconds=60)

        def is_bounded():
            start, windows = source.jobs[waiting].get("start_time"), source.forecasts.get("n2", [])
            return len(windows) > 1 and windows[0]["cores"] == 8 and windows[0]["until"] == start and windows[1]["cores"] == 0
        source.wait(is_bounded, "n2 is free until then")
        source.wait(lambda: source.forecasts["n1"][0]["until"] == source.jobs[first]["end_time"], "n1 gets its cores back before")
    cluster.clear()


def it_waits_for_slurmctld_and_comes_back(cluster):
    with source_of(cluster) as source:
        source.start()
        job = run_job(cluster, "-n4", "-w", "n1", "-t", "10")
        source.wait(lambda: job in source.jobs, "the job is seen")
        cluster.wait_until_saved(job)
        cluster.manage("stop", "slurmctld")
        # What was under way when it died ends as whatever Slurm makes of it; the next one is refused.
        source.wait(lambda: source.report.get("state") == "stale" and source.report["code"] == "unreachable",
                    "it says that slurmctld does not answer", seconds=60)
        expect("slurmctld" in source.report["message"], f"and why: {source.report}")
        expect(source.jobs and source.nodes["n1"]["cores_free"] == 6, "what it has told stays")
        source.wait(lambda: source.report["counters"]["poll_pause_ms"] >= 400, "it asks less often", seconds=60)
        cluster.manage("restart", "slurmctld")
        source.wait(lambda: source.report["state"] == "current", "it has found slurmctld again", seconds=60)
        source.wait(lambda: source.nodes["n1"]["state"] == "usable" and source.nodes["n1"]["cores_free"] == 6, "the job still runs",
                    seconds=60)
        other = run_job(cluster, "-n2", "-w", "n1", "-t", "10")
        source.wait(lambda: other in source.jobs and source.nodes["n1"]["cores_free"] == 5, "it follows what is new")
    cluster.clear()


def everything_is_told_again_when_asked(cluster):
    with source_of(cluster) as source:
        source.start()
        source.wait(lambda: source.lines, "it has told")
        count = len([line for line in source.lines if '"full":true' in line])
        source.say(type="resync")
        source.wait(lambda: len([line for line in source.lines if '"full":true' in line]) == count + 1, "all of it again")
        source.say(type="dance")
        expect(source.wait_for_end() == 1 and source.error["code"] == "bad_request", f"what is no command ends it: {source.error}")


def it_keeps_its_budget(cluster):
    def asked():
        told = cluster.run("sdiag")
        return sum(int(count) for count in re.findall(r"REQUEST_(?:JOB_INFO|NODE_INFO|RESERVATION_INFO|PARTITION_INFO)\s+\(\s*\d+\)"
                                                      r"\s+count:(\d+)", told))
    before = asked()
    with running(PROGRAM, CHECKER, cluster, "--interval-ms", "100", "--requests-per-minute", "10") as source:
        source.start()
        # Twelve polls would fit into this time; the budget has room for three.
        source.wait(lambda: len(source.reports) >= 2, "it has reported twice")
        counted = source.report["counters"]["requests"]
        expect(0 < counted <= 10, f"{counted} requests are in the budget of 10")
        expect(asked() - before == counted, f"slurmctld has counted {asked() - before}, we {counted}")
        expect(source.report["counters"]["requests_last_minute"] == counted, "the last minute's are reported")


def jobs_of_others_may_be_hidden():
    nobody = pwd.getpwnam("nobody").pw_uid
    if os.geteuid() != 0:
        print("         not tested: it takes root to ask as another user")
        return
    with started(*NODES, "--option", "PrivateData=jobs") as cluster, source_of(cluster, user=nobody) as source:
        run_job(cluster, "-n6", "-w", "n1", "-t", "10")
        own = run_job(cluster, "-n2", "-w", "n2", "-t", "10", user=nobody)
        source.start()
        source.wait(lambda: own in source.jobs, "its own job is seen")
        source.wait(lambda: source.nodes["n1"]["cores_free"] == 5, "the hidden job's cores are not free")
        expect(len(source.jobs) == 1 and "free_cores" not in source.nodes["n1"], "but nobody knows which ones they are")
        source.wait(lambda: source.nodes["n1"].get("hidden_cores") == 3, "that they are a job's is said when the second look agrees")
        expect("hidden_cores" not in source.nodes["n2"], "and of no node whose jobs are all shown")
        expect(source.nodes["n2"]["free_cores"] == "1-7", "where nothing is hidden the numbers are known")


def what_a_site_hides_else_is_no_obstacle_or_is_named():
    nobody = pwd.getpwnam("nobody").pw_uid
    if os.geteuid() != 0:
        print("         not tested: it takes root to ask as another user")
        return
    with started(*NODES, "--option", "PrivateData=jobs,partitions,reservations") as cluster, source_of(cluster, user=nobody) as source:
        run_job(cluster, "-n6", "-w", "n1", "-t", "10")
        cluster.run("scontrol", "create", "reservation", "reservationname=r", "users=root", "starttime=now", "duration=10", "nodes=n2",
                    "flags=ignore_jobs")
        source.start()
        source.wait(lambda: source.nodes["n1"]["cores_free"] == 5, "a job's cores are not free")
        expect(source.nodes["n3"]["state"] == "usable" and "partitions" not in source.nodes["n3"], "nobody knows its partitions")
        source.wait(lambda: "reserved" in source.nodes["n2"].get("why", []), "that a node is reserved shows in its state")
    with started(*NODES, "--option", "PrivateData=nodes") as cluster:
        code, message = refusal(cluster, user=nobody)
        expect(code == "denied" and "PrivateData=nodes" in message and "pilots" in message, f"without nodes nothing is known: {message}")


def a_job_keeps_its_own_cores_of_the_nodes_that_it_has_not_left():
    with slurm_cluster.held_node("n2") as (epilog, hold):
        with started(*NODES, "--option", epilog) as cluster, source_of(cluster) as source:
            source.start()
            run_job(cluster, "-n4", "-w", "n1", "-t", "10")
            job = run_job(cluster, "-N2", "-n16", "-w", "n1,n2", "-t", "10")
            source.wait(lambda: len(source.jobs.get(job, {}).get("shares", [])) == 2, "it is on both nodes")
            first, second = source.jobs[job]["shares"]
            expect(first["cores"] != second["cores"], f"and has other cores on each: {first} {second}")
            cluster.run("scancel", str(job))
            source.wait(lambda: job in source.jobs and len(source.jobs[job]["shares"]) == 1, "it has left one")
            known = source.jobs[job]
            expect(known["state"] == "completing" and known["shares"] == [second], f"it has the same cores on the other: {known}")
            hold.unlink()
            source.wait(lambda: source.nodes["n2"]["free_cores"] == "0-7", "until it has left that, too")


def refusal(cluster, *options, environment=None, user=None):
    """The error that orchid-slurm --once ends with; its exit status fits."""
    done = subprocess.run([PROGRAM, "--once", *options], env={**cluster.environment(), **(environment or {})}, capture_output=True,
                          text=True, timeout=60, stdin=subprocess.DEVNULL, check=False, user=user)
    judged = subprocess.run([CHECKER], input=done.stdout, capture_output=True, text=True, timeout=60, check=False)
    expect(judged.returncode == 0 and "ended=true" in judged.stdout, f"the last line is an error: {done.stdout}{judged.stderr}")
    found = re.search(r'"code":"(\w+)","message":"(.*)","type":"error"', done.stdout)
    expect(done.returncode == STATUS[found[1]], f"exit status {done.returncode} for {found[1]}")
    return found[1], found[2]


def what_is_wrong_is_said(cluster):
    expect(refusal(cluster, "--library", "libc.so.6")[0] == "unsupported", "a library that is not libslurm")
    code, message = refusal(cluster, "--library", OTHER_RELEASE)
    expect(code == "unsupported" and "libslurm.so.39" in message and "22.05" in message, f"another release: {message}")
    expect(refusal(cluster, "--library", "/nowhere/libslurm.so.38")[0] == "unsupported", "no library")
    code, message = refusal(cluster, "--configuration", "/nowhere/slurm.conf")
    expect(code == "bad_configuration" and "/nowhere/slurm.conf" in message, f"no configuration: {message}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="orchid-", dir="/tmp"))
    text = cluster.configuration.read_text()
    damaged = folder / "slurm.conf"
    damaged.write_text(text.replace("ClusterName", "CluterNam"))
    code, message = refusal(cluster, "--configuration", str(damaged))
    expect(code == "bad_configuration" and "CluterNam" in message, f"libslurm's own words are told: {message}")
    damaged.write_text(re.sub(r"SlurmctldPort=\d+", "SlurmctldPort=1", text))
    expect(refusal(cluster, "--configuration", str(damaged))[0] == "unreachable", "no slurmctld")
    damaged.write_text(text.replace("/munge/socket", "/munge/nothing"))
    expect(refusal(cluster, "--configuration", str(damaged))[0] == "unauthenticated", "no munge")
    shutil.rmtree(folder)


def another_munge_is_said(cluster):
    for clock, what in ((None, "another key"), ("+1h", "a clock that is early"), ("-1h", "a clock that is late")):
        with munged(cluster, clock) as configuration:
            code, message = refusal(cluster, "--configuration", str(configuration))
            expect(code == "unauthenticated" and "key" in message and "clock" in message, f"{what}: {code} {message}")


def it_never_hangs_with_slurmctld(cluster):
    slurmctld = cluster_processes.daemons(cluster.configuration)["slurmctld"]
    stuck, leaving = Source(PROGRAM, cluster, *QUICK, "--deadline-ms", "700"), Source(PROGRAM, cluster, *QUICK)
    try:
        stuck.start()
        leaving.start()
        os.kill(slurmctld, signal.SIGSTOP)
        expect(stuck.wait_for_end(30) == STATUS["timed_out"] and stuck.error["code"] == "timed_out", f"it gives up: {stuck.error}")
        began = time.monotonic()
        expect(leaving.end() == 0 and time.monotonic() - began < 5, "it ends with the gateway, whatever it waits for")
    finally:
        os.kill(slurmctld, signal.SIGCONT)
        for one in (stuck, leaving):
            one.process.kill()
            one.process.wait()


def main():
    slurm_cluster.skip_without_slurm()
    cases = [jobs_take_cores_and_give_them_back, exclusive_suspended_and_array_jobs_are_counted, backfill_bounds_the_hole,
             everything_is_told_again_when_asked, it_keeps_its_budget, what_is_wrong_is_said, another_munge_is_said, nodes_that_take_no_work_say_why,
             it_waits_for_slurmctld_and_comes_back, it_never_hangs_with_slurmctld]
    with_own_clusters = [jobs_of_others_may_be_hidden, what_a_site_hides_else_is_no_obstacle_or_is_named,
                         a_job_keeps_its_own_cores_of_the_nodes_that_it_has_not_left]
    cases, with_own_clusters = chosen(cases, with_own_clusters, wanted=sys.argv[4:])
    if cases:
        with started(*NODES) as cluster:
            for case in cases:
                measured(case, cluster)
    for case in with_own_clusters:
        measured(case)


if __name__ == "__main__":
    main()
