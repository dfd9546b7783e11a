#!/usr/bin/python3
"""run.py PROGRAMS DRIVER [CASE...]: functions with kernels on GPUs whose driver is the fake one in the folder DRIVER: over leases and over
HTTP, what goes wrong there, and what is left of it. With `card` for DRIVER: what needs no fake, on this machine's first GPU."""
import contextlib
import functools
import os
import pathlib
import signal
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_process import wait_for  # noqa: E402 (found only after the line above)
from gpu_site import counted, device_process, device_processes, executor_of, shown, site_with_gpu, wait_for_gpus  # noqa: E402
from processes import alive, expect, family, words_of  # noqa: E402
from slurm_cluster import chosen, measured  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
ON_A_CARD = sys.argv[2] == "card"
HERE = pathlib.Path(__file__).resolve().parent
DEADLINE_MS = 30_000
ANSWER_DEADLINE_S = 45


class Lease:
    """A program that has a lease of one worker."""

    def __init__(self, site, gpus):
        self.site = site
        self.process = subprocess.Popen([PROGRAMS / "lease_calls", str(gpus)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**site.environment, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"})
        self.first = self.line()

    def line(self):
        """The next of its lines; the program is ended when none comes in time."""
        timer = threading.Timer(ANSWER_DEADLINE_S, self.process.kill)
        timer.start()
        try:
            return self.process.stdout.readline().rstrip("\n")
        finally:
            timer.cancel()

    def begin(self, function, text="", deadline_ms=DEADLINE_MS):
        self.process.stdin.write(f"{deadline_ms} {function} {text}\n")
        self.process.stdin.flush()

    def call(self, function, text="", deadline_ms=DEADLINE_MS):
        self.begin(function, text, deadline_ms)
        return self.line()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(ANSWER_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def lease(site, gpus=1):
    one = Lease(site, gpus)
    try:
        expect(one.first == "ready", f"the lease is granted: {one.first}\n{site.said()}")
        yield one
    except BaseException:
        one.process.kill()  # it may be in a call
        raise
    finally:
        one.close()


def name_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


NANOSLEEP = "230"  # clock_nanosleep, on x86-64


def hangs(pid):
    """The fake driver's thread is in a kernel that does not end: it sleeps. Nothing else in the process does."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/syscall"):
        with contextlib.suppress(OSError):
            found.append(task.read_text().split()[0])
    return NANOSLEEP in found


@contextlib.contextmanager
def hanging_call(site):
    """The lease of a call whose kernel the GPU has begun, and does not end."""
    with lease(site) as one:
        expect(one.call("gpu.mixes", "10").startswith("ok gpu "), f"the function is there\n{site.said()}")
        site.orders.give("hang mix")
        one.begin("gpu.mixes", "10")
        wait_for(lambda: hangs(device_process(site)), bool, "the kernel has begun", site.said)
        yield one


def the_same_on_a_gpu_and_on_cores(site):
    with lease(site, gpus=0) as cores:
        on_cores = [cores.call("gpu.mixes", "100000"), cores.call("gpu.flips", "kernel " * 60_000), cores.call("gpu.carries", "20000000"),
                    cores.call("gpu.queues", "300")]
    expect(on_cores[0].startswith("ok cores "), f"without a GPU it runs on cores: {on_cores[0][:200]}")
    with lease(site) as gpu:
        on_gpu = [gpu.call("gpu.mixes", "100000"), gpu.call("gpu.flips", "kernel " * 60_000), gpu.call("gpu.carries", "20000000"),
                  gpu.call("gpu.queues", "300")]
        again = gpu.call("gpu.mixes", "100000")
    expect(on_gpu[0] == on_cores[0].replace("cores", "gpu"), f"the same sum: {on_gpu[0][:200]}\n{site.said()}")
    expect(on_gpu[0] == again, f"and once more: {again[:200]}")
    expect(on_gpu[1:] == on_cores[1:], f"the same answers: {[one[:80] for one in on_gpu]} and {[one[:80] for one in on_cores]}\n{site.said()}")
    expect(on_gpu[2] == "ok the same" and on_gpu[3] == "ok 0 0", f"the right ones: {on_gpu[2:]}")
    for name, least in (("gpu_launches", 5), ("gpu_memory_peak_bytes", 20_000_000), ("gpu_pinned_peak_bytes", 1)):
        wait_for(lambda name=name: counted(site, name), lambda count, least=least: count >= least, f"{name} is told", site.said)


def a_function_without_kernels_runs_on_a_gpu_place(site):
    with lease(site) as one:
        expect(one.call("plain") == "ok cores", "it has nothing for a GPU")
        expect(one.call("gpu.mixes", "10").startswith("ok gpu "), "beside one that has")
        expect(one.call("plain") == "ok cores", "and again")


def a_lease_gets_a_process_that_no_other_has_used(site):
    with lease(site) as one:
        expect(one.call("gpu.mixes", "10").startswith("ok gpu "), f"it runs\n{site.said()}")
        first = device_process(site)
        expect(one.call("gpu.mixes", "11").startswith("ok gpu "), "it runs again")
        expect(device_process(site) == first, "within a lease it is the same")
        expect(shown(site)["gpus_leased"] == 1, "the GPU is leased")
    with lease(site) as one:
        expect(not alive(first), "the next lease comes when the old process has gone")
        expect(one.call("gpu.mixes", "10").startswith("ok gpu "), "it runs")
        expect(device_process(site) != first, "in a new process")


def an_error_for_good_is_the_functions_crash(site):
    with lease(site) as one:
        expect(one.call("gpu.mixes", "10").startswith("ok"), "at first all is well")
        first = device_process(site)
        site.orders.give("fail mix 700")
        told = one.call("gpu.mixes", "10")
        expect(told.startswith("function_crashed ") and "700" in told, f"with the driver's words: {told}\n{site.said()}")
        site.orders.give()
        told = one.call("gpu.mixes", "10")
        expect(told.startswith("ok gpu "), f"the next call runs: {told}\n{site.said()}")
        expect(device_process(site) != first, "in a new process")
    wait_for_gpus(site, 1)


def a_kernel_that_strays_costs_one_call(site):
    with lease(site, gpus=0) as one:
        told = one.call("gpu.strays")
        expect(told.startswith("function_crashed "), f"on cores, too: {told}\n{site.said()}")
    with lease(site) as one:
        told = one.call("gpu.strays")
        expect(told.startswith("function_crashed ") and "illegal memory access" in told, f"with the driver's words: {told}\n{site.said()}")
        expect(one.call("gpu.mixes", "10").startswith("ok gpu "), "the next call runs")
    wait_for_gpus(site, 1)


def no_memory_is_over_the_limit(site):
    with lease(site) as one:
        told = one.call("gpu.mixes", str(1 << 36))  # 512 GiB; the fake GPU has 256 MiB
        expect(told.startswith("limit_exceeded "), f"that is said: {told}\n{site.said()}")
        expect(one.call("gpu.mixes", "10").startswith("ok gpu "), "with less it runs")


def a_kernel_that_does_not_end_costs_the_process(site):
    with lease(site) as one:
        expect(one.call("gpu.mixes", "10").startswith("ok"), "at first all is well")
        first = device_process(site)
        site.orders.give("hang mix")
        told = one.call("gpu.mixes", "10", deadline_ms=1500)
        expect(told.startswith("deadline_exceeded "), f"the deadline holds: {told}\n{site.said()}")
        wait_for(lambda: alive(first), lambda lives: not lives, "the process ends", site.said)
        site.orders.give()
        told = one.call("gpu.mixes", "10")
        expect(told.startswith("ok gpu "), f"the next call runs: {told}\n{site.said()}")


def a_kernel_that_waits_for_ever_costs_the_process(site):
    """As the case above, without an order: the kernel itself is the fault."""
    with lease(site) as one:
        expect(one.call("gpu.mixes", "10").startswith("ok"), "at first all is well")
        first = device_process(site)
        told = one.call("gpu.waits", deadline_ms=1500)
        expect(told.startswith("deadline_exceeded "), f"the deadline holds: {told}\n{site.said()}")
        wait_for(lambda: alive(first), lambda lives: not lives, "the process ends", site.said)
        told = one.call("gpu.mixes", "10")
        expect(told.startswith("ok gpu "), f"the next call runs: {told}\n{site.said()}")


def a_long_launch_costs_no_process(site):
    with lease(site) as one:
        expect(one.call("gpu.mixes", "10").startswith("ok"), "at first all is well")
        first = device_process(site)
        site.orders.give("slow mix 100000")  # 0.1 ms an item, so minutes in all
        told = one.call("gpu.mixes", "1000000", deadline_ms=1500)
        expect(told.startswith("deadline_exceeded "), f"the deadline holds: {told}\n{site.said()}")
        site.orders.give()
        told = one.call("gpu.mixes", "10")
        expect(told.startswith("ok gpu "), f"the next call runs: {told}\n{site.said()}")
        expect(device_process(site) == first, "what was cut into pieces ends between two of them")


def kernels_that_the_driver_refuses_are_told_with_its_log(site):
    site.orders.give("refuse ptxas fatal : Unresolved extern function 'foo'")
    with lease(site) as one:
        told = one.call("gpu.mixes", "10")
        expect(told.startswith("module_rejected ") and "Unresolved extern function 'foo'" in told, f"its log: {told}\n{site.said()}")
        expect(one.call("plain") == "ok cores", "other functions run")
        site.orders.give()  # else it would refuse the next process's first kernel, too
    with lease(site, gpus=0) as one:
        expect(one.call("gpu.mixes", "10").startswith("ok cores "), f"on cores it runs\n{site.said()}")
    with lease(site) as one:
        expect(one.call("gpu.mixes", "10").startswith("module_rejected "), "with a GPU it is refused as before, without asking the driver")
        expect(shown(site)["gpus_usable"] == 1, "the GPU is none the worse")


def a_gpu_that_fails_leaves_the_offer(site):
    lost = counted(site, "gpus_lost")
    with lease(site) as one:
        expect(one.call("gpu.mixes", "10").startswith("ok"), "at first all is well")
        site.orders.give("fail mix 214", "init 999")
        one.begin("gpu.mixes", "10", deadline_ms=3000)
        wait_for_gpus(site, 0)
        said = site.orchid("hosts").stdout
        expect("GPU 0 of " in said and "cannot be used: " in said, f"people see it: {said}")
        expect(site.metrics()["orchid_gpus_out_of_use"] == 1, "and so does who watches")
        told = one.line()
        expect(told.startswith(("worker_lost ", "lease_ended ", "evicted ", "deadline_exceeded ")), f"it is not the function's fault: {told}")
    expect(counted(site, "gpus_lost") > lost, "it is counted")
    refused = Lease(site, 1)
    refused.close()
    expect(refused.first.startswith("no_capacity "), f"nobody gets it: {refused.first}")
    site.orders.give()
    wait_for_gpus(site, 1)
    with lease(site) as one:
        expect(one.call("gpu.mixes", "10").startswith("ok gpu "), "when it works again it is there")


def a_device_process_that_is_killed_costs_a_try(site):
    with hanging_call(site) as one:
        site.orders.give()
        os.kill(device_process(site), signal.SIGKILL)
        told = one.line()
        expect(told.startswith("ok gpu "), f"the call runs again: {told}\n{site.said()}")


def a_worker_that_is_killed_costs_a_try(site):
    with hanging_call(site) as one:
        device = device_process(site)
        site.orders.give()
        for pid in family(executor_of(site)):
            if name_of(pid) == "orchid-worker":
                os.kill(pid, signal.SIGKILL)
        told = one.line()
        expect(told.startswith("ok gpu "), f"the call runs again: {told}\n{site.said()}")
        expect(not alive(device), "the process that hung has ended")


def an_executor_that_is_killed_leaves_no_process(site):
    with hanging_call(site) as one:
        everybody = family(executor_of(site))
        os.kill(executor_of(site), signal.SIGKILL)
        site.executors.pop().wait()
        wait_for(lambda: [words_of(pid) for pid in everybody if alive(pid)], lambda left: not left, "all have ended", site.said)
        one.process.kill()  # it would wait for another executor


def a_grant_is_given_back_with_its_gpu(site):
    with hanging_call(site) as one:
        everybody = family(executor_of(site))
        site.executors[-1].send_signal(signal.SIGTERM)
        site.executors.pop().wait(10)
        left = [words_of(pid) for pid in everybody if alive(pid)]
        expect(not left, f"nothing is left of it: {left}")
        said = site.said()
        expect("event=reclaimed" in said and "processes_left=0" in said, f"all was reaped: {said}")
        site.orders.give()
        site.add_gpu_executor()
        expect(one.line().startswith(("ok gpu ", "evicted ", "lease_ended ")), "the call is told, or runs elsewhere")


def invoke(site, function, text):
    done = subprocess.run([PROGRAMS / "orchid", "invoke", function, "--deadline", "30s"], input=text, capture_output=True, text=True, check=False,
                          env={**site.environment, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"}, timeout=ANSWER_DEADLINE_S)
    expect(done.returncode == 0, f"{function} answers: {done.stderr}\n{site.said()}")
    return done.stdout


def deploy_for_gpus(site, **sources):
    for name, source in sources.items():
        site.deploy(HERE / source, name, "--needs", "1 gpu")


def over_http_a_process_serves_one_module(site):
    expect(invoke(site, "gpu.mixes", "1000").startswith("cores "), "without a word it runs on cores")
    deploy_for_gpus(site, first="functions.cpp", second="second.cpp")
    wanted = invoke(site, "gpu.mixes", "1000").replace("cores", "gpu")
    processes = []
    for function in ("first.mixes", "first.mixes", "second.mixes", "first.mixes"):
        expect(invoke(site, function, "1000") == wanted, "the same result as on cores")
        processes.append(device_process(site))
    expect(processes[0] == processes[1], f"calls of a module share a process: {processes}\n{site.said()}")
    expect(len(set(processes[1:])) == 3, f"another module gets another one: {processes}")


def a_call_that_is_cancelled_costs_no_process(site):
    deploy_for_gpus(site, first="functions.cpp")
    expect(invoke(site, "first.mixes", "10").startswith("gpu "), "at first all is well")
    first = device_process(site)
    site.orders.give("slow mix 100000")
    (site.folder / "items").write_text("1000000")
    asked = site.orchid("invoke", "first.mixes", "--async", "--in", site.folder / "items").stdout.strip()
    wait_for(lambda: hangs(first), bool, "the kernel has begun", site.said)
    site.orchid("cancel", asked)
    ended = site.orchid("wait", asked, check=False)
    told = ended.stdout + ended.stderr
    expect("the function stopped, as it was asked to" in told, f"it stops by itself: {told}\n{site.said()}")
    site.orders.give()
    expect(invoke(site, "first.mixes", "10").startswith("gpu "), "the next call runs")
    expect(device_process(site) == first, "in the same process")


def two_leases_share_a_card_in_time(site):
    with lease(site) as one, lease(site) as other:
        for each in (one, other):
            told = each.call("gpu.mixes", "10000000")
            expect(told.startswith("ok gpu "), f"each has its own: {told}\n{site.said()}")
        expect(len(device_processes(site)) == 2, "through two processes")
        told = one.call("gpu.mixes", "20000000")
        expect(told.startswith("limit_exceeded "), f"each has half of the memory: {told}\n{site.said()}")
        site.orders.give("fail mix 700")
        told = one.call("gpu.mixes", "10")
        expect(told.startswith("function_crashed "), f"a kernel crashes: {told}\n{site.said()}")
        site.orders.give()
        expect(other.call("gpu.mixes", "10").startswith("ok gpu "), "that is nothing to the other one")


def a_slice_is_offered_like_a_gpu(site):
    models = [gpu["model"] for gpu in shown(site)["gpus"]]
    expect(models == ["Fake GPU MIG 1g.5gb"], f"it is the driver's slice: {models}\n{site.said()}")
    with lease(site) as one:
        expect(one.call("gpu.mixes", "10").startswith("ok gpu "), f"it runs\n{site.said()}")


def without_a_driver_no_gpu_is_offered(site):
    said = wait_for(lambda: site.orchid("hosts").stdout, lambda text: "cannot be used: " in text, "the reason is shown", site.said)
    expect("there is no driver: " in said, f"in words: {said}")
    expect(shown(site)["gpus_usable"] == 0 and shown(site)["gpus"] != [], "it is known, and not offered")
    refused = Lease(site, 1)
    refused.close()
    expect(refused.first.startswith("no_capacity "), f"nobody gets it: {refused.first}")
    with lease(site, gpus=0) as one:
        expect(one.call("gpu.mixes", "10").startswith("ok cores "), "on cores all runs")


def main():
    on_one = [the_same_on_a_gpu_and_on_cores, a_function_without_kernels_runs_on_a_gpu_place, a_lease_gets_a_process_that_no_other_has_used,
              an_error_for_good_is_the_functions_crash, a_kernel_that_strays_costs_one_call, no_memory_is_over_the_limit,
              a_kernel_that_does_not_end_costs_the_process, a_kernel_that_waits_for_ever_costs_the_process, a_long_launch_costs_no_process,
              a_gpu_that_fails_leaves_the_offer, a_device_process_that_is_killed_costs_a_try, a_worker_that_is_killed_costs_a_try]
    # What was refused is refused for a while, and what was deployed stays.
    alone = [an_executor_that_is_killed_leaves_no_process, kernels_that_the_driver_refuses_are_told_with_its_log,
             over_http_a_process_serves_one_module, a_call_that_is_cancelled_costs_no_process]
    of_a_job = [a_grant_is_given_back_with_its_gpu]
    shared = [two_leases_share_a_card_in_time]
    slices = [a_slice_is_offered_like_a_gpu]
    without = [without_a_driver_no_gpu_is_offered]
    if ON_A_CARD:
        on_one = [the_same_on_a_gpu_and_on_cores, a_function_without_kernels_runs_on_a_gpu_place, a_lease_gets_a_process_that_no_other_has_used,
                  a_kernel_that_strays_costs_one_call, no_memory_is_over_the_limit, a_kernel_that_waits_for_ever_costs_the_process]
        alone, of_a_job, shared, slices, without = [over_http_a_process_serves_one_module], [], [], [], []
    on_one, alone, of_a_job, shared, slices, without = chosen(on_one, alone, of_a_job, shared, slices, without, wanted=sys.argv[3:])
    gpu_site = functools.partial(site_with_gpu, PROGRAMS, sys.argv[2])
    if on_one:
        with gpu_site() as site:
            for case in on_one:
                site.orders.give()
                measured(case, site)
    pilot = ("--grant", "pilot", "--job", "7", "--scheduling", "normal")
    for cases, site_of in ((alone, gpu_site), (of_a_job, lambda: gpu_site(*pilot)), (shared, lambda: gpu_site(gpus=("0=GPU-1", "1=GPU-1"))),
                           (slices, lambda: gpu_site(gpus=("0=MIG-c6d4f1ef-42e4",))), (without, lambda: gpu_site(has_driver=False))):
        for case in cases:
            with site_of() as site:
                measured(case, site)


if __name__ == "__main__":
    main()
