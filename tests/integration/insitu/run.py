#!/usr/bin/python3
"""run.py PROGRAMS EXAMPLE [CASE...]: a simulation in a batch job whose fields a flow looks at on the cores of a pilot, beside real
daemons; with a pilot, without one, and without a gateway. Exit status 0: all is as it should be; 77: there is no Slurm here."""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "fixtures"))
import slurm_cluster  # noqa: E402 (found only after the line above)
from slurm_cluster import chosen, measured, started, wait_until  # noqa: E402
from processes import expect  # noqa: E402
from site_of_pilots import orchid_beside  # noqa: E402

PROGRAMS, EXAMPLE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
NODES = ("--nodes", "2", "--cores", "2")
SIDE, STEPS, EVERY = 256, 400, 40
LOOK = re.compile(r"step (\d+): (\{.*\})\n")
REPORT = re.compile(r"heat (\S+), (\S+) to (\S+), hottest at \((\d+), (\d+)\); cells ([\d ]+)")


class Simulation:
    """A batch job on n1."""

    def __init__(self, site, name, gateway):
        self.site, self.folder = site, site.folder / name
        self.folder.mkdir()
        (self.folder / "job.sh").write_text(f"""#!/bin/bash
unset ORCHID_TOKEN XDG_STATE_HOME
export ORCHID_GATEWAY={gateway} HOME={site.folder} XDG_RUNTIME_DIR={self.folder}/none TMPDIR={self.folder}
{PROGRAMS}/insitu-heat {EXAMPLE}/insitu.yaml {SIDE} {STEPS} {EVERY} > {self.folder}/out 2> {self.folder}/err
echo $? > {self.folder}/status.new
mv {self.folder}/status.new {self.folder}/status
""")
        self.job = site.cluster.run("sbatch", "--parsable", "--partition=batch", "--nodelist=n1", "--ntasks=1", "--time=10",
                                    f"--output={self.folder}/slurm.log", str(self.folder / "job.sh"))

    def said(self):
        texts = [path.read_text()[-3000:] for path in (self.folder / "out", self.folder / "err", self.folder / "slurm.log") if path.exists()]
        return "\n".join([*texts, self.site.cluster.run("squeue", check=False)])

    def reports(self):
        """By step, once the program has ended well."""
        wait_until((self.folder / "status").exists, "the simulation ends", self.said, seconds=120)
        expect((self.folder / "status").read_text() == "0\n", f"the simulation ends well\n{self.said()}")
        out = (self.folder / "out").read_text()
        reports = {int(step): json.loads(text)["report"] for step, text in LOOK.findall(out)}
        left_out = STEPS // EVERY - len(reports)
        expect(out.endswith(f"{len(reports)} looks, {left_out} left out\n"), f"each field was looked at or left out\n{self.said()}")
        return reports


def cores_of_a_pilot_look_at_the_fields(site):
    # With memory for data, beside what its workers need.
    site.orchid("pilot", "start", "--address", site.address, "--time", "10m", "--scheduling", "normal", "--partition", "idle", "--cores", "2",
                "--memory", "3GiB", "--node-list", "n2")
    wait_until(lambda: site.executors(), "the pilot's executor comes", site.said)
    module = site.folder / "insitu.orc"
    site.orchid("build", EXAMPLE / "insitu.cpp", "-o", module)
    site.orchid("deploy", module)
    simulation = Simulation(site, "watched", f"http://{site.address}")
    reports = simulation.reports()
    expect(EVERY in reports, f"the first field was looked at\n{simulation.said()}")
    for step, text in reports.items():
        heat, least, greatest, column, row, cells = REPORT.fullmatch(text).groups()
        # A quarter of each side was hot, no heat leaves the plate, and it never gets hotter than it was.
        expect(abs(float(heat) - (SIDE // 4) ** 2) < 1e-3, f"the heat after {step} steps: {text}")
        expect(0 <= float(least) < float(greatest) <= 1, f"the range after {step} steps: {text}")
        expect((column, row) == ("0", "0"), f"the hot corner after {step} steps: {text}")
        expect(sum(map(int, cells.split())) == SIDE * SIDE, f"the cells after {step} steps: {text}")
    wait_until(lambda: not json.loads(site.orchid("data", "list", "--json").stdout)["data"], "no field is left", simulation.said)
    site.orchid("pilot", "stop", "--all")


def without_workers_it_goes_on(site):
    simulation = Simulation(site, "alone", f"http://{site.address}")
    expect(not simulation.reports(), "nobody has looked at anything")
    expect("is not looked at: " in (simulation.folder / "err").read_text(), f"it says so\n{simulation.said()}")


def without_a_gateway_it_goes_on(site):
    simulation = Simulation(site, "nowhere", "http://127.0.0.1:1")
    expect(not simulation.reports(), "nobody has looked at anything")
    expect("is not looked at: " in (simulation.folder / "err").read_text(), f"it says so\n{simulation.said()}")


def main():
    slurm_cluster.skip_without_slurm()
    cases, = chosen([without_a_gateway_it_goes_on, without_workers_it_goes_on, cores_of_a_pilot_look_at_the_fields], wanted=sys.argv[3:])
    with started(*NODES) as cluster, orchid_beside(PROGRAMS, cluster) as site:
        for case in cases:
            measured(case, site)


if __name__ == "__main__":
    main()
