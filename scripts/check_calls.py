#!/usr/bin/env python3
"""check_calls.py FILE... - no large cycle of calls among files.

Reads with nm which object file uses a function or a variable of which other one.
Files that reach each other both ways are a cycle; one of more than three files is too
large to be read in any order.
"""

import os
import subprocess
import sys

MOST = 3  # files in a cycle


def symbols(path):
    """{object file: (set of defined symbols, set of used ones)}"""
    out = subprocess.run([os.environ.get("NM", "nm"), "-A", "-g", path],
                         check=True, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    files = {}
    for line in out.stdout.splitlines():
        where, rest = line.rsplit(":", 1)
        *_, kind, name = rest.split()
        defined, used = files.setdefault(where, (set(), set()))
        (used if kind in "Uw" else defined).add(name)
    return files


def links(files):
    """{object file: the others that it uses}"""
    owner = {name: where for where, (defined, _) in files.items()
             for name in defined}
    return {where: {owner[name] for name in used if name in owner} - {where}
            for where, (_, used) in files.items()}


def cycles(graph):
    """Groups of files that all reach each other."""
    reach = {}
    for start in graph:
        seen, todo = set(), [start]
        while todo:
            for other in graph[todo.pop()] - seen:
                seen.add(other)
                todo.append(other)
        reach[start] = seen
    found = {frozenset({b for b in reach[a] if a in reach[b]})
             for a in graph if a in reach[a]}
    return sorted(map(sorted, found), key=len)


def main():
    files = {}
    for path in sys.argv[1:]:
        files.update(symbols(path))
    if len(files) < 20:
        print(f"check_calls: only {len(files)} object files")
        return 1
    names = {where: where.rsplit("/", 1)[-1].rsplit(":", 1)[-1]
             for where in files}
    bad = 0
    for group in cycles(links(files)):
        if len(group) > MOST:
            bad = 1
            print(f"a cycle of {len(group)} files:",
                  " ".join(names[where] for where in group))
    return bad


if __name__ == "__main__":
    sys.exit(main())
