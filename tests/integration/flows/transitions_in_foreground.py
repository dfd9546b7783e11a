#!/usr/bin/python3
"""transitions_in_foreground.py PROGRAMS [CASE...]: `orchid flow run --state` is killed at each of a small flow's transitions. The same command goes
on from there: it finds all calls that were made through the gateway, those that have ended and those that have not, and each was made once."""
import collections
import contextlib
import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from comparisons import same  # noqa: E402 (found only after the line above)
from flow_files import flow  # noqa: E402
from flow_runs import Run  # noqa: E402
from gated_flow import CALLS, FLOW, RESULT, Gated, deploy  # noqa: E402
from gateway_process import gateway, text_of, wait_for  # noqa: E402
from processes import expect  # noqa: E402
from submitted_flows import add_executor  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
AT_ONCE = 2  # as many as there are workers: which of more were begun would be left to chance
MADE = (1, 2, 4, 5, 5, 7, 7, 8, 9, 10, 11, 12)  # so many calls when so many have ended: what follows from these has been asked for
NODE_ENDS = {"begun": 1, "work": 5, "total": 8, "walked": 11}  # when so many calls have ended


class Foreground(Gated):
    """One that `orchid flow run` runs."""

    def __init__(self, site):
        super().__init__(site)
        self.state = site.folder / f"state-{self.base}"
        self.words = [flow(site, f"small-{self.base}", FLOW), "--state", self.state, "--by-gateway", "--at-once", str(AT_ONCE)]

    @contextlib.contextmanager
    def begun_at(self, point, **options):
        """It runs, so many calls have ended, and it has asked for what follows."""
        with Run(self.site, *self.words, "--input", f"n={self.base}", **options) as run:
            self.id = json.loads(wait_for(lambda: text_of(self.state), bool, "what is reached is kept", self.site.said))["key"]
            self.await_calls()
            while self.passed < point:
                self.let_pass()
                self.await_calls()
            yield run

    def await_calls(self):
        wait_for(lambda: len(self.invocations()), lambda count: count == MADE[self.passed], f"it has heard of the end of call {self.passed}",
                 self.site.said)

    def kept(self):
        return json.loads(self.state.read_text())

    def goes_on(self):
        """To its end."""
        expect(self.state.exists(), "what was reached is there")
        with Run(self.site, *self.words) as run:
            self.open_all()
            same(f"the result ({run.said.read_text()})", run.result(), (0, f"{self.base + RESULT}\n"))
        expect(not self.state.exists(), "the state goes with the delivery of the results")

    def goes_on_well(self, before):
        """`before`: its calls when it was killed."""
        self.goes_on()
        same("how often each was started", set(self.each_is_found_again(before).values()), {1})
        self.forget_gates()


def killed_when_it_has_heard(site):
    for point in range(len(CALLS)):
        one = Foreground(site)
        with one.begun_at(point) as run:
            before = one.invocations()
            run.kill()
        one.goes_on_well(before)


def killed_before_it_hears(site):
    """Of the next call's end, and at last of that of the flow."""
    for point in range(len(CALLS)):
        one = Foreground(site)
        with one.begun_at(point) as run:
            run.process.send_signal(signal.SIGSTOP)
            one.let_pass()
            before = one.invocations()
            run.kill()
        one.goes_on_well(before)


def killed_when_the_end_of_a_node_is_kept(site):
    """Another version is deployed meanwhile, whose calls are others: those of nodes that have ended are not made again."""
    for node, (name, point) in enumerate(NODE_ENDS.items()):
        one = Foreground(site)
        with one.begun_at(point) as run:
            wait_for(lambda: [number for number, about in one.kept()["nodes"] if about["state"] == "done"],
                     lambda done, last=node: done == list(range(last + 1)), f"the end of {name} is kept", site.said)
            before = one.invocations()
            run.kill()
        deploy(site, "-O1")
        one.goes_on()
        earlier = {call["id"] for call in before}
        later = [call for call in one.invocations() if call["id"] not in earlier]
        same(f"calls that are made when {name} has ended", collections.Counter(call["entry"] for call in later),
             collections.Counter(entry for entry, _ in CALLS[point:]))
        same("their versions", len({call["version"] for call in [before[0], *later]}), 2)
        one.forget_gates()
        deploy(site)


def killed_before_its_results_are_delivered(site):
    """Nobody reads them: it has kept that it is done."""
    reader, writer = os.pipe()
    with contextlib.closing(os.fdopen(reader)), os.fdopen(writer, "wb", buffering=0) as full:
        fill(full)
        one = Foreground(site)
        with one.begun_at(len(CALLS) - 1, output=full) as run:
            one.let_pass()
            wait_for(lambda: one.kept()["outcome"], lambda outcome: outcome == "done", "its end is kept", site.said)
            before = one.invocations()
            same("it waits for who reads its results", run.process.poll(), None)
            run.kill()
    one.goes_on_well(before)


def fill(pipe):
    """Until a write would wait."""
    os.set_blocking(pipe.fileno(), False)
    while pipe.write(bytes(os.sysconf("SC_PAGE_SIZE"))):
        pass
    os.set_blocking(pipe.fileno(), True)


CASES = (killed_when_it_has_heard, killed_before_it_hears, killed_when_the_end_of_a_node_is_kept, killed_before_its_results_are_delivered)

with gateway(PROGRAMS, {**os.environ}) as host:
    add_executor(host, "flows", "--cores", str(AT_ONCE))
    deploy(host)
    for case in CASES:
        if len(sys.argv) == 2 or case.__name__ in sys.argv[2:]:
            case(host)
            print(f"{case.__name__}: ok", flush=True)
