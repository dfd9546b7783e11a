#!/usr/bin/python3
"""Joins the row arrays that several benchmarks wrote into one JSON file: join_json.py OUT PART..."""
import json
import pathlib
import sys

rows = []
for part in sys.argv[2:]:
    rows.extend(json.loads(pathlib.Path(part).read_text()))
out = pathlib.Path(sys.argv[1])
out.parent.mkdir(parents=True, exist_ok=True)
out.write_text(json.dumps(rows, indent=2) + "\n")
