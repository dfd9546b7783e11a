#!/usr/bin/python3
"""run.py PROGRAMS [CASE...]: data that is put and read through a gateway whose host has no executor: it and the executors are on hosts of their
own, as far as the network can see. Exit status 0: all is as it should be; 77: namespaces are not permitted here."""
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
import gateway_http  # noqa: E402 (found only after the line above)
from gateway_http import Answer, Connection  # noqa: E402
from gateway_process import Gateway, launch, wait_for  # noqa: E402 (found only after the line above)
from network_hosts import TIMEOUT_S, another_machine, network_hosts  # noqa: E402
from processes import expect, family, words_of  # noqa: E402

FUNCTION = pathlib.Path(__file__).resolve().parents[1] / "data/sums_data.c"
PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
MIB = 1 << 20
MEMORY = 256 * MIB
SMALL_ONES = 40


class FarGateway(Gateway):
    """On the first host."""

    def __init__(self, host, folder, environment):
        super().__init__(PROGRAMS, folder, environment, "")
        self.host = host

    def start(self):
        self.process, self.ready = launch(
            [*self.host.entry(), PROGRAMS / "orchid-gateway", "--state", self.folder / "g", "--socket", self.folder / "gateway.sock", "--listen",
             "127.0.0.1:0"], self.environment, self.log)


class Site:
    def __init__(self, one, hosts):
        self.one, self.hosts, self.executors = one, hosts, {}

    def add(self, number, *flags, memory=MEMORY, is_here=False, cores=1):
        """`is_here`: on the gateway's machine; else on one of its own."""
        host = self.hosts[number]
        process = subprocess.Popen(
            [*host.entry(), *([] if is_here else another_machine(self.one.folder, number)), PROGRAMS / "orchid-executor", "--gateway",
             f"unix:{self.one.folder}/gateway.sock", "--runtime", self.one.folder / f"r-{number}", "--state", self.one.folder / f"s-{number}",
             "--cores", str(cores), "--data-memory", str(memory), *flags],
            env=self.one.environment, stdin=subprocess.DEVNULL, stdout=self.one.log, stderr=self.one.log, start_new_session=True)
        self.one.executors.append(process)
        self.executors[number] = process
        before = self.one.metrics().get("orchid_data_memory_bytes", 0)
        wait_for(lambda: self.one.metrics().get("orchid_data_memory_bytes", 0), lambda bytes: bytes == before + memory, f"{host.name} is there",
                 self.one.said)

    def add_far(self, number, **options):
        self.add(number, "--lane-listen", f"{self.hosts[number].address}:0", **options)

    def kill(self, number):
        os.killpg(self.executors[number].pid, signal.SIGKILL)
        self.executors[number].wait(TIMEOUT_S)

    def copying(self):
        """Processes of the gateway and of the executors that move bytes."""
        return [pid for root in [self.one.process, *self.executors.values()] for pid in family(root.pid)
                if words_of(pid)[0].endswith("orchid-copy")]

    def wait_until_nothing_moves(self):
        wait_for(self.copying, lambda left: not left, "no process is left that moves bytes", self.one.said)

    @contextlib.contextmanager
    def slow(self, number):
        """What comes to this host and leaves it goes at 40 MB a second, so that a body can be met in the middle."""
        ends = [(self.hosts[number], "link0"), (self.hosts[0], self.hosts[number].name)]
        try:
            for host, link in ends:
                host.run(f"tc qdisc replace dev {link} root tbf rate 320mbit burst 256kb latency 100ms")
            yield
        finally:
            for host, link in ends:
                host.run(f"tc qdisc del dev {link} root")

    def used(self):
        return self.one.metrics()["orchid_data_memory_used_bytes"]

    def wait_until_used(self, wanted):
        wait_for(self.used, lambda now: now == wanted, f"{wanted} bytes are in use", self.one.said)


def ask(site, method, path, body=None, **headers):
    return gateway_http.ask(site.one, method, path, body, **headers)


def some_bytes(size, seed=b"orchid"):
    """Whoever exchanges two parts of it is found out."""
    return b"".join(hashlib.sha256(seed + number.to_bytes(8, "little")).digest() * 2048 for number in range(size // 65536 + 1))[:size]


def own_boot_id():
    return pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def put(site, name, content, **headers):
    answer = ask(site, "PUT", f"/v1/data/{name}", content, **headers)
    expect(answer.status == 201, f"{name} is made: {answer.said()}\n{site.one.said()}")
    return json.loads(answer.body)


def begin_put(site, name, size, first):
    """A request whose body has begun to come: `first` of it."""
    connection = Connection(site.one)
    connection.connect()
    connection.putrequest("PUT", f"/v1/data/{name}")
    connection.putheader("Content-Length", str(size))
    connection.endheaders()
    connection.sock.sendall(first)
    return connection


def hosts_of(site, name):
    return json.loads(ask(site, "GET", f"/v1/data/{name}/document").body)["hosts"]


def most_memory(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024


def a_large_object_goes_there_and_back(site):
    content = some_bytes(200 * MIB + 7)
    refused = ask(site, "PUT", "/v1/data/a", b"abc")
    expect(refused.status == 507 and b"no_data_memory" in refused.body, f"there is no executor: {refused.said()}")
    site.add_far(1)
    made = put(site, "a", content)
    expect(made["hosts"] == ["host1"], f"it is on host1: {made}")
    whole = ask(site, "GET", "/v1/data/a")
    expect(whole.status == 200 and whole.body == content, f"all of it: {whole.status} {len(whole.body)}\n{site.one.said()}")
    expect(whole.headers["ETag"] == f'"{made["id"]}"', f"the tag is the id: {whole.headers}")
    for begin, end in ((0, 0), (5, 9), (MIB - 3, 40 * MIB + 5), (len(content) - 10, len(content) - 1)):
        part = ask(site, "GET", "/v1/data/a", Range=f"bytes={begin}-{end}")
        expect(part.status == 206 and part.body == content[begin:end + 1], f"the part {begin}-{end}: {part.status} {len(part.body)}")
        expect(part.headers["Content-Range"] == f"bytes {begin}-{end}/{len(content)}", f"{part.headers}")
    expect(ask(site, "GET", "/v1/data/a", Range=f"bytes={len(content)}-").status == 416, "a part behind its end")
    expect(ask(site, "GET", "/v1/data/a", If_None_Match=whole.headers["ETag"]).status == 304, "it has not changed")
    head = ask(site, "HEAD", "/v1/data/a")
    expect(head.status == 200 and int(head.headers["Content-Length"]) == len(content), f"its size: {head.headers}")
    digest = json.loads(ask(site, "GET", "/v1/data/a/digest").body)["digest"]
    expect(digest == "sha256:" + hashlib.sha256(content).hexdigest(), f"the digest: {digest}")
    expect(ask(site, "PUT", "/v1/data/a", b"abc", If_Match='"other"').status == 412, "a condition that does not hold")
    expect(ask(site, "PUT", "/v1/data/a", b"abc", If_Match=whole.headers["ETag"]).status == 201, "and one that does")
    expect(ask(site, "GET", "/v1/data/a").body == b"abc" and ask(site, "GET", "/v1/data/a@1").body == content, "both versions")
    expect(put(site, "empty", b"")["bytes"] == 0 and ask(site, "GET", "/v1/data/empty").body == b"", "an object of no bytes")
    site.wait_until_nothing_moves()
    expect(most_memory(site.one.process.pid) < 128 * MIB, f"the gateway has not held it: {most_memory(site.one.process.pid)}")
    metrics = site.one.metrics()
    expect(metrics["orchid_data_far_sent_bytes_total"] == len(content) + 3 and metrics["orchid_data_far_failed_total"] == 0, f"{metrics}")


def many_small_ones_come_and_go(site):
    site.add_far(1)
    contents = {f"s{number}": some_bytes(1000 * number + 1, f"{number}".encode()) for number in range(SMALL_ONES)}
    with concurrent.futures.ThreadPoolExecutor(16) as clients:
        list(clients.map(lambda name: put(site, name, contents[name]), contents))
        answers = dict(zip(contents, clients.map(lambda name: ask(site, "GET", f"/v1/data/{name}"), contents)))
    for name, content in contents.items():
        expect(answers[name].status == 200 and answers[name].body == content, f"{name}: {answers[name].said()}\n{site.one.said()}")
    site.wait_until_nothing_moves()


def a_body_that_ends_early_leaves_nothing(site):
    site.add_far(1)
    connection = begin_put(site, "a", 64 * MIB, some_bytes(20 * MIB))
    site.wait_until_used(64 * MIB)
    connection.close()
    site.wait_until_used(0)
    site.wait_until_nothing_moves()
    expect(ask(site, "GET", "/v1/data/a").status == 404, "it is not there")
    put(site, "a", b"abc")


def a_reader_that_goes_leaves_nothing(site):
    site.add_far(1)
    content = some_bytes(100 * MIB)
    put(site, "a", content)
    with contextlib.closing(Connection(site.one)) as connection:
        connection.request("GET", "/v1/data/a")
        response = connection.getresponse()
        expect(response.read(5 * MIB) == content[:5 * MIB], "its beginning")
        expect(site.copying(), "it is being moved")
        response.close()
    site.wait_until_nothing_moves()
    site.one.orchid("data", "delete", "a")
    site.wait_until_used(0)


def an_executor_that_is_lost_in_the_middle_of_a_put_is_told(site):
    site.add_far(1)
    with site.slow(1):
        connection = begin_put(site, "a", 200 * MIB, some_bytes(20 * MIB))
        wait_for(site.copying, lambda found: len(found) == 2, "both ends are there", site.one.said)
        site.kill(1)
        response = Answer(connection.getresponse())
        connection.close()
    expect(response.status == 503 and b"nothing of the object is kept" in response.body and b"host1" in response.body,
           f"it says so: {response.said()}\n{site.one.said()}")
    site.wait_until_nothing_moves()
    site.add_far(2)
    put(site, "a", b"abc")
    expect(hosts_of(site, "a") == ["host2"], "another one takes it")


def an_executor_that_is_lost_in_the_middle_of_a_get_cuts_it_off(site):
    site.add_far(1)
    content = some_bytes(200 * MIB)
    put(site, "a", content)
    with site.slow(1), contextlib.closing(Connection(site.one)) as connection:
        connection.request("GET", "/v1/data/a")
        response = connection.getresponse()
        expect(response.read(MIB) == content[:MIB], "its beginning")
        site.kill(1)
        try:
            rest = response.read()
            sys.exit(f"not so: it is cut off, and not {len(rest)} bytes")
        except (http.client.IncompleteRead, ConnectionError) as cut:
            expect(len(getattr(cut, "partial", b"")) < len(content) - MIB, "and is known to be")
    site.wait_until_nothing_moves()


def a_gateway_that_is_lost_in_the_middle_of_a_put_leaves_nothing(site):
    site.add_far(1)
    with site.slow(1):
        connection = begin_put(site, "a", 200 * MIB, some_bytes(20 * MIB))
        wait_for(site.copying, lambda found: len(found) == 2, "both ends are there", site.one.said)
        site.one.process.send_signal(signal.SIGKILL)
        site.one.process.wait(TIMEOUT_S)
        connection.close()
    wait_for(lambda: [pid for pid in family(site.executors[1].pid) if words_of(pid)[0].endswith("orchid-copy")], lambda left: not left,
             "nobody waits for the rest", site.one.said)
    wait_for(site.one.said, lambda said: "event=data_dropped" in said, "its room is given back, without a gateway")
    site.one.start()
    wait_for(lambda: site.one.metrics().get("orchid_data_memory_bytes", 0), lambda there: there == MEMORY, "it is back", site.one.said)
    expect(site.used() == 0, "nothing is left of it")
    wait_for(lambda: ask(site, "PUT", "/v1/data/a", b"abc").status, lambda status: status == 201, "and it is sent again", site.one.said)


def the_own_host_comes_first(site):
    site.add_far(1)
    site.add(0, memory=64 * MIB, is_here=True)
    expect(put(site, "a", some_bytes(40 * MIB))["hosts"] == ["host0"], "here there is room")
    expect(put(site, "b", some_bytes(40 * MIB))["hosts"] == ["host1"], "and now there is more elsewhere")
    with contextlib.closing(begin_put(site, "c", 250 * MIB, b"")) as connection:
        refused = Answer(connection.getresponse())
    expect(refused.status == 507 and b"no_data_memory" in refused.body, f"there is room nowhere: {refused.said()}")


def deploy(site, *options):
    module = site.one.folder / "sums_data.bc"
    site.one.orchid("build", str(FUNCTION), "-o", str(module))
    site.one.orchid("deploy", str(module), "--name", "sums_data", *options)


def a_call_that_no_holder_could_run_has_its_data_brought_to_a_host_that_could(site):
    content = some_bytes(20 * MIB)
    site.add_far(1)
    put(site, "a", content)
    site.add_far(2, cores=2)
    deploy(site, "--needs", "2 cores")
    job = site.one.orchid("invoke", "sums_data", "--data", "a", "--async").stdout.strip()
    site.one.orchid("wait", job)
    summed = site.one.orchid("result", job).stdout
    expect(summed == f"{sum(content)} of {len(content)} in 1", f"summed: {summed}\n{site.one.said()}")
    expect(hosts_of(site, "a") == ["host1", "host2"], "it was copied for the call")
    why = site.one.orchid("explain", job).stdout
    expect("on host2" in why and "of those that could run them the one with most of it" in why, f"explained: {why}")


def an_output_becomes_data_there(site):
    deploy(site)
    site.add_far(1)
    content = some_bytes(MIB)
    put(site, "a", content)
    site.one.orchid("invoke", "sums_data", "--data", "a", "--output-data", "out")
    expect(hosts_of(site, "out") == ["host1"], "it is there")
    summed = ask(site, "GET", "/v1/data/out")
    expect(summed.body == f"{sum(content)} of {len(content)} in 1".encode(), f"the output: {summed.said()}\n{site.one.said()}")


def a_client_that_takes_its_time_gets_all(site):
    """What it has not taken waits at the executor."""
    site.add_far(1)
    content = some_bytes(60 * MIB)
    put(site, "a", content)
    with contextlib.closing(Connection(site.one)) as connection:
        connection.connect()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.request("GET", "/v1/data/a")
        response = connection.getresponse()
        expect(response.read(MIB) == content[:MIB], "its beginning")
        # Meanwhile others are not in its way.
        for number in range(3):
            put(site, f"b{number}", content[:MIB])
        expect(site.copying(), "nobody has hurried it")
        expect(response.read() == content[MIB:], "and its rest")
    site.wait_until_nothing_moves()
    expect(most_memory(site.one.process.pid) < 128 * MIB, f"the gateway has not held it: {most_memory(site.one.process.pid)}")


def an_executor_without_an_address_takes_nothing(site):
    site.add(1)
    refused = ask(site, "PUT", "/v1/data/a", b"abc")
    expect(refused.status == 507 and b"--lane-listen" in refused.body, f"it says what helps: {refused.said()}")


def programs_put_and_get_by_the_gateway(site):
    site.add_far(1)
    content = some_bytes(30 * MIB)
    given, got = site.one.folder / "given", site.one.folder / "got"
    given.write_bytes(content)
    site.one.orchid("data", "put", "a", str(given))
    expect(hosts_of(site, "a") == ["host1"], "it is there")
    site.one.orchid("data", "get", "a", "--out", str(got))
    expect(got.read_bytes() == content, "and comes back")
    room = ask(site, "POST", "/v1/data/b/rooms", json.dumps({"bytes": 10, "boot_id": own_boot_id()}))
    expect(room.status == 501 and b"PUT" in room.body, f"there is no room that a program writes by itself: {room.said()}")
    access = json.loads(ask(site, "GET", "/v1/data/a/access").body)
    expect(access["bytes"] == len(content) and access["lane_socket"] == access["secret"] == access["boot_id"] == "", f"nor reads: {access}")


CASES = (a_large_object_goes_there_and_back, many_small_ones_come_and_go, a_body_that_ends_early_leaves_nothing, a_reader_that_goes_leaves_nothing,
         an_executor_that_is_lost_in_the_middle_of_a_put_is_told, an_executor_that_is_lost_in_the_middle_of_a_get_cuts_it_off,
         a_gateway_that_is_lost_in_the_middle_of_a_put_leaves_nothing, the_own_host_comes_first, a_client_that_takes_its_time_gets_all,
         a_call_that_no_holder_could_run_has_its_data_brought_to_a_host_that_could, an_output_becomes_data_there, an_executor_without_an_address_takes_nothing, programs_put_and_get_by_the_gateway)


def main():
    wanted = sys.argv[2:]
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), "LANG": "C.UTF-8"}
    with network_hosts(3) as made:
        for case in CASES:
            if wanted and case.__name__ not in wanted:
                continue
            print(case.__name__, flush=True)
            with tempfile.TemporaryDirectory(prefix="orchid-", dir="/tmp") as folder:
                one = FarGateway(made[0], folder, environment)
                try:
                    one.start()
                    case(Site(one, made))
                finally:
                    one.stop()
                    one.log.close()


main()
