#!/usr/bin/env python3
"""posteriordb.py - Stan programs sampled with the defaults, against reference draws.

    bench/posteriordb.py FOLDER [--relmc build/relmc] [--seeds 1,2,3] [--rival]
                         [--only NAME]...

FOLDER has data/DATA.json and reference/DATA-MODEL.json; the programs are
examples/stan/posteriordb/MODEL.stan.  For every reference: compile, sample,
compare.  The table has the largest |z| of means, sds and quantiles, the largest
R-hat, divergences, the smallest bulk ESS per 1000 gradients (those of sampling,
and all), and the seconds of sampling with its warm-up; of several seeds the
median of |z| and R-hat, all divergences, and geometric means.  Exit status 1 if
a posterior other than gp_pois_regr misses |z| < 4 or R-hat < 1.01.

With --rival the same seeds have NUTS with Stan's adaptation (1000 + 1000 draws)
as well: its ESS per 1000 gradients, of sampling and of all, and by how much the
defaults are better, warm-up included: over the seeds, and at least.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = (pathlib.Path(__file__).resolve().parent.parent
            / "examples" / "stan" / "posteriordb")
HARD = {"gp_pois_regr-gp_pois_regr"}
STAN = ("--sampler", "nuts", "--kinetic", "newtonian", "--adapt", "stan",
        "--warmup", 1000, "--samples", 1000)
COLUMNS = ("posterior", "dim", "max |z|", "R-hat", "div", "min ESS",
           "ESS/1k grad", "with warm-up", "seconds", "")
FORMAT = "{:<42} {:>4} {:>8} {:>7} {:>5} {:>8} {:>12} {:>13} {:>8} {}"
RIVAL = " | Stan's: {:.4g}, with warm-up {:.4g}, ratio {:.3g}, least {:.3g}"


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


def measure(relmc, library, data, reference, *how):
    """What the table says of one run, as a dictionary."""
    wanted = json.loads(reference.read_text())["params"]
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder) / "fit"
        fit = json.loads(run(
            relmc, "sample", library, "--data", data, "--json",
            "--refresh", 0, "-o", base, *how))
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
        "missing": found["verdict"]["only_in_reference"],
    }


def mean(runs, what):
    return statistics.geometric_mean(r[what] for r in runs)


def row(name, runs):
    """The row of the table, and whether all runs are as they should be."""
    is_good = all(r["z"] < 4 and r["rhat"] < 1.01 and not r["missing"]
                  for r in runs)
    verdict = ("ok" if is_good else
               "known to be hard" if name in HARD else "FAIL")
    text = FORMAT.format(
        name, runs[0]["dim"], f"{statistics.median(r['z'] for r in runs):.2f}",
        f"{statistics.median(r['rhat'] for r in runs):.4f}",
        sum(r["divergent"] for r in runs), f"{mean(runs, 'ess'):.0f}",
        f"{mean(runs, 'sampling'):.2f}", f"{mean(runs, 'all'):.2f}",
        f"{mean(runs, 'seconds'):.2f}", verdict)
    return text, is_good or name in HARD


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--relmc", default="build/relmc")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--rival", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    posteriors = [p for p in programs(options.folder)
                  if not options.only or p[0] in options.only]
    if not posteriors:
        sys.exit(f"{options.folder}: no posterior that has a program")
    seeds = [int(s) for s in options.seeds.split(",")]
    failed, gains = 0, []
    print(FORMAT.format(*COLUMNS))
    for name, program, data, reference in posteriors:
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder) / f"{program.stem}.so"
            run(options.relmc, "compile", program, "-o", library)
            ours, rivals = (
                [measure(options.relmc, library, data, reference, "--seed", s,
                         *how) for s in seeds if how is not None]
                for how in ((), STAN if options.rival else None))
        text, is_fine = row(name, ours)
        failed += not is_fine
        if rivals:
            ratios = [a["all"] / b["all"] for a, b in zip(ours, rivals)]
            gains.append(statistics.geometric_mean(ratios))
            text += RIVAL.format(mean(rivals, "sampling"), mean(rivals, "all"),
                                 gains[-1], min(ratios))
        print(text, flush=True)
    if gains:
        print(f"geometric mean of the ratios: "
              f"{statistics.geometric_mean(gains):.3g}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
