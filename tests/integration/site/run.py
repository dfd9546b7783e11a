#!/usr/bin/python3
"""run.py PROGRAMS FUNCTIONS TEST_FUNCTIONS [CASE...]: site mode beside real daemons: jobs of several users grant cores to root's
service, which runs executors as nobody's users. Exit status 0: all is as it should be; 77: there is no Slurm here, or we are not root."""
import contextlib
import os
import pathlib
import pwd
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
from host_service import host_service, status_of, uids_of  # noqa: E402
from jobs_of_users import Place, User, ended  # noqa: E402
from processes import affinity, alive, expect, family, words_of  # noqa: E402
from site_of_pilots import SHORT_GRACE, automatic, run_beside  # noqa: E402
from slurm_cluster import chosen, wait_until  # noqa: E402

PROGRAMS, FUNCTIONS, TEST_FUNCTIONS = sys.argv[1:4]
GROUP_TREES = pathlib.Path("/sys/fs/cgroup")
UNIFIED = (GROUP_TREES / "cgroup.controllers").exists()  # version 2
PLUGIN = pathlib.Path(PROGRAMS).parent / "lib" / "spank_orchid.so"
NODES = ("--nodes", "2", "--cores", "2", "--option", "TaskPlugin=task/affinity")
ALICE, BOB, CAROL = (pwd.getpwnam(name) for name in ("news", "uucp", "proxy"))  # of every Debian, without files or processes
CLEAR_WITHIN_S = 4.0  # before Slurm would kill
FOR_EVERYBODY = 'socket_users = "everybody"\nworker_memory = "256MiB"\n'


@contextlib.contextmanager
def place_with(site, *options, **more):
    with host_service(PROGRAMS, site.cluster, site.address, site.state / "token", *options, **more) as host:
        yield Place(site, host)


def is_nobodys(place, everybody):
    """Each runs under a slot's uid, with no right beyond it."""
    for pid in everybody:
        status = status_of(pid)
        if not status or not alive(pid):
            continue
        uids = {int(uid) for uid in status["Uid"].split()}
        expect(len(uids) == 1 and uids <= set(place.host.uids), f"{words_of(pid)} runs under a uid of the host's: {uids}")
        expect({int(gid) for gid in status["Gid"].split()} == uids and not status["Groups"], "with a group of that number alone")
        expect(int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0 and status["NoNewPrivs"] == "1", f"without rights: {status}")


def groups_of(processes):
    """Of those that live, with the lines of their control groups."""
    for pid in filter(alive, processes):
        with contextlib.suppress(OSError):
            yield pid, pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()


def a_pilot_serves_calls_as_nobody(site):
    with place_with(site, "--pilots-from", f"root,{ALICE.pw_name}") as place:
        began = time.monotonic()
        pilot = place.pilot(ALICE, "--cores", "2")
        grant, = place.wait_for_grants(1)
        print(f"         a pilot served {time.monotonic() - began:.2f} s after its submission (scheduling included)")
        site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
        expect("orchid" in site.orchid("invoke", "hello", data="orchid").stdout, "a function runs there")
        expect((grant["source"], grant["job"], grant["node"], grant["owner"], grant.get("users")) ==
               ("pilot", pilot.job, "n1", ALICE.pw_name, "everybody"), f"whose it is, is known: {grant}")
        expect(500_000 < grant["ends_in_ms"] < 600_000, f"and its end: {grant}")
        executor, = place.host.executors()
        everybody = family(executor)
        expect(len(everybody) >= 5, f"it has started others: {everybody}")
        is_nobodys(place, everybody)
        own = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if uids_of(pid)[0] == ALICE.pw_uid]
        names = {pathlib.Path(words_of(pid)[0]).name for pid in own if alive(pid)}
        expect(names <= {"orchid-grant", "srun", "bash", ""}, f"of the user's own there is the placeholder, and no worker: {names}")
        expect(all(affinity(pid) <= set(grant["cores"]) for pid in everybody if alive(pid)), "all keep to the job's cores")
        token = (site.state / "token").read_text().strip()
        expect(token not in words_of(executor) and status_of(executor)["Uid"].split()[0] != "0", "the token is on no command line")
        memory = pathlib.Path(f"/proc/{executor}/mem").stat()
        expect(memory.st_uid == 0, "and what runs under its uid cannot look into it")
        leaves_at_once(place, pilot, everybody)


def leaves_at_once(place, pilot, everybody):
    placeholders = pilot.placeholders()
    expect(len(placeholders) == 1, f"there is a placeholder: {placeholders}")
    began = time.monotonic()
    pilot.cancel()
    wait_until(lambda: not any(map(alive, everybody)), "nobody is left on the cores", pilot.trouble)
    took = time.monotonic() - began
    print(f"         nobody was left {took * 1000:.0f} ms after scancel was started")
    expect(took < CLEAR_WITHIN_S, f"the cores are clear within {CLEAR_WITHIN_S} s: {took:.2f} s")
    wait_until(lambda: not any(map(alive, placeholders)), "the placeholder has gone", pilot.trouble)
    pilot.wait_for_end()
    expect(f"event=grant_ended job={pilot.job} executor=\"exit status 0\"" in place.host.said(), f"it ended in order: {place.host.said()}")
    place.host.wait_until_empty("nothing is left under the host's uids")
    wait_until(lambda: not place.granted(), "the gateway has forgotten it", place.trouble)


def a_call_on_a_cancelled_pilot_ends_on_another(site):
    site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")
    with place_with(site, "--pilots-from", ALICE.pw_name) as place:
        first = place.pilot(ALICE, "--cores", "1")
        place.wait_for_grants(1)
        expect(site.orchid("invoke", "sleeps", data="1").stdout == "1", "its code is there")
        call = site.calling("sleeps", "3000")
        site.wait_until_running("sleeps")
        with ended(place.pilot(ALICE, "--cores", "1")):
            place.wait_for_grants(2)
            first.cancel()
            out, err = call.communicate(timeout=60)
            expect(call.returncode == 0 and out == "3000", f"the result comes, once: {call.returncode} {out} {err}")
        first.wait_for_end()


def a_batch_job_takes_a_pilots_cores(site):
    with place_with(site, "--pilots-from", ALICE.pw_name) as place:
        pilot = place.pilot(ALICE, "--cores", "2")
        place.wait_for_grants(1)
        everybody = family(place.host.executors()[0])
        with ended(place.step(BOB, "exec sleep 600", "--ntasks", "2")) as job:
            place.cluster.wait_for_state(job.job, "RUNNING")
            expect(not any(map(alive, everybody)), f"no process of the pilot is left beside it: {place.host.said()}")
            pilot.wait_for_end()


def pilots_of_the_site_come_and_go_by_demand(site):
    site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
    with place_with(site, slots=2) as place:
        site.stop_gateway()
        site.start_gateway(automatic(site, address=None, host_identity=None, site=True, host_socket=str(place.host.socket), most_queued=1,
                                     most_running=1))
        served = site.orchid("invoke", "hello", "--deadline", "60s", data="orchid", check=False)
        expect("orchid" in served.stdout, f"a call that finds no place gets a pilot: {served.stderr}{place.trouble()}")
        wait_until(lambda: not site.pilots(), "a pilot that nobody uses goes", place.trouble)
        place.host.wait_until_empty("and leaves nothing")
        site.stop_gateway()
        site.start_gateway()


def a_killed_placeholder_takes_its_executor_along(site):
    with place_with(site, "--pilots-from", ALICE.pw_name) as place:
        pilot = place.pilot(ALICE)
        place.wait_for_grants(1)
        everybody = family(place.host.executors()[0])
        for pid in pilot.placeholders():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(map(alive, everybody)), "nobody is left on the cores", pilot.trouble)
        place.host.wait_until_empty("nothing is left under the host's uids")
        pilot.wait_for_end()


def when_the_service_is_killed_everything_ends_and_it_can_start_again(site):
    with place_with(site, "--pilots-from", ALICE.pw_name) as place:
        pilot = place.pilot(ALICE)
        place.wait_for_grants(1)
        place.host.kill()
        place.host.wait_until_empty("its executors end with it")
        pilot.wait_for_end()
        expect("orchid-host on this node has gone" in pilot.said(), f"the placeholder says why it ends: {pilot.said()}")
        # One of them has ended, and the system has not cleared it away yet.
        first = place.host.uids[0]
        left = subprocess.Popen(["true"], user=first, group=first, extra_groups=[])
        os.waitid(os.P_PID, left.pid, os.WEXITED | os.WNOWAIT)
        place.host.start()
        with ended(place.pilot(ALICE)):
            place.wait_for_grants(1)
            grants = [line for line in place.host.said().splitlines() if "event=grant " in line]
            expect(len(grants) == 2 and f"slot_uid={first} " not in grants[1], f"the next one is served, elsewhere: {grants}")
            left.wait()
            place.host.stop()
            place.host.wait_until_empty("asked to end, it ends its executors")


def an_executor_that_cannot_be_started_is_said_and_leaves_its_place_to_others(site):
    program = site.folder / "no-program"
    program.write_text("#!/nonexistent\n")
    program.chmod(0o755)
    with place_with(site, "--pilots-from", ALICE.pw_name, "--executor", program, slots=1) as place:
        for _ in range(2):
            pilot = place.pilot(ALICE)
            pilot.wait_for_end()
            expect("starting an executor: starting the program: " in pilot.said(), f"the placeholder says why: {pilot.said()}")
        place.host.wait_until_empty("nobody is left")


def the_time_that_is_left_is_known_and_used_to_drain(site):
    with place_with(site, "--pilots-from", ALICE.pw_name) as place:
        job = place.step(ALICE, place.grant("--job $SLURM_JOB_ID --scheduling normal --ends-in-s 25"))
        grant, = place.wait_for_grants(1)
        expect(grant["ends_in_ms"] <= 25_000, f"it is known: {grant}")
        wait_until(lambda: any(one["draining"] for one in place.granted()), "it drains", place.trouble)
        job.wait_for_end()
        expect("event=clear" in job.said() and "exit status 0" in job.said(), f"it ends in order: {job.said()}")
        place.host.wait_until_empty("and leaves nothing")


def refused(place, user, words, wanted, *options):
    job = place.step(user, f"{place.grant(words)}; echo ended with $?", *options)
    job.wait_for_word("ended with 3")
    expect(wanted in job.said(), f"{words}: {job.said()}")
    job.wait_for_end()


def what_a_job_does_not_have_is_refused(site):
    with place_with(site, "--pilots-from", f"{ALICE.pw_name},{BOB.pw_name}") as place:
        with ended(place.step(BOB, "sleep 600")) as other:
            other.place.cluster.wait_for_state(other.job, "RUNNING")
            refused(place, ALICE, f"--job {other.job}", f"cannot grant what job {other.job} has")
            refused(place, ALICE, "--job $SLURM_JOB_ID --core-list 0-1", "does not have cores")
        refused(place, ALICE, "--job $SLURM_JOB_ID --core-list 400", "does not have cores")
        # A user can call a job whatever he likes, and sbatch takes it.
        refused(place, ALICE, "--job $SLURM_JOB_ID", "ambiguous", "--job-name", "x UserId=root(0)")
        refused(place, ALICE, "--job $SLURM_JOB_ID", "more or fewer cores", "--job-name", "x\n     Nodes=n1 CPU_IDs=0-1 Mem=1 GRES=")
        refused(place, CAROL, "--job $SLURM_JOB_ID", "takes no pilots from user")
        refused(place, ALICE, "--job $SLURM_JOB_ID --grant share --for everybody", "a share is for its owner alone")
        expect(not place.host.of_slots() and "event=grant " not in place.host.said(), "nothing was started")


def outside_of_jobs_nothing_can_be_granted(site):
    with place_with(site, "--pilots-from", f"root,{ALICE.pw_name}") as place:
        with ended(place.step(ALICE, "sleep 600")) as job:
            job.place.cluster.wait_for_state(job.job, "RUNNING")
            for user in (ALICE.pw_uid, 0):
                done = subprocess.run([f"{PROGRAMS}/orchid-grant", "--host-socket", place.host.socket, "--job", str(job.job)],
                                      env={"SLURM_JOB_ID": str(job.job), "SLURM_STEP_ID": "0"}, user=user, group=user, extra_groups=[],
                                      capture_output=True, text=True, timeout=60, check=False)
                expect(done.returncode == 3 and "in no step of a Slurm job" in done.stderr, f"user {user}: {done.returncode} {done.stderr}")
        done = subprocess.run([f"{PROGRAMS}/orchid-grant", "--host-socket", place.host.folder / "none", "--job", "1"], capture_output=True,
                              text=True, timeout=60, check=False)
        expect(done.returncode == 3 and "no orchid-host answers" in done.stderr, f"without a service: {done.stderr}")


def a_host_serves_as_many_grants_as_it_has_uids(site):
    with place_with(site, "--pilots-from", ALICE.pw_name, slots=1) as place:
        with ended(place.pilot(ALICE)) as first:
            place.wait_for_grants(1)
            refused(place, ALICE, "--job $SLURM_JOB_ID", "as many grants as it has user ids")
            expect(first.place.cluster.state_of(first.job) == "RUNNING", "the first one stays")


@contextlib.contextmanager
def for_everybody(site, more=""):
    """The gateway serves whoever connects."""
    for folder in (site.folder, site.runtime.parent, site.runtime):
        folder.chmod(0o711)
    site.stop_gateway()
    site.start_gateway(FOR_EVERYBODY + more)
    try:
        yield
    finally:
        site.stop_gateway()
        site.start_gateway()


def finds_no_place(user, function):
    done = user.orchid("invoke", function, "--deadline", "3s", data="x", check=False)
    expect(done.returncode != 0 and ("no_capacity" in done.stderr + done.stdout or "free" in done.stderr),
           f"{user.entry.pw_name} finds no place: {done.returncode} {done.stdout}{done.stderr}")


def a_share_runs_its_owners_functions_and_nobody_elses(site):
    with for_everybody(site), place_with(site) as place:
        alice, bob = User(place, ALICE), User(place, BOB)
        for user in (alice, bob):
            user.put("hello", f"{FUNCTIONS}/hello.bc")
        with ended(alice.share("cores:auto,mem:600M", "--for everybody")) as job:
            job.wait_for_word("started with")
            expect("a share is for its owner alone" in job.said() + shares_log(alice, job), f"the site's word counts: {job.said()}")
        with ended(alice.share("cores:auto,mem:600M")) as job:
            job.wait_for_word("started with 0")
            expect("orchid" in alice.orchid("invoke", "hello", data="orchid").stdout, "its owner's function runs there")
            everybody = family(place.host.executors()[0])
            is_nobodys(place, everybody)
            finds_no_place(bob, "hello")
            what_a_tenant_sees(alice, bob, job)
            a_step_takes_a_core(place, alice, job)
        place.host.wait_until_empty("nothing is left when the job has ended")


def slurms_option_shares_with_the_site(site):
    if not PLUGIN.exists():
        print("not tested: the plugin, without slurm/spank.h (package libslurm-dev)")
        return
    with for_everybody(site), place_with(site) as place, contextlib.ExitStack() as after:
        plugins = site.cluster.directory / "plugstack.conf"
        after.callback(plugins.write_text, "")
        plugins.write_text(f"optional {PLUGIN} orchid={PROGRAMS}/orchid site={place.host.socket}\n")
        alice, bob = User(place, ALICE), User(place, BOB)
        for user in (alice, bob):
            user.put("hello", f"{FUNCTIONS}/hello.bc")
        with ended(alice.share_by_option("cores:1,mem:600M,bandwidth:512M")) as job:
            job.wait_for_word("connected")
            expect("orchid" in alice.orchid("invoke", "hello", data="orchid").stdout, "its owner's function runs there")
            executor, = place.host.executors()
            is_nobodys(place, family(executor))
            words = words_of(executor)
            expect(words[words.index("--bandwidth-cap") + 1] == str(512 << 20), f"with the cap that was asked for: {words}")
            finds_no_place(bob, "hello")
        place.host.wait_until_empty("nothing is left when the job has ended")


def nothing_is_left_when_the_gateway_has_been_killed(site):
    with for_everybody(site), place_with(site, "--pilots-from", BOB.pw_name) as place:
        with ended(User(place, ALICE).share("cores:1,mem:600M", f"--gateway-grace {SHORT_GRACE}")) as share:
            share.wait_for_word("started with 0")
            goes_after_the_gateway(site, place, share)
            wait_until(lambda: "orchid-share" not in place.cluster.run("squeue", "--steps", f"--jobs={share.job}", "--format=%j"),
                       "nor the step of the share", share.trouble)
            expect(place.cluster.state_of(share.job) == "RUNNING", "the job that has shared its cores goes on")
        pilot = place.pilot(BOB, "--cores", "1", "--gateway-grace", SHORT_GRACE)
        goes_after_the_gateway(site, place, pilot)
        pilot.wait_for_end()


def goes_after_the_gateway(site, place, job):
    place.wait_for_grants(1)
    everybody = family(place.host.executors()[0])
    expect(len(job.placeholders()) == 1, f"there is a placeholder: {job.placeholders()}")
    site.stop_gateway(kill=True)
    try:
        wait_until(lambda: not any(map(alive, everybody)), "the executor and all that it has started end", job.trouble)
        place.host.wait_until_empty("nothing is left under the host's uids")
        wait_until(lambda: not job.placeholders(), "nor the placeholder", job.trouble)
    finally:
        site.start_gateway(FOR_EVERYBODY)


def shares_log(user, job):
    log = user.home / "orchid" / "shares" / f"{job.job}.log"
    return log.read_text(errors="replace") if log.exists() else ""


def what_a_tenant_sees(alice, bob, job):
    def grant(user):
        return [one for host in user.document("hosts")["hosts"] for one in host["executors"] if one["state"] == "connected"]
    own, = grant(alice)
    expect(own["grant"]["job"] == job.job and own["owner"] == ALICE.pw_name and own["grant"]["users"] == "owner", f"its owner sees it: {own}")
    foreign, = grant(bob)
    expect("job" not in foreign["grant"] and foreign["owner"] == "another user", f"others do not see whose it is: {foreign}")
    expect(not bob.document("share", "status")["shares"] or bob.document("share", "status")["shares"][0]["job"] != job.job, "nor the job")
    alice.put("secret", f"{FUNCTIONS}/hello.bc")
    expect("secret" not in bob.orchid("list").stdout and "secret" in alice.orchid("list").stdout, "functions are each one's own")
    done = bob.orchid("invoke", "secret", data="x", check=False)
    expect(done.returncode != 0 and "secret" in done.stderr, f"and only they can be called: {done.stderr}")
    mine = [one["id"] for one in alice.document("status")["invocations"]]
    expect(mine and not {one["id"] for one in bob.document("status")["invocations"]} & set(mine), "so are invocations")
    for words in (("result", mine[0]), ("logs", mine[0]), ("cancel", mine[0]), ("explain", mine[0])):
        done = bob.orchid(*words, check=False)
        expect(done.returncode != 0, f"{words}: {done.stdout}{done.stderr}")
    expect(alice.orchid("logs", mine[0], check=False).returncode == 0, "their owner reads them")


def a_step_takes_a_core(place, alice, job):
    step = subprocess.Popen(["srun", f"--jobid={job.job}", "--exact", "-n1", "-c1", "sleep", "600"], env=place.cluster.environment(),
                            user=ALICE.pw_uid, group=ALICE.pw_gid, extra_groups=[], cwd="/tmp", stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: [one["cores"] for one in place.granted()] == [[1]], "a step's core is left", place.trouble)
    finally:
        step.terminate()
        step.wait(timeout=30)
    wait_until(lambda: [one["cores"] for one in place.granted()] == [[0, 1]], "and offered again", place.trouble)


def where_site_and_owner_allow_it_others_run_in_a_share(site):
    with for_everybody(site, f'token_users = ["{CAROL.pw_name}"]\n'), place_with(site, "--shares", "everybody") as place:
        token = (site.state / "tokens" / str(CAROL.pw_uid)).read_text().strip()
        alice, bob = User(place, ALICE), User(place, BOB)
        carol = User(place, CAROL, ORCHID_GATEWAY=f"http://{site.address}", ORCHID_TOKEN=token)
        with ended(alice.share("cores:auto,mem:900M")) as job:
            job.wait_for_word("started with 0")
            bob.put("hello", f"{FUNCTIONS}/hello.bc")
            finds_no_place(bob, "hello")
        with ended(alice.share("cores:auto,mem:900M", "--for", "everybody")) as job:
            job.wait_for_word("started with 0")
            for user in (alice, bob, carol):
                user.put("hello", f"{FUNCTIONS}/hello.bc")
                expect("orchid" in user.orchid("invoke", "hello", data="orchid").stdout, f"{user.entry.pw_name}'s function runs there")
            grant, = place.granted()
            expect(grant.get("users") == "everybody" and grant["owner"] == ALICE.pw_name, f"whose it is, the site sees: {grant}")
            is_nobodys(place, family(place.host.executors()[0]))


def a_job_in_control_groups_has_its_workers_there(site):
    site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
    # Without scontrol: whoever is held by the kernel need not be asked for.
    with place_with(site, "--pilots-from", ALICE.pw_name, "--slurm-commands", "/nonexistent") as place:
        pilot = place.pilot(ALICE, "--cores", "1")
        grant, = place.wait_for_grants(1)
        expect("orchid" in site.orchid("invoke", "hello", data="orchid").stdout, "a function runs there")
        everybody = family(place.host.executors()[0])
        is_nobodys(place, everybody)
        for pid, groups in groups_of(everybody):
            own = [line for line in groups if f"/job_{pilot.job}/" in line]
            trees = {""} if UNIFIED else {"cpuset", "memory", "freezer"}
            expect(trees <= {line.split(":")[1] for line in own}, f"{words_of(pid)} is in the job: {groups}")
            expect(affinity(pid) <= set(grant["cores"]), "and on its cores")
        refused(place, ALICE, "--job $SLURM_JOB_ID --core-list 400", "does not have cores")
        leaves_at_once(place, pilot, everybody)
        with ended(place.pilot(ALICE)) as second:
            place.wait_for_grants(1)
            everybody = family(place.host.executors()[0])
            place.cluster.run("scancel", "--full", "--signal=KILL", str(second.job))
            wait_until(lambda: not any(map(alive, everybody)), "a job that is killed takes its workers along", second.trouble)


def a_share_in_control_groups_has_its_workers_there(site):
    with for_everybody(site), place_with(site, "--slurm-commands", "/nonexistent") as place:
        alice = User(place, ALICE)
        alice.put("hello", f"{FUNCTIONS}/hello.bc")
        with ended(alice.share("cores:auto,mem:600M")) as job:
            job.wait_for_word("started with 0")
            expect("orchid" in alice.orchid("invoke", "hello", data="orchid").stdout, "a function runs there")
            everybody = family(place.host.executors()[0])
            is_nobodys(place, everybody)
            for pid, groups in groups_of(everybody):
                expect(any(f"/job_{job.job}/" in line for line in groups), f"{words_of(pid)} is in the job: {groups}")
        place.host.wait_until_empty("nothing is left when the job has ended")


def with_cgroups(cases):
    """Whether slurmd can make control groups on this machine, it says by itself."""
    needed = [GROUP_TREES] if UNIFIED else [GROUP_TREES / "freezer", GROUP_TREES / "cpuset"]
    if not all(os.access(tree, os.W_OK) for tree in needed):
        print("not tested: jobs in control groups, since none may be written here")
        return
    before = slurms_groups()
    run_beside(PROGRAMS, ("--nodes", "1", "--cores", "2", "--cgroups"), cases)
    expect(slurms_groups() == before, f"the cluster's groups are gone: {slurms_groups() - before}")


def slurms_groups():
    return {group for pattern in ("system.slice", "*slurm*", "*/*slurm*") for group in GROUP_TREES.glob(pattern)}


def main():
    slurm_cluster.skip_without_slurm()
    if os.geteuid() != 0 or not {0, 1} <= os.sched_getaffinity(0):
        print("skipped: this test needs root, and cores 0 and 1")
        sys.exit(slurm_cluster.SKIPPED)
    cases = [a_pilot_serves_calls_as_nobody, a_call_on_a_cancelled_pilot_ends_on_another, a_batch_job_takes_a_pilots_cores,
             pilots_of_the_site_come_and_go_by_demand, a_killed_placeholder_takes_its_executor_along,
             when_the_service_is_killed_everything_ends_and_it_can_start_again,
             an_executor_that_cannot_be_started_is_said_and_leaves_its_place_to_others, the_time_that_is_left_is_known_and_used_to_drain,
             what_a_job_does_not_have_is_refused, outside_of_jobs_nothing_can_be_granted, a_host_serves_as_many_grants_as_it_has_uids,
             a_share_runs_its_owners_functions_and_nobody_elses, slurms_option_shares_with_the_site,
             nothing_is_left_when_the_gateway_has_been_killed, where_site_and_owner_allow_it_others_run_in_a_share]
    in_groups = [a_job_in_control_groups_has_its_workers_there, a_share_in_control_groups_has_its_workers_there]
    cases, in_groups = chosen(cases, in_groups, wanted=sys.argv[4:])
    run_beside(PROGRAMS, NODES, cases)
    if in_groups:
        with_cgroups(in_groups)


if __name__ == "__main__":
    main()
