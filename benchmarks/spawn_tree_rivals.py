"""The rivals of benchmarks/spawn_tree.cpp: the same trees as tasks of Dask.distributed or Ray.

    spawn_tree_rivals.py dask|ray CORES

"fib N" and "tree NAME LEVELS" walk that tree with a task for each call. Whoever asks knows the tree beforehand, so no
task waits for others.
"""

from task_systems import serve

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


def graph(system, words):
    what, *numbers = words
    if what == "fib":
        return fib(system, int(numbers[0]))
    return tree(system, int(numbers[0]), int(numbers[1]))


if __name__ == "__main__":
    serve(graph)
