#!/usr/bin/python3
"""run.py PROGRAMS FUNCTIONS TEST_FUNCTIONS [CASE...]: pilots beside real daemons. Exit status 0: all is as it should be; 77: there
is no Slurm here."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
from munge_daemon import munged  # noqa: E402
from slurm_cluster import chosen, wait_until  # noqa: E402
from processes import alive, expect, family  # noqa: E402
from site_of_pilots import KNOWN_CLUSTER, SHORT_GRACE, automatic, run_beside  # noqa: E402

PROGRAMS, FUNCTIONS, TEST_FUNCTIONS = sys.argv[1:4]
NODES = ("--nodes", "2", "--cores", "2", "--option", "EnforcePartLimits=ALL")


def a_pilot_joins_serves_and_leaves(site):
    job = site.start_pilot("--partition", "idle", "--cores", "1", "--node-list", "n1")
    executor = site.wait_for_executor("n1")
    site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
    expect("orchid" in site.orchid("invoke", "hello", data="orchid").stdout, "a function runs there")
    listed = site.pilots()
    expect([(one["job"], one["state"], one["partition"]) for one in listed] == [(job, "RUNNING", "idle")], f"it is listed: {listed}")
    expect(str(job) in site.orchid("pilot", "list").stdout, "for people, too")
    words = pathlib.Path(f"/proc/{executor}/cmdline").read_text().split("\0")
    token = (site.state / "token").read_text().strip()
    expect(token not in words and "--token-file" in words, "the token is on no command line")
    left = int(words[words.index("--ends-in-s") + 1])
    expect(500 < left < 600, f"it knows its end, with a margin: {left} s")
    cpus = cpus_of(site, job)
    expect(words[words.index("--core-list") + 1] == cpus and os.sched_getaffinity(executor) == {int(cpus)}, "it keeps to its core")
    expect(words[words.index("--core-list-counts") + 1] == "2", "it knows how Slurm counts cores")
    everybody, folder = family(executor), site.folder_of(executor)
    expect(folder.is_dir() and folder.stat().st_mode & 0o777 == 0o700, "its folder is private")
    expect(len(everybody) >= 5, f"it has started others: {everybody}")
    began = time.monotonic()
    site.orchid("pilot", "stop", "--all")
    print(f"         stopped within {time.monotonic() - began:.2f} s")
    expect(not site.cluster.run("squeue", "--noheader") and not site.pilots(), "the queue is empty")
    expect(not any(map(alive, everybody)), "no process is left")
    expect(not folder.exists(), f"nor its folder {folder}")


def cpus_of(site, job):
    return re.search(r"CPU_IDs=(\S+)", site.cluster.run("scontrol", "show", "job", "-d", str(job)))[1]


def a_pilot_takes_what_a_batch_job_leaves_of_a_node(site):
    other = site.cluster.submit("--partition=batch", "--nodelist=n1", "--ntasks=1")
    site.cluster.wait_for_state(other, "RUNNING")
    job = site.start_pilot("--partition", "idle", "--cores", "1", "--node-list", "n1")
    executor = site.wait_for_executor("n1")
    expect({cpus_of(site, other), cpus_of(site, job)} == {"0", "1"}, f"each has a core of its own: {cpus_of(site, other)}, {cpus_of(site, job)}")
    expect(os.sched_getaffinity(executor) == {int(cpus_of(site, job))}, "and keeps to it")
    site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
    expect("orchid" in site.orchid("invoke", "hello", data="orchid").stdout, "a function runs beside the job")
    expect(site.cluster.run("squeue", "--noheader", "-j", str(job), "-o", "%y") == "2147483645", "it stands behind all that wait")
    site.orchid("pilot", "stop", "--all")
    expect(site.cluster.state_of(other) == "RUNNING", "which notices nothing")
    site.cluster.run("scancel", str(other))


def a_cancelled_pilots_call_ends_on_another(site):
    site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")
    first = site.start_pilot("--partition", "idle", "--node-list", "n1")
    site.wait_for_executor("n1")
    expect(site.orchid("invoke", "sleeps", data="1").stdout == "1", "its code is there")
    call = site.calling("sleeps", "12000")
    site.wait_until_running("sleeps")
    site.start_pilot("--partition", "idle", "--node-list", "n2")
    site.wait_for_executor("n2")
    expect(call.poll() is None, "it still runs")
    site.cluster.run("scancel", str(first))
    out, err = call.communicate(timeout=60)
    expect(call.returncode == 0 and out == "12000", f"the result comes, once: {call.returncode} {out} {err}")
    expect([one["where_or_why"] for one in site.pilots() if one["state"] == "RUNNING"] == ["n2"], "the other one has run it")
    site.orchid("pilot", "stop", "--all")


def a_batch_job_takes_a_pilots_cores(site):
    site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")
    site.start_pilot("--partition", "idle", "--cores", "2", "--node-list", "n1")
    executor = site.wait_for_executor("n1")
    expect(site.orchid("invoke", "sleeps", data="1").stdout == "1", "its code is there")
    call = site.calling("sleeps", "12000")
    site.wait_until_running("sleeps")
    site.start_pilot("--partition", "idle", "--node-list", "n2")
    site.wait_for_executor("n2")
    everybody, folder = family(executor), site.folder_of(executor)
    told = site.cluster.run("sbatch", "--parsable", "--partition=batch", "--nodelist=n1", "--ntasks=2", "--output=/dev/null",
                            "--wrap", "exec sleep 600")
    began = time.monotonic()
    wait_until(lambda: site.cluster.state_of(told) == "RUNNING", "the batch job starts")
    print(f"         the batch job ran {time.monotonic() - began:.2f} s after its submission (scheduling included)")
    expect(not any(map(alive, everybody)), "no process of the pilot is left beside it")
    expect(not folder.exists(), f"nor its folder {folder}")
    out, err = call.communicate(timeout=60)
    expect(call.returncode == 0 and out == "12000", f"the result comes, once: {call.returncode} {out} {err}")
    site.orchid("pilot", "stop", "--all")
    expect(site.cluster.state_of(told) == "RUNNING", "a job that is no pilot goes on")
    site.cluster.run("scancel", told)


def one_pilot_may_have_several_nodes(site):
    job = site.start_pilot("--partition", "idle", "--nodes", "2", "--cores", "1", "--data-memory", "48MiB")
    for node in ("n1", "n2"):
        words = pathlib.Path(f"/proc/{site.wait_for_executor(node)}/cmdline").read_text().split("\0")
        expect(words[words.index("--data-memory") + 1] == str(48 << 20), f"each keeps as much data as was said: {words}")
    expect(len(site.pilots()) == 1, "it is one job")
    site.orchid("pilot", "stop", str(job))
    expect(not site.pilots() and not site.executors(), "both executors are gone")


def only_own_pilots_are_stopped_and_no_more_than_allowed(site):
    foreign = site.cluster.submit("-p", "idle", "-n1", "-w", "n2")
    refused = site.orchid("pilot", "stop", str(foreign), check=False)
    expect(refused.returncode == 2 and "not a pilot of this gateway" in refused.stderr, f"a job of others is refused: {refused.stderr}")
    done = site.orchid("pilot", "start", "--json", "--address", site.address, "--partition", "idle", "--scheduling", "normal", "--node-list", "n1", "--count", "5",
                       "--max", "3", "--host-identity", "node")
    expect(len(json.loads(done.stdout)["pilots"]) == 3, "no more than --max are submitted")
    full = site.orchid("pilot", "start", "--address", site.address, "--max", "3", check=False)
    expect(full.returncode == 3 and "--max allows 3" in full.stderr, f"and then none: {full.stderr}")
    site.orchid("pilot", "stop", "--all")
    expect(site.cluster.run("squeue", "--noheader", "-o", "%A") == str(foreign), "exactly the own ones are gone")
    site.cluster.run("scancel", str(foreign))


def a_script_can_be_read_before(site):
    done = site.orchid("pilot", "start", "--dry-run", "--address", site.address, "--partition", "idle", "--cores", "2", "--memory", "1GiB")
    expect(done.stdout.startswith("#!/bin/bash\n#SBATCH --job-name=orchid-pilot-") and "--mem=1048576K" in done.stdout, "it is printed")
    expect((site.state / "token").read_text().strip() not in done.stdout, "without the token")
    expect(not site.pilots(), "and nothing is submitted")
    refused = site.orchid("pilot", "start", "--dry-run", "--partition", "idle", check=False)
    expect(refused.returncode == 2 and "--listen IP:PORT" in refused.stderr, f"nodes do not reach a loopback address: {refused.stderr}")
    refused = site.orchid("pilot", "start", "--dry-run", "--address", site.address, "--partition", "idle;id", check=False)
    expect(refused.returncode == 2 and "cannot be written into a batch script" in refused.stderr, f"nor a command: {refused.stderr}")


def refusal(site, *options, environment=None):
    done = site.orchid("pilot", "start", "--address", site.address, *options, check=False, environment=environment)
    return done.returncode, done.stderr


def what_is_wrong_is_said(site):
    status, said = refusal(site, "--partition", "nowhere")
    expect(status == 2 and "Invalid partition name" in said and "sinfo" in said, f"no such partition: {status} {said}")
    site.cluster.run("scontrol", "update", "partitionname=idle", "maxtime=30")
    status, said = refusal(site, "--partition", "idle", "--time", "10h")
    expect(status == 3 and "time limit is invalid" in said, f"over the partition's limit: {status} {said}")
    site.cluster.run("scontrol", "update", "partitionname=idle", "maxtime=infinite")
    status, said = refusal(site, "--partition", "idle", "--cores", "99")
    expect(status == 2 and "ask for less" in said, f"more cores than a node has: {status} {said}")
    status, said = refusal(site, "--partition", "idle", environment={"PATH": "/nonexistent"})
    expect(status == 3 and "no Slurm here" in said, f"no Slurm: {status} {said}")
    with_another_munge(site)
    without_a_good_configuration(site)
    site.cluster.manage("stop", "slurmctld")
    status, said = refusal(site, "--partition", "idle")
    expect(status == 3 and "slurmctld does not answer" in said, f"no slurmctld: {status} {said}")
    site.cluster.manage("restart", "slurmctld")
    wait_until(lambda: "idle" in site.cluster.run("sinfo", "--noheader", check=False), "slurmctld is back")


def nobody_sees_the_submitters_environment(site):
    done = site.orchid("pilot", "start", "--json", "--address", site.address, "--host-identity", "node", "--partition", "idle", "--node-list",
                       "n1", "--scheduling", "normal", environment={"SECRET_OF_MINE": "hunter2", "HOME": str(site.folder)})
    executor = site.wait_for_executor("n1")
    variables = dict(one.partition("=")[::2] for one in pathlib.Path(f"/proc/{executor}/environ").read_text().split("\0"))
    expect("SECRET_OF_MINE" not in variables, f"it has stayed with its owner: {sorted(variables)}")
    expect(variables["SLURM_JOB_ID"] == str(json.loads(done.stdout)["pilots"][0]["job"]), f"the job is Slurm's: {sorted(variables)}")
    site.orchid("pilot", "stop", "--all")


def with_another_munge(site):
    for clock, what in ((None, "another key"), ("+1h", "a clock that is early"), ("-1h", "a clock that is late")):
        with munged(site.cluster, clock) as configuration:
            status, said = refusal(site, "--partition", "idle", environment={"SLURM_CONF": str(configuration)})
            expect(status == 6 and "munge" in said and "clock" in said, f"{what}: {status} {said}")


def without_a_good_configuration(site):
    damaged = site.folder / "slurm.conf"
    damaged.write_text(site.cluster.configuration.read_text() + "ThisIs=nothing that Slurm knows\n")
    for what, configuration in (("none", site.folder / "nothing.conf"), ("a damaged one", damaged)):
        status, said = refusal(site, "--partition", "idle", environment={"SLURM_CONF": str(configuration)})
        # Without one Slurm's commands look for a server that has it, for longer than anybody waits for them.
        expect(status == 3 and "slurm.conf" in said and ("no usable" in said or "cannot be read" in said), f"{what}: {status} {said}")


def pilots_of_a_killed_gateway_end_by_themselves(site):
    site.start_pilot("--partition", "idle", "--node-list", "n1", "--gateway-grace", SHORT_GRACE)
    executor = site.wait_for_executor("n1")
    everybody, folder = family(executor), site.folder_of(executor)
    site.stop_gateway(kill=True)
    wait_until(lambda: not site.cluster.run("squeue", "--noheader"), "its job has ended")
    expect(not any(map(alive, everybody)), "no process is left")
    expect(not folder.exists(), f"nor its folder {folder}")
    expect(site.orchid("pilot", "list", "--json").stdout.strip() == '{"pilots":[]}', "that can be seen without a gateway")
    site.start_gateway()


def what_a_killed_executor_leaves_goes_with_the_next_pilot(site):
    site.start_pilot("--partition", "idle", "--node-list", "n1")
    executor = site.wait_for_executor("n1")
    folder = site.folder_of(executor)
    os.kill(executor, signal.SIGKILL)
    wait_until(lambda: not site.cluster.run("squeue", "--noheader"), "its job has ended")
    expect(folder.exists(), "nobody was there to remove its folder")
    os.utime(folder / "lock", (time.time() - 120, time.time() - 120))  # not that of a pilot that is just starting
    site.start_pilot("--partition", "idle", "--node-list", "n1")
    executor = site.wait_for_executor("n1")
    expect(not folder.exists(), "the next pilot has removed it")
    expect(site.folder_of(executor).exists(), "and not its own")
    site.orchid("pilot", "stop", "--all")


def pilots_come_and_go_by_demand(site):
    site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
    site.stop_gateway()
    site.start_gateway(automatic(site))
    expect(not site.pilots(), "without demand there is none")
    served = site.orchid("invoke", "hello", "--deadline", "60s", data="orchid", check=False)
    expect("orchid" in served.stdout, f"a call that finds no place gets a pilot: {served.stderr}{site.said()}{site.trouble()}")
    pilots = site.pilots()
    expect(pilots and len(pilots) <= 2 and all(one["partition"] == "idle" for one in pilots), f"it is an ordinary pilot: {pilots}")
    wait_until(lambda: not site.pilots(), "a pilot that nobody uses goes", lambda: site.said() + site.trouble())
    began = [site.calling("hello", "orchid") for _ in range(4)]
    most = 0
    while any(call.poll() is None for call in began):
        most = max(most, len([one for one in site.pilots() if one["state"] == "PENDING"]))
        expect(most <= 2, "never more wait than may")
    expect(all(call.returncode == 0 for call in began), "all calls have their answers")
    site.stop_gateway()
    site.start_gateway()
    site.orchid("pilot", "stop", "--all")


def none_is_left_when_all_are_stopped_whatever_is_wanted(site):
    """Whoever ends all pilots wants no others, though calls wait for some."""
    site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")
    site.stop_gateway()
    site.start_gateway(automatic(site))
    calls = [site.calling("sleeps", "20000") for _ in range(3)]
    wait_until(lambda: any(one["state"] == "RUNNING" for one in site.pilots()), "a pilot serves them", lambda: site.said() + site.trouble())
    said, begun = site.said_from_here(), time.monotonic()
    site.orchid("pilot", "stop", "--all", "--pause", "12s")
    expect(not site.pilots(), "none is left")
    wait_until(lambda: "no pilot is submitted for a while" in said() or site.pilots(), "others are wanted, and are not submitted", said)
    while time.monotonic() < begun + 10:
        expect(not site.pilots(), f"and none comes: {said()}")
    wait_until(site.pilots, "until the pause is over", said, 60)
    for call in calls:
        call.kill()
        call.communicate()
    site.stop_gateway()
    site.start_gateway()
    site.orchid("pilot", "stop", "--all")


def pilots_by_demand_have_mixed_lengths_and_are_followed_by_others(site):
    site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")
    full = site.cluster.submit("--partition=batch", "--nodes=2", "--exclusive")
    site.cluster.wait_for_state(full, "RUNNING")
    site.stop_gateway()
    site.start_gateway(automatic(site, beside='sources = ["none"]\n', most_queued=3, longest="8m"))
    calls = [site.calling("sleeps", "6000") for _ in range(3)]

    def limits():
        return sorted(site.cluster.run("squeue", "--noheader", "--partition=idle", "--states=PENDING", "-o", "%l").split())
    wait_until(lambda: limits() == ["2:00", "4:00", "8:00"], "they wait with times of all lengths", lambda: f"{limits()}{site.said()}")
    first = [one["job"] for one in site.pilots()]
    # With so little time each is about to end as soon as it is used.
    for job in first:
        site.cluster.run("scontrol", "update", f"jobid={job}", "timelimit=1")
    site.cluster.run("scancel", str(full))
    wait_until(lambda: any(one["job"] not in first for one in site.pilots()), "those that are used are followed by others before they end",
               lambda: site.said() + site.trouble())
    for call in calls:
        out, err = call.communicate(timeout=60)
        expect(call.returncode == 0 and out == "6000", f"each call has its result, once: {call.returncode} {out} {err}")
    site.stop_gateway()
    site.start_gateway()
    site.orchid("pilot", "stop", "--all")


def a_pilot_by_demand_fits_the_hole_beside_a_batch_job(site):
    """Of n1 a core is free, for five minutes; n2 is full."""
    site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")
    full = site.cluster.submit("--partition=batch", "--nodelist=n2", "--exclusive")
    site.cluster.wait_for_state(full, "RUNNING")
    part = site.cluster.submit("--partition=batch", "--nodelist=n1", "--ntasks=1", "--time=4")
    site.cluster.wait_for_state(part, "RUNNING")
    site.cluster.run("scontrol", "create", "reservation", "reservationname=later", "users=root", "starttime=now+5minutes", "duration=10", "nodes=n1")

    def hole():
        clusters = json.loads(site.orchid("hosts", "--json").stdout).get("clusters", [])
        node = next((node for cluster in clusters if cluster["state"] == "current" for node in cluster["nodes"] if node["name"] == "n1"), {})
        return node.get("cores_free") == 1 and [window.get("cores") for window in node.get("forecast", [])][:3] == [1, 2, 0]
    try:
        with site.other_settings(automatic(site, most_queued=4, most_cores=2, longest="8m")):
            wait_until(hole, "the gateway knows the hole", lambda: site.orchid("hosts", "--json").stdout)
            calls = [site.calling("sleeps", "3000") for _ in range(2)]

            def running():
                return [one["job"] for one in site.pilots() if one["state"] == "RUNNING"]
            wait_until(running, "a pilot comes", lambda: site.said() + site.trouble())
            job, = running()
            told = site.cluster.run("squeue", "--noheader", "-j", str(job), "-o", "%N %C %l")
            expect(told == "n1 1 2:00", f"it is as large as the hole, and shorter: {told}")
            expect({cpus_of(site, part), cpus_of(site, job)} == {"0", "1"}, f"beside the job: {cpus_of(site, part)}, {cpus_of(site, job)}")

            def offered():
                return [(host["name"], executor["grant"]["job"], executor["cores"]) for host in site.hosts() for executor in host["executors"]]
            wait_until(lambda: offered() == [("n1", job, [int(cpus_of(site, job))])], "'orchid hosts' shows it", lambda: f"{offered()}{site.trouble()}")
            for call in calls:
                out, err = call.communicate(timeout=60)
                expect(call.returncode == 0 and out == "3000", f"each call has its result, once: {call.returncode} {out} {err}")
            expect(site.cluster.state_of(part) == "RUNNING", "and the job notices nothing")
        site.orchid("pilot", "stop", "--all")
    finally:
        site.cluster.run("scontrol", "delete", "reservationname=later")
        site.cluster.run("scancel", str(full), str(part))


def an_orchid_inside_a_job_has_what_the_job_has(site):
    home = site.folder / "in-a-job"
    home.mkdir(mode=0o700)
    (home / "gateway.toml").write_text(KNOWN_CLUSTER)
    job = site.cluster.submit("--partition=batch", "--nodelist=n1", "--ntasks=1", script_text=(
        f"exec env HOME={home} XDG_RUNTIME_DIR={home} {site.programs}/orchid up --listen 127.0.0.1:0 --config {home}/gateway.toml > {home}/log 2>&1"))
    left = home / "orchid" / "gateway.json"
    wait_until(left.exists, "it is up", lambda: (home / "log").read_text() if (home / "log").exists() else "no log")
    gateway = json.loads(left.read_text())
    # As in the job's script, with all that Slurm tells it.
    environment = dict(one.split("=", 1) for one in pathlib.Path(f"/proc/{gateway['pid']}/environ").read_text().split("\0") if one)
    expect("SLURM_MEM_PER_CPU" in environment, "what a pilot must not be told is there")

    def orchid(*words):
        return site.orchid(*words, environment=environment)
    executors = subprocess.run(["pgrep", "--parent", str(gateway["pid"]), "orchid-executor"], capture_output=True, text=True, check=True, timeout=30)
    words = pathlib.Path(f"/proc/{int(executors.stdout)}/cmdline").read_text().split("\0")
    cpus = cpus_of(site, job)
    expect([words[words.index(name) + 1] for name in ("--job", "--node", "--core-list", "--memory")] == [str(job), "n1", cpus, environment["SLURM_MEM_PER_CPU"] + "MiB"],
           f"its executor has the job's core {cpus} and memory: {words}")

    def cluster():
        return json.loads(orchid("hosts", "--json").stdout).get("clusters", [])
    wait_until(lambda: cluster() and cluster()[0]["state"] == "current", "it knows the cluster, and the job in it", lambda: (home / "log").read_text())
    orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
    done = site.orchid("invoke", "hello", data="orchid", environment=environment)
    expect("orchid" in done.stdout, f"functions run on that core: {done.stdout}")
    orchid("pilot", "start", "--partition", "idle", "--node-list", "n2", "--address", gateway["addresses"][0].removeprefix("http://").rstrip("/"),
           "--host-identity", "node", "--scheduling", "normal")

    def pilot_is_there():
        return any(executor["grant"]["source"] == "pilot" and executor["state"] == "connected"
                   for host in json.loads(orchid("hosts", "--json").stdout)["hosts"] for executor in host["executors"])
    wait_until(pilot_is_there, "a pilot that is started there joins", lambda: orchid("pilot", "list").stdout + "".join(
        one.read_text(errors="replace")[-2000:] for one in home.glob("**/pilots/*.log")))
    orchid("pilot", "stop", "--all")
    site.cluster.run("scancel", str(job))
    wait_until(lambda: not alive(gateway["pid"]), "it ends with its job")


def main():
    slurm_cluster.skip_without_slurm()
    cases = [a_script_can_be_read_before, a_pilot_joins_serves_and_leaves, nobody_sees_the_submitters_environment, a_pilot_takes_what_a_batch_job_leaves_of_a_node, a_cancelled_pilots_call_ends_on_another,
             a_batch_job_takes_a_pilots_cores, one_pilot_may_have_several_nodes, only_own_pilots_are_stopped_and_no_more_than_allowed,
             pilots_of_a_killed_gateway_end_by_themselves, what_a_killed_executor_leaves_goes_with_the_next_pilot, pilots_come_and_go_by_demand,
             none_is_left_when_all_are_stopped_whatever_is_wanted, pilots_by_demand_have_mixed_lengths_and_are_followed_by_others,
             a_pilot_by_demand_fits_the_hole_beside_a_batch_job, an_orchid_inside_a_job_has_what_the_job_has, what_is_wrong_is_said]
    cases, = chosen(cases, wanted=sys.argv[4:])
    run_beside(PROGRAMS, NODES, cases)


if __name__ == "__main__":
    main()
