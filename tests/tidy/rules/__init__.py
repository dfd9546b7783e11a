"""One module per rule. Each has SUMMARY, check(tree) -> findings, BAD (files in which it must find something) and GOOD
(files in which it must find nothing)."""
