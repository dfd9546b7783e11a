#!/usr/bin/python3
"""run.py BUILD_DIRECTORY WORK_DIRECTORY [COMPILER_FLAGS] [--quick]: installs Orchid, builds this folder's project against the installed
tree, and runs it with the installed programs; with --quick the first programs in C and C++ only, over shared memory. Exit status
0: all of it worked."""
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

READY_DEADLINE_S = 60
STEP_DEADLINE_S = 240


def step(words, **options):
    print("+", *words, flush=True)
    subprocess.run([str(word) for word in words], check=True, timeout=STEP_DEADLINE_S, **options)


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r} instead of {expected!r}")


class OnAnotherHost:
    """The installed gateway, and an executor that says of itself to be elsewhere: whoever calls its workers does so over UCX. They last as
    long as the block."""

    def __init__(self, programs, state, runtime):
        self.program = programs / "orchid"
        self.programs, self.state, self.runtime = programs, state, runtime
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": runtime}
        self.running = []

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *failure):
        self.stop()

    def start(self):
        readable, writable = os.pipe()
        self.running.append(subprocess.Popen([self.programs / "orchid-gateway", "--state", self.state, "--socket", f"{self.runtime}/gateway.sock",
                                              "--listen", "127.0.0.1:0", "--ready-fd", str(writable)], pass_fds=[writable]))
        os.close(writable)
        with open(readable) as ready:
            url = json.loads(ready.readline())["urls"][0]
        token = next(self.state.rglob("token"))
        self.environment |= {"ORCHID_GATEWAY": url, "ORCHID_TOKEN": token.read_text().strip()}
        self.running.append(subprocess.Popen([self.programs / "orchid-executor", "--gateway", url.removeprefix("http://"), "--token-file", token,
                                              "--runtime", f"{self.runtime}/run", "--state", self.state.parent / "executor", "--host-id", "elsewhere",
                                              "--lane-listen", "127.0.0.1:0"]))
        step([self.program, "doctor", "--wait", f"{READY_DEADLINE_S}s"], env=self.environment, stdout=subprocess.DEVNULL)

    def stop(self):
        for program in reversed(self.running):
            program.terminate()
            program.wait(STEP_DEADLINE_S)


class Orchid:
    """The installed programs, and an `orchid up` that lasts as long as the block."""

    def __init__(self, programs, state, runtime):
        self.program = programs / "orchid"
        self.state = state
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": runtime}
        for name in ("ORCHID_GATEWAY", "ORCHID_TOKEN"):
            self.environment.pop(name, None)

    def __enter__(self):
        self.up = subprocess.Popen([self.program, "up", "--state", self.state, "--json"], env=self.environment, stdout=subprocess.PIPE,
                                   text=True)
        try:
            self.wait_until_ready()
        except BaseException:
            self.up.kill()
            raise
        return self

    def wait_until_ready(self):
        told = self.up.stdout.readline()
        if not told:
            sys.exit(f"orchid up ended with {self.up.wait()}")
        expect("the state folder", json.loads(told)["state"], str(self.state))
        expect("the doctor", self.document("doctor", "--wait", f"{READY_DEADLINE_S}s")["healthy"], True)

    def __exit__(self, *failure):
        self.up.terminate()
        rest, _ = self.up.communicate(timeout=STEP_DEADLINE_S)
        if failure == (None, None, None):
            expect("more lines of orchid up --json", rest, "")
            expect("orchid up", self.up.returncode, 0)

    def document(self, *words):
        """What `orchid WORDS --json` prints."""
        command = [str(word) for word in (self.program, words[0], "--json", *words[1:])]
        print("+", *command, flush=True)
        answer = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, text=True, timeout=STEP_DEADLINE_S)
        print(answer.stdout, end="", flush=True)
        expect(words[0], answer.returncode, 0)
        return json.loads(answer.stdout)


def check_two_sources(orchid, source, work):
    """Two languages, two targets and flags of the user's: one module."""
    module, numbers = work / "arithmetic.orc", work / "numbers"
    # Another architecture's C library is not at hand.
    built = orchid.document("build", source / "product.cpp", source / "sum.c", "--target", "x86-64", "--target", "aarch64", "-o", module,
                            "--", "-DVALUE=3", "-ffreestanding")
    inspected = orchid.document("inspect", module)
    expect("what build said", built, inspected)
    deployed = orchid.document("deploy", module)
    for manifest in (inspected, deployed):
        expect("the entries", [entry["name"] for entry in manifest["entries"]], ["product", "sum"])
        expect("the images", [target["triple"] for target in manifest["targets"]], ["x86_64-linux-gnu", "aarch64-linux-gnu"])
    numbers.write_bytes(bytes([1, 2, 7]))
    for entry, expected in (("product", [3, 6, 21]), ("sum", [4, 5, 10])):
        answer = orchid.document("invoke", f"arithmetic.{entry}", "--in", numbers)
        expect(entry, [ord(char) for char in answer["output"]], expected)


def check_guide(source, page, program):
    guide = (source.parents[2] / "docs/guide" / page).read_text()
    for name in program:
        expect(f"{name} in {page}", (source / name).read_text() in guide, True)


def check_blackscholes(build, source, work, environment):
    """The example prices what lies beside it as that was priced when it was written."""
    folder = source.parents[2] / "functions/blackscholes"
    step([build / "blackscholes-offload", folder / "input.bin", work / "prices.bin", "50"], env=environment)

    def prices(file):
        content = file.read_bytes()
        return struct.unpack(f"<{(len(content) - 8) // 8}d", content[8:])

    found, expected = prices(work / "prices.bin"), prices(folder / "expected.bin")
    expect("the number of prices", len(found), len(expected))
    for price, right in zip(found, expected):
        expect("a price is right", math.isclose(price, right, rel_tol=1e-12), True)


def run_first_programs(orchid, work, lane):
    step([work / "build" / "consumer", work / "scale.orc"], env=orchid.environment)
    step([work / "build" / "from_c", work / "letters.orc", lane], env=orchid.environment)


def run_programs(orchid, source, work, lane):
    run_first_programs(orchid, work, lane)
    step([work / "build" / "embedded"], env=orchid.environment)
    step([work / "build" / "offload"], env=orchid.environment)
    check_blackscholes(work / "build", source, work, orchid.environment)


def check_ucx_is_hidden(prefix):
    """Lanes to other hosts load UCX when they are needed: a user's compiler, linker and CMake never hear of it."""
    archives = [*prefix.rglob("*.a"), *prefix.rglob("*.so")]
    expect("archives are installed", bool(archives), True)
    symbols = subprocess.run(["nm", "--extern-only", "--format=posix", *archives], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, timeout=STEP_DEADLINE_S).stdout
    expect("UCX's symbols in them", [line for line in symbols.splitlines() if line.startswith(("ucp_", "ucs_", "uct_", "ucm_"))], [])
    texts = {suffix: list(prefix.rglob(f"*.{suffix}")) for suffix in ("h", "cmake")}
    expect("headers and a package are installed", all(texts.values()), True)
    expect("headers that include UCX's", [text for text in texts["h"] if re.search(r"<uc[pstm]/", text.read_text())], [])
    expect("CMake files that look for UCX", [text for text in texts["cmake"] if re.search(r"(?i)\bucx\b|libuc[pstm]", text.read_text())], [])


def check_unmarked(build):
    """A function without its mark: the compiler says what to do."""
    failed = subprocess.run(["cmake", "--build", build, "--target", "unmarked"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=STEP_DEADLINE_S)
    expect("compiling an unmarked function succeeds", failed.returncode == 0, False)
    expect("the compiler's advice", "write ORCHID_DECLARE_FUNCTION(name) after its declaration" in failed.stdout, True)


def install(build, work, flags, source):
    """The prefix; the project is configured in WORK/build."""
    shutil.rmtree(work, ignore_errors=True)
    prefix = work / "installed"
    step(["cmake", "--install", build, "--prefix", prefix], stdout=subprocess.DEVNULL)
    step(["cmake", "-S", source, "-B", work / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_COMPILER=g++",
          f"-DCMAKE_CXX_FLAGS={flags}"], stdout=subprocess.DEVNULL)
    return prefix


@contextlib.contextmanager
def own_orchid(prefix, source, work):
    """An Orchid of the installed programs, and the first programs' modules."""
    # A socket's path must be short, and a build directory's may be long.
    with tempfile.TemporaryDirectory(prefix="orchid-consumer-") as runtime, Orchid(prefix / "bin", work / "state", runtime) as orchid:
        step([orchid.program, "build", source / "scale.cpp", "-o", work / "scale.orc"])
        step([orchid.program, "build", source / "letters.c", "-o", work / "letters.orc"])
        yield orchid


def quick(prefix, source, work):
    step(["cmake", "--build", work / "build", "--target", "consumer", "from_c"])
    check_ucx_is_hidden(prefix)
    with own_orchid(prefix, source, work) as orchid:
        run_first_programs(orchid, work, "local")


def everything(prefix, source, work):
    step(["cmake", "--build", work / "build"])
    check_guide(source, "calling-directly.md", ["direct.cpp"])
    check_guide(source, "offloading.md", ["roots.h", "roots.cpp", "offload.cpp"])
    check_unmarked(work / "build")
    check_ucx_is_hidden(prefix)
    # Nothing is there yet: all of it is computed locally.
    nowhere = {**os.environ, "XDG_RUNTIME_DIR": str(work), "ORCHID_GATEWAY": "unix:/nowhere/gateway.sock"}
    step([work / "build" / "offload"], env=nowhere)
    check_blackscholes(work / "build", source, work, nowhere)

    with own_orchid(prefix, source, work) as orchid:
        run_programs(orchid, source, work, "local")
        check_two_sources(orchid, source, work)
    with tempfile.TemporaryDirectory(prefix="orchid-consumer-") as runtime:
        with OnAnotherHost(prefix / "bin", work / "apart", runtime) as orchid:
            run_programs(orchid, source, work, "ucx")


def main():
    words = [word for word in sys.argv[1:] if word != "--quick"]
    build, work, flags = pathlib.Path(words[0]), pathlib.Path(words[1]), " ".join(words[2:])
    source = pathlib.Path(__file__).resolve().parent
    prefix = install(build, work, flags, source)
    (quick if "--quick" in sys.argv else everything)(prefix, source, work)


main()
