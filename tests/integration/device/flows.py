#!/usr/bin/python3
"""flows.py PROGRAMS DRIVER FUNCTIONS [CASE...]: flows whose calls run on a GPU and on cores at once, and step functions in batches on a GPU. Its
driver is the fake one in the folder DRIVER: it runs kernels' twins for cores, so their results are real, and their speed is not a GPU's."""
import collections
import functools
import hashlib
import json
import math
import pathlib
import string
import sys

from gpu_site import HERE, counted, shown, site_with_gpu
import flow_files
from gateway_process import wait_for
from processes import expect
from slurm_cluster import chosen, measured

FUNCTIONS = pathlib.Path(sys.argv[3]).resolve()
ON_EITHER = ("--needs", "1 gpu | 1 core")
WATCHDOG_MS = 200


def inputs(**values):
    return [word for name, value in values.items() for word in ("--input", f"{name}={value if isinstance(value, str) else json.dumps(value)}")]


def run(site, file, given):
    """The outputs of a flow in the foreground."""
    return json.loads(site.orchid("flow", "run", file, *given, "--json").stdout)["outputs"]


class Devices:
    """Where the calls of an entry have run from now on, by what each of them was told; and launches on the GPU, as its process counts them."""

    def __init__(self, site, entry):
        self.site, self.entry = site, entry
        self.before, self.launches_before = self.calls(), counted(site, "gpu_launches")

    def calls(self):
        return collections.Counter(call.get("device") for call in self.site.invocations() if call["entry"] == self.entry)

    def used(self):
        return self.calls() - self.before

    def launches_are(self, count):
        wait_for(lambda: counted(self.site, "gpu_launches") - self.launches_before, lambda launches: launches == count,
                 f"{count} launches on the GPU, and no others", self.site.said)


class FlowOnBoth:
    """A flow whose pieces run on a GPU as well as on a core."""

    def __init__(self, site):
        self.site = site
        site.deploy(HERE / "both.cpp", "both", *ON_EITHER)
        self.items, self.pieces = 400_000, 60
        self.file = flow_files.flow(site, "both", "flow: both\noptimise: [device, prefetch]\ninputs: {items: span<u64>}\nnodes:\n"
                             "  work: {kind: map, each: both.where}\nedges: [{from: items, to: work}]\noutputs: {where: work}\n")
        self.given = inputs(items=[self.items] * self.pieces)

    def is_divided(self, where, why):
        expect([one // 2 for one in where] == [self.items] * self.pieces, f"each piece is done once: {where}")
        expect({one % 2 for one in where} == {0, 1}, f"on a GPU and on cores: {where}, {why}\n{self.site.said()}")
        for part in ("device: GPUs: ", "; cores: "):
            expect(part in why, f"what was decided is told: {why}")


def a_flow_uses_a_gpu_and_cores_at_once(site):
    flow = FlowOnBoth(site)
    planned = site.orchid("flow", "plan", flow.file, *flow.given).stdout
    expect("optimised by device: functions that run on a GPU and on cores" in planned, f"the plan tells it: {planned}")
    expect("on a GPU or 1 core, by trial" in planned, f"and of which node it may choose: {planned}")
    done = json.loads(site.orchid("flow", "run", flow.file, *flow.given, "--json").stdout)
    flow.is_divided(done["outputs"]["where"], done["nodes"][0].get("why", ""))
    only_cores = flow_files.flow(site, "cores", flow.file.read_text().replace("each: both.where", "each: both.where, constraints: {device: cores}"))
    expect({one % 2 for one in run(site, only_cores, flow.given)["where"]} == {0}, "a node that is to run on cores does")


def a_submitted_flow_uses_a_gpu_and_cores_at_once(site):
    flow = FlowOnBoth(site)
    flow_id = site.orchid("flow", "submit", flow.file, *flow.given).stdout.strip()
    site.orchid("flow", "watch", flow_id)
    why = site.orchid("explain", flow_id, "work").stdout
    flow.is_divided(json.loads(site.orchid("flow", "result", flow_id).stdout), why)


class Example:
    """A flow of functions/ that came to GPUs as its README says: `--needs "1 gpu | 1 core"`, and `optimise: [device]` in the flow."""

    def __init__(self, site, source, name, node, entry):
        self.site, self.node, self.entry = site, node, entry
        text = (FUNCTIONS / source).read_text()
        self.file = flow_files.flow(site, name, text.replace(f"flow: {name}\n", f"flow: {name}\noptimise: [device]\n"))
        self.on_cores = flow_files.flow(site, f"{name}-on-cores", text.replace("    kind: map\n", "    kind: map\n    constraints: {device: cores}\n"))

    def planned(self, given):
        plan = self.site.orchid("flow", "plan", self.file, *given).stdout
        expect("optimised by device: functions that run on a GPU and on cores" in plan, f"the plan says how it is decided: {plan}")
        expect("on a GPU or 1 core, by trial" in plan, f"and of which node: {plan}")

    def submitted(self, given, ends_early=False):
        """The outputs, and where its pieces have run: on both."""
        wait_for(lambda: [shown(self.site)[name] for name in ("cores_leased", "gpus_leased", "gpus_usable")], lambda found: found == [0, 0, 1],
                 "all places are free", self.site.said)
        devices = Devices(self.site, self.entry)
        flow_id = self.site.orchid("flow", "submit", self.file, *given).stdout.strip()
        self.site.orchid("flow", "watch", flow_id)
        used = devices.used()
        expect(used["gpu"] > 0 and used["cores"] > 0 and set(used) == {"gpu", "cores"}, f"on a GPU and on cores: {used}\n{self.site.said()}")
        if not ends_early:
            devices.launches_are(used["gpu"])  # each piece is a launch
        told = self.site.orchid("explain", flow_id, self.node).stdout
        for part in ("device: GPUs: ", "; cores: "):
            expect(part in told, f"it says why: {told}")
        return json.loads(self.site.orchid("flow", "result", flow_id).stdout), used


STATIONS = [[100 * math.sin(i) ** 2, 60 * math.cos(3 * i) ** 2, i % 17] for i in range(200)]
COLUMNS, ROWS, STEP = 400, 240, 0.25


def shepard(point):
    """The value there, by the definition."""
    x, y = point % COLUMNS * STEP, point // COLUMNS * STEP
    weights = [1 / ((sx - x) ** 2 + (sy - y) ** 2) for sx, sy, _ in STATIONS]
    return sum(weight * station[2] for weight, station in zip(weights, STATIONS)) / sum(weights)


def bands_of_a_grid_are_divided(site):
    site.deploy(FUNCTIONS / "idw/idw.cpp", "idw", *ON_EITHER)
    site.deploy(FUNCTIONS / "idw/bands.cpp", "bands")
    example = Example(site, "idw/idw.yaml", "idw", "values", "idw")
    bands = 60
    given = inputs(bands=bands, power=2, grid=[0, 0, STEP, COLUMNS, ROWS], stations=STATIONS)
    example.planned(given)
    values, used = example.submitted(given)
    expect(used.total() == bands, f"each band is done once: {used}")
    expect(values == run(site, example.on_cores, given)["values"], "the same bits as on cores alone")
    expect(len(values) == COLUMNS * ROWS, f"a value for each point, and not {len(values)}")
    wrong = [point for point in range(0, len(values), 997) if not math.isclose(values[point], shepard(point), rel_tol=1e-4)]
    expect(not wrong, f"what the definition says: {[(values[point], shepard(point)) for point in wrong[:5]]}")


def a_search_is_divided(site):
    site.deploy(FUNCTIONS / "md5search/md5pieces.cpp", "md5pieces", *ON_EITHER)
    example = Example(site, "md5search/search.yaml", "md5search", "search", "piece")
    letters = string.ascii_letters + string.digits

    def given_for(text):
        return inputs(digest=hashlib.md5(text.encode()).hexdigest(), alphabet=letters, length=4)

    example.planned(given_for("Jaz9"))
    found, _ = example.submitted(given_for("Jaz9"), ends_early=True)  # in the last piece
    expect(found == "Jaz9", f"it is found: {found}")
    found, used = example.submitted(given_for("Jaz-"))  # in none
    expect(found == "" and used.total() == len(letters), f"all pieces are done once, and nothing is found: {found}, {used}")


ROD = """flow: rod
optimise: [device]
inputs: {{cells: u64, wanted: u64}}
nodes:
  rod: {{kind: call, function: steps.rod}}
  relaxed: {{kind: iterate, function: steps.{function}, takes: [state, wanted], budget: 500ms{more}}}
  beginning: {{kind: call, function: steps.beginning}}
edges:
  - {{from: cells, to: rod}}
  - {{from: rod, to: relaxed.state}}
  - {{from: wanted, to: relaxed.wanted}}
  - {{from: relaxed, to: beginning}}
outputs: {{rod: beginning}}
"""
CELLS, STEPS, CELL_NS = 150_000, 8, 2000
SHOWN = 64


def relaxed_rod(steps=STEPS):
    """The first cells; further ones are cold for as many steps as there are of these."""
    cells = [100.0] + [0.0] * (SHOWN + steps)
    for _ in range(steps):
        cells = [cells[0], *((left + right) / 2 for left, right in zip(cells, cells[2:])), 0.0]
    return cells[:SHOWN]


def rod_flow(site, function, device):
    more = device and f", constraints: {{device: {device}}}"
    return flow_files.flow(site, f"rod-{function}-{device}", ROD.format(function=function, more=more))


def batches_on_a_gpu_stay_under_the_watchdogs_limit(site):
    """A step takes longer than the driver lets a kernel run, and a batch has several: what is launched is cut."""
    site.deploy(HERE / "steps.cpp", "steps", *ON_EITHER)
    site.orders.give(f"slow relax_cell {CELL_NS}", f"watchdog {WATCHDOG_MS}")
    expect(CELLS * CELL_NS > 1e6 * WATCHDOG_MS, "a whole launch would be ended")
    devices = Devices(site, "relax")
    given = inputs(cells=CELLS, wanted=STEPS)
    steps, batches, *cells = run(site, rod_flow(site, "relax", "gpu"), given)["rod"]
    used = devices.used()
    expect((steps, cells) == (STEPS, relaxed_rod()), f"all steps were made: {steps}, {cells}")
    expect(used == {"gpu": batches} and 1 < batches <= STEPS, f"in batches on the GPU: {batches}, {used}\n{site.said()}")
    devices.launches_are(STEPS)
    expect(counted(site, "gpu_long_sub_ranges") == 0, "no kernel has kept the GPU for more than 20 ms")
    expect(run(site, rod_flow(site, "relax", "cores"), given)["rod"] == [STEPS, 0, *cells], "the same on cores")


def batches_go_to_the_device_whose_steps_are_shorter(site):
    """All last as long as their budget, wherever they run."""
    site.deploy(HERE / "steps.cpp", "steps", *ON_EITHER)
    site.orders.give(f"slow relax_cell {CELL_NS}")
    devices, wanted = Devices(site, "relax"), 500
    steps, batches, *cells = run(site, rod_flow(site, "relax", ""), inputs(cells=CELLS, wanted=wanted))["rod"]
    used = devices.used()
    expect((steps, cells) == (wanted, relaxed_rod(wanted)), f"all steps were made: {steps}, {cells}")
    expect(used["gpu"] == batches == 2 and used["cores"] > 0 and set(used) == {"gpu", "cores"},
           f"two batches try the GPU, which is slower, and cores have the others: {used}\n{site.said()}")


def a_kernel_that_the_watchdog_ends_is_told_with_what_to_do(site):
    site.deploy(HERE / "steps.cpp", "steps", *ON_EITHER)
    site.orders.give(f"slow relax_rod {2 * WATCHDOG_MS * 1_000_000}", f"watchdog {WATCHDOG_MS}")
    devices = Devices(site, "relax_whole")
    file, given = rod_flow(site, "relax_whole", "gpu"), inputs(cells=1000, wanted=STEPS)
    done = site.orchid("flow", "run", file, *given, check=False)
    expect(done.returncode == 1, f"the flow fails: {done}")
    for part in ("relaxed", "CUDA_ERROR_LAUNCH_TIMEOUT (702)", "give each item less to do"):
        expect(part in done.stderr, f"it says where, why and what to do ({part}): {done.stderr}\n{site.said()}")
    expect(devices.used() == {"gpu": 1}, f"it is not tried again: {devices.used()}")
    site.orders.give(f"watchdog {WATCHDOG_MS}")
    steps, batches, *cells = run(site, file, given)["rod"]
    expect((steps, cells) == (STEPS, relaxed_rod()) and batches > 0, f"with shorter items it is done: {steps}, {cells}\n{site.said()}")


def main():
    cases, = chosen([a_flow_uses_a_gpu_and_cores_at_once, a_submitted_flow_uses_a_gpu_and_cores_at_once, bands_of_a_grid_are_divided,
                     a_search_is_divided, batches_on_a_gpu_stay_under_the_watchdogs_limit, batches_go_to_the_device_whose_steps_are_shorter,
                     a_kernel_that_the_watchdog_ends_is_told_with_what_to_do],
                    wanted=sys.argv[4:])
    # Workers that the gateway keeps from calls before count as taken.
    site_of = functools.partial(site_with_gpu, pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], "--data-memory", str(64 << 20), modules=(),
                                settings='worker_idle_time = "1s"\n')
    for case in cases:
        with site_of() as site:
            measured(case, site)


if __name__ == "__main__":
    main()
