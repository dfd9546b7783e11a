#!/usr/bin/python3
"""run.py BUILD_DIRECTORY WORK_DIRECTORY COMPILER_FLAGS: installs Orchid, builds this folder's project against the installed
tree, and runs it against the installed programs. Exit status 0: all of it worked."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

READY_DEADLINE_S = 60
STEP_DEADLINE_S = 240


def step(words, **options):
    print("+", *words, flush=True)
    subprocess.run([str(word) for word in words], check=True, timeout=STEP_DEADLINE_S, **options)


def wait_until_ready(programs, environment, up):
    deadline = time.monotonic() + READY_DEADLINE_S
    while True:
        doctor = subprocess.run([programs / "orchid", "doctor"], env=environment, capture_output=True, text=True, timeout=STEP_DEADLINE_S)
        if doctor.returncode == 0:
            return
        if up.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"Orchid did not become ready:\n{doctor.stdout}{doctor.stderr}")


def main():
    build, work, flags = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    source = pathlib.Path(__file__).resolve().parent
    shutil.rmtree(work, ignore_errors=True)
    prefix = work / "installed"
    step(["cmake", "--install", build, "--prefix", prefix], stdout=subprocess.DEVNULL)
    step(["cmake", "-S", source, "-B", work / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_COMPILER=g++",
          f"-DCMAKE_CXX_FLAGS={flags}"], stdout=subprocess.DEVNULL)
    step(["cmake", "--build", work / "build"])

    programs = prefix / "bin"
    # A socket's path must be short, and a build directory's may be long.
    with tempfile.TemporaryDirectory(prefix="orchid-consumer-") as runtime:
        environment = {**os.environ, "XDG_RUNTIME_DIR": runtime}
        for name in ("ORCHID_GATEWAY", "ORCHID_TOKEN"):
            environment.pop(name, None)
        up = subprocess.Popen([programs / "orchid", "up", "--state", work / "state"], env=environment)
        try:
            wait_until_ready(programs, environment, up)
            step([programs / "orchid", "build", source / "scale.cpp", "-o", work / "scale.orc"], env=environment)
            step([work / "build" / "consumer", work / "scale.orc"], env=environment)
        finally:
            up.terminate()
            up.wait(timeout=STEP_DEADLINE_S)
        if up.returncode != 0:
            sys.exit(f"orchid up ended with {up.returncode}")


main()
