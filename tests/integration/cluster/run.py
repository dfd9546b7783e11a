#!/usr/bin/python3
"""run.py: ./dev cluster as its users and the other tests need it. Exit status 0: all is as it should be; 77: there is no Slurm here."""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above, as all that follows)
import cluster  # noqa: E402 (of dev.d, which the one before has added)
from slurm_cluster import SCRIPT, chosen, cluster_processes, measured, script, started, wait_until  # noqa: E402

KILL_MOMENTS = ("munge/socket", "slurmctld.pid", "n2.pid")  # the files whose appearance marks how far `up` is


def expect(fact, what):
    if not fact:
        sys.exit(f"not so: {what}")


def it_runs_jobs_on_its_nodes_and_gpus_and_preempts():
    with started("--nodes", "3", "--gpus", "2", "--dpus", "1", "--sockets", "2", "--threads", "2", "--cores", "4") as cluster:
        expect(cluster.manage("status").count("idle") == 3, "three nodes are idle")
        expect(cluster.run("sinfo", "--noheader", "-n", "n1", "-p", "batch", "-o", "%G %z %f") == "gpu:2 2:2:2 (null)", "n1 has 2 GPUs")
        expect(cluster.run("sinfo", "--noheader", "-n", "n3", "-p", "batch", "-o", "%G %f") == "(null) dpu", "n3 is a DPU")
        expect(cluster.run("srun", "-n2", "--gpus=1", "echo", "ran") == "ran\nran", "srun runs")
        filler = cluster.submit("-p", "idle", "-N3", "--exclusive", "--no-requeue", script_text="srun sleep 600")
        cluster.wait_for_state(filler, "RUNNING")
        expect(cluster.run("srun", "-p", "batch", "-w", "n1", "echo", "first") == "first", "a job of batch takes the place of one of idle")
        cluster.wait_for_state(filler, "", "PREEMPTED")


def two_live_side_by_side():
    with started("--nodes", "1", "--name", "east") as east, started("--nodes", "2", "--name", "west") as west:
        job = east.submit()
        east.wait_for_state(job, "RUNNING")
        expect(west.run("squeue", "--noheader") == "", "the other cluster has no job")
        west.manage("down")
        expect(east.state_of(job) == "RUNNING", "one goes, the other stays")


def a_second_one_in_the_same_directory_is_refused():
    with started("--nodes", "1") as cluster:
        again = script(cluster.directory, "up")
        expect(again.returncode == 1 and "already" in again.stderr, f"'up' says that one runs: {again.stderr}")
        expect(cluster.run("srun", "echo", "still") == "still", "the first one has not suffered")


def what_is_not_ours_is_not_removed():
    with tempfile.TemporaryDirectory(prefix="orchid-", dir="/tmp") as folder:
        kept = pathlib.Path(folder) / "thesis.txt"
        kept.write_text("years of work")
        for command in ("up", "down"):
            refused = script(folder, command)
            expect(refused.returncode == 1 and "other files" in refused.stderr, f"'{command}' refuses: {refused.stderr}")
        expect(kept.read_text() == "years of work", "the file is still there")


def wrong_options_are_explained():
    with tempfile.TemporaryDirectory(prefix="orchid-", dir="/tmp") as folder:
        for words in (["--nodes", "0"], ["--gpus", "99"], ["--cores", "3", "--sockets", "2"], ["--dpus", "4"]):
            refused = script(folder, "up", *words)
            expect(refused.returncode == 1 and refused.stderr.startswith("cluster: "), f"{words}: {refused.stderr}")
        broken = script(f"{folder}/c", "up", "--nodes", "1", "--option", "SelectType=select/nonsense")
        expect(broken.returncode == 1 and "has ended" in broken.stderr, f"what the daemon said is shown: {broken.stderr}")
        expect(not cluster_processes.of_cluster(pathlib.Path(folder) / "c" / "slurm.conf"), "a start that failed leaves no process")
        expect(script(f"{folder}/c", "down").returncode == 0 and not os.listdir(folder), "its files can be removed")


def down_ends_all_after_a_kill_in_the_middle():
    for moment in KILL_MOMENTS:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="orchid-", dir="/tmp"))
        directory = folder / "c"
        up = subprocess.Popen([*SCRIPT, "--directory", str(directory), "up", "--nodes", "4"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until((directory / moment).exists, f"{moment} appears")
        up.send_signal(signal.SIGKILL)
        up.wait(timeout=10)
        check_down(directory)
        shutil.rmtree(folder)


def an_interrupted_start_cleans_up():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="orchid-", dir="/tmp"))
    directory = folder / "c"
    up = subprocess.Popen([*SCRIPT, "--directory", str(directory), "up", "--nodes", "4"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until((directory / "slurmctld.pid").exists, "slurmctld starts")
    up.send_signal(signal.SIGTERM)
    _, said = up.communicate(timeout=60)
    expect(up.returncode == 130, f"it ends with 130, not {up.returncode}: {said}")
    expect(not cluster_processes.of_cluster(directory / "slurm.conf"), "no process is left")
    check_down(directory)
    shutil.rmtree(folder)


def damaged_files_do_not_hide_processes():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="orchid-", dir="/tmp"))
    directory = folder / "c"
    expect(script(directory, "up", "--nodes", "2").returncode == 0, "it starts")
    cluster = slurm_cluster.Cluster(directory)
    job = cluster.submit(script_text="srun sleep 600")
    cluster.wait_for_state(job, "RUNNING")
    for entry in directory.rglob("*.pid"):
        entry.write_text("1\n")
    (directory / "slurm.conf").write_text("\0\0damaged")
    check_down(directory)
    expect(script(directory, "up", "--nodes", "2").returncode == 0, "it starts again")
    shutil.rmtree(directory)
    check_down(directory)
    shutil.rmtree(folder)


def check_down(directory):
    began = time.monotonic()
    down = script(directory, "down")
    expect(down.returncode == 0, f"'down' succeeds: {down.stdout}{down.stderr}")
    expect(time.monotonic() - began < 60, "'down' is done within a minute")
    expect(not directory.exists(), "the directory is gone")
    left = cluster_processes.of_cluster(directory / "slurm.conf")
    expect(not left, f"no process is left: {left}")


def slurmctld_can_be_lost_and_come_back():
    with started("--nodes", "1") as cluster:
        job = cluster.submit()
        cluster.wait_for_state(job, "RUNNING")
        cluster.wait_until_saved(job)
        cluster.manage("stop", "slurmctld")
        expect("slurmctld" not in cluster_processes.daemons(cluster.configuration), "slurmctld is gone")
        cluster.manage("restart", "slurmctld")
        cluster.wait_for_state(job, "RUNNING")
        expect("no daemon is called" in script(cluster.directory, "restart", "n1").stderr, "a wrong name is explained")


def daemons_of_another_package_are_refused():
    with tempfile.TemporaryDirectory(prefix="orchid-test-") as folder:
        other, missing = pathlib.Path(folder) / "slurmd", pathlib.Path(folder) / "slurmctld"
        other.symlink_to("/bin/true")
        for name, path, told in (("slurmd", other, "is true, not slurmd"), ("slurmctld", missing, "apt-get install")):
            with unittest.mock.patch.dict(cluster.PROGRAMS, {name: str(path)}):
                try:
                    cluster.check_programs()
                except cluster.Failure as refusal:
                    expect(told in str(refusal) and str(path) in str(refusal), f"it says which, and what to do: {refusal}")
                else:
                    expect(False, f"{path} is taken for {name}")
    cluster.check_programs()


def it_needs_no_root():
    if os.geteuid() != 0:
        return  # all of the above has shown it
    nobody = pwd.getpwnam("nobody").pw_uid
    folder = pathlib.Path(tempfile.mkdtemp(prefix="orchid-", dir="/tmp"))
    os.chown(folder, nobody, nobody)
    directory = folder / "c"
    up = script(directory, "up", "--nodes", "1", user=nobody)
    expect(up.returncode == 0, f"it starts: {up.stderr}")
    told = slurm_cluster.Cluster(directory).run("srun", "id", "-u", user=nobody)
    expect(told == str(nobody), f"its jobs are the user's: {told}")
    expect(script(directory, "down", user=nobody).returncode == 0 and not directory.exists(), "and it ends")
    expect(not cluster_processes.of_cluster(directory / "slurm.conf"), "no process is left")
    shutil.rmtree(folder)


def main():
    slurm_cluster.skip_without_slurm()
    cases = [it_runs_jobs_on_its_nodes_and_gpus_and_preempts, two_live_side_by_side, a_second_one_in_the_same_directory_is_refused,
             what_is_not_ours_is_not_removed, wrong_options_are_explained, down_ends_all_after_a_kill_in_the_middle,
             an_interrupted_start_cleans_up, damaged_files_do_not_hide_processes, slurmctld_can_be_lost_and_come_back,
             daemons_of_another_package_are_refused, it_needs_no_root]
    cases, = chosen(cases, wanted=sys.argv[1:])
    for case in cases:
        measured(case)


if __name__ == "__main__":
    main()
