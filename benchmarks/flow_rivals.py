"""The rivals of benchmarks/flow.cpp: the same graphs as tasks of Dask.distributed, Parsl or HyperQueue.

    flow_rivals.py dask|parsl|hyperqueue CORES

"chain N" is N tasks, each of which gives what it gets; "fan N" is 1 -> N -> 1.
"""

from task_systems import serve


def same(value):
    return value


def first(count):
    return count


def piece(_, number):
    return number


def total(*numbers):
    return sum(numbers)


def graph(system, words):
    count = int(words[1])
    if words[0] == "chain":
        last = system.run(same, 7)
        for _ in range(count - 1):
            last = system.run(same, last)
        return count, last
    begin = system.run(first, count)
    pieces = [system.run(piece, begin, number) for number in range(1, count + 1)]
    return count + 2, system.run(total, *pieces)


if __name__ == "__main__":
    serve(graph)
