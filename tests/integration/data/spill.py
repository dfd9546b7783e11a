#!/usr/bin/python3
"""spill.py PROGRAMS [CASE...]: data that goes to disk when others need its memory, with a real gateway, an executor in a mount namespace of its
own and a small disk there, and workers. Exit status 0: all is as it should be."""
import contextlib
import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gateway_process import gateway, wait_for  # noqa: E402 (found only after the lines above)
from processes import expect  # noqa: E402
from in_calls import deploy_makers, invoke_maker  # noqa: E402
from data_objects import MIB, PROGRAMS, TIMEOUT_S, ask, call, deploy, put, refused, some_bytes, sum_of  # noqa: E402

BUDGET = 64 * MIB
OBJECT = 24 * MIB  # two of them fit


class Site:
    """A gateway and its executor, whose disk for data has so much room."""

    def __init__(self, site, disk):
        self.site, self.disk = site, site.folder / "disk"
        self.disk.mkdir()
        namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
        self.executor = subprocess.Popen(
            [*namespace, "sh", "-c", f"mount -t tmpfs -o size={disk} none '{self.disk}' && exec \"$@\"", "sh",
             site.programs / "orchid-executor", "--gateway", f"unix:{site.folder}/gateway.sock", "--runtime", site.folder / "r", "--state",
             site.folder / "s", "--cores", "1", "--data-memory", str(BUDGET), "--data-spill", self.disk],
            env=site.environment, stdin=subprocess.DEVNULL, stdout=site.log, stderr=site.log, start_new_session=True)
        site.executors.append(self.executor)
        wait_for(lambda: site.metrics().get("orchid_data_memory_bytes"), lambda bytes: bytes == BUDGET, "the executor is there", site.said)
        deploy(site)

    def files(self):
        """That the executor's disk has, as the executor sees it."""
        return list(pathlib.Path(f"/proc/{self.executor.pid}/root{self.disk}").iterdir())

    def space(self):
        there = os.statvfs(f"/proc/{self.executor.pid}/root{self.disk}")
        return (there.f_blocks - there.f_bfree) * there.f_frsize

    def wait_on_disk(self, wanted, what):
        """The executor says it about once a second."""
        wait_for(lambda: self.site.metrics()["orchid_data_on_disk_bytes"], wanted, what, self.site.said)


@contextlib.contextmanager
def started(disk):
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), "LANG": "C.UTF-8"}
    with gateway(PROGRAMS, environment) as site:
        yield Site(site, disk)


@functools.cache
def content(number):
    return bytes([number]) + some_bytes(OBJECT - 1)


def unnamed(site, number):
    answer = ask(site, "POST", "/v1/data", content(number))
    expect(answer.status == 201, f"number {number} is made: {answer.said()}\n{site.said()}")
    return answer.document()["id"]


def read(site, reference):
    """Whoever has just read another one may have it in use for a moment longer, and what is in use has to stay."""
    return wait_for(lambda: ask(site, "GET", f"/v1/data/{reference}"), lambda answer: answer.status == 200, f"{reference} is read", site.said)


def run_with(site, *data):
    """Likewise."""
    return wait_for(lambda: call(site, *data), lambda answer: answer.status == 200, f"a call runs with {data}", site.said)


def more_data_than_memory_is_kept_and_used(there):
    site = there.site
    ids = {number: unnamed(site, number) for number in range(4)}
    for number in range(4, 6):
        put(site, f"named-{number}", content(number))
    there.wait_on_disk(lambda bytes: bytes == 4 * OBJECT, "four are on disk")
    expect(there.space() == 4 * OBJECT and not there.files(), f"in files without a name: {there.space()} {there.files()}")
    for number, id in ids.items():
        expect(read(site, id).body == content(number), f"number {number} comes back")
    given = run_with(site, "named-4")
    expect(given.body.decode() == sum_of(content(4)), f"a call is given one: {given.said()}")
    both = run_with(site, ids[0], "named-4")
    expect(both.body.decode() == sum_of(content(0), content(4)), f"two at a time: {both.said()}")
    site.process.send_signal(signal.SIGKILL)  # who starts anew hears of those on disk, too
    site.process.wait(TIMEOUT_S)
    site.start()
    for number, id in ids.items():
        expect(read(site, id).body == content(number), f"number {number}, after a restart")
    expect(read(site, "named-5").body == content(5), "and one with a name")
    for one in ask(site, "GET", "/v1/data").document()["data"]:
        expect(ask(site, "DELETE", f"/v1/data/{one['id']}").status == 204, "deleted")
    wait_for(there.space, lambda bytes: bytes == 0, "the disk is empty again", site.said)
    wait_for(lambda: site.metrics()["orchid_data_memory_used_bytes"], lambda bytes: bytes == 0, "and the memory", site.said)


def calls_make_and_open_what_does_not_fit(there):
    site = there.site
    deploy_makers(site)
    count = 1_000_000  # 8 bytes each, and a room of twice as much
    for number in range(10):
        invoke_maker(site, "squares", f"squares-{number}", count)
    there.wait_on_disk(lambda bytes: bytes >= 10 * 8 * count - BUDGET, "some of them are on disk")
    total = sum(float(i * i) for i in range(count))
    for number in (0, 1):
        told = json.loads(invoke_maker(site, "sum_of", f"squares-{number}").stdout)
        expect(abs(told - total) < 1e-9 * total, f"a call opens one that was on disk: {told} {total}")
    refused_room = invoke_maker(site, "squares", "huge", BUDGET, check=False)
    expect(refused_room.returncode == 1 and "no_data_memory" in refused_room.stderr, f"what never fits: {refused_room.stderr}")


def many_at_once_get_what_they_want(there):
    site = there.site
    for number in range(5):
        put(site, f"many-{number}", content(number))
    failures = []

    def read_some(first):
        for turn in range(6):
            number = (first + turn) % 5
            answer = ask(site, "GET", f"/v1/data/many-{number}")
            # What others read has to stay: there may be no room for it at the moment.
            if answer.status not in (503, 507) and answer.body != content(number):
                failures.append(f"{number}: {answer.status}")

    threads = [threading.Thread(target=read_some, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not failures, f"whoever gets something gets the right bytes: {failures}\n{site.said()}")
    for number in range(5):
        expect(read(site, f"many-{number}").body == content(number), f"number {number} is whole")


def a_full_disk_leaves_nothing_half_written(there):
    site = there.site
    first, second = unnamed(site, 0), unnamed(site, 1)
    put(site, "third", content(2))  # the first one goes to disk
    there.wait_on_disk(lambda bytes: bytes == OBJECT, "one is on disk")
    put(site, "fourth", content(3))  # there is no room for another one: it goes as before
    refused(ask(site, "GET", f"/v1/data/{second}"), 410, "data_lost")
    wait_for(lambda: site.metrics()["orchid_data_not_spilled"], lambda count: count >= 1, "it is counted", site.said)
    expect(there.space() == OBJECT and not there.files(), f"nothing else is left on the disk: {there.space()}")
    fifth = ask(site, "PUT", "/v1/data/fifth", content(4))
    refused(fifth, 507, "no_data_memory", "64 MiB", "24 MiB of 256 MiB are on disk", "no more goes there", "No space left on device")
    expect(there.space() == OBJECT, f"nor of this one: {there.space()}")
    for name, number in (("third", 2), ("fourth", 3)):
        expect(read(site, name).body == content(number), f"{name} is there")
    refused(ask(site, "GET", f"/v1/data/{first}"), 507, "no_data_memory")  # it cannot come back now
    expect(ask(site, "DELETE", "/v1/data/third").status == 204, "deleted")
    expect(read(site, first).body == content(0), "now it can")
    wait_for(there.space, lambda bytes: bytes == 0, "and its file goes", site.said)


def a_directory_that_cannot_be_used_is_refused(there):
    site = there.site
    for directory in (site.folder / "nothing", pathlib.Path("/proc")):
        done = subprocess.run([site.programs / "orchid-executor", "--gateway", f"unix:{site.folder}/gateway.sock", "--scratch",
                               site.folder / "scratch", "--data-spill", directory],
                              env=site.environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        expect(done.returncode != 0 and f"--data-spill: make a file in {directory}" in done.stderr, f"it says why: {done.stderr}")


CASES = ((more_data_than_memory_is_kept_and_used, "512m"), (calls_make_and_open_what_does_not_fit, "512m"),
         (many_at_once_get_what_they_want, "512m"), (a_full_disk_leaves_nothing_half_written, "40m"),
         (a_directory_that_cannot_be_used_is_refused, "8m"))


def main():
    wanted = sys.argv[2:]
    for case, disk in CASES:
        if wanted and case.__name__ not in wanted:
            continue
        print(case.__name__, flush=True)
        with started(disk) as there:
            case(there)


if __name__ == "__main__":
    main()
