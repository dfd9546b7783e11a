"""The rivals of benchmarks/spawn_tree.cpp: the same trees as tasks of Dask.distributed or Ray.

    spawn_tree_rivals.py dask|ray CORES

Says "ready", then answers each line of its input. "fib N" and "tree NAME LEVELS" walk that tree with a task for each
call, and are answered with how many tasks that were, what they came to, and the microseconds until that was here.
Whoever asks knows the tree beforehand, so no task waits for others; Dask gets it as one graph. That is the fastest way
in both.
"""

import os
import sys
import time

DEEPEST = 24
MASK = (1 << 64) - 1


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def fib_leaf(n):
    return n


def add(*parts):
    return sum(parts)


def node_of(*below):
    return 1 + sum(below)


class Dask:
    def __init__(self, cores):
        from distributed import Client, LocalCluster

        self.cluster = LocalCluster(
            n_workers=cores, threads_per_worker=1, dashboard_address=None
        )
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
        self.remote = {f: ray.remote(f) for f in (fib_leaf, add, node_of)}

    def run(self, function, *parts):
        return self.remote[function].remote(*parts)

    def result(self, reference):
        return self.ray.get(reference)

    def close(self):
        self.ray.shutdown()


def fib(system, n):
    """The number of tasks, and the one that has the result."""
    if n < 2:
        return 1, system.run(fib_leaf, n)
    one, first = fib(system, n - 1)
    two, second = fib(system, n - 2)
    return one + two + 1, system.run(add, first, second)


def tree(system, name, depth):
    children = 0 if depth == DEEPEST else mix(name) % 4
    below = [
        tree(system, mix((name + 0x9E3779B97F4A7C15 * (i + 1)) & MASK), depth + 1)
        for i in range(children)
    ]
    return 1 + sum(tasks for tasks, _ in below), system.run(node_of, *(future for _, future in below))


def main():
    cores = int(sys.argv[2])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    system = {"dask": Dask, "ray": Ray}[sys.argv[1]](cores)
    # What the libraries print is not for whoever asks.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        print("ready", file=answers)
        for line in sys.stdin:
            what, *numbers = line.split()
            start = time.perf_counter()
            if what == "fib":
                tasks, last = fib(system, int(numbers[0]))
            else:
                tasks, last = tree(system, int(numbers[0]), int(numbers[1]))
            value = system.result(last)
            took = (time.perf_counter() - start) * 1e6
            print(tasks, value, f"{took:.1f}", file=answers)
    finally:
        system.close()


if __name__ == "__main__":
    main()
