"""Dependencies point one way (the table is design and build in one: a CMake target sees the headers of what it links)."""
import re

from tree import Finding

SUMMARY = "a part includes only what it may depend on"

# part: the parts whose headers it may include. Longest path wins.
MAY_INCLUDE = {
    "libs/foundation": [],
    "libs/processes": ["libs/foundation"],
    "libs/database": ["libs/foundation"],
    "libs/protocol": ["libs/foundation"],
    "libs/module": ["libs/foundation", "libs/protocol"],
    "libs/flow": ["libs/foundation", "libs/protocol", "libs/module"],
    "libs/transport": ["libs/foundation", "libs/protocol"],
    "libs/lane_client": ["libs/foundation", "libs/protocol", "libs/transport"],
    "libs/sandbox": ["libs/foundation"],
    "libs/optimiser": ["libs/foundation", "libs/processes", "libs/flow", "libs/sandbox"],
    "libs/function_abi": [],
    "scheduler-plugin/placement": ["libs/foundation"],
    "gateway": ["libs/foundation", "libs/processes", "libs/database", "libs/protocol", "libs/transport", "libs/lane_client", "libs/module", "scheduler-plugin/placement"],
    "gateway/dispatch": ["libs/foundation", "libs/protocol", "libs/transport", "libs/lane_client", "libs/sandbox"],
    "gateway/door": ["libs/foundation", "libs/protocol", "libs/transport", "libs/sandbox"],
    "executor": ["libs/foundation", "libs/processes", "libs/protocol", "libs/transport", "libs/module", "libs/function_abi", "libs/sandbox"],
    # It is also the client of a leased memory, for a worker.
    "executor/memory": ["libs/foundation", "libs/protocol", "libs/transport", "libs/lane_client", "libs/sandbox"],
    "scheduler-plugin/slurm": ["libs/foundation", "libs/protocol"],
    "scheduler-plugin/pilot": ["libs/foundation", "libs/processes", "libs/protocol", "scheduler-plugin/placement"],
    # Slurm's numbers of cores become the machine's by the machine's topology.
    "scheduler-plugin/share": ["libs/foundation", "libs/processes", "libs/protocol", "scheduler-plugin/pilot", "executor/topology"],
    "scheduler-plugin/site": ["libs/foundation", "libs/processes", "libs/protocol", "scheduler-plugin/pilot", "scheduler-plugin/share", "executor/topology"],
    "executor/topology": ["libs/foundation"],
    "scheduler-plugin/spank": ["scheduler-plugin/share"],
    "sdk": ["libs/foundation", "libs/protocol", "libs/transport", "libs/lane_client", "libs/module", "libs/function_abi"],
    "sdk/flow": ["libs/foundation", "libs/protocol", "libs/module", "libs/flow", "libs/function_abi", "sdk"],
    "cli": ["libs/foundation", "libs/processes", "libs/protocol", "libs/module", "libs/flow", "libs/optimiser", "sdk", "sdk/flow", "scheduler-plugin/pilot", "scheduler-plugin/placement",
            "scheduler-plugin/share", "executor/topology"],
    "flows": ["libs/foundation", "libs/database", "libs/protocol", "libs/module", "libs/flow", "libs/sandbox", "sdk", "sdk/flow"],
    "functions": ["libs/function_abi"],
    # A program that calls a function stands beside it, and is a user of the SDK like any other. What becomes bitcode is not in there.
    "functions/blackscholes/offload": ["libs/function_abi", "sdk"],
    "functions/insitu/simulation": ["libs/function_abi", "sdk"],
    "functions/integral/mpi": ["libs/function_abi", "sdk"],
}
# Where the project's own header folders stand: the first folder of an #include, and the part it belongs to.
HEADER_ROOTS = {
    "foundation": "libs/foundation", "function_abi": "libs/function_abi", "processes": "libs/processes", "protocol": "libs/protocol", "module": "libs/module", "flow": "libs/flow", "flow_run": "sdk/flow", "optimiser": "libs/optimiser", "transport": "libs/transport", "lane_client": "libs/lane_client",
    "sandbox": "libs/sandbox", "placement": "scheduler-plugin/placement",
    "pilot": "scheduler-plugin/pilot", "share": "scheduler-plugin/share", "site": "scheduler-plugin/site",
    "orchid": None,  # function_abi and the SDK share it; the file decides
}
FUNCTION_ABI_HEADERS = ("orchid/call.hpp", "orchid/embedded.h", "orchid/function.h", "orchid/function.hpp", "orchid/function_data.hpp",
                        "orchid/kernel.h", "orchid/kernel.hpp", "orchid/leased_memory.h", "orchid/leased_memory.hpp", "orchid/step.h", "orchid/step.hpp",
                        "orchid/text_writer.h", "orchid/values.h")


def part_of(path):
    fits = [part for part in MAY_INCLUDE if path.startswith(part + "/")]
    return max(fits, key=len) if fits else None


def owner_of(include, tree):
    """The part whose header `include` names, or nothing when it is not ours."""
    if include in FUNCTION_ABI_HEADERS:
        return "libs/function_abi"
    first = include.split("/")[0]
    if HEADER_ROOTS.get(first):
        return HEADER_ROOTS[first]
    if first == "orchid":
        return "sdk"
    if re.match(r"(tests|benchmarks)/", include) or first in ("harness", "fakes"):
        return "tests or benchmarks"
    owners = {part_of(path) for path in tree.header_index.get(include, ())} - {None}
    return owners.pop() if len(owners) == 1 else None


def index_headers(tree):
    index = {}
    for file in tree.files:
        if file.is_header:
            for start in range(len(file.parts)):
                index.setdefault("/".join(file.parts[start:]), []).append(file.path)
    return index


def check(tree):
    tree.header_index = index_headers(tree)
    findings = []
    for file in tree.code:
        part = part_of(file.path)
        if part is None:
            continue
        for line, include in file.includes:
            if include.startswith("../") and "/../" in include:
                findings.append(Finding(file.path, line, f"'{include}' climbs out of its part; include from a target's include folder"))
            owner = owner_of(include, tree)
            if owner is None or owner == part or part.startswith(owner + "/") or owner.startswith(part + "/"):
                continue
            if owner not in MAY_INCLUDE[part]:
                findings.append(Finding(file.path, line, f"{part} may not include '{include}' of {owner}; allowed: "
                                        + (", ".join(MAY_INCLUDE[part]) or "nothing")))
    return findings


BAD = [
    {"scheduler-plugin/placement/src/a.cpp": '#include "protocol/outcome.h"\n'},
    {"executor/agent/src/a.cpp": '#include "placement/host.h"\n'},
    {"executor/agent/src/a.cpp": '#include "site/step_proof.h"\n'},
    {"scheduler-plugin/site/src/a.cpp": '#include "agent.h"\n', "executor/agent/src/agent.h": ""},
    {"libs/foundation/src/a.cpp": '#include "protocol/outcome.h"\n'},
    {"libs/protocol/src/a.cpp": '#include "transport/local_lane.h"\n'},
    {"libs/transport/src/a.cpp": '#include "processes/child_process.h"\n'},
    {"gateway/src/http/a.cpp": '#include "sandbox/confinement.h"\n', "libs/sandbox/include/sandbox/confinement.h": ""},
    {"executor/agent/src/a.cpp": '#include "invocations/call.h"\n', "gateway/src/invocations/call.h": ""},
    {"cli/src/a.cpp": '#include "transport/local_lane.h"\n'},
    {"sdk/cpp/src/a.cpp": '#include "harness/bench.h"\n'},
    {"functions/echo/echo.cpp": '#include "foundation/result.h"\n'},
    {"scheduler-plugin/slurm/src/a.cpp": '#include "transport/local_lane.h"\n'},
    {"gateway/src/hosts/a.cpp": '#include "slurm_client.h"\n', "scheduler-plugin/slurm/src/slurm_client.h": ""},
    {"functions/blackscholes/option_prices.cpp": '#include "orchid/offload.h"\n'},
    {"functions/blackscholes/offload/main.cpp": '#include "foundation/result.h"\n'},
]
GOOD = [
    {"gateway/src/http/a.cpp": '#include "invocations/call.h"\n#include "foundation/result.h"\n#include <vector>\n',
     "gateway/src/invocations/call.h": ""},
    {"executor/worker/src/a.cpp": '#include "orchid/function.h"\n#include "sandbox/confinement.h"\n',
     "libs/sandbox/include/sandbox/confinement.h": ""},
    {"cli/src/a.cpp": '#include "orchid/client.h"\n'},
    {"functions/blackscholes/offload/main.cpp": '#include "orchid/offload.h"\n#include "kernel.h"\n', "functions/blackscholes/kernel.h": ""},
]
