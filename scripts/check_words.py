#!/usr/bin/env python3
"""check_words.py - words that were given up do not come back.

scripts/retired_words.txt has one per line, and what to write in its place.  All texts of
the repository are read, names in the code, too; the changelog and reference data are not.
"""

import re
import subprocess
import sys

import csource
from csource import ROOT

LIST = "scripts/retired_words.txt"
NOT_READ = (LIST, "CHANGELOG.md", "LICENSE", "docs/figures/", "tests/golden/",
            "examples/stan/posteriordb/")
TEXTS = (".c", ".h", ".def", ".py", ".sh", ".md", ".cmake", ".in", ".json", ".cff",
         ".txt", ".R", ".map", ".stan", ".gp", ".hpp", ".cpp")


def read_list():
    """[(pattern, what to write)]"""
    rules = []
    for line in (ROOT / LIST).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            word, _, instead = line.partition(":")
            spaced = re.escape(word.strip()).replace(r"\ ", r"[\s*]+")
            rules.append((re.compile(rf"(?<![A-Za-z]){spaced}(?![A-Za-z])",
                                     re.IGNORECASE), instead.strip()))
    return rules


def texts():
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files"], cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.split("\n")
    names = [n for n in listed if n] or [
        p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*")
        if p.relative_to(ROOT).parts[0] != "build"]
    for name in sorted(names):
        if name.startswith(NOT_READ) or not (ROOT / name).is_file():
            continue
        if name.endswith(TEXTS) or name.rpartition("/")[2] in ("Makefile", "run"):
            yield name


def main():
    rules = read_list()
    problems = []
    for name in texts():
        text = (ROOT / name).read_text(encoding="utf-8")
        for pattern, instead in rules:
            for match in pattern.finditer(text):
                number = text.count("\n", 0, match.start()) + 1
                word = re.sub(r"\s+", " ", match[0])
                problems.append(f"{name}:{number}: '{word}': {instead}")
    return csource.report(problems, "check_words")


if __name__ == "__main__":
    sys.exit(main())
