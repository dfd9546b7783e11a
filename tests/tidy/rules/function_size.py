"""A function is read in one look. clang-tidy measures C++ precisely; this is quick, and sees C and Python too."""
import ast
import re

from tree import Finding, without_comments_and_strings

SUMMARY = "no function of more than 70 lines"

LIMIT = 70
# What opens a block that is no function: its last words before the brace.
NO_FUNCTION = re.compile(r"(\b(namespace|class|struct|union|enum|extern)\b[^;(){}]*|=|\breturn|,|\()\s*$")


def braces(text):
    """(what stands before '{' since the last ';', '{' or '}', line of '{', line of its '}', outermost function?)"""
    stack, blocks, line, start = [], [], 1, 0
    for position, char in enumerate(text):
        if char == "\n":
            line += 1
        elif char == "{":
            before = text[start:position]
            inside = any(function for _, _, function in stack)
            function = not inside and "(" in before and not NO_FUNCTION.search(before)
            stack.append((before, line, function))
            start = position + 1
        elif char == "}":
            if stack:
                before, opened, function = stack.pop()
                if function:
                    blocks.append((before, opened, line))
            start = position + 1
        elif char == ";" and not (stack and stack[-1][2]):
            # The ';' of a for loop's head is inside a function, where nothing is looked for.
            start = position + 1
    return blocks


def check(tree):
    findings = []
    for file in tree.files:
        if file.is_code:
            # Preprocessor lines can hold unbalanced braces and parentheses.
            text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"),
                          without_comments_and_strings(file.text), flags=re.MULTILINE)
            for _, opened, closed in braces(text):
                if closed - opened + 1 > LIMIT:
                    findings.append(Finding(file.path, opened, f"a function of {closed - opened + 1} lines (limit {LIMIT})"))
        elif file.suffix == ".py":
            for node in ast.walk(ast.parse(file.text)):
                if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno + 1 > LIMIT:
                    findings.append(Finding(file.path, node.lineno, f"'{node.name}' has {node.end_lineno - node.lineno + 1} lines"))
    return findings


def _function(lines, head="int f(int a) {"):
    return head + "\n" + "  a = 1;\n" * (lines - 2) + "}\n"


BAD = [{"cli/src/a.cpp": "namespace x {\n" + _function(71) + "}\n"},
       {"cli/src/a.cpp": "struct S {\n" + _function(90, "void f() const {") + "};\n"},
       {"cli/src/a.cpp": _function(80, "A::A(int b) : b_{b}, c_(2) {")},
       {"functions/a/a.c": _function(71)},
       {"tests/tidy/a.py": "def f():\n" + "    pass\n" * 70}]
GOOD = [{"cli/src/a.cpp": "namespace x {\n" + _function(70) * 3 + "}\n" + "int table[] = {\n" + "  1,\n" * 100 + "};\n"
         "struct S {\n" + "  int a;\n" * 100 + "};\n"}]
