"""The rivals of our benchmarks, each as `run(function, *parts)`, which makes a task of the values or tasks `parts`, and
`result(task)`, which waits for it. All of them use the same cores, and are told the whole graph before they are asked for
its end: the fastest way in each. And `serve`, by which a benchmark asks them.

Install them: python3 -m venv build/rivals && build/rivals/bin/pip install distributed ray parsl hyperqueue
"""

import os
import shutil
import sys
import tempfile
import time


class Dask:
    def __init__(self, cores):
        from distributed import Client, LocalCluster

        self.cluster = LocalCluster(n_workers=cores, threads_per_worker=1, dashboard_address=None)
        self.client = Client(self.cluster)

    def run(self, function, *parts):
        from dask import delayed

        return delayed(function, pure=False, traverse=False)(*parts)

    def result(self, last):
        return self.client.compute(last).result()

    def close(self):
        self.client.close()
        self.cluster.close()


class Ray:
    def __init__(self, cores):
        import ray

        self.ray = ray
        ray.init(num_cpus=cores, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        self.remote = {}

    def run(self, function, *parts):
        if function not in self.remote:
            self.remote[function] = self.ray.remote(function)
        return self.remote[function].remote(*parts)

    def result(self, reference):
        return self.ray.get(reference)

    def close(self):
        self.ray.shutdown()


class Parsl:
    def __init__(self, cores):
        import parsl
        from parsl.config import Config
        from parsl.executors import HighThroughputExecutor
        from parsl.providers import LocalProvider

        # Parsl starts programs that were installed beside Python.
        os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        self.parsl = parsl
        self.folder = tempfile.mkdtemp(prefix="parsl-")
        one = HighThroughputExecutor(label="here", address="127.0.0.1", max_workers_per_node=cores, encrypted=False,
                                     provider=LocalProvider(init_blocks=1, max_blocks=1))
        self.kernel = parsl.load(Config(executors=[one], run_dir=self.folder, strategy="none", usage_tracking=0))
        self.apps = {}

    def run(self, function, *parts):
        if function not in self.apps:
            self.apps[function] = self.parsl.python_app(function)
        return self.apps[function](*parts)

    def result(self, future):
        return future.result()

    def close(self):
        self.kernel.cleanup()
        self.parsl.clear()
        shutil.rmtree(self.folder, ignore_errors=True)


class HyperQueue:
    """Its tasks are programs, here `true`, and no values go from one to the next: `result` gives what would have come of
    `function`, computed here."""

    def __init__(self, cores):
        from hyperqueue import Job, LocalCluster
        from hyperqueue.cluster import WorkerConfig

        self.new_job = Job
        self.folder = tempfile.mkdtemp(prefix="hyperqueue-")
        self.cluster = LocalCluster()
        self.cluster.start_worker(WorkerConfig(cores=cores))
        self.client = self.cluster.client()
        self.job = None

    def run(self, function, *parts):
        if self.job is None:
            self.job = self.new_job(default_workdir=self.folder)
        tasks = [part[0] for part in parts if isinstance(part, tuple)]
        values = [part[1] if isinstance(part, tuple) else part for part in parts]
        return self.job.program(["true"], deps=tasks, stdout=None, stderr=None), function(*values)

    def result(self, last):
        job, self.job = self.job, None
        self.client.wait_for_jobs([self.client.submit(job)])
        return last[1]

    def close(self):
        self.cluster.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


SYSTEMS = {"dask": Dask, "ray": Ray, "parsl": Parsl, "hyperqueue": HyperQueue}


def serve(graph):
    """SCRIPT SYSTEM CORES: says "ready", then answers each line of its input with how many tasks that graph had, what they
    came to, and the microseconds until that was here. `graph(system, words)`: the number of tasks, and the last one."""
    cores = int(sys.argv[2])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    # What the libraries print is not for whoever asks.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    system = SYSTEMS[sys.argv[1]](cores)
    try:
        print("ready", file=answers)
        for line in sys.stdin:
            start = time.perf_counter()
            tasks, last = graph(system, line.split())
            value = system.result(last)
            took = (time.perf_counter() - start) * 1e6
            print(tasks, value, f"{took:.1f}", file=answers)
    finally:
        system.close()
