#!/usr/bin/python3
"""in_c.py PROGRAMS C_PROGRAM: data objects by the C API, in data_in_c.c. Exit status 0: all is as it should be."""
import pathlib
import subprocess
import sys

from data_objects import HERE, expect, started, TIMEOUT_S, wait_until_used


def main():
    program = pathlib.Path(sys.argv[2]).resolve()
    with started() as site:
        module = site.folder / "sums_data.bc"
        site.orchid("build", str(HERE / "sums_data.c"), "-o", str(module))
        environment = {**site.environment, "ORCHID_GATEWAY": f"unix:{site.folder}/gateway.sock"}
        done = subprocess.run([program, module, site.folder], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False)
        expect(done.returncode == 0, f"the program is content: {done.stderr}\n{site.said()}")
        expect(not list(site.folder.glob("*.part-*")), "no half of a file is left")
        wait_until_used(site, 0)


main()
