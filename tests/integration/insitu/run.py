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
SIDE, STEPS, EVERY = 64, 400, 40
USUAL_LOOKS = 4  # under way, of a simulation that is told nothing
LOOK = re.compile(r"step (\d+): (\{.*\})\n")


def plates():
    """The simulated plate again: step and cells, after each step."""
    cells = [1.0 if x < SIDE // 4 and y < SIDE // 4 else 0.0 for y in range(SIDE) for x in range(SIDE)]
    for step in range(1, STEPS + 1):
        left = [one for row in range(0, SIDE * SIDE, SIDE) for one in (cells[row], *cells[row:row + SIDE - 1])]
        right = [one for row in range(0, SIDE * SIDE, SIDE) for one in (*cells[row + 1:row + SIDE], cells[row + SIDE - 1])]
        above, below = cells[:SIDE] + cells[:-SIDE], cells[SIDE:] + cells[-SIDE:]
        cells = [own + 0.2 * (w + e + n + s - 4 * own) for own, w, e, n, s in zip(cells, left, right, above, below)]
        yield step, cells


def report_of(cells):
    total = 0.0
    for one in cells:  # in this order, as the function does; sum() may do better
        total += one
    hottest = cells.index(max(cells))
    counts = [0] * 10
    for one in cells:
        counts[int(min(max(one * 10, 0), 9))] += 1
    return (f"heat {total:.9f}, {min(cells):.6f} to {max(cells):.6f}, hottest at ({hottest % SIDE}, {hottest // SIDE}); "
            f"cells {' '.join(map(str, counts))}")


def all_reports():
    return [(step, report_of(cells)) for step, cells in plates() if step % EVERY == 0]


class Simulation:
    """A batch job on n1."""

    def __init__(self, site, name, gateway, looks=""):
        self.site, self.folder = site, site.folder / name
        self.folder.mkdir()
        (self.folder / "job.sh").write_text(f"""#!/bin/bash
unset ORCHID_TOKEN XDG_STATE_HOME
export ORCHID_GATEWAY={gateway} HOME={site.folder} XDG_RUNTIME_DIR={self.folder}/none TMPDIR={self.folder}
{PROGRAMS}/insitu-heat {EXAMPLE}/insitu.yaml {SIDE} {STEPS} {EVERY} {looks} > {self.folder}/out 2> {self.folder}/err
echo $? > {self.folder}/status.new
mv {self.folder}/status.new {self.folder}/status
""")
        self.job = site.cluster.run("sbatch", "--parsable", "--partition=batch", "--nodelist=n1", "--ntasks=1", "--time=10",
                                    f"--output={self.folder}/slurm.log", str(self.folder / "job.sh"))

    def said(self):
        texts = [path.read_text()[-3000:] for path in (self.folder / "out", self.folder / "err", self.folder / "slurm.log") if path.exists()]
        return "\n".join([*texts, self.site.cluster.run("squeue", check=False)])

    def errors(self):
        path = self.folder / "err"
        return path.read_text() if path.exists() else ""

    def reports(self):
        """Step and report, in the order in which they were told, once the program has ended well."""
        wait_until((self.folder / "status").exists, "the simulation ends", self.said, seconds=120)
        expect((self.folder / "status").read_text() == "0\n", f"the simulation ends well\n{self.said()}")
        out = (self.folder / "out").read_text()
        reports = [(int(step), json.loads(text)["report"]) for step, text in LOOK.findall(out)]
        left_out = STEPS // EVERY - len(reports)
        expect(out.endswith(f"{len(reports)} looks, {left_out} left out\n"), f"each field was looked at or left out\n{self.said()}")
        return reports


def start_cores_that_look(site):
    """A pilot on n2, with memory for data beside what its workers need."""
    site.orchid("pilot", "start", "--address", site.address, "--time", "10m", "--scheduling", "normal", "--partition", "idle", "--cores", "2",
                "--memory", "3GiB", "--node-list", "n2")
    wait_until(lambda: site.executors(), "the pilot's executor comes", site.said)
    for source in (EXAMPLE / "insitu.cpp", HERE.parent / "flow" / "waits.cpp"):
        module = site.folder / (source.stem + ".orc")
        site.orchid("build", source, "-o", module)
        site.orchid("deploy", module)


def running(site):
    return {one["id"] for one in json.loads(site.orchid("status", "--json").stdout)["invocations"] if one["state"] == "running"}


def no_field_is_left(site, simulation):
    wait_until(lambda: not json.loads(site.orchid("data", "list", "--json").stdout)["data"], "no field is left", simulation.said)


def cores_of_a_pilot_look_at_all_fields(site):
    simulation = Simulation(site, "watched", f"http://{site.address}", looks=STEPS // EVERY)
    reports = simulation.reports()
    expect(reports == all_reports(), f"each field was looked at, in their order: {reports}\nand not {all_reports()}\n{simulation.said()}")
    no_field_is_left(site, simulation)


def what_nobody_has_room_for_is_left_out(site):
    """Both cores are busy until the simulation has made its last step."""
    holders = [site.orchid("invoke", "waits", "--async", "--args", "[600]").stdout.strip() for _ in range(2)]
    wait_until(lambda: running(site) == set(holders), "both cores are held", site.trouble)
    simulation = Simulation(site, "busy", f"http://{site.address}")
    last = f"step {STEPS} is not looked at: {USUAL_LOOKS} looks are under way\n"
    wait_until(lambda: last in simulation.errors(), "the simulation waits for nobody", simulation.said, seconds=120)
    for one in holders:
        site.orchid("cancel", one)
    reports = simulation.reports()
    expect(reports == all_reports()[:USUAL_LOOKS], f"the first fields, and no others: {reports}\n{simulation.said()}")
    left_out = [int(step) for step in re.findall(r"step (\d+) is not looked at", simulation.errors())]
    expect(left_out == list(range(EVERY * (USUAL_LOOKS + 1), STEPS + 1, EVERY)), f"each of the others is told: {left_out}")
    no_field_is_left(site, simulation)


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
    alone, looked_at = chosen([without_a_gateway_it_goes_on, without_workers_it_goes_on],
                              [cores_of_a_pilot_look_at_all_fields, what_nobody_has_room_for_is_left_out], wanted=sys.argv[3:])
    with started(*NODES) as cluster, orchid_beside(PROGRAMS, cluster) as site:
        for case in alone:
            measured(case, site)
        if looked_at:
            measured(start_cores_that_look, site)
        for case in looked_at:
            measured(case, site)


if __name__ == "__main__":
    main()
