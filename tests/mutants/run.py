#!/usr/bin/env python3
"""run.py --build-dir BUILD [--same-draws | --only NAME ...] - do the tests find the bugs?

Every bug of table.py is put into a copy of the sources.  The file it changes is compiled
for each code path, with the commands of the build but -O1, which is faster and does not
change the draws.  It is linked with the objects of a test before the library, so that it
replaces the file of the library.  The test must fail.  As a control every test is linked
once with all files that its bugs change, compiled without bugs: then it must pass.

Most bugs change draws, and golden-hash finds them in seconds.  --same-draws tries the
others: table.SAME_DRAWS has their names, and --list-same-draws finds them anew.
--check-table checks in a second, without a build, that every bug still fits the source.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import table

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TIMEOUT = 300


class Build:
    """Commands, objects and libraries of a build."""

    def __init__(self, where):
        self.where = os.path.abspath(where)
        with open(os.path.join(self.where, "compile_commands.json")) as f:
            self.commands = [self.read(c) for c in json.load(f)]
        with open(os.path.join(self.where, "CMakeCache.txt")) as f:
            cache = f.read()
        found = re.search(r"^pkgcfg_lib_CMOCKA_cmocka:\w+=(.+)$", cache, re.M)
        self.cmocka = found.group(1) if found else "-lcmocka"
        self.library = os.path.join(self.where, "librelmc.a")

    def read(self, entry):
        """(source, words, object); the words without -o, -c and their files"""
        words = shlex.split(entry["command"])
        out = words[words.index("-o") + 1]
        for flag in ("-o", "-c"):
            at = words.index(flag)
            del words[at:at + 2]
        source = os.path.realpath(os.path.join(entry["directory"],
                                               entry["file"]))
        return source, words, os.path.join(entry["directory"], out)

    def objects_of(self, test):
        return [(words, out) for _, words, out in self.commands
                if "/test-%s.dir/" % test in out]

    def has(self, test):
        return bool(self.objects_of(test))

    def make(self, tests):
        targets = ["test-" + t for t in tests]
        subprocess.run(["cmake", "--build", self.where, "--target"] + targets,
                       check=True, stdout=subprocess.DEVNULL)


def run(words, **more):
    return subprocess.run(words, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **more)


def compile_copy(build, tree, name, into):
    """Objects of a file of the copy, one per code path."""
    source = os.path.join(os.path.realpath(ROOT), "src", name)
    found = [c for c in build.commands if c[0] == source]
    if not found:
        raise RuntimeError("%s is not part of the build" % name)
    objects = []
    for n, (_, words, _) in enumerate(found):
        moved = [w.replace(os.path.join(ROOT, "src"),
                           os.path.join(tree, "src"))
                 if w.startswith("-I") else w for w in words]
        out = os.path.join(into, "%s-%d.o" % (name.replace("/", "-"), n))
        done = run(moved + ["-O1", "-w", "-o", out, "-c",
                            os.path.join(tree, "src", name)],
                   cwd=build.where)
        if done.returncode:
            raise RuntimeError("does not compile:\n" + done.stdout)
        objects.append(out)
    return objects


def copy_sources(scratch):
    tree = tempfile.mkdtemp(dir=scratch)
    for part in ("src", "include"):
        shutil.copytree(os.path.join(ROOT, part), os.path.join(tree, part))
    return tree


def link(build, test, objects, out):
    own = build.objects_of(test)
    done = run([own[0][0][0]] + [o for _, o in own] + objects +
               [build.library, build.cmocka, "-lm", "-pthread", "-o", out])
    if done.returncode:
        raise RuntimeError("does not link:\n" + done.stdout)


def verdict(build, test, args, objects, into, awaited):
    """(exit status or 'timeout', the first cmocka test that failed)

    Stops as soon as all awaited tests have passed."""
    program = os.path.join(into, "test-" + test)
    if not os.path.exists(program):
        link(build, test, objects, program)
    # in a folder that is removed: a killed test leaves its files
    child = subprocess.Popen([program] + list(args), stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, cwd=into)
    is_late = threading.Event()
    alarm = threading.Timer(TIMEOUT, lambda: (is_late.set(), child.kill()))
    alarm.start()
    failed = None
    left = set(awaited)
    for line in child.stdout:
        failed = re.match(r"\[  FAILED  \] (test_.+)$", line)
        if failed:  # one is enough
            child.kill()
            break
        if re.match(r"\[=+\] Running 0 test", line):
            child.kill()
            raise RuntimeError("%s %s: no test of that name" % (test, args))
        passed = re.match(r"\[       OK \] (test_.+)$", line)
        if passed and passed.group(1) in left:
            left.remove(passed.group(1))
            if not left:
                child.kill()
                break
    child.stdout.close()
    status = child.wait()
    alarm.cancel()
    if awaited and not left:
        return 0, []
    if is_late.is_set():
        return "timeout", []
    return (1, [failed.group(1)]) if failed else (status, [])


def put_in(mutant, tree):
    for old, new, *where in mutant.edits:
        name = where[0] if where else mutant.file
        path = os.path.join(tree, "src", name)
        with open(path) as f:
            text = f.read()
        if text.count(old) != 1:
            raise RuntimeError("old text found %d times in src/%s: %s" %
                               (text.count(old), name, old))
        with open(path, "w") as f:
            f.write(text.replace(old, new))


def try_one(build, mutant, originals, finders, scratch):
    """A row of the report per test: (outcome, test, detail).

    `finders`: for each program, its tests that find bugs."""
    rows = []
    is_mutated = bool(mutant.edits)
    tests = [t for t in mutant.tests if build.has(t[0])]
    absent = [t for t in mutant.tests if not build.has(t[0])]
    tree = copy_sources(scratch) if is_mutated \
        else tempfile.mkdtemp(dir=scratch)
    try:
        if is_mutated:
            put_in(mutant, tree)
        objects = []
        for name in mutant.compile if tests else ():
            objects += compile_copy(build, tree, name, tree) if is_mutated \
                else originals[name]
        for test, *args in tests:
            case = " ".join([test] + args)
            status, failed = verdict(build, test, args, objects, tree,
                                     finders.get(case, ()))
            if is_mutated:
                good = status == "timeout" or status != 0
            else:
                good = status == 0
            detail = ", ".join(failed) or "status %s" % status
            rows.append((good, case, detail))
    finally:
        # a killed test may still be removing its own files
        shutil.rmtree(tree, ignore_errors=True)
    for test, *args in absent:
        rows.append((None, " ".join([test] + args), "not in this build"))
    return rows


def controls(build, mutants):
    """Every test, with all files that its bugs change, unchanged."""
    files, cases = {}, {}
    for m in mutants:
        for test in m.tests:
            if build.has(test[0]):
                files.setdefault(test[0], set()).update(m.compile)
                cases.setdefault(test[0], set()).add(test)
    return [table.mutant("control " + test, False, "as it is", "", [],
                         sorted(cases[test]), sorted(files[test]))
            for test in files]


def check_table():
    """Does every bug fit the source?  Returns the exit status."""
    src = os.path.join(ROOT, "src")
    names = [m.name for m in table.MUTANTS]
    problems = ["%s stands there twice" % n for n in set(names)
                if names.count(n) > 1]
    problems += ["%s is no bug of table.py" % n
                 for n in sorted(set(table.SAME_DRAWS) - set(names))]
    for m in table.MUTANTS:
        for name in m.compile:
            if not os.path.exists(os.path.join(src, name)):
                problems.append("%s: no file src/%s" % (m.name, name))
        for old, _, *where in m.edits:
            name = where[0] if where else m.file
            try:
                with open(os.path.join(src, name)) as f:
                    found = f.read().count(old)
            except OSError as problem:
                problems.append("%s: %s" % (m.name, problem))
                continue
            if found != 1:
                problems.append("%s: old text found %d times in src/%s" %
                                (m.name, found, name))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def list_same_draws(build):
    """Print the names of the bugs that golden-hash does not find."""
    build.make(["golden-hash"])
    with tempfile.TemporaryDirectory() as scratch:
        for m in table.MUTANTS:
            tried = m._replace(tests=[("golden-hash",)])
            for is_found, _, _ in try_one(build, tried, {}, {}, scratch):
                if not is_found:
                    print(m.name, flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir")
    parser.add_argument("--check-table", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[])
    parser.add_argument("--no-control", action="store_true")
    parser.add_argument("--same-draws", action="store_true")
    parser.add_argument("--list-same-draws", action="store_true")
    options = parser.parse_args()

    if options.check_table:
        return check_table()
    if not options.build_dir:
        parser.error("--build-dir is missing")
    build = Build(options.build_dir)
    if options.list_same_draws:
        return list_same_draws(build)
    only = set(table.SAME_DRAWS if options.same_draws else options.only)
    mutants = [m for m in table.MUTANTS if not only or m.name in only]
    if not mutants or len(mutants) < len(only):
        parser.error("table.py has no bug of that name")
    build.make(sorted({t[0] for m in mutants for t in m.tests
                       if build.has(t[0])}))
    as_it_is = [] if options.no_control else controls(build, mutants)

    def work(m):
        start = time.monotonic()
        try:
            rows = try_one(build, m, originals, finders, scratch)
        except RuntimeError as problem:
            rows = [(False, "-", str(problem))]
        print("%-34s %5.1f s  %s" % (m.name, time.monotonic() - start, m.what),
              flush=True)
        return m, rows

    report, n_bad, n_absent, finders = [], 0, 0, {}
    with tempfile.TemporaryDirectory() as scratch, \
            ThreadPoolExecutor(os.cpu_count()) as pool:
        tree = copy_sources(scratch)
        names = sorted({name for m in as_it_is for name in m.compile})
        originals = dict(zip(names, pool.map(
            lambda name: compile_copy(build, tree, name, tree), names)))
        found = list(pool.map(work, mutants))
        for m, rows in found:
            for _, test, detail in rows:
                finders.setdefault(test, set()).add(detail)
        for m, rows in found + list(pool.map(work, as_it_is)):
            words = {True: "found" if m.edits else "passed",
                     False: "MISSED" if m.edits else "BROKEN", None: "absent"}
            for good, test, detail in rows:
                n_bad += good is False
                n_absent += good is None
                report.append((words[good], m.name, test, detail))
    print()
    for word, name, test, detail in report:
        print("%-6s  %-34s %s: %s" % (word, name, test, detail))
    print("\n%d bugs, %d of %d checks wrong, %d absent" %
          (len(mutants), n_bad, len(report), n_absent))
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
