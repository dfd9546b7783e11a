#!/usr/bin/python3
"""run.py PROGRAMS CLIENT C_PROGRAM FUNCTIONS [CASE...]: leased memory, between executors and programs on hosts of their own, as far as the network can
see. Exit status 0: all is as it should be; 77: namespaces are not permitted here."""
import array
import contextlib
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_process import gateway, wait_for  # noqa: E402 (found only after the line above)
from network_hosts import TIMEOUT_S, network_hosts  # noqa: E402
from processes import expect, family, words_of  # noqa: E402

PROGRAMS, CLIENT, C_PROGRAM, FUNCTIONS = (pathlib.Path(path).resolve() for path in sys.argv[1:5])
USES_MEMORY = FUNCTIONS.parent / "test_functions/uses_memory.bc"
COMPARE = pathlib.Path(__file__).resolve().parents[3] / "functions/outofcore/compare.py"
MIB = 1 << 20
# What an executor leaves for workers at least; and the memory of a worker, of which four times as much is sorted.
LEAST_FOR_WORKERS, SMALL_WORKER = 64 * MIB, 66 * MIB


class Site:
    """A gateway, executors and programs that use memory, each on a host of its own."""

    def __init__(self, one, its_hosts):
        self.one, self.hosts, self.executors, self.programs = one, its_hosts, {}, contextlib.ExitStack()

    def add(self, number, memory, *options):
        host = self.hosts[number]
        process = subprocess.Popen(
            [*host.entry(), PROGRAMS / "orchid-executor", "--gateway", f"unix:{self.one.folder}/gateway.sock", "--runtime",
             self.one.folder / f"r-{number}", "--state", self.one.folder / f"s-{number}", "--cores", "1", "--data-memory", str(memory),
             "--lane-listen", f"{host.address}:0", *options],
            env=self.one.environment, stdin=subprocess.DEVNULL, stdout=self.one.log, stderr=self.one.log, start_new_session=True)
        self.one.executors.append(process)
        self.executors[number] = process
        before = self.one.metrics().get("orchid_data_memory_bytes", 0)
        wait_for(lambda: self.one.metrics().get("orchid_data_memory_bytes", 0), lambda bytes: bytes == before + memory, f"{host.name} is there",
                 self.one.said)

    def add_without_room_for_workers(self, number, memory):
        """So that calls run on another host than the memory is on."""
        self.add(number, memory, "--memory", f"{(memory + LEAST_FOR_WORKERS) >> 20}MiB")

    def program(self, number):
        return self.programs.enter_context(Program(self, self.hosts[number]))

    def lease_over_http(self, **wanted):
        wanted["boot_id"] = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        done = subprocess.run(["curl", "--silent", "--max-time", "20", "--unix-socket", self.one.folder / "gateway.sock", "--json",
                               json.dumps(wanted), "http://orchid/v1/leases"], capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        return json.loads(done.stdout)

    def serving(self, number):
        """The processes of this host that serve memory."""
        return [pid for pid in family(self.executors[number].pid) if words_of(pid)[0].endswith("orchid-memory")]

    def used(self):
        return sum(host.get("data_used_bytes", 0) for host in self.executors_shown())

    def executors_shown(self):
        return [executor for host in self.one.document("hosts")["hosts"] for executor in host["executors"]]

    def wait_until_used(self, wanted):
        wait_for(self.used, lambda now: now == wanted, f"{wanted} bytes are in use", self.one.said)

    def wait_until_nobody_serves(self, number):
        wait_for(lambda: self.serving(number), lambda left: not left, "no process is left", self.one.said)


class Program:
    """memory_client on a host."""

    def __init__(self, site, host):
        self.site = site
        environment = {**site.one.environment, "ORCHID_GATEWAY": f"unix:{site.one.folder}/gateway.sock"}
        self.process = subprocess.Popen([*host.entry(), CLIENT], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=site.one.log, text=True, bufsize=1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait(TIMEOUT_S)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self):
        expect(select.select([self.process.stdout], [], [], TIMEOUT_S)[0], f"the program answers\n{self.site.one.said()}")
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, line):
        self.tell(line)
        return self.hear()

    def good(self, line, wanted=None):
        said = self.ask(line)
        expect(said.startswith("ok ") and wanted in (None, said[3:]), f"'{line}' is answered by {wanted}: {said}\n{self.site.one.said()}")
        return said[3:]

    def bad(self, line, kind, *parts):
        said = self.ask(line)
        expect(said.startswith(f"error {kind} ") and all(part in said for part in parts), f"'{line}' is refused as {kind}, with {parts}: {said}")


def memory_of_another_host_is_read_and_written(site):
    site.add(0, 256 * MIB)
    program = site.program(1)
    lease, host, size = program.good(f"take {128 * MIB}").split()
    expect((host, int(size)) == ("host0", 128 * MIB), f"where it is: {host} {size}")
    site.wait_until_used(128 * MIB)
    program.good(f"compare 0 {128 * MIB} 0", "same")  # zeros
    for offset, length in ((0, 1), (1, 8), (4095, 4096), (7, 70_000), (MIB - 1, MIB + 2), (3 * MIB, 64 * MIB)):
        program.good(f"put {offset} {length} {length}", "put")
        program.good(f"compare {offset} {length} {length}", "same")
    program.good("batch 200", "same")
    program.good("column 1000", "same")
    program.good(f"put 0 {MIB} 0")
    program.good("add 8 5", "0")
    program.good("add 8 7", "5")
    program.good("swap 8 12 100", "12")
    program.good("swap 8 12 200", "100")
    program.good("add 8 0", "100")
    program.good("fence")
    shown = site.one.orchid("leases").stdout
    expect(lease in shown and "memory" in shown and "host0" in shown and "128 MiB" in shown, f"it is shown: {shown}")
    program.good("release")
    program.bad("put 0 8 1", "lease_ended", "released")
    site.wait_until_used(0)
    site.wait_until_nobody_serves(0)


def the_end_of_the_memory_is_its_end(site):
    site.add(0, 64 * MIB)
    program = site.program(1)
    program.good(f"take {MIB}")
    program.good(f"put {MIB - 16} 16 3")
    program.good(f"compare {MIB - 16} 16 3", "same")
    program.good(f"put {MIB} 0 1")
    for line in (f"put {MIB - 15} 16 1", f"compare {MIB} 1 1", f"put {MIB + 5} 8 1", f"compare {2**64 - 4} 8 1", f"add {MIB} 1"):
        program.bad(line, "bad_request", "not within the memory")
    program.bad("add 4 1", "bad_request", "multiple of 8")
    program.good(f"compare {MIB - 16} 16 3", "same")  # nothing was harmed


def a_full_budget_says_what_would_help(site):
    site.add(0, 64 * MIB)
    program, other = site.program(1), site.program(1)
    program.good(f"take {40 * MIB}")
    other.bad(f"take {40 * MIB}", "no_capacity", "--data-memory", "host0")
    other.bad("take 1024 host9", "no_capacity", "constraints")
    other.bad("take 0", "bad_request", "memory_bytes")
    other.good(f"take {20 * MIB} host0")
    site.wait_until_used(60 * MIB)


def cores_that_are_all_taken_do_not_matter(site):
    site.add(0, 64 * MIB)
    taken = site.lease_over_http(workers=1, duration_ms=60_000)
    expect(len(taken.get("workers", [])) == 1, f"the only core has a lease: {taken}")
    program = site.program(1)
    program.good(f"take {MIB} host0")
    program.good("add 0 1", "0")
    expect([os.sched_getscheduler(pid) for pid in site.serving(0)] == [os.SCHED_IDLE], "it runs where nobody else wants to")


def a_new_lease_has_nothing_of_the_last_one(site):
    site.add(0, 64 * MIB)
    program = site.program(1)
    for seed in range(1, 4):
        program.good(f"take {60 * MIB}")
        program.good(f"compare 0 {60 * MIB} 0", "same")
        program.good(f"put 0 {60 * MIB} {seed}")
        program.good("release")
        program.good("leave")
        site.wait_until_used(0)


def what_is_in_the_middle_when_the_lease_is_released_ends(site):
    site.add(0, 256 * MIB)
    putting, adding = site.program(1), site.program(1)
    leases = [putting.good(f"take {64 * MIB}").split()[0], adding.good(f"take {MIB}").split()[0]]
    putting.good(f"put_for_ever {64 * MIB}", "putting")
    adding.good("add_for_ever", "adding")
    for lease in leases:
        site.one.orchid("memory", "release", lease)
    expect(putting.hear().startswith("error lease_ended "), "puts end with the lease")
    expect(adding.hear().startswith(("error outcome_unknown ", "error lease_ended ")), "and atomics: they may have happened")
    putting.bad("compare 0 8 9", "lease_ended")
    adding.bad("add 0 1", "lease_ended")
    site.wait_until_used(0)


def what_a_lost_executor_had_is_gone(site):
    site.add(0, 64 * MIB)
    program = site.program(1)
    program.good(f"take {MIB}")
    program.good("add_for_ever", "adding")
    os.killpg(site.executors[0].pid, signal.SIGKILL)
    expect(program.hear().startswith(("error outcome_unknown ", "error lease_ended ")), "it ends")
    program.bad("compare 0 8 0", "lease_ended")
    program.good("leave")
    site.executors.pop(0).wait(TIMEOUT_S)


def a_grant_that_is_taken_back_ends_what_is_in_the_middle(site):
    site.add(0, 256 * MIB)
    putting, adding = site.program(1), site.program(1)
    putting.good(f"take {64 * MIB}")
    adding.good(f"take {MIB}")
    putting.good(f"put_for_ever {64 * MIB}", "putting")
    adding.good("add_for_ever", "adding")
    executor = site.executors.pop(0)
    executor.send_signal(signal.SIGTERM)  # as a batch system does
    expect(executor.wait(TIMEOUT_S) == 0, f"the executor ends by itself\n{site.one.said()}")
    expect(putting.hear().startswith("error lease_ended "), "puts end with the grant")
    expect(adding.hear().startswith(("error outcome_unknown ", "error lease_ended ")), "and atomics: they may have happened")
    putting.bad("compare 0 8 9", "lease_ended")
    adding.bad("add 0 1", "lease_ended")


def a_killed_or_stopped_process_takes_its_memory_with_it(site):
    site.add(0, 64 * MIB)
    for number in (signal.SIGKILL, signal.SIGSTOP):
        program = site.program(1)
        lease = program.good(f"take {MIB}").split()[0]
        program.good("add 0 1", "0")
        os.kill(site.serving(0)[0], number)
        wait_for(lambda: program.ask("add 0 1"), lambda said: said.startswith("error "), "it is noticed", site.one.said)
        program.bad("add 0 1", "lease_ended")
        wait_for(lambda lease=lease: lease in site.one.orchid("leases").stdout, lambda known: not known, "the lease is no more", site.one.said)
        site.wait_until_used(0)


def a_host_that_is_silent_is_given_up(site):
    site.add(0, 64 * MIB)
    program = site.program(1)
    program.good(f"take {MIB}")
    program.good("add 0 1", "0")
    site.hosts[0].run("ip link set host1 down")
    began = time.monotonic()
    program.bad("add 0 1", "outcome_unknown", "host0")
    expect(time.monotonic() - began < 30, "after its time")
    said = program.ask("compare 0 8 0")
    expect(said.startswith(("error unreachable ", "error lease_ended ")), f"it stays so: {said}")
    site.hosts[0].run("ip link set host1 up")


def a_lease_that_nobody_keeps_expires(site):
    site.add(0, 64 * MIB)
    program = site.program(1)
    program.good(f"take {MIB}")
    site.wait_until_used(MIB)
    lease = site.lease_over_http(workers=0, memory_bytes=2 * MIB, duration_ms=1000)
    expect(lease["kind"] == "memory" and lease["memory_bytes"] == 2 * MIB and len(lease["key"]) == 32, f"a lease over HTTP: {lease}")
    wait_for(lambda: lease["id"] in site.one.orchid("leases").stdout, lambda known: not known, "it has expired", site.one.said)
    site.wait_until_used(MIB)
    program.kill()  # who takes memory and dies keeps it no longer than its lease lasts: here it is given back at once by hand
    for left in site.one.document("memory", "list")["memory"]:
        site.one.orchid("memory", "release", left["id"])
    site.wait_until_used(0)


def memory_outlives_the_gateway(site):
    site.add(0, 64 * MIB)
    program = site.program(1)
    lease = program.good(f"take {MIB}").split()[0]
    program.good("put 0 1000 4")
    site.one.process.send_signal(signal.SIGKILL)
    site.one.process.wait(TIMEOUT_S)
    program.good("compare 0 1000 4", "same")
    site.one.start()
    wait_for(lambda: site.one.orchid("leases").stdout, lambda shown: lease in shown, "it is known again", site.one.said)
    program.good("compare 0 1000 4", "same")
    site.one.orchid("memory", "release", lease)
    wait_for(lambda: program.ask("add 0 1"), lambda said: said.startswith("error "), "it is noticed", site.one.said)
    site.wait_until_used(0)


def renewals_go_on_after_a_restart_of_the_gateway(site):
    site.add(0, 64 * MIB)
    program = site.program(1)
    lease = program.good(f"take {MIB} host0 6").split()[0]
    program.good("put 0 1000 4")

    def left():
        of_lease = [one["expires_in_ms"] for one in site.one.document("memory", "list")["memory"] if one["id"] == lease]
        return of_lease[0] if of_lease else 0

    for _ in range(2):
        site.one.process.send_signal(signal.SIGKILL)
        site.one.process.wait(TIMEOUT_S)
        program.good("compare 0 1000 4", "same")  # nothing of it goes over the gateway
        site.one.start()
        before = wait_for(left, lambda now: now > 0, "the executor brings it back", site.one.said)
        seen = [before]

        def is_renewed(seen=seen):
            seen.append(left())
            return seen[-1] > seen[-2] > 0

        wait_for(is_renewed, bool, "the program renews it", lambda seen=seen: f"{seen}\n{site.one.said()}")
    # It has been in use for longer than it lasts without being renewed.
    program.good("compare 0 1000 4", "same")
    program.good("add 2000 1")
    # A gateway that is away for longer than the lease lasts cannot renew it: then it ends, and says so.
    site.one.process.send_signal(signal.SIGKILL)
    site.one.process.wait(TIMEOUT_S)
    said = wait_for(lambda: program.ask("add 2000 1"), lambda said: said.startswith("error "), "it is over", site.one.said)
    expect(said.startswith("error lease_ended "), f"it has ended: {said}")
    site.one.start()
    site.wait_until_used(0)
    expect(left() == 0, "nothing of it is left")


def a_file_goes_there_and_back_from_the_command_line(site):
    site.add(0, 64 * MIB)
    environment = {**site.one.environment, "ORCHID_GATEWAY": f"unix:{site.one.folder}/gateway.sock"}
    here = site.hosts[1].entry()
    keeper = subprocess.Popen([*here, PROGRAMS / "orchid", "memory", "take", "16MiB"], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=site.one.log, text=True)
    try:
        expect(select.select([keeper.stdout], [], [], TIMEOUT_S)[0], "it says its lease")
        lease = keeper.stdout.readline().strip()
        content = os.urandom(10 * MIB + 3)
        source = site.one.folder / "content"
        source.write_bytes(content)

        def run(*words):
            return subprocess.run([*here, PROGRAMS / "orchid", "memory", *words], env=environment, capture_output=True,
                                  timeout=TIMEOUT_S, check=False)
        put = run("put", lease, source, "--offset", "5")
        expect(put.returncode == 0, f"put: {put.stderr}\n{site.one.said()}")
        got = run("get", lease, "--offset", "5", "--size", str(len(content)))
        expect(got.stdout == content, f"the same comes back: {got.stderr}")
        beyond = run("put", lease, source, "--offset", "8MiB")
        expect(beyond.returncode == 2 and b"not within the memory" in beyond.stderr, f"beyond its end: {beyond}")
        expect(lease in site.one.orchid("memory", "list").stdout, "it is listed")
        keeper.send_signal(signal.SIGINT)
        expect(keeper.wait(TIMEOUT_S) == 0, "it is given back when it is interrupted")
        site.wait_until_used(0)
        gone = run("get", lease)
        expect(gone.returncode != 0 and b"no lease" in gone.stderr, f"it is gone: {gone}")
    finally:
        keeper.kill()
        keeper.wait(TIMEOUT_S)


def programs_in_c_use_it(site):
    site.add(0, 64 * MIB)
    environment = {**site.one.environment, "ORCHID_GATEWAY": f"unix:{site.one.folder}/gateway.sock"}
    done = subprocess.run([*site.hosts[1].entry(), C_PROGRAM, USES_MEMORY], env=environment, capture_output=True, text=True, timeout=TIMEOUT_S,
                          check=False)
    expect(done.returncode == 0, f"the program is content: {done.stderr}\n{site.one.said()}")
    site.wait_until_used(0)


def random_number(i, seed):
    """splitmix64, as the example has it."""
    mask = (1 << 64) - 1
    z = (seed + (i + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def sorts_in_memory_of_another_host(site):
    """A function on a host whose worker has a quarter of the memory that its numbers need."""
    site.add_without_room_for_workers(0, 544 * MIB)
    site.add(1, 16 * MIB)
    site.one.orchid("deploy", FUNCTIONS / "outofcore.bc")
    lease = site.lease_over_http(workers=0, memory_bytes=2 * 4 * SMALL_WORKER, duration_ms=600_000, constraints={"host": "host0"})
    expect(lease.get("node") == "host0", f"the memory is on the other host: {lease}")

    def sort(count, buffers):
        arguments = json.dumps([lease["id"], count, 5, buffers])
        return site.one.orchid("invoke", "outofcore", "--args", arguments, "--deadline", "120s", check=False, timeout=180)
    few = 100_000
    done = sort(few, 1 << 16)
    expect(done.returncode == 0, f"numbers are sorted: {done}\n{site.one.said()}")
    environment = {**site.one.environment, "ORCHID_GATEWAY": f"unix:{site.one.folder}/gateway.sock"}
    read = subprocess.run([*site.hosts[1].entry(), PROGRAMS / "orchid", "memory", "get", lease["id"], "--offset", str(few * 8), "--size",
                           str(few * 8)], env=environment, capture_output=True, timeout=TIMEOUT_S, check=False)
    expect(read.returncode == 0, f"they are read: {read.stderr}")
    numbers = array.array("Q", read.stdout)
    expect(list(numbers) == sorted(random_number(i, 5) for i in range(few)), "they are in order")
    many = 4 * SMALL_WORKER // 8
    compared = subprocess.run(["/usr/bin/python3", COMPARE, PROGRAMS, lease["id"], str(many), "9", str(8 * MIB), site.one.folder],
                              env=environment, capture_output=True, text=True, timeout=600, check=False)
    expect(compared.returncode == 0 and "ratio=" in compared.stdout, f"as the same with a file: {compared}\n{site.one.said()}")
    refused = sort(many + 1, 1 << 20)
    expect(refused.returncode != 0 and "16 are needed" in refused.stderr, f"more than the lease has room for: {refused}")
    site.one.orchid("memory", "release", lease["id"])
    gone = sort(few, 1 << 16)
    expect(gone.returncode != 0 and "not_found" in gone.stderr, f"without the lease: {gone}")


def calls_lose_what_their_lease_loses(site):
    """A lease that is released, a way and a process that are killed: in the middle of a call on another host."""
    site.add_without_room_for_workers(0, 256 * MIB)
    site.add(1, 16 * MIB)
    site.one.orchid("deploy", FUNCTIONS / "outofcore.bc")
    environment = {**site.one.environment, "ORCHID_GATEWAY": f"unix:{site.one.folder}/gateway.sock"}
    ends = ((lambda lease: site.one.orchid("memory", "release", lease), "lease_ended"),
            (lambda _: os.kill(site.serving(0)[0], signal.SIGKILL), "lease_ended"),
            (lambda _: os.kill(site.serving(1)[0], signal.SIGKILL), "unreachable"))
    for end, words in ends:
        lease = site.lease_over_http(workers=0, memory_bytes=192 * MIB, duration_ms=600_000, constraints={"host": "host0"})["id"]
        command = [PROGRAMS / "orchid", "invoke", "outofcore", "--args", json.dumps([lease, 12 * MIB, 5, 64 << 10]), "--deadline", "120s"]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as call:
            try:
                wait_for(site.one.said, lambda said, lease=lease: f"event=memory_reached lease={lease} " in said, "the call has come there")
                end(lease)
                error = call.communicate(timeout=TIMEOUT_S)[1]
            finally:
                call.kill()
        expect(call.returncode != 0 and words in error, f"the call ends with {words}: {error}")
        site.wait_until_nobody_serves(1)
        site.one.orchid("memory", "release", lease, check=False)
        site.wait_until_used(0)


def a_cut_network_costs_the_way_and_no_memory(site):
    """The lease is there, and so is what was put into it, when the network is again."""
    site.add_without_room_for_workers(0, 256 * MIB)
    site.add(1, 16 * MIB)
    site.one.orchid("deploy", FUNCTIONS / "outofcore.bc")
    lease = site.lease_over_http(workers=0, memory_bytes=192 * MIB, duration_ms=600_000, constraints={"host": "host0"})["id"]

    def sort(count):
        return site.one.orchid("invoke", "outofcore", "--args", json.dumps([lease, count, 5, 64 << 10]), "--deadline", "120s", check=False, timeout=180)
    before = sort(10_000)
    expect(before.returncode == 0, f"numbers are sorted: {before}\n{site.one.said()}")
    environment = {**site.one.environment, "ORCHID_GATEWAY": f"unix:{site.one.folder}/gateway.sock"}
    command = [PROGRAMS / "orchid", "invoke", "outofcore", "--args", json.dumps([lease, 12 * MIB, 5, 64 << 10]), "--deadline", "120s"]
    reached = site.one.said().count("event=memory_reached")
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as call:
        try:
            wait_for(site.one.said, lambda said: said.count("event=memory_reached") > reached, "the call has come there")
            site.hosts[0].run("ip link set host1 down")
            error = call.communicate(timeout=3 * TIMEOUT_S)[1]
        finally:
            call.kill()
            site.hosts[0].run("ip link set host1 up")
    expect(call.returncode != 0 and "unreachable" in error and "lease_ended" not in error, f"only the way is lost: {error}")
    again = wait_for(lambda: sort(10_000), lambda done: done.returncode == 0, "the memory is reached again", site.one.said)
    expect(again.stdout == before.stdout, f"it is the same: {again}")


CASES = (memory_of_another_host_is_read_and_written, the_end_of_the_memory_is_its_end, a_full_budget_says_what_would_help,
         cores_that_are_all_taken_do_not_matter, a_new_lease_has_nothing_of_the_last_one, what_is_in_the_middle_when_the_lease_is_released_ends,
         what_a_lost_executor_had_is_gone, a_grant_that_is_taken_back_ends_what_is_in_the_middle, a_killed_or_stopped_process_takes_its_memory_with_it, a_host_that_is_silent_is_given_up,
         a_lease_that_nobody_keeps_expires, memory_outlives_the_gateway, renewals_go_on_after_a_restart_of_the_gateway,
         a_file_goes_there_and_back_from_the_command_line, programs_in_c_use_it, sorts_in_memory_of_another_host,
         calls_lose_what_their_lease_loses, a_cut_network_costs_the_way_and_no_memory)


SETTINGS = {sorts_in_memory_of_another_host: f'worker_memory = "{SMALL_WORKER >> 20}MiB"\n'}


def main():
    wanted = sys.argv[5:]
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), "LANG": "C.UTF-8"}
    with network_hosts(2) as made:
        for case in CASES:
            if wanted and case.__name__ not in wanted:
                continue
            print(case.__name__, flush=True)
            with gateway(PROGRAMS, environment, SETTINGS.get(case, "")) as one:
                site = Site(one, made)
                with site.programs:
                    case(site)


main()
