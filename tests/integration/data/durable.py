#!/usr/bin/python3
"""durable.py PROGRAMS [CASE...]: data that is kept as files, with a real gateway and executors that are killed; some with a small disk in a mount
namespace of their own. Exit status 0: all is as it should be."""
import concurrent.futures
import contextlib
import hashlib
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gateway_process import gateway, wait_for  # noqa: E402 (found only after the lines above)
from processes import expect  # noqa: E402
from data_objects import ask, call, deploy, MIB, PROGRAMS, put, refused, restart_gateway, some_bytes, sum_of, TIMEOUT_S  # noqa: E402

BUDGET = 64 * MIB
CONTENT = some_bytes(24 * MIB)
DURABLE = {"Orchid-Durable": "true"}


def objects_in(directory):
    """Files of objects, whatever they are called."""
    return sorted(path for path in directory.rglob("*") if path.is_file() and path.name != ".orchid-lock")


class Site:
    """A gateway and an executor with a directory for durable data."""

    def __init__(self, site):
        self.site, self.directory, self.starts = site, site.folder / "durable", 0
        self.directory.mkdir(mode=0o700)

    def start_executor(self, *options, memory=BUDGET):
        self.starts += 1
        self.executor = self.site.add_executor(f"e{self.starts}", "--cores", "1", "--data-memory", str(memory), "--data-durable",
                                               self.directory, *options)
        wait_for(lambda: self.site.metrics().get("orchid_data_memory_bytes"), lambda bytes: bytes == memory, "the executor is there",
                 self.site.said)

    def start_on_small_disk(self, disk):
        namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
        self.executor = subprocess.Popen(
            [*namespace, "sh", "-c", f"mount -t tmpfs -o size={disk},mode=0700 none '{self.directory}' && exec \"$@\"", "sh",
             self.site.programs / "orchid-executor", "--gateway", f"unix:{self.site.folder}/gateway.sock", "--runtime", self.site.folder / "r",
             "--state", self.site.folder / "s", "--cores", "1", "--data-memory", str(BUDGET), "--data-durable", self.directory],
            env=self.site.environment, stdin=subprocess.DEVNULL, stdout=self.site.log, stderr=self.site.log, start_new_session=True)
        self.site.executors.append(self.executor)
        wait_for(lambda: self.site.metrics().get("orchid_data_memory_bytes"), lambda bytes: bytes == BUDGET, "the executor is there",
                 self.site.said)

    def start_second(self):
        """It does not start, and says why."""
        return subprocess.run([self.site.programs / "orchid-executor", "--gateway", f"unix:{self.site.folder}/gateway.sock", "--runtime",
                               self.site.folder / "r2", "--state", self.site.folder / "s2", "--scratch", self.site.folder / "scratch",
                               "--data-durable", self.directory],
                              env=self.site.environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)

    def kill_executor(self):
        self.executor.send_signal(signal.SIGKILL)
        self.executor.wait(TIMEOUT_S)

    def files(self):
        return objects_in(self.directory)

    def read(self, reference):
        return wait_for(lambda: ask(self.site, "GET", f"/v1/data/{reference}"), lambda answer: answer.status == 200, f"{reference} is read",
                        self.site.said)

    def put(self, name, content, **headers):
        """Names are not written to for some seconds after a restart of the gateway."""
        return wait_for(lambda: ask(self.site, "PUT", f"/v1/data/{name}", content, **DURABLE, **headers), lambda answer: answer.status == 201,
                        f"{name} is made", self.site.said).document()


@contextlib.contextmanager
def started():
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/tmp"), "LANG": "C.UTF-8"}
    with gateway(PROGRAMS, environment) as site:
        yield Site(site)


def missed(site, reference):
    """Its executor may come back for 30 s."""
    return wait_for(lambda: ask(site, "GET", f"/v1/data/{reference}"), lambda answer: answer.status == 410, f"{reference} is missed", site.said,
                    seconds=60)


def durable_data_outlives_executor_and_gateway(there):
    site = there.site
    there.start_executor()
    source = site.folder / "source.bin"
    source.write_bytes(CONTENT)
    site.orchid("data", "put", "climate", str(source), "--durable")
    passing = put(site, "passing", b"x" * MIB)
    unnamed = ask(site, "POST", "/v1/data", b"unnamed", **DURABLE).document()
    shown = site.document("data", "describe", "climate")
    expect(shown["durable"] and not passing["durable"], f"documents say which is durable: {shown} {passing}")
    expect("kept as a file" in site.orchid("data", "describe", "climate").stdout, "and so does the command")
    digest = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
    expect(len(there.files()) == 2 and all(path.stat().st_mode & 0o077 == 0 for path in there.files()), f"two files: {there.files()}")
    there.kill_executor()
    lost = missed(site, "climate")
    refused(lost, 410, "data_lost", "may have it in a file")
    there.start_executor()
    expect(there.read("climate@1").body == CONTENT, "it is there again, by its name")
    expect(there.read(unnamed["id"]).body == b"unnamed", "and by its id")
    refused(ask(site, "GET", "/v1/data/passing"), 410, "data_lost")
    expect(ask(site, "GET", "/v1/data/climate/digest").document()["digest"] == digest, "its digest is known")
    deploy(site)
    given = call(site, "climate")
    expect(given.status == 200 and given.body.decode() == sum_of(CONTENT), f"a call is given it: {given.said()}")
    # All at once: nobody has it in memory, and nobody knows it.
    there.kill_executor()
    restart_gateway(site)
    there.start_executor()
    again = there.read("climate")
    expect(again.body == CONTENT, "both were killed")
    expect(again.headers["Orchid-Data"] == "climate@1", f"it is the same version: {again.headers}")
    expect(again.headers["Repr-Digest"].startswith("sha-256=:"), f"its digest is known: {again.headers}")
    expect(ask(site, "DELETE", "/v1/data/climate").status == 204, "deleted")
    expect(len(there.files()) == 1, f"its file is gone when that is answered: {there.files()}")
    # All at once again, before anything else is said.
    there.kill_executor()
    restart_gateway(site)
    there.start_executor()
    refused(wait_for(lambda: ask(site, "GET", "/v1/data/climate"), lambda answer: answer.status == 404, "it stays deleted", site.said), 404,
            "not_found")


def versions_beyond_the_limit_take_their_files_along(there):
    there.start_executor()
    for number in range(5):
        there.put("weather", bytes([number]) * MIB)
    wait_for(there.files, lambda files: len(files) == 3, "three versions are kept", there.site.said)
    # One that is deleted while its executor is away is told so when the next one comes with it.
    there.kill_executor()
    missed(there.site, "weather")
    expect(ask(there.site, "DELETE", "/v1/data/weather@5").status == 204, "deleted meanwhile")
    there.start_executor()
    expect(there.read("weather").body == bytes([3]) * MIB, "the one before is the newest now")
    wait_for(there.files, lambda files: len(files) == 2, "and its file goes", there.site.said)
    expect(there.put("weather", b"next")["version"] == 6, "numbers go on")


def what_is_deleted_stays_deleted_though_its_executor_ends_before_its_file(there):
    there.start_executor()
    there.put("climate", CONTENT)
    there.executor.send_signal(signal.SIGSTOP)
    with concurrent.futures.ThreadPoolExecutor(1) as asking:
        removal = asking.submit(ask, there.site, "DELETE", "/v1/data/climate")
        wait_for(lambda: there.site.document("data", "list")["data"], lambda data: data == [], "it is not found any more", there.site.said)
        there.kill_executor()
        expect(len(there.files()) == 1 and not removal.done(), f"its file is there, and nothing is answered: {there.files()}")
        there.start_executor()  # before the last one is taken for gone
        removed = removal.result(TIMEOUT_S)
    expect(removed.status == 204 and there.files() == [], f"answered when its file is gone: {removed.said()} {there.files()}")
    refused(ask(there.site, "GET", "/v1/data/climate"), 404, "not_found")
    expect(there.site.document("data", "list")["data"] == [], "and nothing comes back")


def a_removal_that_its_executor_does_not_confirm_says_so(there):
    there.start_executor()
    there.put("climate", CONTENT)
    there.executor.send_signal(signal.SIGSTOP)
    refused(ask(there.site, "DELETE", "/v1/data/climate"), 503, "unreachable", "'climate' is removed, but its executor has not said")
    refused(ask(there.site, "GET", "/v1/data/climate"), 404, "not_found")
    there.executor.send_signal(signal.SIGCONT)
    wait_for(there.files, lambda files: not files, "its file goes", there.site.said)


def data_that_is_larger_than_memory_now_waits_for_more(there):
    there.start_executor()
    there.put("climate", CONTENT)
    there.put("small", b"x" * MIB)
    there.kill_executor()
    there.start_executor(memory=16 * MIB)
    expect(there.read("small").body == b"x" * MIB, "others are there")
    wait_for(lambda: there.site.metrics()["orchid_data_files_ignored"], lambda count: count == 1, "it is counted", there.site.said)
    expect("larger --data-memory" in there.site.said(), "the log says what to do")
    refused(missed(there.site, "climate"), 410, "data_lost", "start one there again")
    there.kill_executor()
    there.start_executor()
    expect(there.read("climate").body == CONTENT, "it was there all the time")


def a_file_that_was_changed_or_cut_is_lost_and_said_so(there):
    there.start_executor()
    there.put("changed", CONTENT)
    there.put("cut", b"y" * MIB)
    there.put("good", b"z" * MIB)
    there.kill_executor()
    for path in there.files():
        content = bytearray(path.read_bytes())
        if len(content) > len(CONTENT):
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
        elif content[-1:] == b"y":
            path.write_bytes(content[:-1])
    there.start_executor()
    expect(there.read("good").body == b"z" * MIB, "others are there")
    refused(missed(there.site, "changed"), 410, "data_lost", "not those that were written")
    refused(missed(there.site, "cut"), 410, "data_lost")
    refused(missed(there.site, "changed"), 410, "data_lost")
    expect(any(path.suffix == ".bad" for path in there.files()), f"it is there to be looked at: {there.files()}")


def a_full_disk_keeps_nothing_half_written(there):
    there.start_on_small_disk("30m")
    first = there.put("first", CONTENT)
    second = ask(there.site, "PUT", "/v1/data/second", CONTENT, **DURABLE)
    refused(second, 507, "disk_full", "could not be written", "No space left on device")
    refused(ask(there.site, "GET", "/v1/data/second"), 404, "not_found")
    files = [path.name for path in objects_in(pathlib.Path(f"/proc/{there.executor.pid}/root{there.directory}"))]
    expect(files == [f"{first['id']}.data"], f"nothing else is left: {files}")
    expect(there.read("first").body == CONTENT, "what was there is there")
    expect(put(there.site, "second", CONTENT)["version"] == 1, "without a file there is room")


def files_have_a_limit_and_a_home(there):
    site = there.site
    there.start_executor("--data-durable-size", str(30 * MIB))
    there.put("first", CONTENT)
    refused(ask(site, "PUT", "/v1/data/second", CONTENT, **DURABLE), 429, "quota", "as files")
    refused(ask(site, "PUT", "/v1/data/second", b"", **{"Orchid-Durable": "maybe"}), 400, "bad_request", "true or false")
    second = there.start_second()
    expect(second.returncode != 0 and f"(process {there.executor.pid} on " in second.stderr and "a directory of its own" in second.stderr,
           f"one at a time has the directory: {second.stderr}")
    there.kill_executor()
    there.directory.chmod(0o777)
    done = there.start_second()
    expect(done.returncode != 0 and "--data-durable" in done.stderr and "chmod go-w" in done.stderr, f"it says what to do: {done.stderr}")
    site.add_executor("plain", "--cores", "1", "--data-memory", str(BUDGET))
    wait_for(lambda: ask(site, "PUT", "/v1/data/third", b"x", **DURABLE).status, lambda status: status == 501, "nobody keeps files", site.said)
    refused(ask(site, "PUT", "/v1/data/third", b"x", **DURABLE), 501, "unsupported", "--data-durable")


CASES = (durable_data_outlives_executor_and_gateway, versions_beyond_the_limit_take_their_files_along,
         what_is_deleted_stays_deleted_though_its_executor_ends_before_its_file,
         a_removal_that_its_executor_does_not_confirm_says_so, data_that_is_larger_than_memory_now_waits_for_more,
         a_file_that_was_changed_or_cut_is_lost_and_said_so, a_full_disk_keeps_nothing_half_written, files_have_a_limit_and_a_home)


def main():
    wanted = sys.argv[2:]
    for case in CASES:
        if wanted and case.__name__ not in wanted:
            continue
        print(case.__name__, flush=True)
        with started() as there:
            case(there)


if __name__ == "__main__":
    main()
