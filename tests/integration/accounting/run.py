#!/usr/bin/python3
"""run.py PROGRAMS FUNCTIONS TEST_FUNCTIONS [CASE...]: pilots on a cluster with accounting, where a QOS gives way to another, and limits
are those of a QOS or an association. Exit status 0: all is as it should be; 77: there is no Slurm, or no slurmdbd here."""
import contextlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
import cluster_accounting  # noqa: E402 (of dev.d, which the one before has added)
from processes import expect  # noqa: E402
from site_of_pilots import automatic, run_beside  # noqa: E402
from slurm_cluster import chosen, wait_until  # noqa: E402

PROGRAMS, FUNCTIONS, TEST_FUNCTIONS = sys.argv[1:4]
NODES = ("--nodes", "2", "--cores", "2", "--accounting")
USER = ("user", "root")
QOS = ("qos", "idle")
NO_LIMIT = "-1"


@contextlib.contextmanager
def limit(site, of, **limits):
    """Until it is over. sacctmgr returns when slurmdbd has told slurmctld."""
    def change(values):
        site.cluster.run("sacctmgr", "--immediate", "modify", *of, "set", *(f"{name}={value}" for name, value in values.items()))

    change(limits)
    try:
        yield
    finally:
        change({name: value.partition("=")[0] + "=" + NO_LIMIT if "=" in value else NO_LIMIT for name, value in limits.items()})


def refusal(site, *options):
    done = site.orchid("pilot", "start", "--address", site.address, "--time", "10m", *options, check=False)
    return done.returncode, done.stderr


def is_refused(site, advice, *options):
    status, said = refusal(site, *options)
    expect(status == 3 and advice in said, f"it is refused, with advice: {status} {said}")
    expect(not site.pilots(), f"nothing is left in the queue: {site.pilots()}")


def a_qos_gives_way_to_another(site):
    site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")
    first = site.start_pilot("--qos", "idle", "--cores", "2", "--node-list", "n1")
    site.wait_for_executor("n1")
    call = site.calling("sleeps", "3000")
    site.wait_until_running("sleeps")
    second = site.start_pilot("--qos", "idle", "--cores", "2", "--node-list", "n2")
    site.wait_for_executor("n2")
    job = site.cluster.submit("--ntasks=2", "--nodelist=n1")
    site.cluster.wait_for_state(job, "RUNNING")
    expect(site.cluster.state_of(first) in ("", "PREEMPTED"), f"the pilot has gone: {site.cluster.state_of(first)}")
    expect(site.cluster.state_of(second) == "RUNNING", "the one that nobody needs the cores of has not")
    out, err = call.communicate(timeout=60)
    expect(call.returncode == 0, f"its call has run elsewhere: {call.returncode} {out} {err}")
    site.orchid("pilot", "stop", "--all")
    site.cluster.run("scancel", str(job))


def what_is_over_a_limit_for_each_job_is_refused(site):
    with limit(site, QOS, maxwall="00:02:00"):
        is_refused(site, "ask for less with --time", "--qos", "idle")
    with limit(site, QOS, maxtresperjob="cpu=1"):
        is_refused(site, "fewer cores", "--qos", "idle", "--cores", "2")
    with limit(site, USER, maxwall="00:01:00"):
        is_refused(site, "ask for less with --time", "--qos", "idle")


def so_it_is_where_the_qos_denies_it_at_once(site):
    site.cluster.run("sacctmgr", "--immediate", "modify", *QOS, "set", "flags=DenyOnLimit")
    try:
        with limit(site, QOS, maxwall="00:02:00"):
            is_refused(site, "ask for less with --time", "--qos", "idle")
        with limit(site, QOS, maxtresperjob="cpu=1"):
            is_refused(site, "fewer cores", "--qos", "idle", "--cores", "2")
    finally:
        site.cluster.run("sacctmgr", "--immediate", "modify", *QOS, "set", "flags=-1")


def what_is_over_a_limit_for_all_jobs_is_refused_or_waits(site):
    with limit(site, QOS, maxsubmitjobsperuser="0"):
        is_refused(site, "stop pilots", "--qos", "idle")
    with limit(site, USER, maxsubmitjobs="0"):
        is_refused(site, "stop pilots", "--qos", "idle")
    with limit(site, QOS, maxjobsperuser="1"):
        first = site.start_pilot("--qos", "idle")
        site.cluster.wait_for_state(first, "RUNNING")
        second = site.start_pilot("--qos", "idle")

        def listed():
            return {one["job"]: (one["state"], one["where_or_why"]) for one in site.pilots()}
        wait_until(lambda: listed().get(second) == ("PENDING", "(QOSMaxJobsPerUserLimit)"), "the second one waits, and the list says for what", lambda: f"{listed()}")
        site.orchid("pilot", "stop", str(first))
        site.cluster.wait_for_state(second, "RUNNING")
        site.orchid("pilot", "stop", "--all")


def names_that_the_user_may_not_use_are_refused(site):
    for wrong in (("--qos", "none-such"), ("--qos", "idle", "--account", "none-such")):
        status, said = refusal(site, *wrong)
        expect(status == 2 and "sacctmgr show assoc" in said, f"{wrong}: {status} {said}")


def pilots_by_demand_become_as_short_as_the_qos_wants(site):
    with limit(site, QOS, maxwall="00:05:00"), site.other_settings(automatic(site, partition=None, qos="idle", longest="8m")):
        site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
        said = site.said_from_here()
        out, err = site.calling("hello", "orchid").communicate(timeout=90)
        expect("orchid" in out, f"a shorter one comes, and serves the call: {out} {err} {said()}")
        expect("MaxWallDurationPerJobLimit" in said() and "later ones last" in said(), f"which the gateway says: {said()}")
        wait_until(lambda: not site.pilots(), "the pilot goes", lambda: said() + site.trouble(), 60)


def main():
    slurm_cluster.skip_without_slurm(*cluster_accounting.PROGRAMS.values())
    cases = [a_qos_gives_way_to_another, what_is_over_a_limit_for_each_job_is_refused, so_it_is_where_the_qos_denies_it_at_once,
             what_is_over_a_limit_for_all_jobs_is_refused_or_waits, names_that_the_user_may_not_use_are_refused,
             pilots_by_demand_become_as_short_as_the_qos_wants]
    cases, = chosen(cases, wanted=sys.argv[4:])
    run_beside(PROGRAMS, NODES, cases)


if __name__ == "__main__":
    main()
