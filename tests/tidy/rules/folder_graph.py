"""The folders of a part depend on each other in one direction, as the parts do: who includes whose headers is a graph without a
circle."""
import collections
import posixpath

from tree import Finding

SUMMARY = "the folders of each part include each other in no circle"

# Places whose folders are looked at, beside each folder `src` with the folders in it. What lies in a place itself counts as a folder
# of the place's own name.
PLACES = ("libs", "scheduler-plugin", "executor", "executor/compiler", "executor/worker", "gateway", "sdk")


def folders_of(path):
    """{place: folder} of a file."""
    parts = path.split("/")
    found = {}
    for depth in range(1, len(parts)):
        place = "/".join(parts[:depth])
        if place in PLACES or parts[depth - 1] == "src":
            found[place] = parts[depth] if depth + 1 < len(parts) else parts[depth - 1]
    return found


def index_headers(tree):
    """What an #include may say: the end of a path."""
    index = collections.defaultdict(list)
    for file in tree.files:
        if file.is_header:
            for start in range(len(file.parts)):
                index["/".join(file.parts[start:])].append(file.path)
    return index


def included(file, include, index, paths):
    """The header's path: beside the file, else the one of that name that is nearest. Nothing: it is not ours."""
    beside = posixpath.normpath(f"{posixpath.dirname(file.path)}/{include}")
    if beside in paths:
        return beside
    found = index.get(include, ())
    return max(found, key=lambda path: len(posixpath.commonprefix([path, file.path])), default=None)


def graph(tree):
    """{place: {(folder, folder): [(path, line, include)]}}, for each pair of folders of which one includes the other."""
    index = index_headers(tree)
    edges = collections.defaultdict(lambda: collections.defaultdict(list))
    for file in tree.code:
        if file.parts[0] in ("tests", "benchmarks"):
            continue
        sources = folders_of(file.path)
        for line, include in file.includes:
            header = included(file, include, index, tree.paths)
            for place, target in folders_of(header or "").items():
                if sources.get(place, target) != target:
                    edges[place][sources[place], target].append((file.path, line, include))
    return edges


def way(edges, start, end):
    """The shortest way from folder to folder along `edges`, both included; nothing when there is none."""
    reached = {start: None}
    queue = collections.deque([start])
    while queue:
        folder = queue.popleft()
        if folder == end:
            steps = []
            while folder is not None:
                steps.append(folder)
                folder = reached[folder]
            return steps[::-1]
        for source, target in edges:
            if source == folder and target not in reached:
                reached[target] = folder
                queue.append(target)
    return None


def check(tree):
    findings = []
    for place, edges in graph(tree).items():
        for (source, target), includes in sorted(edges.items()):
            back = way(edges, target, source)
            if back is None:
                continue
            path, line, include = includes[0]
            more = f" (and {len(includes) - 1} more)" if len(includes) > 1 else ""
            findings.append(Finding(path, line, f"'{include}'{more} closes a circle of folders: {' -> '.join([source, *back])}; "
                                    "move what both need below both, or what needs both above them"))
    return findings


BAD = [
    {"gateway/src/a/include/a/one.h": '#include "b/two.h"\n', "gateway/src/b/include/b/two.h": "",
     "gateway/src/b/two.cpp": '#include "a/one.h"\n'},
    {"cli/src/a/one.h": '#include "../b/two.h"\n', "cli/src/b/two.h": '#include "c/three.h"\n', "cli/src/c/three.h": '#include "a/one.h"\n'},
    {"sdk/cpp/src/session.h": '#include "http/exchange.h"\n', "sdk/cpp/src/http/exchange.h": '#include "session.h"\n'},
    {"libs/a/include/a/one.h": '#include "b/two.h"\n', "libs/b/include/b/two.h": '#include "a/one.h"\n'},
]
GOOD = [
    {"gateway/src/a/include/a/one.h": "", "gateway/src/a/one.cpp": '#include "a/one.h"\n', "gateway/src/b/two.cpp": '#include "a/one.h"\n',
     "gateway/src/main.cpp": '#include "a/one.h"\n#include "own.h"\n', "gateway/src/own.h": ""},
    # Two headers of one name, each of its own place.
    {"cli/src/a/one.h": '#include "b/two.h"\n', "cli/src/b/two.h": "", "sdk/cpp/src/b/two.h": '#include "a/one.h"\n',
     "sdk/cpp/src/a/one.h": ""},
]
