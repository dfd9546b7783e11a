#!/usr/bin/python3
"""run.py UTILISATION: the simulation replays a trace that somebody has, and says what is wrong with one. Exit status 0: all is as it
should be."""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from processes import expect  # noqa: E402 (found only after the line above)

PROGRAM = sys.argv[1]
TOO_LARGE, NEVER_RAN = 3, 2


def trace(folder, head):
    """Two days of jobs for 64 cores, in the standard workload format."""
    chance = random.Random(7)
    lines, now = [head], 0
    for job in range(1, 401):
        now += chance.randrange(0, 900)
        cores, runtime = chance.choice((1, 2, 4, 16, 32)), chance.randrange(30, 7200)
        lines.append(f"{job} {now} 0 {runtime} {cores} -1 -1 {cores} {runtime * 2} -1 1 1 1 -1 1 -1 -1 -1")
    for job in range(TOO_LARGE):
        lines.append(f"{1000 + job} {now} 0 60 65 -1 -1 65 600 -1 1 1 1 -1 1 -1 -1 -1")
    for job in range(NEVER_RAN):
        lines.append(f"{2000 + job} {now} -1 -1 -1 -1 -1 4 600 -1 5 1 1 -1 1 -1 -1 -1")
    path = folder / "trace.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=200, check=False)


def numbers(done):
    return [line for line in done.stdout.split("\n") if line.startswith("trace: ")]


def main():
    with tempfile.TemporaryDirectory(prefix="orchid-test-") as name:
        folder = pathlib.Path(name)
        sized, out = trace(folder, "; MaxNodes: 4\n; MaxProcs: 64"), folder / "rows.json"
        done = run("--trace", sized, "--json", out)
        expect(done.returncode in (0, 1), f"it is replayed: {done.returncode} {done.stderr}")
        expect(f"{NEVER_RAN} that never ran and {TOO_LARGE} larger than the cluster are left out" in done.stdout, done.stdout)
        rows = {row["row"]: row for row in json.loads(out.read_text())}
        recovered = rows["trace: idle core time recovered"]
        expect(0 < recovered["p50"] <= recovered["baseline"]["p50"] <= 100, f"less than the oracle, and something: {recovered}")
        again = run("--trace", trace(folder, "; Note: no size"), "--nodes", "4", "--cores-per-node", "16")
        expect(numbers(again) == numbers(done), "the same, when the size comes from the command line")
        unsized = run("--trace", sized)
        expect(unsized.returncode not in (0, 1) and "--nodes, --cores-per-node" in unsized.stderr, f"without a size: {unsized.stderr}")
        sized.write_text("1 0 0 x 4\n")
        damaged = run("--trace", sized, "--nodes", "4", "--cores-per-node", "16")
        expect(damaged.returncode == 3 and "line 1" in damaged.stderr, f"what is no trace: {damaged.returncode} {damaged.stderr}")
        missing = run("--trace", folder / "nothing")
        expect(missing.returncode == 3 and "nothing" in missing.stderr, f"no file: {missing.returncode} {missing.stderr}")


if __name__ == "__main__":
    main()
