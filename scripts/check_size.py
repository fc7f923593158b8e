#!/usr/bin/env python3
"""check_size.py - no file and no function that is too long to be read at once.

A C file has at most 700 lines, a function at most 60 between its braces.
"""

import sys

import csource

MOST_LINES = 700
MOST_IN_FUNCTION = 60
SOURCES = ("include", "src", "extra", "cli", "paper", "bench", "examples",
           "tests")


def functions(lines):
    """Yield (line number, length, first line) of what stands in '{' to '}'."""
    start = None
    for at, line in enumerate(lines):
        if line == "{":
            start = at
        elif line.startswith("}") and start is not None:
            head = start
            while head > 0 and "(" not in lines[head]:
                head -= 1
            yield start + 1, at - start - 1, lines[head].strip()
            start = None


def main():
    problems = []
    for path in csource.files(*SOURCES):
        name = csource.name(path)
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > MOST_LINES:
            problems.append(f"{name}: {len(lines)} lines")
        for number, length, head in functions(lines):
            if length > MOST_IN_FUNCTION:
                problems.append(f"{name}:{number}: {length} lines: {head}")
    return csource.report(problems, "check_size")


if __name__ == "__main__":
    sys.exit(main())
