#!/usr/bin/python3
"""run.py BUILD_DIRECTORY MPIRUN: an Orchid whose executor takes clients of other hosts, and programs that use MPI and leases at once.
Exit status 0: all of it worked; 77: Open MPI has no UCX here."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

READY_DEADLINE_S = 30
STEP_DEADLINE_S = 60
SKIPPED = 77


def step(words, environment):
    print("+", *words, flush=True)
    subprocess.run([str(word) for word in words], check=True, timeout=STEP_DEADLINE_S, env=environment)


def wait_for(what, condition):
    deadline = time.monotonic() + READY_DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what} was not ready in time")
        time.sleep(0.05)


def run_programs(build, mpirun, programs, environment):
    echo = build / "functions" / "echo.bc"
    wait_for("the executor", lambda: subprocess.run([programs / "orchid", "doctor", "--wait", "5s"], env=environment,
                                                    stdout=subprocess.DEVNULL, timeout=STEP_DEADLINE_S).returncode == 0)
    step([programs / "orchid", "deploy", echo, "--name", "echo"], environment)
    step([programs / "first_remote_lease"], environment)
    for program in ("mpi_and_leases", "leases_before_mpi"):
        step([mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "2", "--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca",
              "pml_ucx_devices", "any", "--mca", "osc", "^ucx", "-x", "UCX_TLS=tcp,self", programs / program], environment)


def main():
    build, mpirun = pathlib.Path(sys.argv[1]), sys.argv[2]
    programs = build / "bin"
    if "pml: ucx" not in subprocess.run(["ompi_info"], stdout=subprocess.PIPE, text=True, timeout=STEP_DEADLINE_S).stdout:
        print("skipped: this Open MPI knows no UCX")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="orchid-mpi-") as place:
        state, run = pathlib.Path(place) / "state", pathlib.Path(place) / "run"
        read_end, write_end = os.pipe()
        children = [subprocess.Popen([programs / "orchid-gateway", "--state", state, "--ready-fd", str(write_end)], pass_fds=[write_end])]
        try:
            os.close(write_end)
            ready = json.loads(os.fdopen(read_end).readline())
            children.append(subprocess.Popen([programs / "orchid-executor", "--gateway", f"unix:{ready['socket']}", "--runtime", run,
                                              "--state", pathlib.Path(place) / "code", "--lane-listen", "127.0.0.1:0"]))
            environment = {**os.environ, "ORCHID_GATEWAY": ready["urls"][0],
                           "ORCHID_TOKEN": pathlib.Path(ready["token_file"]).read_text().strip()}
            run_programs(build, mpirun, programs, environment)
        finally:
            for child in children:
                child.kill()
                child.wait()


main()
