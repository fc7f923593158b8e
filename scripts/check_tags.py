#!/usr/bin/env python3
"""check_tags.py - every equation cited is defined, every one defined is cited.

A comment in src/, include/ or cli/ cites an equation as [K-sep]; docs/math.md defines
it as **[K-sep]**.  A definition on a line with "(planned)" may be uncited.
"""

import re
import sys

import csource
from csource import ROOT

TAG = r"\[([A-Za-z][A-Za-z0-9-]+)\]"
CITED = re.compile(r"(?<![\w\])])" + TAG)  # not a[dim], an index
DEFINED = re.compile(r"\*\*" + TAG + r"\*\*")
MATH = "docs/math.md"


def main():
    problems = []
    cited = {}
    for path in csource.files("include", "src", "cli"):
        _, comments = csource.split(path.read_text(encoding="utf-8"))
        for number, line in enumerate(comments.split("\n"), 1):
            for tag in CITED.findall(line):
                cited.setdefault(tag, f"{csource.name(path)}:{number}")

    defined, planned = {}, set()
    math = ROOT / MATH
    if not math.is_file():
        return csource.report([f"{MATH} is missing"], "check_tags")
    for number, line in enumerate(math.read_text(encoding="utf-8").split("\n"), 1):
        for tag in DEFINED.findall(line):
            if tag in defined:
                problems.append(
                    f"{MATH}:{number}: [{tag}] is defined in line {defined[tag]}, too"
                )
            defined.setdefault(tag, number)
            if "(planned)" in line:
                planned.add(tag)

    for tag in sorted(cited.keys() - defined.keys()):
        problems.append(f"{cited[tag]}: [{tag}] is not defined in {MATH}")
    for tag in sorted(defined.keys() - cited.keys() - planned):
        problems.append(f"{MATH}:{defined[tag]}: no code cites [{tag}]")
    return csource.report(problems, "check_tags")


if __name__ == "__main__":
    sys.exit(main())
