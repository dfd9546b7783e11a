#!/usr/bin/python3
"""run.py: what ./dev test says of tests that fail by chance, judged with a real ctest and tests of known behaviour."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEADLINE_S = 60
# Fails when it runs for the first time.
ONCE = 'add_test({name} sh -c "test -e {name} && exit 0; touch {name}; echo {name} has failed; exit 3")\n'


def expect(fact, what):
    if not fact:
        sys.exit(f"not so: {what}")


def judged(tests):
    """Exit status of ctest, that of the judge, what it said, and the logs that it kept, by name."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="orchid-unstable-"))
    try:
        (folder / "CTestTestfile.cmake").write_text(tests)
        ran = subprocess.run(["ctest", "--repeat", "until-pass:2", "--output-on-failure", "-j2"], cwd=folder, capture_output=True,
                             text=True, timeout=DEADLINE_S, check=False)
        (folder / "output").write_text(ran.stdout)
        (folder / "logs").mkdir()
        (folder / "logs" / "of_an_earlier_run.log").write_text("")
        judge = subprocess.run(["/usr/bin/python3", "-B", ROOT / "dev.d" / "unstable_tests.py", "output", "logs"], cwd=folder,
                               capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        return ran.returncode, judge.returncode, judge.stdout, {log.stem: log.read_text() for log in (folder / "logs").iterdir()}
    finally:
        shutil.rmtree(folder)


def main():
    tests, judge, said, logs = judged('add_test(good true)\n' + ONCE.format(name="flaky"))
    expect(tests == 0 and judge == 0, f"one unstable test does not fail the run: {tests} {judge} {said}")
    expect(said.startswith("unstable: flaky ") and said.count("\n") == 1, f"it is named: {said}")
    expect("flaky has failed" in logs["flaky"] and list(logs) == ["flaky"], f"what it printed is kept, and nothing else: {logs}")

    tests, judge, said, logs = judged('add_test(good true)\nadd_test(bad false)\n')
    expect(tests != 0 and judge == 0 and not said and not logs, f"one that fails twice is no unstable test: {tests} {judge} {said}")

    tests, judge, said, _ = judged("".join(ONCE.format(name=f"flaky_{number}") for number in range(4)))
    expect(tests == 0 and judge == 1 and "4 tests" in said, f"four are too many: {tests} {judge} {said}")

    tests, judge, said, logs = judged("add_test(good true)\n")
    expect(tests == 0 and judge == 0 and not said and not logs, f"a clean run has nothing to say: {said}")


if __name__ == "__main__":
    main()
