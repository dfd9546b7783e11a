#!/usr/bin/python3
"""run.py BUILD DRIVER [CASE...]: the folder that `./dev gpu-bundle` makes, and its run.sh with the fake driver in the folder DRIVER:
which rows there are, that nothing is left, and that what a driver can do wrong is seen. Not shown is that these rows can fail: MADE, LIMITS
and DESCRIPTORS, which another sandbox or machine would need, and KILLED and LOADED. How fast things are is not looked at."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_process import wait_for  # noqa: E402 (found only after the line above)
from processes import alive, expect, family, words_of  # noqa: E402
from slurm_cluster import chosen, measured  # noqa: E402

BUILD, DRIVER = (pathlib.Path(one).resolve() for one in sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parents[3]
RUN_DEADLINE_S = 240
BUNDLE_DEADLINE_S = 240
MOST_BYTES = 60 << 20
LEFT_WORD = 0x6F72636869642121  # check_kernels::left_word

START = "a device process starts confined, and runs its first kernel"
MADE = "device files that were not there before the driver's first call"
OPENED = "files that the driver opens, and may not in the sandbox"
LIMITS = "limits of the device process that do not hold"
DESCRIPTORS = "descriptors of the device process that are not listed"
STOPPED = "a call with a long launch is stopped, until that is answered"
KILLED = "a device process whose kernel never ends is killed, until reaped"
NEXT_LANE = "words of a tenant that the next lane of its process finds"
NEXT_PROCESS = "words of a tenant that a program after its process finds"
NEXT_START = "the next device process, until ready"
CONTEXT = "a device process's start, against a bare context"
LOADED = "modules of IDW and MD5, until loaded"
TO_DEVICE = "64 MiB from the call's slab, bandwidth against pinned memory"
TO_HOST = "64 MiB to the call's slab, the same"
PINNED = "bytes of these slabs that the card reaches by itself"
FIRST = "the first such copy of a call, which registers the slab"
LAUNCHED = "a launch of one item, longer than with the bare driver"
IDW = "IDW with its copies, time against the bare driver"
IDW_CALL = "the same as a whole call, with its memory"
MD5 = "MD5 search, time against the bare driver"
IDW_BITS = "IDW: the bits of Orchid, the bare driver and cores"
MD5_FOUND = "MD5: Orchid and cores find the string, and no other"
ON_CORES = ["IDW on the card, as fast as all cores", "MD5 on the card, as fast as all cores"]

REPORTED = {NEXT_START, CONTEXT, FIRST, IDW_CALL, *ON_CORES}
# A fake driver on a machine that does other things is as fast as it is.
OF_SPEED = {STOPPED, KILLED, TO_DEVICE, TO_HOST, LAUNCHED, IDW, MD5}
RIGHT = {START, MADE, OPENED, LIMITS, DESCRIPTORS, NEXT_LANE, NEXT_PROCESS, LOADED, PINNED, IDW_BITS, MD5_FOUND}


class Place:
    """A folder in which run.sh is started, and what the fake driver reads."""

    def __init__(self, bundle, folder, driver=True):
        self.bundle, self.folder, self.driver = bundle, folder, driver
        self.twins = bundle / "lib" / "cores-x86-64-v3.so"  # what the fake driver runs as kernels
        (folder / "orders").mkdir()
        (folder / "here").mkdir()
        (folder / "home").mkdir()

    def command(self, *options):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home")}
        if self.driver:
            environment.update(LD_LIBRARY_PATH=f"{DRIVER}:{self.folder / 'orders'}", CUDA_FAKE_ORDERS=str(self.folder / "orders" / "orders"),
                               CUDA_FAKE_TWINS=str(self.twins))
        return {"args": [self.bundle / "run.sh", *options], "env": environment, "cwd": self.folder / "here", "text": True,
                "stdin": subprocess.DEVNULL}

    def order(self, *orders):
        (self.folder / "orders" / "orders").write_text("".join(one + "\n" for one in orders))

    def run(self, *orders, options=()):
        """Exit status, what it printed, and its rows by name."""
        self.order(*orders)
        done = subprocess.run(**self.command(*options), capture_output=True, timeout=RUN_DEADLINE_S, check=False)
        file = self.folder / "here" / "gpu-bundle.json"
        rows = {row["check"]: row for row in json.loads(file.read_text())["checks"]} if file.exists() else {}
        for row in rows.values():
            expect(row["check"] in done.stdout, f"the table has '{row['check']}':\n{done.stdout}")
        if rows:
            expect(done.returncode == status_of(rows.values()), f"the status says it: {done.returncode}\n{done.stdout}")
        return done, rows


def status_of(rows):
    """The exit status that these rows ask for; some of them are met."""
    if any(row["verdict"] == "missed" for row in rows):
        return 1
    return 3 if any(row["verdict"] == "not available" and row["target"] != "none" for row in rows) else 0


def verdicts(rows, names):
    return {name: rows[name]["verdict"] for name in names}


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def it_is_small_and_whole(place):
    files = listing(place.bundle)
    size = sum(path.stat().st_size for path in place.bundle.rglob("*") if path.is_file())
    expect(size <= MOST_BYTES, f"it has {size} bytes")
    for wanted in ("run.sh", "needs", "bin/orchid-device", "bin/gpu-check", "bin/gpu-bare", "lib/cores-x86-64-v4.so", "ptx/sm_90/idw.ptx"):
        expect(wanted in files, f"{wanted} is there: {files}")
    expect(not [one for one in files if "libc.so" in one or "LLVM" in one], f"no glibc and no LLVM: {files}")
    again = subprocess.run([ROOT / "dev.d/gpu_bundle", BUILD, place.bundle], capture_output=True, text=True, timeout=60, check=False)
    expect(again.returncode == 1 and "is not empty" in again.stderr, f"a folder with files is left alone: {again.stderr}")
    expect(listing(place.bundle) == files, "it is as it was")


def half_of_one_is_never_there(place):
    """A build without one of the programs."""
    build = place.folder / "build"
    (build / "bin").mkdir(parents=True)
    (build / "bin" / "orchid-device").symlink_to(BUILD / "bin" / "orchid-device")
    before = listing(place.folder)
    made = subprocess.run([ROOT / "dev.d/gpu_bundle", build, place.folder / "half"], capture_output=True, text=True, timeout=60, check=False)
    expect(made.returncode != 0 and "gpu-check" in made.stderr, f"it says what is missing: {made.stdout}{made.stderr}")
    expect(listing(place.folder) == before, f"and leaves nothing: {listing(place.folder)}")


def with_a_good_driver_all_is_right(place):
    before = listing(place.bundle)
    done, rows = place.run()
    expect(set(rows) == REPORTED | OF_SPEED | RIGHT, f"these rows: {sorted(rows)}\n{done.stdout}{done.stderr}")
    expect(set(verdicts(rows, RIGHT).values()) == {"met"}, f"all is right:\n{done.stdout}{done.stderr}")
    expect(set(verdicts(rows, REPORTED).values()) == {"reported"}, f"these have no target:\n{done.stdout}")
    expect(set(verdicts(rows, OF_SPEED).values()) <= {"met", "missed"}, f"these have been measured:\n{done.stdout}")
    expect("Fake GPU (sm_80), driver for CUDA 12.4" in done.stdout, f"it names the card:\n{done.stdout}")
    expect(listing(place.bundle) == before, "nothing is left in the bundle")
    expect(listing(place.folder) == ["here", "here/gpu-bundle.json", "home", "orders", "orders/orders"], f"nor elsewhere: {listing(place.folder)}")


def a_bad_driver_is_seen(place):
    done, rows = place.run("open /etc/passwd", "no_fill", f"left_behind {LEFT_WORD}", "no_register", "slow turn_word 3000000")
    expect(done.returncode == 1, f"it is told: {done.returncode}\n{done.stdout}{done.stderr}")
    for name in (OPENED, NEXT_LANE, NEXT_PROCESS, PINNED, STOPPED):
        expect(rows[name]["verdict"] == "missed", f"'{name}' is missed:\n{done.stdout}")
    expect(not rows[NEXT_LANE]["figure"].startswith("0 "), f"words are found: {rows[NEXT_LANE]}")
    expect(rows[OPENED]["note"] == "/etc/passwd", f"which file it is: {rows[OPENED]}")
    for name in (START, LIMITS, DESCRIPTORS, IDW_BITS, MD5_FOUND):
        expect(rows[name]["verdict"] == "met", f"'{name}' is met all the same:\n{done.stdout}")


def give_wrong_code(place, *kernels):
    """The driver gets code for these kernels that does nothing."""
    wrong = place.folder / "orders" / "wrong.so"
    source = place.folder / "orders" / "wrong.c"
    source.write_text("".join(f"void orchid_kernel_{kernel}(const void* a, unsigned long b, unsigned long e) {{ (void)a; (void)b; (void)e; }}\n"
                              for kernel in kernels))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", wrong, source], check=True, timeout=60)
    place.twins = f"{wrong}:{place.twins}"


def wrong_results_are_seen(place):
    """The device process gets other code for its kernels than the checks' cores have."""
    give_wrong_code(place, "idw_grid", "md5_match")
    done, rows = place.run()
    expect(done.returncode == 1, f"it is told: {done.returncode}\n{done.stdout}{done.stderr}")
    expect("MD5 found something else" in rows[IDW]["note"] and rows[MD5_FOUND]["verdict"] == "missed", f"by the bare driver, too:\n{done.stdout}")


def wrong_values_are_seen(place):
    """The driver's kernel leaves the values of IDW as they are, for the device process and for the bare driver."""
    give_wrong_code(place, "idw_grid")
    # Slow, so that a small problem is long enough to be measured.
    done, rows = place.run("slow idw_grid 20000")
    expect(rows[IDW_BITS]["verdict"] == "missed" and rows[IDW_BITS]["figure"] == "different", f"they differ:\n{done.stdout}{done.stderr}")
    expect(rows[MD5_FOUND]["verdict"] == "met", f"the other is right:\n{done.stdout}")


def what_cannot_be_checked_is_told(place):
    """Without code for cores there is nothing to compare the card's results with."""
    copy = place.folder / "copy"
    shutil.copytree(place.bundle, copy)
    place.bundle, place.twins = copy, place.folder / "orders" / "twins.so"
    (copy / "lib" / "cores-x86-64-v3.so").rename(place.twins)
    (copy / "lib" / "cores-x86-64-v4.so").unlink()
    done, rows = place.run()
    expect(set(verdicts(rows, {IDW_BITS, MD5_FOUND, *ON_CORES}).values()) == {"not available"}, f"that is said:\n{done.stdout}{done.stderr}")
    expect("cores-" in rows[IDW_BITS]["note"], f"and why: {rows[IDW_BITS]}")
    expect(done.returncode != 0, f"the status is not that of success:\n{done.stdout}")


def a_kernel_that_fails_is_seen(place):
    done, rows = place.run("fail fill_words 700")
    expect(done.returncode == 1 and rows[NEXT_LANE]["verdict"] == "missed", f"it is told:\n{done.stdout}{done.stderr}")
    expect("700" in rows[NEXT_LANE]["note"], f"with the driver's words: {rows[NEXT_LANE]}")
    expect(rows[IDW_BITS]["verdict"] == "met", f"other checks go on:\n{done.stdout}")
    expect(set(rows) == REPORTED | OF_SPEED | RIGHT, f"no row is left out: {sorted(rows)}\n{done.stdout}")
    expect(rows[NEXT_PROCESS]["verdict"] == "not available", f"what depends on it says so: {rows[NEXT_PROCESS]}")


def a_driver_that_refuses_is_told(place):
    for order, words in (("refuse ptxas fatal : no such thing", "no such thing"), ("context 2", "CUDA_ERROR_OUT_OF_MEMORY")):
        done, rows = place.run(order)
        expect(done.returncode == 1 and rows[START]["verdict"] == "missed", f"'{order}' is told:\n{done.stdout}{done.stderr}")
        expect(words in rows[START]["note"], f"with the driver's words: {rows[START]}")


def without_a_card_nothing_is_possible(place):
    done, rows = place.run("devices 0")
    expect(done.returncode == 2 and rows == {}, f"there is no card: {done.returncode}\n{done.stdout}{done.stderr}")
    expect("there is nothing to check" in done.stderr and "nvidia-smi" in done.stderr, f"what to do: {done.stderr}")
    place.driver = False
    done, rows = place.run()
    expect(done.returncode == 2 and rows == {}, f"there is no driver: {done.returncode}\n{done.stdout}{done.stderr}")
    expect("there is no driver" in done.stderr, f"that is said: {done.stderr}")


def another_machine_is_told_what_is_needed(place):
    copy = place.folder / "copy"
    shutil.copytree(place.bundle, copy)
    place.bundle = copy
    needs = dict(line.split(" ") for line in (copy / "needs").read_text().splitlines())
    expect(set(needs) == {"glibc", "glibc-of-gcc", "libstdc++"}, f"it says what it needs: {needs}")

    def run_where(**other):
        (copy / "needs").write_text("".join(f"{name} {value}\n" for name, value in {**needs, **other}.items()))
        done, _ = place.run("devices 0")
        expect(done.returncode == 2, f"nothing can be checked: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stderr
    said = run_where(glibc="99.1")
    expect("99.1 or newer is needed" in said, f"a newer glibc: {said}")
    said = run_where(**{"glibc-of-gcc": "99.1"})
    expect("there is nothing to check" in said, f"with the machine's own libstdc++ it runs: {said}")
    said = run_where(**{"glibc-of-gcc": "99.1", "libstdc++": "GLIBCXX_9.9.9"})
    expect("must have GLIBCXX_9.9.9" in said, f"which may be too old: {said}")
    done, _ = place.run(options=["--gpus"])
    expect(done.returncode == 2 and "there is no option '--gpus'" in done.stderr, f"an unknown option: {done.stderr}")
    done, _ = place.run(options=["--help"])
    expect(done.returncode == 0 and "Exit status" in done.stdout, f"its help: {done.stdout}")


def whoever_ends_it_ends_all_of_it(place):
    place.order("hang fill_words")
    with subprocess.Popen(**place.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        def devices():
            return [pid for pid in family(process.pid) if words_of(pid)[0].endswith("/orchid-device") and "--serve" in words_of(pid)]
        wait_for(devices, bool, "a device process is there", lambda: "")
        everybody = family(process.pid)
        process.send_signal(signal.SIGTERM)
        process.wait(20)
    wait_for(lambda: [words_of(pid) for pid in everybody if alive(pid)], lambda left: not left, "all have ended", lambda: "")
    expect(listing(place.folder / "here") == [], "nothing is left of it")


@contextlib.contextmanager
def bundle_of_this_build(folder):
    made = subprocess.run([ROOT / "dev.d/gpu_bundle", BUILD, folder / "bundle"], capture_output=True, text=True, timeout=BUNDLE_DEADLINE_S,
                          check=False)
    expect(made.returncode == 0, f"it is made: {made.stdout}{made.stderr}")
    yield folder / "bundle"


def main():
    cases = [it_is_small_and_whole, half_of_one_is_never_there, with_a_good_driver_all_is_right, a_bad_driver_is_seen, wrong_results_are_seen,
             wrong_values_are_seen, what_cannot_be_checked_is_told, a_kernel_that_fails_is_seen, a_driver_that_refuses_is_told, without_a_card_nothing_is_possible,
             another_machine_is_told_what_is_needed, whoever_ends_it_ends_all_of_it]
    (cases,) = chosen(cases, wanted=sys.argv[3:])
    with tempfile.TemporaryDirectory(prefix="orchid-", dir="/tmp") as scratch, bundle_of_this_build(pathlib.Path(scratch)) as bundle:
        for number, case in enumerate(cases):
            folder = pathlib.Path(scratch) / str(number)
            folder.mkdir()
            measured(case, Place(bundle, folder))


if __name__ == "__main__":
    main()
