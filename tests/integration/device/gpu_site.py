"""A gateway with an executor that offers GPUs: their driver is the fake one in a folder of the build, or with `card` for it, this machine's own."""
import contextlib
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "fixtures"))
from gateway_process import gateway, wait_for  # noqa: E402 (found only after the line above)
from processes import expect, family, words_of  # noqa: E402

CORES = ",".join(str(core) for core in sorted(os.sched_getaffinity(0))[:2])
MODULES = (("functions.cpp", "gpu"), ("without_kernels.c", "plain"))


class Orders:
    """What the fake driver does wrong."""

    def __init__(self, folder, on_a_card):
        self.file, self.on_a_card = folder / "orders", on_a_card
        self.give()

    def give(self, *orders):
        expect(not (self.on_a_card and orders), "a real card takes no orders")
        # The driver keeps the file open: it is written again, not replaced.
        self.file.write_text("".join(one + "\n" for one in orders))


def executor_of(site):
    return site.executors[-1].pid


def device_processes(site, executor=None):
    return [pid for pid in family(executor or executor_of(site)) if "orchid-device" in words_of(pid)[0]]


def device_process(site):
    found = wait_for(lambda: device_processes(site), lambda pids: len(pids) == 1, "one device process", site.said)
    return found[0]


def shown(site):
    """The only host, as the gateway knows it."""
    hosts = site.document("hosts")["hosts"]
    return hosts[0] if hosts else {"gpus_usable": 0, "gpus_leased": 0, "executors": []}


def wait_for_gpus(site, count):
    wait_for(lambda: shown(site)["gpus_usable"], lambda usable: usable == count, f"{count} GPUs can be used", site.said)


def counted(site, name):
    return shown(site)["executors"][0]["counters"].get(name, 0)


@contextlib.contextmanager
def site_with_gpu(programs, driver, *options, has_driver=True, gpus=("0",), modules=MODULES, settings=""):
    """`driver`: a folder, or `card`. `modules`: of this folder, each with its name. `settings`: further ones of the gateway."""
    offered = [word for gpu in gpus for word in ("--gpus", gpu)]
    # Calls that come one after the other are on several threads, each with leases of its own.
    with gateway(programs, dict(os.environ), "http_threads = 4\n" + settings) as site:
        site.orders = Orders(site.folder, driver == "card")
        if has_driver and driver != "card":
            folder = pathlib.Path(driver).resolve()
            site.environment.update(LD_LIBRARY_PATH=f"{folder}:{site.folder}", CUDA_FAKE_TWINS=str(folder / "device_twins.so"),
                                    CUDA_FAKE_ORDERS=str(site.orders.file))
        site.add_gpu_executor = lambda: site.add_executor("gpu", "--core-list", CORES, *offered, *options)
        site.add_gpu_executor()
        for source, name in modules:
            site.deploy(HERE / source, name)
        if has_driver:
            wait_for_gpus(site, len(gpus))
        yield site
        expect(site.process.poll() is None, "the gateway lives")
