"""The tree says where things are: libraries in folders, commands one per file, functions with a README, tests mirroring code."""
from tree import Finding

SUMMARY = "files lie where the layout has them"


def check(tree):
    findings = []
    for file in tree.files:
        if file.parts[0] == "libs" and len(file.parts) == 2:
            findings.append(Finding(file.path, 1, "no file lies directly in libs/; give it a library's folder"))
    folders = {"/".join(file.parts[:2]) for file in tree.files if file.parts[0] == "functions" and len(file.parts) > 2}
    for folder in sorted(folders):
        if f"{folder}/README.md" not in tree.paths:
            findings.append(Finding(folder, 1, "a function's folder has a README.md with input and expected output"))
    findings += mirrored_tests(tree)
    return findings


def mirrored_tests(tree):
    """tests/unit/<module>/x_test.cpp tests some x of <module>: a source, a header, or a folder."""
    findings = []
    for file in tree.files:
        if file.parts[:2] == ("tests", "unit") and file.name.endswith(".cpp") and len(file.parts) > 3:
            module = file.parts[2]
            if not file.name.endswith("_test.cpp"):
                continue  # a fixture of this module's tests
            if not any(module in other.parts[:-1] for other in tree.files if other.parts[0] != "tests"):
                findings.append(Finding(file.path, 1, f"no module is called '{module}'; tests mirror the tree"))
        elif file.parts[:2] == ("tests", "unit") and file.name.endswith("_test.cpp"):
            findings.append(Finding(file.path, 1, "put it into a folder named after the module that it tests"))
    return findings


BAD = [{"libs/queue.h": ""}, {"functions/echo/echo.cpp": ""}, {"tests/unit/nowhere/a_test.cpp": ""}, {"tests/unit/a_test.cpp": ""}]
GOOD = [{"libs/foundation/src/files.cpp": "", "tests/unit/foundation/files_test.cpp": "", "functions/echo/README.md": "",
         "functions/echo/echo.cpp": "", "functions/CMakeLists.txt": ""}]
