"""Each vendor's headers have one home, so that its errors, macros and upgrades concern one folder."""
import re

from tree import Finding

SUMMARY = "vendor headers are included only in their home"

# (headers, homes). A home is a pattern for the start of a path.
HOMES = [
    (r"(ucp|ucs|uct|ucm)/", r"libs/transport/src/ucx/|libs/transport/src/ucx\.|benchmarks/"),
    (r"llvm(-c)?/", r"executor/(compiler|worker)/(.*/)?jit/"),
    (r"(cuda|cuda_runtime|nvml|nvrtc)\.h$", r"executor/device/"),
    (r"hwloc(\.h$|/)", r"executor/topology/"),
    # Beast: HTTP in the gateway, and the control connection's two ends. benchmarks: the empty Beast server. Asio, on which it
    # stands, is the event loop of both processes.
    (r"boost/beast", r"gateway/src/(server|hosts)/|cmake/asio/|executor/agent/|benchmarks/"),
    (r"boost/", r"cmake/asio/|gateway/|executor/agent/|benchmarks/"),
    (r"curl/", r"sdk/cpp/src/http"),
    (r"sqlite3\.h$", r"libs/database/src/"),
    (r"yaml-cpp/", r"libs/flow/src/yaml/"),
    (r"seccomp\.h$|linux/(seccomp|landlock)\.h$", r"libs/sandbox/"),
    (r"slurm/(slurm|slurmdb|slurm_errno|slurm_version)\.h$", r"scheduler-plugin/(slurm/src/libslurm|spank)/|benchmarks/share_cost\."),
    (r"slurm/spank\.h$", r"scheduler-plugin/spank/|benchmarks/share_cost\."),
]


def check(tree):
    findings = []
    for file in tree.code:
        for line, include in file.includes:
            for headers, homes in HOMES:
                if re.match(headers, include) and not re.match(homes, file.path) and not file.path.startswith("tests/"):
                    findings.append(Finding(file.path, line, f"'{include}' belongs in {homes}"))
    return findings


BAD = [
    {"gateway/src/http/a.cpp": "#include <ucp/api/ucp.h>\n"},
    {"executor/agent/a.cpp": "#include <llvm/IR/Module.h>\n"},
    {"executor/compiler/src/a.cpp": '#include "llvm/IR/Module.h"\n'},
    {"executor/agent/a.cpp": "#include <hwloc.h>\n"},
    {"gateway/src/functions/a.cpp": "#include <boost/beast.hpp>\n"},
    {"executor/worker/src/a.cpp": "#include <boost/asio.hpp>\n"},
    {"cli/src/a.cpp": "#include <curl/curl.h>\n"},
    {"libs/flow/src/document.cpp": "#include <yaml-cpp/yaml.h>\n"},
    {"gateway/src/functions/a.cpp": "#include <sqlite3.h>\n"},
    {"executor/worker/src/a.cpp": "#include <seccomp.h>\n"},
    {"executor/worker/src/a.cpp": "#include <linux/landlock.h>\n"},
    {"executor/worker/src/a.cpp": "#include <cuda.h>\n"},
    {"scheduler-plugin/slurm/src/inventory.cpp": "#include <slurm/slurm.h>\n"},
    {"gateway/src/hosts/a.cpp": "#include <slurm/slurm_errno.h>\n"},
]
GOOD = [
    {"executor/compiler/src/jit/a.cpp": "#include <llvm/IR/Module.h>\n", "executor/worker/jit/a.cpp": "#include <llvm/IR/Module.h>\n"},
    {"libs/database/src/a.cpp": "#include <sqlite3.h>\n", "libs/transport/src/ucx/a.cpp": "#include <ucp/api/ucp.h>\n"},
    {"libs/sandbox/src/a.cpp": "#include <seccomp.h>\n"},
    {"scheduler-plugin/slurm/src/libslurm/client.cpp": "#include <slurm/slurm.h>\n"},
]
