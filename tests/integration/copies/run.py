#!/usr/bin/python3
"""run.py PROGRAMS [CASE...]: copies of data objects between executors on hosts of their own, as far as the network can see: namespaces on one
bridge. Exit status 0: all is as it should be; 77: namespaces are not permitted here."""
import contextlib
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_http import Connection, ask  # noqa: E402 (found only after the line above)
from gateway_process import gateway, wait_for  # noqa: E402 (found only after the line above)
from network_hosts import TIMEOUT_S, another_machine, network_hosts  # noqa: E402
from processes import expect, family, words_of  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
FUNCTION = pathlib.Path(__file__).resolve().parents[1] / "data/sums_data.c"
MAKES_DATA = pathlib.Path(__file__).resolve().parents[1] / "data/makes_data.cpp"
HOSTS = 3
MIB = 1 << 20
SMALL, LARGE = 256 * MIB, 1024 * MIB  # of memory for data


class Site:
    """A gateway, and executors that are added one by one, each on a host of its own."""

    def __init__(self, one, its_hosts):
        self.one, self.hosts, self.executors = one, its_hosts, {}

    def add(self, number, memory, *flags, own_machine=False):
        """`own_machine`: it does not seem to be a part of ours, so that a copy there counts as one more."""
        host = self.hosts[number]
        process = subprocess.Popen(
            [*host.entry(), *(another_machine(self.one.folder, number) if own_machine else []), PROGRAMS / "orchid-executor", "--gateway", f"unix:{self.one.folder}/gateway.sock", "--runtime",
             self.one.folder / f"r-{number}", "--state", self.one.folder / f"s-{number}", "--cores", "1", "--data-memory", str(memory),
             "--lane-listen", f"{host.address}:0", *flags],
            env=self.one.environment, stdin=subprocess.DEVNULL, stdout=self.one.log, stderr=self.one.log, start_new_session=True)
        self.one.executors.append(process)
        self.executors[number] = process
        before = self.one.metrics().get("orchid_data_memory_bytes", 0)
        wait_for(lambda: self.one.metrics().get("orchid_data_memory_bytes", 0), lambda bytes: bytes == before + memory, f"{host.name} is there",
                 self.one.said)

    def kill(self, number):
        os.killpg(self.executors[number].pid, signal.SIGKILL)
        self.executors[number].wait(TIMEOUT_S)

    def end(self, number):
        """As a batch system ends what runs in a grant; it leaves nothing of its own behind."""
        copying = self.copying(number)
        self.executors[number].send_signal(signal.SIGTERM)
        expect(self.executors[number].wait(TIMEOUT_S) == 0, f"host{number} ends by itself\n{self.one.said()}")
        wait_for(lambda: [pid for pid in copying if words_of(pid)[0]], lambda left: not left, "and so do its processes", self.one.said)

    def copying(self, number):
        """The processes of this host that copy."""
        return [pid for pid in family(self.executors[number].pid) if words_of(pid) and words_of(pid)[0].endswith("orchid-copy")]

    def await_a_copy(self, number):
        """Until a process copies there, which has just been ordered; it is still in the middle of it, or before that."""
        give_up = time.monotonic() + TIMEOUT_S
        while not (found := self.copying(number)):
            expect(time.monotonic() < give_up, f"a copy is on its way at host{number}\n{self.one.said()}")
        return found[0]

    @contextlib.contextmanager
    def slow(self, *numbers):
        """These hosts send 40 MB a second and no more, so that a copy can be met in the middle."""
        try:
            for number in numbers:
                self.hosts[number].run("tc qdisc replace dev link0 root tbf rate 320mbit burst 256kb latency 100ms")
            yield
        finally:
            for number in numbers:
                self.hosts[number].run("tc qdisc del dev link0 root")

    def received(self, number):
        path = "/sys/class/net/link0/statistics/rx_bytes"
        return int(subprocess.run([*self.hosts[number].entry(), "cat", path], check=True, capture_output=True, timeout=TIMEOUT_S).stdout)

    def wait_until_received(self, number, wanted):
        wait_for(lambda: self.received(number), lambda now: now >= wanted, f"host{number} has received {wanted} bytes", self.one.said)

    def restart_gateway(self):
        self.one.process.send_signal(signal.SIGKILL)
        self.one.process.wait(TIMEOUT_S)
        self.one.start()

    def used(self):
        return self.one.metrics()["orchid_data_memory_used_bytes"]

    def wait_until_used(self, wanted):
        wait_for(self.used, lambda now: now == wanted, f"{wanted} bytes are in use", self.one.said)

    def document(self, data):
        return json.loads(ask(self.one, "GET", f"/v1/data/{data}/document").body)

    def wait_until_on(self, data, *names):
        """A host that is lost is among them until it is taken for gone."""
        wait_for(lambda: self.document(data).get("hosts"), lambda now: set(names) <= set(now), f"{data} is on {names}", self.one.said)


def some_bytes(size, seed=b"orchid"):
    block = hashlib.sha256(seed).digest() * 32768
    return (block * (size // len(block) + 1))[:size]


def put(site, name, content, **headers):
    answer = ask(site.one, "PUT", f"/v1/data/{name}", content, **headers)
    expect(answer.status == 201, f"{name} is made: {answer.said()}\n{site.one.said()}")


def order_copy(site, name, **wanted):
    answer = ask(site.one, "POST", f"/v1/data/{name}/copies", json.dumps(wanted), Content_Type="application/json")
    expect(answer.status == 202, f"a copy of {name} is ordered: {answer.said()}")
    return json.loads(answer.body)


def same(site, name, content):
    answer = wait_for(lambda: ask(site.one, "GET", f"/v1/data/{name}"), lambda answer: answer.status == 200, f"{name} is there", site.one.said)
    expect(answer.body == content, f"the bytes of {name}")


def sum_of(*contents):
    return f"{sum(sum(content) for content in contents)} of {sum(map(len, contents))} in {len(contents)}"


def deploy(site):
    module = site.one.folder / "sums_data.bc"
    site.one.orchid("build", str(FUNCTION), "-o", str(module))
    site.one.orchid("deploy", str(module), "--name", "sums_data")


def a_copy_is_the_same_and_stays_when_its_source_is_lost(site):
    content = some_bytes(200 * MIB + 7)
    site.add(0, SMALL)
    put(site, "a", content)
    site.add(1, LARGE)
    said = site.one.orchid("data", "copy", "a", "--to", "host1").stdout
    expect(said == "a@1 is being copied to host1\n", f"it is ordered: {said}")
    site.wait_until_on("a", "host0", "host1")
    expect(site.one.orchid("data", "copy", "a", "--to", "host1").stdout == "a@1 is on host0,host1\n", "again: it is there")
    expect(site.used() == 2 * len(content), "both are charged")
    wait_for(lambda: site.copying(0) + site.copying(1), lambda left: not left, "no process is left", site.one.said)
    shown = site.one.orchid("data", "describe", "a").stdout
    expect("host0,host1" in shown and "at least 1" in shown, f"described: {shown}")
    expect(site.one.orchid("data", "copy", "a", "--to", "host9", check=False).returncode != 0, "there is no such host")
    site.kill(0)
    same(site, "a", content)
    refused = ask(site.one, "DELETE", "/v1/data/a")
    expect(refused.status == 503 and b"host0" in refused.body, f"what is lost might come back: {refused.said()}")
    wait_for(lambda: site.document("a")["hosts"], lambda now: now == ["host1"], "it is taken for gone", site.one.said, seconds=TIMEOUT_S)
    site.one.orchid("data", "delete", "a")
    site.wait_until_used(0)


def a_call_with_data_of_two_hosts_waits_for_what_is_missing(site):
    deploy(site)
    first, second = some_bytes(150 * MIB), some_bytes(120 * MIB, b"second")
    site.add(0, SMALL)
    put(site, "a", first)
    site.add(1, LARGE)
    put(site, "b", second)  # no room for it where the first one is
    expect(site.document("b")["hosts"] == ["host1"], "each is on a host of its own")
    # Most bytes are on host0, which has no room for the rest.
    summed = site.one.orchid("invoke", "sums_data", "--data", "a,b").stdout
    expect(summed == sum_of(first, second), f"summed: {summed}\n{site.one.said()}")
    expect(site.document("a")["hosts"] == ["host0", "host1"], "it was copied for the call")
    for name in ("a", "b"):
        site.one.orchid("data", "delete", name)
    site.wait_until_used(0)


def a_stored_call_waits_and_one_that_cannot_says_so(site):
    deploy(site)
    first, second = some_bytes(40 * MIB), some_bytes(230 * MIB, b"second")
    site.add(0, SMALL)
    put(site, "a", first)
    site.add(1, SMALL)
    put(site, "b", second)
    expect(site.document("b")["hosts"] == ["host1"], "each is on a host of its own")
    answer = ask(site.one, "POST", "/v1/functions/sums_data/invocations", b"", Orchid_Data="a,b")
    expect(answer.status == 409 and b"data_elsewhere" in answer.body and b"does not fit" in answer.body, f"no room: {answer.said()}")
    third = some_bytes(240 * MIB, b"third")
    site.add(2, LARGE)
    put(site, "c", third)
    expect(site.document("c")["hosts"] == ["host2"], "it is where there is room")
    job = site.one.orchid("invoke", "sums_data", "--data", "a,c", "--async").stdout.strip()
    site.one.orchid("wait", job)
    expect(site.one.orchid("result", job).stdout == sum_of(first, third), f"it has waited\n{site.one.said()}")
    expect(site.document("a")["hosts"] == ["host0", "host2"], "for its data")


def a_lost_sender_is_replaced_by_another_holder_that_goes_on(site):
    content = some_bytes(220 * MIB)
    site.add(0, SMALL)
    put(site, "a", content)
    site.add(1, SMALL)
    order_copy(site, "a", host="host1")
    site.wait_until_on("a", "host0", "host1")
    site.add(2, LARGE)
    before = site.received(2)
    with site.slow(0, 1):
        order_copy(site, "a", host="host2")
        site.await_a_copy(0)
        site.wait_until_received(2, before + len(content) * 6 // 10)
        site.kill(0)
        site.wait_until_on("a", "host2")
    received = site.received(2) - before
    expect(len(content) <= received < len(content) * 14 // 10, f"it was not begun again: {received} bytes\n{site.one.said()}")
    site.kill(1)
    same(site, "a", content)


def a_sender_whose_grant_is_taken_back_in_the_middle_is_replaced(site):
    content = some_bytes(220 * MIB)
    site.add(0, SMALL)
    put(site, "a", content)
    site.add(1, SMALL)
    order_copy(site, "a", host="host1")
    site.wait_until_on("a", "host0", "host1")
    site.add(2, LARGE)
    before = site.received(2)
    with site.slow(0, 1):
        order_copy(site, "a", host="host2")
        site.wait_until_received(2, before + len(content) // 4)
        sender = next(number for number in (0, 1) if site.copying(number))
        site.end(sender)
        site.wait_until_on("a", "host2")
    site.kill(1 - sender)
    same(site, "a", content)


def a_receiver_whose_grant_is_taken_back_in_the_middle_leaves_nothing(site):
    content = some_bytes(220 * MIB)
    site.add(0, SMALL)
    put(site, "a", content, Orchid_Copies="2")
    before = site.received(1)
    site.add(1, LARGE, own_machine=True)
    with site.slow(0):
        site.wait_until_received(1, before + len(content) // 4)
        site.end(1)
        wait_for(lambda: site.copying(0), lambda left: not left, "nobody sends any more", site.one.said)
    same(site, "a", content)
    site.wait_until_used(len(content))
    site.add(2, LARGE, own_machine=True)
    site.wait_until_on("a", "host0", "host2")
    site.wait_until_used(2 * len(content))


def a_copy_survives_a_stopped_process_and_a_lost_gateway(site):
    content = some_bytes(220 * MIB)
    site.add(0, SMALL)
    put(site, "a", content, Orchid_Copies="2")
    before = site.received(1)
    site.add(1, LARGE, own_machine=True)
    with site.slow(0):
        site.wait_until_received(1, before + 20 * MIB)
        with contextlib.suppress(ProcessLookupError):
            os.kill(site.await_a_copy(0), signal.SIGSTOP)
        site.wait_until_received(1, before + 60 * MIB)
        with contextlib.suppress(ProcessLookupError):
            os.kill(site.await_a_copy(1), signal.SIGSTOP)
        site.wait_until_received(1, before + 120 * MIB)
        site.restart_gateway()
    wait_for(lambda: ask(site.one, "GET", "/v1/data/a/document").status, lambda status: status == 200, "it is there again", site.one.said)
    site.wait_until_on("a", "host0", "host1")
    site.wait_until_used(2 * len(content))
    site.kill(0)
    site.add(2, SMALL)  # a part of our machine again, where it can be read
    site.wait_until_on("a", "host1", "host2")
    same(site, "a", content)


def a_receiver_that_is_lost_in_the_middle_is_replaced(site):
    content = some_bytes(220 * MIB)
    site.add(0, SMALL)
    put(site, "a", content, Orchid_Copies="2")
    before = site.received(1)
    site.add(1, LARGE, own_machine=True)
    with site.slow(0):
        site.wait_until_received(1, before + 40 * MIB)
        site.kill(1)
    site.add(2, LARGE, own_machine=True)
    site.wait_until_on("a", "host0", "host2")
    wait_for(lambda: site.copying(0) + site.copying(2), lambda left: not left, "no process is left", site.one.said)


def a_call_whose_client_goes_waits_for_no_data(site):
    deploy(site)
    site.add(0, SMALL)
    put(site, "a", some_bytes(150 * MIB))
    site.add(1, LARGE)
    put(site, "b", some_bytes(200 * MIB, b"second"))
    waiting = lambda: site.one.metrics()["orchid_data_calls_waiting"]  # noqa: E731 (said once)
    with site.slow(0), contextlib.closing(Connection(site.one)) as client:
        client.request("POST", "/v1/functions/sums_data/invocations", b"", {"Orchid-Data": "a,b"})
        wait_for(waiting, lambda now: now == 1, "the call waits", site.one.said)
        client.close()
        wait_for(waiting, lambda now: now == 0, "nobody waits any more", site.one.said)


def the_last_copy_leaves_a_grant_that_ends(site):
    content = some_bytes(100 * MIB)
    site.add(0, SMALL, "--ends-in-s", "20")
    put(site, "a", content)
    site.add(1, LARGE)
    site.wait_until_on("a", "host1")
    expect(site.executors[0].wait(TIMEOUT_S) == 0, f"the grant ends\n{site.one.said()}")
    same(site, "a", content)
    wait_for(lambda: site.document("a")["hosts"], lambda now: now == ["host1"], "it is on host1 alone", site.one.said, seconds=TIMEOUT_S)


def a_last_copy_that_cannot_leave_in_time_is_lost_and_said_so(site):
    site.add(0, SMALL, "--ends-in-s", "20")
    put(site, "a", some_bytes(220 * MIB))
    site.add(1, SMALL - MIB * 64)  # no room for it
    expect(site.executors[0].wait(TIMEOUT_S) == 0, f"the grant ends\n{site.one.said()}")
    lost = wait_for(lambda: ask(site.one, "GET", "/v1/data/a"), lambda answer: answer.status == 410, "it is lost", site.one.said,
                    seconds=TIMEOUT_S)
    expect(b"data_lost" in lost.body and b"a@1" in lost.body and b"host0" in lost.body, f"it says what and where: {lost.said()}")
    site.wait_until_used(0)


def a_killed_copy_is_begun_again(site):
    content = some_bytes(220 * MIB)
    site.add(0, SMALL)
    put(site, "a", content)
    site.add(1, LARGE)
    order_copy(site, "a", host="host1")
    with contextlib.suppress(ProcessLookupError):
        os.kill(site.await_a_copy(1), signal.SIGKILL)
    site.wait_until_on("a", "host0", "host1")
    site.kill(0)
    same(site, "a", content)


def the_only_copy_that_is_lost_is_named_with_its_host(site):
    site.add(0, SMALL)
    put(site, "a", some_bytes(220 * MIB))
    site.add(1, LARGE)
    order_copy(site, "a", host="host1")
    site.await_a_copy(0)
    site.kill(0)
    lost = wait_for(lambda: ask(site.one, "GET", "/v1/data/a"), lambda answer: answer.status == 410, "it is lost", site.one.said,
                    seconds=TIMEOUT_S)
    expect(b"data_lost" in lost.body and b"a@1" in lost.body and b"host0" in lost.body, f"it says what and where: {lost.said()}")
    site.wait_until_used(0)
    expect(not site.copying(1), "nothing of it is being written")


def a_deleted_object_is_copied_no_further(site):
    site.add(0, SMALL)
    put(site, "a", some_bytes(220 * MIB))
    site.add(1, LARGE)
    order_copy(site, "a", host="host1")
    os.kill(site.await_a_copy(0), signal.SIGSTOP)  # its executor ends it
    expect(ask(site.one, "DELETE", "/v1/data/a").status == 204, "it is deleted in the middle")
    site.wait_until_used(0)
    wait_for(lambda: site.copying(0) + site.copying(1), lambda left: not left, "no process is left", site.one.said)


def surplus_copies_go_for_leases_of_memory_and_for_what_calls_make(site):
    module = site.one.folder / "makes_data.bc"
    site.one.orchid("build", str(MAKES_DATA), "-o", str(module))
    site.one.orchid("deploy", str(module), "--name", "makes_data")
    first, second = some_bytes(100 * MIB), some_bytes(100 * MIB, b"second")
    site.add(0, SMALL)
    site.add(1, LARGE, "--kind", "dpu", own_machine=True)
    put(site, "a", first)
    put(site, "b", second)
    expect(site.document("a")["hosts"] == site.document("b")["hosts"] == ["host0"], "both are where the gateway writes")

    def lease(bytes):
        return ask(site.one, "POST", "/v1/leases", json.dumps({"workers": 0, "memory_bytes": bytes, "duration_ms": 600_000,
                                                               "constraints": {"host": "host0"}}), Content_Type="application/json")

    said = lease(100 * MIB)
    expect(b"no_data_memory" in said.body, f"the only copies stay: {said.said()}")
    for name in ("a", "b"):
        order_copy(site, name, host="host1")
        site.wait_until_on(name, "host0", "host1")
    made = lease(100 * MIB)
    expect(made.status == 201, f"there is room for a lease: {made.said()}\n{site.one.said()}")
    wait_for(lambda: site.document("a")["hosts"], lambda now: now == ["host1"], "the oldest copy went for it", site.one.said)
    expect(site.document("b")["hosts"] == ["host0", "host1"], "and no other")
    wait_for(lambda: next(one for one in site.one.document("hosts")["hosts"] if one["hostname"] == "host0")["executors"][0]["data_leased_bytes"],
             lambda leased: leased == 100 * MIB, "leased memory is told apart", site.one.said)
    metrics = site.one.metrics()
    expect(metrics["orchid_memory_leases"] == 1 and metrics["orchid_memory_leased_bytes"] == 100 * MIB, "also in the metrics")
    # 16 bytes for each square, of which a half is used.
    squares = site.one.orchid("invoke", "makes_data.squares", "--args", json.dumps(["c", 6 * MIB]), "--on", "cpu", check=False)
    expect(squares.returncode == 0, f"there is room for a call: {squares}\n{site.one.said()}")
    wait_for(lambda: site.document("b")["hosts"], lambda now: now == ["host1"], "the other copy went for it", site.one.said)
    expect(site.document("c")["hosts"] == ["host0"], "it has made its data")
    expect(b"no_data_memory" in lease(200 * MIB).body, "what there is one copy of stays")


def a_wish_survives_the_gateway(site):
    site.add(0, SMALL)
    put(site, "a", some_bytes(10 * MIB), Orchid_Copies="2")
    expect(site.document("a")["copies_wanted"] == 2, "it is known")
    site.restart_gateway()
    wait_for(lambda: ask(site.one, "GET", "/v1/data/a/document").status, lambda status: status == 200, "it is there again", site.one.said)
    expect(site.document("a")["copies_wanted"] == 2, "and so is the wish")
    for bad in ("0", "65", "two"):
        expect(ask(site.one, "PUT", "/v1/data/b", b"abc", Orchid_Copies=bad).status == 400, f"{bad} is no number of copies")
    for body in (b"", b"{}", b'{"copies":0}', b'{"copies":"2"}', b'{"hosts":"n"}'):
        expect(ask(site.one, "POST", "/v1/data/a/copies", body).status == 400, f"{body} is no wish")


CASES = (a_copy_is_the_same_and_stays_when_its_source_is_lost, a_call_with_data_of_two_hosts_waits_for_what_is_missing,
         a_stored_call_waits_and_one_that_cannot_says_so, a_lost_sender_is_replaced_by_another_holder_that_goes_on, a_killed_copy_is_begun_again,
         a_copy_survives_a_stopped_process_and_a_lost_gateway, a_receiver_that_is_lost_in_the_middle_is_replaced,
         a_sender_whose_grant_is_taken_back_in_the_middle_is_replaced, a_receiver_whose_grant_is_taken_back_in_the_middle_leaves_nothing,
         a_call_whose_client_goes_waits_for_no_data, the_last_copy_leaves_a_grant_that_ends, a_last_copy_that_cannot_leave_in_time_is_lost_and_said_so,
         the_only_copy_that_is_lost_is_named_with_its_host, a_deleted_object_is_copied_no_further,
         surplus_copies_go_for_leases_of_memory_and_for_what_calls_make, a_wish_survives_the_gateway)


def main():
    wanted = sys.argv[2:]
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), "LANG": "C.UTF-8"}
    with network_hosts(HOSTS) as made:
        for case in CASES:
            if wanted and case.__name__ not in wanted:
                continue
            print(case.__name__, flush=True)
            with gateway(PROGRAMS, environment) as one:
                case(Site(one, made))


main()
