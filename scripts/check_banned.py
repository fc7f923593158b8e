#!/usr/bin/env python3
"""check_banned.py - functions the library does not call.

It does not print, exit or look at its environment, it uses no function that
can write past its end, and no draw depends on the C library's elementary
functions.  The rare exception says so on its line: /* lint: allow exp: why */
"""

import re
import sys

import csource

ELEMENTARY = (
    "exp exp2 exp10 expm1 log log2 log10 log1p pow cbrt hypot sin cos sincos "
    "tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc tgamma "
    "lgamma j0 j1 jn y0 y1 yn"
).split()

BANNED = {
    "the library does not print":
        "printf vprintf puts putchar perror psignal".split(),
    "the library does not end the program":
        "exit _exit _Exit quick_exit abort atexit raise".split(),
    "the library has no surroundings":
        "getenv setenv putenv time clock gettimeofday setlocale rand srand "
        "random srandom drand48 system".split(),
    "it can write past the end":
        "strcpy strcat stpcpy sprintf vsprintf gets scanf sscanf".split(),
    "it cannot report an error": "atoi atol atoll atof".split(),
}

STREAMS = re.compile(r"\b(stdout|stderr)\b")
ALLOW = re.compile(r"lint: allow (\w+)")


def calls(names):
    """A call of one of these, but not of a member or of a longer name."""
    return re.compile(
        r"(?<![\w.])(?<!->)(?:__builtin_)?(" + "|".join(names) + r")\s*\("
    )


RULES = [(calls(names), why) for why, names in BANNED.items()]
RULES.append((STREAMS, "the library does not print"))
MATH_RULE = (
    calls([name + end for name in ELEMENTARY for end in ("", "f", "l")]),
    "its bits vary between machines; use rmc_exp, rmc_log, ... of base/vmath_inline.h",
)


def check(path):
    """Yield the problems of one file."""
    name = csource.name(path)
    is_diag = name.startswith("src/diag/")
    rules = RULES if is_diag else RULES + [MATH_RULE]
    code, comments = csource.split(path.read_text(encoding="utf-8"))
    lines = zip(code.split("\n"), comments.split("\n"))
    for number, (line, comment) in enumerate(lines, 1):
        allowed = ALLOW.findall(comment)
        for pattern, why in rules:
            for found in pattern.findall(line):
                if found not in allowed:
                    yield f"{name}:{number}: {found}: {why}"


def main():
    problems = []
    for path in csource.files("src"):
        problems += check(path)
    return csource.report(problems, "check_banned")


if __name__ == "__main__":
    sys.exit(main())
