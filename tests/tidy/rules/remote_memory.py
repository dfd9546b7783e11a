"""Lanes give nobody the right to their memory: the calls of UCX that do are not used."""
import re

from tree import Finding

SUMMARY = "no call that lets another host reach our memory"

CALLS = re.compile(r"\b(ucp_(mem_map|rkey_\w+|put_\w+|get_\w+|atomic_\w+|mem_advise)|UCP_FEATURE_(RMA|AMO\w*))\b")


def check(tree):
    findings = []
    for file in tree.code:
        if file.path.startswith("tests/") or file.path.startswith("benchmarks/"):
            continue
        for number, line in enumerate(file.lines, 1):
            match = CALLS.search(line)
            if match:
                findings.append(Finding(file.path, number, f"'{match.group(0)}': active messages only (docs/THREAT-MODEL.md)"))
    return findings


BAD = [
    {"libs/transport/src/ucx/a.cpp": "parameters.features = UCP_FEATURE_AM | UCP_FEATURE_RMA;\n"},
    {"libs/transport/src/ucx/a.cpp": 'find(library.rkey_pack, "ucp_rkey_pack");\n'},
    {"executor/worker/src/a.cpp": "ucp_put_nbx(endpoint, data, size, address, key, &parameters);\n"},
]
GOOD = [{"libs/transport/src/ucx/a.cpp": "parameters.features = UCP_FEATURE_AM;\nucp_am_send_nbx();\n",
         "tests/adversary/a.cpp": "ucp_put_nbx();\n"}]
