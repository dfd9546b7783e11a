#!/usr/bin/python3
"""run.py PROGRAMS SOURCES [PTXAS]: the ready functions with kernels, as their READMEs say: `orchid build` makes images for cores and
for GPUs, PTX of the latter is what ptxas accepts for three generations of cards, and calls give the expected bits."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_process import COMMAND_TIMEOUT_S, gateway, wait_for  # noqa: E402 (found only after the line above)

PROGRAMS, SOURCES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
PTXAS = sys.argv[3] if len(sys.argv) > 3 else None
CARDS = ("sm_75", "sm_80", "sm_90")
# The function and its kernel.
EXAMPLES = {"idw": "idw_grid", "md5search": "md5_match", "montecarlo": "random_distances"}
# Several calls: the first ones run quickly made code, later ones the best.
CALLS = 20


def orchid(*words):
    done = subprocess.run([PROGRAMS / "orchid", *words], capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False)
    if done.returncode != 0:
        sys.exit(f"orchid {' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def expect_equal(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} and not {wanted!r}")


def has_both_images(module, kernel):
    manifest = json.loads(orchid("inspect", module, "--json"))
    expect_equal("targets", {target["arch"] for target in manifest["targets"]}, {os.uname().machine, "nvptx64"})
    expect_equal("kernels", [one["name"] for one in manifest["kernels"]], [kernel])


def is_assembled(module, kernel, folder):
    for card in CARDS:
        text = orchid("inspect", module, "--ptx", card)
        for part in (f".target {card}", f".entry orchid_kernel_{kernel}("):
            if part not in text:
                sys.exit(f"PTX of {module.name} for {card} has no '{part}'")
        ptx = folder / "kernel.ptx"
        ptx.write_text(text)
        if PTXAS is None:
            print(f"{module.name}, {card}: skipped, there is no ptxas")
            continue
        done = subprocess.run([PTXAS, f"-arch={card}", "-o", "/dev/null", ptx], capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S,
                              check=False)
        expect_equal(f"ptxas for {card} says of {module.name}", (done.returncode, done.stderr), (0, ""))


def gives_the_expected_bits(site, name):
    folder = SOURCES / "functions" / name
    wanted = json.loads((folder / "expected.json").read_text())
    arguments = (folder / "input.json").read_text()
    for _ in range(CALLS):
        expect_equal(name, json.loads(site.orchid("invoke", name, "--args", arguments).stdout), wanted)


with tempfile.TemporaryDirectory(prefix="orchid-", dir="/tmp") as scratch:
    scratch = pathlib.Path(scratch)
    for name, kernel in EXAMPLES.items():
        orchid("build", SOURCES / "functions" / name / f"{name}.cpp", "-o", scratch / f"{name}.orc")
        has_both_images(scratch / f"{name}.orc", kernel)
        is_assembled(scratch / f"{name}.orc", kernel, scratch)
    print("built and assembled", flush=True)
    with gateway(PROGRAMS, {**os.environ}) as site:
        site.add_executor("kernels")
        wait_for(lambda: [one["state"] for host in site.document("hosts")["hosts"] for one in host["executors"]], bool,
                 "an executor is there", site.said)
        for name in EXAMPLES:
            site.orchid("deploy", scratch / f"{name}.orc")
            gives_the_expected_bits(site, name)
print("all examples were built, assembled and called")
