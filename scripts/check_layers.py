#!/usr/bin/env python3
"""check_layers.py - who may include whom.

base <- {kinetic, integrator, target, model, sink, diag} <- {sampler, adapt}
     <- run <- {cli, tests}

A file of a folder of src/ includes base/base.h, headers of its own folder, the
public headers and the C library, so that it can be read alone; target, which
finds models by name, also the registry; diag, which may use threads, also
run_threads.h.  The files of src/ itself (run, registry, ...) may include anything of src/.  The tool and the
examples see the public headers only; extra, which may use libraries of others,
also base, diag and run_threads.h.
"""

import re
import sys

import csource
from csource import ROOT

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')

FOLDERS = {
    "base", "kinetic", "integrator", "target", "model", "sink", "diag",
    "sampler", "adapt",
}

# Files of the library that may use POSIX (src/CMakeLists.txt has the same).
POSIX = {
    "src/run_threads.c", "src/run_team.c", "src/checkpoint.c",
    "src/base/sync.c", "src/sink/csv.c", "src/sink/raw.c",
    "src/target/stan.c",
    "src/target/stan.h", "src/target/stan_worker.c",
}

C17 = {
    "assert.h", "complex.h", "ctype.h", "errno.h", "fenv.h", "float.h",
    "inttypes.h", "iso646.h", "limits.h", "locale.h", "math.h", "setjmp.h",
    "signal.h", "stdalign.h", "stdarg.h", "stdatomic.h", "stdbool.h",
    "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "stdnoreturn.h",
    "string.h", "tgmath.h", "threads.h", "time.h", "uchar.h", "wchar.h",
    "wctype.h",
}

# Of the compiler, for base only: vector instructions behind an #ifdef.
INTRINSICS = {"immintrin.h", "arm_neon.h"}

PUBLIC = {"relmc.h", "relmc_ext.h"}


def resolve(path, header):
    """The file an #include "header" means, from the root; None if unknown."""
    for folder in (path.parent, ROOT / "src", ROOT / "include", ROOT / "cli"):
        found = (folder / header).resolve()
        if found.is_file() and found.is_relative_to(ROOT):
            return csource.name(found)
    return None


def is_allowed(name, header):
    """May the file `name` include the file `header`?  Both from the root."""
    parts = name.split("/")
    if header.startswith("include/"):
        return True
    if parts[0] == "include":
        return False
    if parts[0] == "cli":
        return header.startswith("cli/")
    if parts[0] == "examples":
        return False
    if parts[0] == "extra":
        return (header.startswith(("extra/", "src/base/", "src/diag/"))
                or header == "src/run_threads.h")
    if len(parts) == 2:  # src/run.c
        return header.startswith("src/")
    if parts[1] == "target" and header == "src/registry.h":
        return True
    if parts[1] == "diag" and header == "src/run_threads.h":
        return True
    own = "/".join(parts[:2]) + "/"
    return header.startswith(own) or header == "src/base/base.h"


def check_system(name, header):
    """What is wrong with #include <header> in that file; None if nothing."""
    if not name.startswith(("src/", "include/")):
        return None
    if header in PUBLIC:
        return f'write #include "{header}"'
    if name in POSIX or header in C17:
        return None
    if name.startswith("src/base/") and header in INTRINSICS:
        return None
    return f"<{header}> is not in the C17 library"


def check_own(path, name, header):
    """The same for #include "header"."""
    found = resolve(path, header)
    if found is None:
        return f'"{header}" is no file of this repository'
    if not is_allowed(name, found):
        return f"may not include {found}"
    return None


def check(path):
    """Yield the problems of one file."""
    name = csource.name(path)
    parts = name.split("/")
    if parts[0] == "src" and len(parts) > 2 and parts[1] not in FOLDERS:
        yield f"{name}: src/{parts[1]} is no layer that check_layers.py knows"
    code, _ = csource.split(path.read_text(encoding="utf-8"))
    for number, line in enumerate(code.split("\n"), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, angled = match.groups()
        if quoted:
            problem = check_own(path, name, quoted)
        else:
            problem = check_system(name, angled)
        if problem:
            yield f"{name}:{number}: {problem}"


def main():
    problems = []
    for path in csource.files("include", "src", "extra", "cli", "examples"):
        problems += check(path)
    return csource.report(problems, "check_layers")


if __name__ == "__main__":
    sys.exit(main())
