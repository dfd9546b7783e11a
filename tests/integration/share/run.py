#!/usr/bin/python3
"""run.py PROGRAMS FUNCTIONS TEST_FUNCTIONS [CASE...]: shares of batch jobs beside real daemons. Exit status 0: all is as it should be;
77: there is no Slurm here, or the machine has fewer than two cores."""
import concurrent.futures
import contextlib
import datetime
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
from processes import affinity, alive, expect, family  # noqa: E402
from site_of_pilots import SHORT_GRACE, run_beside  # noqa: E402
from slurm_cluster import chosen, wait_until  # noqa: E402

PROGRAMS, FUNCTIONS, TEST_FUNCTIONS = sys.argv[1:4]
PLUGIN = pathlib.Path(PROGRAMS).parent / "lib" / "spank_orchid.so"
OTHER_PLUGIN = pathlib.Path(PROGRAMS).parent / "test_plugins" / "spank_of_another_release.so"
NODES = ("--nodes", "2", "--cores", "2", "--option", "TaskPlugin=task/affinity")
SETTINGS = 'worker_memory = "512MiB"\n'
BOTH, NONE = [0, 1], []
NOTICED_WITHIN_S = 1.5


class Shared:
    """A job whose script shares it, and then waits."""

    def __init__(self, site, what="", nodes="n1", more="", wait=True, identity="node", options=()):
        self.site = site
        self.output = site.folder / f"job-{time.monotonic_ns()}.out"
        count = len(nodes.split(","))
        start = f"{site.programs}/orchid share start {what} --address {site.address} --host-identity {identity}"
        self.job = submit(site, f"{start}; {more} sleep 600", "--nodes", str(count), "--nodelist", nodes, "--ntasks", str(2 * count),
                          "--output", str(self.output), *options)
        if wait:
            wait_until(lambda: len(self.status()) == count, f"job {self.job} is shared", self.trouble)

    def status(self):
        """Of each node."""
        return json.loads(self.site.orchid("share", "status", str(self.job), "--json").stdout)["shares"]

    def offered(self):
        found = [one["cores"] for one in self.status() if one["state"] == "connected"]
        return found[0] if found else None

    def wait_for_offer(self, cores, seconds=30):
        """How long it took."""
        began = time.monotonic()
        wait_until(lambda: self.offered() == cores, f"job {self.job} shares {cores}", self.trouble, seconds)
        return time.monotonic() - began

    def log(self):
        return (self.site.state / "shares" / f"{self.job}.log").read_text()

    def offer_time(self, cores):
        """Of the last such offer, as its executor has logged it: seconds since the epoch."""
        def lines():
            return [line for line in self.log().splitlines() if f"event=offer cores={cores} " in line]
        wait_until(lines, f"the share's log has the offer of {cores}", self.trouble)
        return datetime.datetime.fromisoformat(lines()[-1].split()[0].replace("Z", "+00:00")).timestamp()

    def said(self):
        return self.output.read_text() if self.output.exists() else ""

    def trouble(self):
        log = self.site.state / "shares" / f"{self.job}.log"
        return f"{self.status()}\n{self.said()}\n{log.read_text()[-3000:] if log.exists() else 'no log'}\n{self.site.said()}"

    def step(self, *words):
        """A step of the job, in the background."""
        return subprocess.Popen(["srun", f"--jobid={self.job}", *words], env=self.site.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def executor(self, node="n1"):
        return self.site.executors()[node]

    def end(self):
        self.site.cluster.run("scancel", str(self.job))
        wait_until(lambda: not self.site.cluster.state_of(self.job), "the job is gone", lambda: self.site.cluster.run("squeue"))


def submit(site, script, *options):
    done = subprocess.run(["sbatch", "--parsable", *options, "--wrap", script], env=site.environment, cwd="/tmp", capture_output=True, text=True,
                          timeout=30, stdin=subprocess.DEVNULL, check=False)
    expect(done.returncode == 0, f"sbatch takes the job: {done.stderr}")
    return int(done.stdout.split(";")[0])


@contextlib.contextmanager
def shared(site, *arguments, **options):
    one = Shared(site, *arguments, **options)
    try:
        yield one
    finally:
        one.end()


@contextlib.contextmanager
def ended(step):
    try:
        yield step
    finally:
        if step.poll() is None:
            step.terminate()
        step.wait(timeout=30)


def deploy_sleeps(site):
    site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")


def a_function_runs_on_what_a_job_does_not_use(site):
    with shared(site) as job:
        job.wait_for_offer(BOTH)  # no step runs
        site.orchid("deploy", pathlib.Path(FUNCTIONS) / "hello.bc", "--name", "hello")
        expect("orchid" in site.orchid("invoke", "hello", data="orchid").stdout, "a function runs there")
        wait_until(lambda: "0-1" in site.orchid("share", "status").stdout, "outside of jobs all shares are shown", job.trouble)
        words = pathlib.Path(f"/proc/{job.executor()}/cmdline").read_text().split("\0")
        token = (site.state / "token").read_text().strip()
        expect(token not in words and "--token-file" in words, "the token is on no command line")
        again = submit_inside(site, job, f"share start --address {site.address}")
        expect(again.returncode != 0 and "is already shared" in again.stderr, f"once is enough: {again.stderr}")
        everybody, folder = family(job.executor()), site.folder_of(job.executor())
        expect(folder.stat().st_mode & 0o777 == 0o700, "its folder is private")
    expect(not any(map(alive, everybody)), "no process is left when the job has ended")
    expect(not folder.exists(), f"nor its folder {folder}")
    wait_until(lambda: not job.status(), "the gateway has forgotten it", site.said)


def submit_inside(site, job, words, environment=None):
    """The command, as if it were called in the job's script."""
    inside = {"SLURM_JOB_ID": str(job.job), "SLURM_JOB_CPUS_PER_NODE": "2", "SLURM_MEM_PER_CPU": "1024", **(environment or {})}
    return site.orchid(*words.split(), check=False, environment=inside)


def a_step_takes_a_core_and_gives_it_back(site):
    deploy_sleeps(site)
    with shared(site) as job:
        calls = [site.calling("sleeps", "4000") for _ in range(2)]
        wait_until(lambda: job.status()[0]["cores_leased"] == 2, "both cores are used", job.trouble)
        began = site.folder / "began"
        with ended(job.step("--exact", "-n1", "-c1", "sh", "-c", f"date +%s.%N > {began}; exec sleep 600")):
            job.wait_for_offer([1], seconds=10)
            wait_until(lambda: began.exists() and began.read_text().strip(), "the step's program has said when it began", job.trouble)
            took = job.offer_time("1") - float(began.read_text())
            print(f"         core 0 was given up {took * 1000:.0f} ms after the step's program had started")
            expect(took < NOTICED_WITHIN_S, f"it is given up within {NOTICED_WITHIN_S} s")
            wait_until(lambda: all(affinity(pid) <= {1} for pid in family(job.executor())), "all its processes have left it", job.trouble)
            for call in calls:
                out, err = call.communicate(timeout=60)
                expect(call.returncode == 0 and out == "4000", f"each call has its result, once: {call.returncode} {out} {err}")
        print(f"         core 0 was offered again {job.wait_for_offer(BOTH, seconds=15):.2f} s after the step had ended")
        with ended(job.step("--exact", "-n2", "-c1", "sleep", "600")):
            job.wait_for_offer(NONE, seconds=10)
            waiting = site.calling("sleeps", "100")
        out, err = waiting.communicate(timeout=60)
        expect(waiting.returncode == 0 and out == "100", f"a call waits until there is a core: {out} {err}")


def what_the_script_itself_computes_counts(site):
    with shared(site, more="timeout 600 sh -c 'while :; do :; done' &") as job:
        took = job.wait_for_offer([1], seconds=15)
        print(f"         one core was left to the script {took:.2f} s after the share was seen")
    with shared(site, more="taskset -c 1 sleep 600 &") as job:
        job.wait_for_offer([0], seconds=15)


def a_job_with_all_of_a_nodes_memory_shares_no_more(site):
    """Its environment does not say how much that is."""
    with shared(site, "cores:1", options=("--mem=0",)) as job:
        words = pathlib.Path(f"/proc/{job.executor()}/cmdline").read_text().split("\0")
        node = int(site.cluster.run("scontrol", "show", "node", "n1", "--oneliner").split("RealMemory=")[1].split()[0])
        expect(words[words.index("--memory") + 1] == f"{node // 2}MiB", f"a core's half of the node's {node} MiB: {words}")


def no_more_than_asked_for_is_shared(site):
    with shared(site, "cores:1,mem:600M") as job:
        wait_until(lambda: len(job.offered() or []) == 1, "one core", job.trouble)
        words = pathlib.Path(f"/proc/{job.executor()}/cmdline").read_text().split("\0")
        expect(words[words.index("--memory") + 1] == "600MiB", "and so much memory")
        core = job.offered()[0]
        with ended(job.step("--exact", "-n1", "-c1", "sleep", "600")):
            job.wait_for_offer([1] if core == 0 else [core], seconds=15)


def a_share_can_be_stopped_and_started_again(site):
    with shared(site) as job:
        everybody, folder = family(job.executor()), site.folder_of(job.executor())
        stopped = site.orchid("share", "stop", str(job.job))
        expect("is no longer shared" in stopped.stdout, f"it says so: {stopped.stdout}")
        expect(not any(map(alive, everybody)) and not folder.exists(), "nothing is left")
        expect(site.cluster.state_of(job.job) == "RUNNING", "but the job")
        wait_until(lambda: not job.status(), "the gateway has forgotten it", job.trouble)
        expect("is not shared" in site.orchid("share", "stop", str(job.job)).stderr, "a second time there is nothing to stop")
        done = submit_inside(site, job, f"share start cores:1 --data-memory 48MiB --address {site.address} --host-identity node")
        expect(done.returncode == 0 and "connected" in done.stdout, f"it can be started again: {done.stdout}{done.stderr}")
        words = pathlib.Path(f"/proc/{job.executor()}/cmdline").read_text().split("\0")
        expect(words[words.index("--data-memory") + 1] == str(48 << 20), f"and keep more or less data: {words}")
        site.orchid("share", "stop", str(job.job))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            two = list(pool.map(lambda _: submit_inside(site, job, f"share start --address {site.address} --host-identity node"), range(2)))
        first, second = sorted(two, key=lambda one: one.returncode)
        expect(first.returncode == 0 and "connected" in first.stdout, f"of two at once one shares it: {first.stdout}{first.stderr}")
        expect(second.returncode != 0 and "already shared" in second.stderr, f"and the other says so: {second.stdout}{second.stderr}")
        expect(len(job.status()) == 1, f"once: {job.status()}")


def a_job_of_two_nodes_is_shared_on_both(site):
    with shared(site, nodes="n1,n2") as job:
        wait_until(lambda: [(one["node"], one["cores"]) for one in job.status()] == [("n1", BOTH), ("n2", BOTH)], "both", job.trouble)
        with ended(job.step("--exact", "-N1", "-n2", "-w", "n2", "sleep", "600")):
            wait_until(lambda: [one["cores"] for one in job.status()] == [BOTH, NONE], "the step's node is left, the other one not", job.trouble)


def when_the_gateway_has_gone_a_share_ends(site):
    with shared(site, f"--gateway-grace {SHORT_GRACE}") as job:
        everybody, folder = family(job.executor()), site.folder_of(job.executor())
        site.stop_gateway(kill=True)
        wait_until(lambda: not any(map(alive, everybody)), "it ends by itself")
        wait_until(lambda: not folder.exists(), f"with its folder {folder}")
        expect(site.cluster.state_of(job.job) == "RUNNING", "the job goes on")
        site.start_gateway(SETTINGS)


def the_end_of_the_script_is_the_end_of_the_share(site):
    job = Shared(site, more="true; exit 0;", wait=False)
    wait_until(lambda: job.site.cluster.state_of(job.job) in ("", "COMPLETED"), "the job ends", job.trouble)
    expect("connected" in job.said(), f"it was shared: {job.said()}")
    wait_until(lambda: not site.executors() and not job.status(), "nothing is left", job.trouble)
    expect(not list(pathlib.Path("/tmp").glob(f"orchid-share-{job.job}-*")), "no folder either")


def a_killed_keeper_takes_its_executor_along(site):
    with shared(site) as job:
        everybody = family(job.executor())
        keeper = int(pathlib.Path(f"/proc/{job.executor()}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(keeper, 9)
        wait_until(lambda: not any(map(alive, everybody)), "nobody is left on the cores")


@contextlib.contextmanager
def local_source(site):
    """An executor on this machine that no batch job has started, and that offers all of its cores."""
    folder = site.folder / "local"
    process = subprocess.Popen([site.programs / "orchid-executor", "--gateway", f"unix:{site.runtime}/gateway.sock", "--runtime", folder / "run",
                                "--state", folder / "state"], env=site.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def a_core_is_counted_once_whoever_grants_it(site):
    deploy_sleeps(site)
    with shared(site, identity="boot"), local_source(site):
        for _ in range(2):
            site.orchid("pilot", "start", "--address", site.address, "--time", "10m", "--scheduling", "normal", "--partition", "idle", "--node-list", "n2")

        def this_machine():
            hosts = [host for host in site.hosts() if any(one["state"] == "connected" for one in host["executors"])]
            expect(len(hosts) == 1, f"all of them are one machine: {hosts}")
            return hosts[0]

        def granted():
            return sorted(one["grant"]["source"] for one in this_machine()["executors"] if one["state"] == "connected")
        wait_until(lambda: granted() == ["local", "pilot", "pilot", "share"], "all have joined", lambda: f"{site.hosts()}\n{site.trouble()}")
        cores = os.sched_getaffinity(0)
        offers = [one["cores"] for one in this_machine()["executors"]]
        expect(sum(map(len, offers)) > len(cores) == len(set().union(*offers)), f"they offer the same cores: {offers}")
        expect(this_machine()["cores_usable"] == len(cores), "which are counted once")
        calls = [site.calling("sleeps", "1500") for _ in range(len(cores) + 2)]
        most = 0
        while any(call.poll() is None for call in calls):
            host = this_machine()
            leased = sum(one["cores_leased"] for one in host["executors"])
            expect(leased == host["cores_leased"] <= len(cores), f"each is leased once: {host}")
            most = max(most, leased)
        expect(most == len(cores), f"all of them at once: {most}")
        expect([call.communicate(timeout=30)[0] for call in calls] == ["1500"] * len(calls), "each call has its result")
        site.orchid("pilot", "stop", "--all")


def with_plugin(site, line):
    (site.cluster.directory / "plugstack.conf").write_text(line + "\n")


def shares_of_jobs(site):
    return json.loads(site.orchid("share", "status", "--json").stdout)["shares"]


def sbatch_shares_by_an_option(site):
    with_plugin(site, f"optional {PLUGIN} orchid={site.programs}/orchid")
    output = site.folder / "sbatch.out"
    job = submit(site, f"srun --exact -n1 -c1 sh -c 'date +%s.%N; exec sleep 600' >> {output}", "--orchid-share=cores:1,mem:600M,bandwidth:1G", "-n2", "-N1",
                 "--nodelist=n1", "--output", str(output))
    wait_until(lambda: job in [one["job"] for one in shares_of_jobs(site)], "it is shared", lambda: output.read_text() + site.said())
    wait_until(lambda: [one["cores"] for one in shares_of_jobs(site) if one["job"] == job] == [[1]], "but for the core of its step", lambda: output.read_text())
    words = pathlib.Path(f"/proc/{site.executors()['n1']}/cmdline").read_text().split("\0")
    expect([words[words.index(name) + 1] for name in ("--memory", "--bandwidth-cap")] == ["600MiB", "1024MiB"], f"with what was asked for: {words}")
    steps = site.cluster.run("squeue", "--noheader", "--steps", f"--jobs={job}", "--format=%j").split()
    expect(steps.count("orchid-share") == 1, f"its steps have no share of their own: {steps}")
    # The script does not wait for its share, and the gateway may know of it before what has started it does.
    wait_until(lambda: "connected" in output.read_text(), "the job's output tells of it", lambda: output.read_text() + site.said())
    site.cluster.run("scancel", str(job))
    wait_until(lambda: not site.executors() and not site.cluster.state_of(job), "and all ends with it")


def without_the_option_the_plugin_does_nothing(site):
    with_plugin(site, f"optional {PLUGIN} orchid={site.programs}/orchid")
    output = site.folder / "plain.out"
    job = submit(site, "srun -n1 true; echo done", "-n1", "-N1", "--output", str(output))
    wait_until(lambda: output.exists() and "done" in output.read_text(), "an ordinary job runs", lambda: site.cluster.run("squeue"))
    expect("orchid" not in output.read_text() and not site.executors(), f"and has nothing of Orchid: {output.read_text()}")
    wait_until(lambda: site.cluster.state_of(job) in ("", "COMPLETED"), "and ends")


def a_wrong_option_is_refused_by_sbatch(site):
    with_plugin(site, f"optional {PLUGIN} orchid={site.programs}/orchid")
    for option, wanted in (("cores:none", "write cores:auto"), ("mem:1M", "write mem:SIZE with at least 64M"), ("bandwidth:1M", "write bandwidth:SIZE with at least 64M"), ("everything", "write cores:N"),
                           ("cores:" + "1" * 200, "too long")):
        done = subprocess.run(["sbatch", f"--orchid-share={option}", "--wrap", "true"], env=site.environment, cwd="/tmp", capture_output=True,
                              text=True, timeout=30, stdin=subprocess.DEVNULL, check=False)
        expect(done.returncode != 0 and wanted in done.stderr, f"{option}: {done.returncode} {done.stderr}")
    expect("--orchid-share" in site.cluster.run("sbatch", "--help"), "its help tells how it is meant")
    with_plugin(site, f"optional {PLUGIN} Site")
    done = subprocess.run(["sbatch", "--test-only", "--wrap", "true"], env=site.environment, cwd="/tmp", capture_output=True, text=True,
                          timeout=30, stdin=subprocess.DEVNULL, check=False)
    expect(done.returncode == 0 and "unknown word 'Site' in plugstack.conf" in done.stderr, f"so is a wrong word of the administrator's: {done.stderr}")


def a_job_runs_without_orchid(site):
    with_plugin(site, f"optional {PLUGIN} orchid=/nonexistent/orchid")
    output = site.folder / "without.out"
    submit(site, "echo done", "--orchid-share", "-n1", "--output", str(output))
    wait_until(lambda: output.exists() and "done" in output.read_text() and "orchid-share: there is no program" in output.read_text(),
               "the job runs, and its output says what is missing", lambda: output.read_text() if output.exists() else "")
    with_plugin(site, "optional /nonexistent/spank_orchid.so")
    submit(site, "echo still", "-n1", "--output", str(output))
    wait_until(lambda: "still" in output.read_text(), "so do jobs when the plugin itself has been removed", output.read_text)
    with_plugin(site, "")


def a_plugin_of_another_release_harms_no_job(site):
    with_plugin(site, f"optional {OTHER_PLUGIN} orchid={site.programs}/orchid")
    output = site.folder / "other.out"
    job = submit(site, "srun -n1 true && echo done", "-n1", "-N1", "--output", str(output))
    wait_until(lambda: output.exists() and "done" in output.read_text(), "an ordinary job and its steps run", lambda: site.cluster.run("squeue"))
    wait_until(lambda: site.cluster.state_of(job) in ("", "COMPLETED"), "and ends")
    asked = subprocess.run(["sbatch", "--orchid-share", "--wrap", "true"], env=site.environment, cwd="/tmp", capture_output=True, text=True,
                           timeout=30, stdin=subprocess.DEVNULL, check=False)
    expect(asked.returncode != 0 and "ncompatible" in asked.stderr and str(OTHER_PLUGIN) in asked.stderr and "orchid-share" in asked.stderr,
           f"who asks for a share is told why there is none: {asked.returncode} {asked.stderr}")
    with_plugin(site, "")


def what_is_wrong_is_said(site):
    done = site.orchid("share", "start", check=False)
    expect(done.returncode == 2 and "this is not a Slurm job" in done.stderr, f"outside of jobs: {done.returncode} {done.stderr}")
    done = site.orchid("share", "stop", check=False)
    expect(done.returncode == 2 and "name the job" in done.stderr, f"nothing to stop: {done.returncode} {done.stderr}")
    expect("no job is shared" in site.orchid("share", "status").stderr, "nothing to show")
    with shared(site, wait=False) as job:
        wait_until(lambda: len(job.status()) == 1, "it is shared", job.trouble)
        site.orchid("share", "stop", str(job.job))
        for what, wanted in (("cores:3", "more than job"), ("mem:64G", "more memory than job"), ("cores:none", "write cores:auto"),
                             ("mem:1M", "write mem:SIZE with at least 64M"), ("bandwidth:1M", "write bandwidth:SIZE with at least 64M"), ("gpus:1", "write cores:N")):
            done = submit_inside(site, job, f"share start {what} --address {site.address}")
            expect(done.returncode == 2 and wanted in done.stderr, f"{what}: {done.returncode} {done.stderr}")
        done = submit_inside(site, job, "share start")
        expect(done.returncode == 2 and "--listen IP:PORT" in done.stderr, f"nodes do not reach a loopback address: {done.stderr}")
        done = submit_inside(site, job, f"share start --address {site.address}", {"PATH": "/nonexistent"})
        expect(done.returncode == 3 and "commands are not in PATH" in done.stderr, f"no Slurm: {done.returncode} {done.stderr}")
        done = submit_inside(site, job, f"share start --address {site.address} --host-identity node --within 20s",
                             {"SLURM_JOB_ID": "4000000"})
        expect(done.returncode != 0 and "nvalid job id" in done.stderr, f"a job that is none: {done.returncode} {done.stderr}")
        site.stop_gateway()
        done = submit_inside(site, job, f"share start --address {site.address}")
        expect(done.returncode == 3, f"no gateway: {done.returncode} {done.stderr}")
        site.start_gateway(SETTINGS)


def main():
    slurm_cluster.skip_without_slurm()
    if not {0, 1} <= os.sched_getaffinity(0):
        print("skipped: this test needs cores 0 and 1")
        sys.exit(slurm_cluster.SKIPPED)
    cases = [a_function_runs_on_what_a_job_does_not_use, a_step_takes_a_core_and_gives_it_back, what_the_script_itself_computes_counts,
             no_more_than_asked_for_is_shared, a_job_with_all_of_a_nodes_memory_shares_no_more,
             a_share_can_be_stopped_and_started_again, a_job_of_two_nodes_is_shared_on_both,
             when_the_gateway_has_gone_a_share_ends, the_end_of_the_script_is_the_end_of_the_share, what_is_wrong_is_said,
             a_killed_keeper_takes_its_executor_along, a_core_is_counted_once_whoever_grants_it]
    if PLUGIN.exists():
        cases += [sbatch_shares_by_an_option, without_the_option_the_plugin_does_nothing, a_wrong_option_is_refused_by_sbatch,
                  a_job_runs_without_orchid, a_plugin_of_another_release_harms_no_job]
    else:
        print("not tested: the plugin, without slurm/spank.h (package libslurm-dev)")
    cases, = chosen(cases, wanted=sys.argv[4:])
    run_beside(PROGRAMS, NODES, cases, SETTINGS)


if __name__ == "__main__":
    main()
