#!/usr/bin/python3
"""run.py SOURCES NODE: the modules of the editor, and of the page, that know no document, tested with Node.js: beside the libraries that they import in the page."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCES, NODE = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
HERE = pathlib.Path(__file__).resolve().parent
YAML = pathlib.Path("/usr/share/nodejs/yaml/browser/dist")
TESTS_DEADLINE_S = 120

with tempfile.TemporaryDirectory(prefix="orchid-editor-", dir="/tmp") as name:
    folder = pathlib.Path(name)
    (folder / "package.json").write_text('{"type": "module"}\n')
    shutil.copytree(SOURCES / "gateway/page/web/editor", folder / "editor")
    shutil.copy(SOURCES / "gateway/page/web/typed_output.js", folder)
    shutil.copytree(YAML, folder / "lib/yaml")
    shutil.copytree(SOURCES / "functions/templates", folder / "templates")
    shutil.copy(SOURCES / "libs/flow/flow.schema.json", folder)
    tests = sorted(HERE.glob("*.test.mjs"))
    for test in tests:
        shutil.copy(test, folder)
    sys.exit(subprocess.run([NODE, "--test", *(test.name for test in tests)], cwd=folder, timeout=TESTS_DEADLINE_S, check=False,
                            stdin=subprocess.DEVNULL).returncode)
