#!/usr/bin/env python3
"""check_unused.py BUILD - is there a function or table that no program needs?

A name that a file shows to others must be used by another file of the library, the tool or
the figures, or be public.  What only tests call is dead code; what only its own file uses
is static.  SEAMS are shown to tests on purpose."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Used by their own file, and by fuzzers and tests that have no file on a disk.
SEAMS = {"input_stream_open_file", "csv_open_stream", "raw_open_stream",
         "raw_visit_stream", "rmc_isa_name", "rmc_stein_pairs_plain"}
# Without them, what they use looks unused.
PROGRAMS = ("relmc.dir", "relmc-reproduce.dir", "relmc-mpi.dir",
            "relmc_extra_plain.dir")


def main():
    build = pathlib.Path(sys.argv[1])
    if not (build / "compile_commands.json").exists():
        print("skipped: this build has no compile_commands.json")
        return 77
    commands = json.loads((build / "compile_commands.json").read_text())
    objects = [build / re.search(r" -o (\S+)", c["command"])[1]
               for c in commands]
    objects = [o for o in objects if o.exists() and not
               {"tests", "examples", "bench"} & set(o.relative_to(build).parts)]
    if any(not any(p in o.parts for o in objects) for p in PROGRAMS):
        print("skipped: this build has not all programs")
        return 77
    defined, used = {}, collections.defaultdict(set)
    nm = [os.environ.get("NM", "nm"), "-A", *objects]
    for line in subprocess.run(nm, capture_output=True, text=True,
                               check=True).stdout.splitlines():
        path, rest = line.split(":", 1)
        kind, name = rest.split()[-2:]
        if kind == "U":
            used[name].add(path)
        elif kind.isupper():
            defined[name] = path
    public = "".join(h.read_text() for h in (ROOT / "include").glob("*.h"))
    bad = [f"{path.split('.dir/')[1][:-2]}: nothing uses {name}"
           for name, path in sorted(defined.items())
           if name not in used and name not in SEAMS and name != "main"
           and not re.search(rf"\b{name}\b", public)]
    bad += [f"SEAMS of check_unused.py: {name} is no longer needed there"
            for name in sorted(SEAMS) if name not in defined or name in used]
    print("\n".join(bad) if bad else f"{len(defined)} names, all of use")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
