#!/usr/bin/python3
"""run.py BUILD_DIRECTORY complete|interrupted: runs dev.d/demo to its end, or sends it Ctrl-C in the middle. Exit status 0: it
ended with the right status, and left no process and no file behind."""
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

OPTIONS_COUNT = 10_000  # few: the answers are compared all the same
END_DEADLINE_S = 240
GONE_DEADLINE_S = 5
INTERRUPTED_STATUS = 130
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """What the demo leaves running becomes a child of ours, whatever session or group it has moved to."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("prctl: " + os.strerror(ctypes.get_errno()))


def start(build, files):
    demo = pathlib.Path(__file__).resolve().parents[3] / "dev.d" / "demo"
    return subprocess.Popen(
        [demo, build, str(OPTIONS_COUNT)], env={**os.environ, "TMPDIR": files}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
        # Whoever started us in the background may have had it ignored, and a shell cannot take that back.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def interrupt_in_the_middle(demo):
    for line in demo.stdout:
        print(line, end="")
        if "Count words" in line:
            os.killpg(demo.pid, signal.SIGINT)  # as a terminal does
            return
    sys.exit("the demo ended before it counted words")


def living_children():
    """Whether any is left; reaps those that have ended."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                return True
        except ChildProcessError:
            return False


def family():
    return subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "pid,ppid,args"], capture_output=True, text=True).stdout


def check_nothing_is_left(files):
    deadline = time.monotonic() + GONE_DEADLINE_S
    while living_children():
        if time.monotonic() > deadline:
            sys.exit("the demo left these running:\n" + family())
        time.sleep(0.01)
    if left := os.listdir(files):
        sys.exit(f"the demo left in its temporary directory: {left}")


def main():
    build, way = sys.argv[1:]
    adopt_orphans()
    # Short: sockets lie in it.
    with tempfile.TemporaryDirectory(prefix="orchid-", dir="/tmp") as files:
        demo = start(build, files)
        if way == "interrupted":
            interrupt_in_the_middle(demo)
        output, _ = demo.communicate(timeout=END_DEADLINE_S)
        print(output)
        expected = INTERRUPTED_STATUS if way == "interrupted" else 0
        if demo.returncode != expected:
            sys.exit(f"the demo ended with {demo.returncode} instead of {expected}")
        check_nothing_is_left(files)


main()
