#!/usr/bin/env python3
"""nutpie_match.py - relmc and nutpie on the same Stan programs, per gradient.

    bench/nutpie_match.py FOLDER [--relmc build/relmc] [--seeds 1,2,3] [--only NAME]...

Needs the Python packages nutpie, stanli and stanio.  The programs are
examples/stan/posteriordb/MODEL.stan; FOLDER has data/DATA.json and
reference/DATA-MODEL.json, which names the parameters.  Both samplers call one
library, libstanli.so, with default settings and 4 chains; nutpie in its two modes,
a diagonal metric and one of low rank.  The table has the least of bulk and tail ESS
over all parameters per 1000 gradients, warm-up included (geometric means over the
seeds), computed by `relmc summary` for all of them; the ratio of relmc to each mode;
and the largest R-hat of each.
"""

import argparse
import ctypes
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import nutpie
from nutpie.compile_stan import CompiledStanModel
import numpy
import stanli

PROGRAMS = (pathlib.Path(__file__).resolve().parent.parent
            / "examples" / "stan" / "posteriordb")
LIBRARY = str(pathlib.Path(stanli.__file__).parent / "_bin" / "libstanli.so")
FORMAT = "{:<42} {:>8} {:>8} {:>8} {:>7} {:>7}  {}"
MODES = {"diagonal": False, "low rank": True}


def translate(program):
    """The text of a program in the form that the library takes with the data."""
    library = ctypes.CDLL(LIBRARY)
    call = library.stanli_stan_to_mir_with_opts
    call.restype = ctypes.c_void_p
    library.stanli_build_id.restype = ctypes.c_char_p
    message = ctypes.create_string_buffer(8192)
    text = call(program.read_bytes(), None, ctypes.c_int(0), ctypes.c_int(0),
                message, ctypes.c_size_t(len(message)))
    if not text:
        sys.exit(f"{program}: {message.value.decode()}")
    return {"build_id": library.stanli_build_id().decode(),
            "mir": ctypes.string_at(text).decode(), "name": program.stem}


def posteriors(folder):
    """(name, program, data, names of parameters) of all that have a program."""
    for reference in sorted((folder / "reference").glob("*.json")):
        for program in PROGRAMS.glob("*.stan"):
            data = folder / "data" / f"{reference.stem[:-len(program.stem) - 1]}.json"
            if reference.stem.endswith("-" + program.stem) and data.is_file():
                names = json.loads(reference.read_text())["params"]
                yield reference.stem, program, data, names


def judge(relmc, files, names, gradients):
    """ESS per 1000 gradients and R-hat of the worst parameter."""
    done = subprocess.run([relmc, "summary", "--json", *map(str, files)], text=True,
                          capture_output=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    rows = [r for r in json.loads(done.stdout)["parameters"] if r["name"] in names]
    if len(rows) != len(names):
        sys.exit(f"{len(rows)} of {len(names)} parameters in {files[0]}")
    # undefined where chains do not move: not more than one draw
    ess = min(min(r["ess_bulk"] or 1, r["ess_tail"] or 1) for r in rows)
    return 1000 * ess / gradients, max(r["rhat"] or 9.999 for r in rows)


def run_relmc(relmc, data, names, seed):
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder) / "fit"
        done = subprocess.run(
            [relmc, "sample", LIBRARY, "--data", str(data), "--json", "--refresh", "0",
             "--seed", str(seed), "-o", str(base)],
            text=True, capture_output=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        gradients = json.loads(done.stdout)["gradients"]
        return judge(relmc, sorted(base.parent.glob("fit_[0-9]*.csv")), names,
                     gradients)


def columns(posterior):
    """Names as in our files, and arrays of chains x draws."""
    for name, values in posterior.items():
        values = values.values
        if values.ndim == 2:
            yield name, values
            continue
        for at in numpy.ndindex(values.shape[2:]):
            yield f"{name}[{','.join(str(i + 1) for i in at)}]", values[(..., *at)]


def run_nutpie(relmc, text, names, seed, low_rank):
    library = nutpie._lib.StanLibrary(LIBRARY)
    model = nutpie._lib.StanModel(library, {}, {}, {}, seed, text, None)
    compiled = CompiledStanModel(code="", library=library, dims={}, _coords={},
                                 model=model, data={})
    trace = nutpie.sample(compiled, seed=seed, chains=4, cores=1, progress_bar=False,
                          save_warmup=True, low_rank_modified_mass_matrix=low_rank)
    gradients = sum(int(group["n_steps"].sum()) for group in
                    (trace.sample_stats, trace.warmup_sample_stats))
    wanted = [(n, v) for n, v in columns(trace.posterior) if n in names]
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for chain in range(4):
            files.append(pathlib.Path(folder) / f"fit_{chain + 1}.csv")
            numpy.savetxt(files[-1], numpy.column_stack([v[chain] for _, v in wanted]),
                          delimiter=",", comments="", fmt="%.17g",
                          header=",".join(n.replace("[", ".").replace("]", "")
                                          .replace(",", ".") for n, _ in wanted))
        return judge(relmc, files, names, gradients)


def mean(results):
    return statistics.geometric_mean(r[0] for r in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--relmc", default="build/relmc")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    seeds = [int(s) for s in options.seeds.split(",")]
    gains = {mode: [] for mode in MODES}
    print(FORMAT.format("posterior", "relmc", *MODES, "ratio", "ratio", "R-hat"))
    for name, program, data, names in posteriors(options.folder):
        if options.only and name not in options.only:
            continue
        payload = json.loads(data.read_text())
        payload["__stanli"] = translate(program)
        text = json.dumps(payload)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            results = [[run_relmc(options.relmc, file.name, names, s) for s in seeds]]
        for low_rank in MODES.values():
            results.append([run_nutpie(options.relmc, text, names, s, low_rank)
                            for s in seeds])
        rates = [mean(r) for r in results]
        for mode, rate in zip(MODES, rates[1:]):
            gains[mode].append(rates[0] / rate)
        print(FORMAT.format(
            name, *(f"{r:.3g}" for r in rates),
            *(f"{rates[0] / r:.2f}" for r in rates[1:]),
            " ".join(f"{max(x[1] for x in r):.3f}" for r in results)), flush=True)
    for mode, gain in gains.items():
        print(f"geometric mean of the ratios to nutpie, {mode}: "
              f"{statistics.geometric_mean(gain):.3g}; least {min(gain):.3g}")


if __name__ == "__main__":
    main()
