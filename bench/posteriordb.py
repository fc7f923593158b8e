#!/usr/bin/env python3
"""posteriordb.py - Stan programs sampled with the defaults, against reference draws.

    bench/posteriordb.py FOLDER [--relmc build/relmc] [--seed N] [--only NAME]...

FOLDER has data/DATA.json and reference/DATA-MODEL.json; the programs are
examples/stan/posteriordb/MODEL.stan.  For every reference: compile, sample,
compare.  The table has the largest |z| of means, sds and quantiles, the largest
R-hat, divergences, the smallest bulk ESS per 1000 gradients (those of sampling,
and all), and the seconds of sampling with its warm-up.  Exit status 1 if a
posterior other than the centred eight schools misses |z| < 4 or R-hat < 1.01.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

PROGRAMS = (pathlib.Path(__file__).resolve().parent.parent
            / "examples" / "stan" / "posteriordb")
HARD = {"eight_schools-eight_schools_centered"}
COLUMNS = ("posterior", "dim", "max |z|", "R-hat", "div", "min ESS",
           "ESS/1k grad", "with warm-up", "seconds", "")
FORMAT = "{:<42} {:>4} {:>8} {:>7} {:>5} {:>8} {:>12} {:>13} {:>8} {}"


def programs(folder):
    """(name, program, data, reference) of all posteriors that have a program."""
    for reference in sorted((folder / "reference").glob("*.json")):
        name = reference.stem
        for program in PROGRAMS.glob("*.stan"):
            data = name[:-len(program.stem) - 1]
            path = folder / "data" / f"{data}.json"
            if name.endswith("-" + program.stem) and path.is_file():
                yield name, program, path, reference


def run(*command, codes=(0,)):
    """The standard output of a command that must end with one of the codes."""
    done = subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))}: exit code "
                 f"{done.returncode}\n{done.stderr}")
    return done.stdout


def measure(relmc, seed, program, data, reference):
    """What the table says of one posterior, as a dictionary."""
    wanted = json.loads(reference.read_text())["params"]
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / f"{program.stem}.so"
        run(relmc, "compile", program, "-o", library)
        base = pathlib.Path(folder) / "fit"
        fit = json.loads(run(
            relmc, "sample", library, "--data", data, "--seed", seed, "--json",
            "--refresh", 0, "-o", base))
        draws = sorted(pathlib.Path(folder).glob("fit_[0-9]*.csv"))
        include = [word for name in wanted for word in ("-i", name)]
        found = json.loads(run(
            relmc, "compare", *draws, "--ref", reference, "--json",
            *include, codes=(0, 1)))["runs"][0]
        dim = next(int(line.split("=")[1])
                   for line in draws[0].read_text().splitlines()
                   if line.startswith("# relmc_coordinates"))
    ess = min(p["ess_bulk"] for p in fit["parameters"]
              if p["name"] in wanted)
    missing = found["verdict"]["only_in_reference"]
    return {
        "dim": dim,
        "z": found["verdict"]["worst_z"],
        "rhat": max(p["rhat"] for p in fit["parameters"]
                    if p["name"] in wanted),
        "divergent": fit["divergent"],
        "ess": ess,
        "sampling": 1000 * ess / found["gradients"],
        "all": 1000 * ess / fit["gradients"],
        "seconds": fit["seconds"],
        "missing": missing,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--relmc", default="build/relmc")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    posteriors = [p for p in programs(options.folder)
                  if not options.only or p[0] in options.only]
    if not posteriors:
        sys.exit(f"{options.folder}: no posterior that has a program")
    failed = 0
    print(FORMAT.format(*COLUMNS))
    for name, program, data, reference in posteriors:
        m = measure(options.relmc, options.seed, program, data, reference)
        is_good = m["z"] < 4 and m["rhat"] < 1.01 and not m["missing"]
        failed += not is_good and name not in HARD
        verdict = ("ok" if is_good else
                   "known to be hard" if name in HARD else "FAIL")
        print(FORMAT.format(
            name, m["dim"], f"{m['z']:.2f}", f"{m['rhat']:.4f}",
            m["divergent"], f"{m['ess']:.0f}", f"{m['sampling']:.2f}",
            f"{m['all']:.2f}", f"{m['seconds']:.2f}", verdict), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
