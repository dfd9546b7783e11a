#!/usr/bin/python3
"""run.py PROGRAMS TEST_FUNCTIONS [CASE...]: an executor whose cores come and go: what runs on a core that is lost runs elsewhere, once.
And two executors that offer the same core: one has it at a time."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_process import gateway, wait_for  # noqa: E402 (found only after the line above)
from processes import affinity, alive, expect, family, words_of  # noqa: E402
from slurm_cluster import chosen, measured  # noqa: E402

PROGRAMS, TEST_FUNCTIONS = sys.argv[1:3]
CORES = sorted(os.sched_getaffinity(0))[:2]
LEAVE_WITHIN_S = 2


class Fed:
    """An executor, and the pipe by which it is told what it may offer."""

    def __init__(self, site, *options):
        self.site = site
        reader, self.feed = os.pipe()
        self.process = site.add_executor("fed", "--grant", "share", "--job", "7", "--core-list", ",".join(map(str, CORES)), "--core-feed",
                                         str(reader), *options, pass_fds=(reader,))
        os.close(reader)

    def offer(self, *cores):
        os.write(self.feed, (",".join(map(str, cores)) + "\n").encode())

    def offered(self):
        """As the gateway knows it; None: it does not know this executor."""
        found = [one["cores"] for host in self.site.document("hosts")["hosts"] for one in host["executors"] if one["state"] == "connected"]
        return found[0] if found else None

    def wait_for_offer(self, *cores):
        wait_for(self.offered, lambda offered: offered == list(cores), f"the gateway knows {cores}", self.site.said)

    def is_on(self, core):
        """With all that it has started."""
        return all(not alive(pid) or affinity(pid) == {core} for pid in family(self.process.pid))

    def known(self):
        return [one for host in self.site.document("hosts")["hosts"] for one in host["executors"]][0]

    def counted(self, name):
        return self.known()["counters"].get(name, 0)

    def leased(self):
        return self.known()["cores_leased"]

    def close(self):
        if self.feed is not None:
            os.close(self.feed)
        self.feed = None


@contextlib.contextmanager
def fed_executor(*options):
    with gateway(PROGRAMS, dict(os.environ)) as site:
        fed = Fed(site, *options)
        try:
            yield fed
        finally:
            fed.close()


def calling(site, milliseconds):
    call = subprocess.Popen([site.programs / "orchid", "invoke", "sleeps", "--deadline", "60s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**site.environment, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"})
    call.stdin.write(str(milliseconds))
    call.stdin.close()
    call.stdin = None
    return call


def running(site):
    return [one for one in site.document("status")["invocations"] if one["state"] == "running"]


def deploy_sleeps(site):
    site.orchid("deploy", pathlib.Path(TEST_FUNCTIONS) / "sleeps.bc", "--name", "sleeps")


def a_call_on_a_core_that_is_lost_ends_on_another():
    with fed_executor() as fed:
        fed.offer(CORES[0])
        fed.wait_for_offer(CORES[0])
        deploy_sleeps(fed.site)
        call = calling(fed.site, 2000)
        wait_for(lambda: running(fed.site), bool, "it runs", fed.site.said)
        for round_ in range(1, 6):
            began = time.monotonic()
            core = CORES[round_ % 2]
            fed.offer(core)
            wait_for(lambda: fed.is_on(core), bool, "the lost core is left by everybody", fed.site.said)
            took = time.monotonic() - began
            expect(took < LEAVE_WITHIN_S, f"the core is left within {LEAVE_WITHIN_S} s: {took:.2f} s")
            # Between two attempts there is nothing to evict: not each round has to.
            wait_for(lambda: fed.leased() and running(fed.site), bool, "it runs again", fed.site.said)
        wait_for(lambda: fed.counted("workers_evicted"), lambda count: count >= 1, "what ran on a lost core was evicted", fed.site.said)
        out, err = call.communicate(timeout=60)
        expect(call.returncode == 0 and out == "2000", f"one result, whatever was evicted: {call.returncode} {out} {err}")


def without_any_core_nothing_runs_until_there_is_one():
    with fed_executor() as fed:
        fed.offer()
        wait_for(fed.offered, lambda offered: offered == [], "it joins without a core", fed.site.said)
        fed.offer(*CORES)
        fed.wait_for_offer(*CORES)
        deploy_sleeps(fed.site)
        call = calling(fed.site, 1500)
        wait_for(lambda: running(fed.site), bool, "it runs", fed.site.said)
        fed.offer()
        fed.wait_for_offer()
        wait_for(lambda: [pid for pid in family(fed.process.pid) if alive(pid) and "orchid-compiler" in words_of(pid)[0]], lambda them: not them, "nobody compiles",
                 fed.site.said)
        expect(call.poll() is None, "the call waits")
        fed.offer(CORES[1])
        out, err = call.communicate(timeout=60)
        expect(call.returncode == 0 and out == "1500", f"and has its result: {call.returncode} {out} {err}")


def what_is_offered_outlives_the_gateway():
    with fed_executor() as fed:
        fed.offer(CORES[1])
        fed.wait_for_offer(CORES[1])
        fed.site.process.kill()
        fed.site.process.wait()
        fed.site.start()
        wait_for(fed.offered, lambda offered: offered == [CORES[1]], "the next gateway learns what is offered now", fed.site.said)


def when_nobody_tells_any_more_it_ends():
    with fed_executor() as fed:
        fed.offer(*CORES)
        fed.wait_for_offer(*CORES)
        everybody = family(fed.process.pid)
        fed.close()
        expect(fed.process.wait(timeout=10) == 0, "it ends in order")
        wait_for(lambda: [pid for pid in everybody if alive(pid)], lambda them: not them, "with all that it has started", fed.site.said)


def nonsense_ends_it_too():
    with fed_executor() as fed:
        fed.offer(*CORES)
        fed.wait_for_offer(*CORES)
        fed.offer("all")
        expect(fed.process.wait(timeout=10) == 0, "it gives the cores back")
        expect("the core feed" in fed.site.said(), "and says why")


def a_core_that_is_none_of_its_own_is_not_offered():
    with fed_executor() as fed:
        fed.offer(CORES[0], 4000)
        fed.wait_for_offer(CORES[0])


def lease(site, **wishes):
    """Status and answer. Nobody claims the worker: it lapses after ten seconds."""
    wishes["boot_id"] = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    done = subprocess.run(["curl", "--silent", "--show-error", "--max-time", "30", "--unix-socket", site.folder / "gateway.sock", "--write-out",
                           "\n%{http_code}", "--data", json.dumps(wishes), "http://localhost/v1/leases"], capture_output=True, text=True,
                          timeout=60, check=True)
    answer, _, status = done.stdout.rpartition("\n")
    return int(status), json.loads(answer)


def connected(site):
    return [one for host in site.document("hosts")["hosts"] for one in host["executors"] if one["state"] == "connected"]


def a_core_that_an_executor_out_of_touch_has_is_given_to_no_other_one():
    with gateway(PROGRAMS, dict(os.environ)) as site:
        first = site.add_executor("first", "--core-list", str(CORES[0]))
        wait_for(lambda: connected(site), lambda there: len(there) == 1, "the first executor is there", site.said)
        status, held = lease(site, duration_ms=60000)
        expect(status == 201, f"it has a lease: {status} {held}")
        site.process.kill()
        site.process.wait()
        first.send_signal(signal.SIGSTOP)
        site.start()
        site.add_executor("second", "--core-list", str(CORES[0]))
        wait_for(lambda: connected(site), lambda there: len(there) == 1, "the second is there, the first one cannot be", site.said)
        status, told = lease(site, within_ms=1500)
        expect(status == 503, f"its core is not to be had: {status} {told}")
        expect("another executor of this host still has cores" in site.said(), f"the second one knows why:\n{site.said()}")
        first.send_signal(signal.SIGCONT)
        wait_for(lambda: lease(site, within_ms=1000)[0], lambda status: status == 201, "once the lease is over another one has the core", site.said)


def main():
    if len(CORES) < 2:
        print("skipped: this test needs two cores")
        sys.exit(77)
    cases = [a_call_on_a_core_that_is_lost_ends_on_another, without_any_core_nothing_runs_until_there_is_one,
             what_is_offered_outlives_the_gateway, when_nobody_tells_any_more_it_ends, nonsense_ends_it_too,
             a_core_that_is_none_of_its_own_is_not_offered, a_core_that_an_executor_out_of_touch_has_is_given_to_no_other_one]
    cases, = chosen(cases, wanted=sys.argv[3:])
    for case in cases:
        measured(case)


if __name__ == "__main__":
    main()
