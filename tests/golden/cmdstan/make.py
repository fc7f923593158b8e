#!/usr/bin/env python3
"""make.py - writes the files here that are laid out as CmdStan lays them out.

No CmdStan ran: draws are independent normal numbers, mu ~ N(1, 0.5),
theta[j] ~ N(j, 1), and the rest is made up to match.  The layout of each
version follows what that version prints.
"""
import random

SAMPLER = "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__"
PARAMETERS = "mu,theta.1,theta.2"
TIMES = ("# \n"
         "#  Elapsed Time: {0} seconds (Warm-up)\n"
         "#                {1} seconds (Sampling)\n"
         "#                {2} seconds (Total)\n"
         "# \n")


def head(minor, model, date=None):
    lines = ["stan_version_major = 2", f"stan_version_minor = {minor}",
             "stan_version_patch = 0", f"model = {model}_model"]
    if date:
        lines.append(f"start_datetime = {date}")
    return lines


def adapt(new, delta):
    yes = "true" if new else "1"
    small = ("0.05", "0.8") if new else ("0.050000000000000003",
                                         "0.80000000000000004")
    return ["    adapt", f"      engaged = {yes} (Default)",
            f"      gamma = {small[0]} (Default)",
            f"      delta = {delta or small[1] + ' (Default)'}",
            "      kappa = 0.75 (Default)", "      t0 = 10 (Default)",
            "      init_buffer = 75 (Default)",
            "      term_buffer = 50 (Default)", "      window = 25 (Default)"]


def hmc(engine, metric):
    inner = (["          nuts", "            max_depth = 10 (Default)"]
             if engine == "nuts" else
             ["          static",
              "            int_time = 6.2831853071795862 (Default)"])
    return (["    algorithm = hmc (Default)", "      hmc",
             "        engine = " + engine + (" (Default)" if engine == "nuts"
                                             else "")] + inner +
            ["        metric = " + metric + (" (Default)" if metric == "diag_e"
                                             else ""),
             "        metric_file =  (Default)",
             "        stepsize = 1 (Default)",
             "        stepsize_jitter = 0 (Default)"])


def tail(new, seed, chain, name):
    lines = [f"id = {chain}", "data", "  file = small.data.json",
             "init = 2 (Default)", "random", f"  seed = {seed}", "output",
             f"  file = {name}", "  diagnostic_file =  (Default)",
             "  refresh = 100 (Default)"]
    if new:
        lines += ["  sig_figs = 8 (Default)",
                  "  profile_file = profile.csv (Default)",
                  "  save_cmdstan_config = false (Default)",
                  "num_threads = 1 (Default)", "stanc_version = stanc3 v2.36.0",
                  "stancflags = "]
    return lines


def sample(n, warmup, saved, thin, new):
    flag = ("true" if saved else "false") if new else str(int(saved))
    return ["method = sample (Default)", "  sample", f"    num_samples = {n}",
            f"    num_warmup = {warmup}",
            f"    save_warmup = {flag}" + ("" if saved else " (Default)"),
            f"    thin = {thin}" + (" (Default)" if thin == 1 else "")]


def comment(lines):
    return "".join(f"# {line}\n" for line in lines)


def draw(rng):
    x = [rng.gauss(1.0, 0.5), rng.gauss(1.0, 1.0), rng.gauss(2.0, 1.0)]
    lp = -0.5 * (((x[0] - 1) / 0.5)**2 + (x[1] - 1)**2 + (x[2] - 2)**2)
    return lp, x


def rows(rng, n, first, shift=0.0):
    """Lines of draws; first(rng, lp): what stands in front of them."""
    out = ""
    for _ in range(n):
        lp, x = draw(rng)
        values = first(rng, lp) + [f"{v + shift:.6g}" for v in x]
        out += ",".join(values) + "\n"
    return out


def nuts(step):
    def first(rng, lp):
        depth = rng.choice([1, 2, 2, 3])
        return [f"{lp:.6g}", f"{rng.uniform(0.6, 1):.6g}", step, str(depth),
                str(2**depth - 1), "0", f"{-lp + rng.expovariate(0.7):.6g}"]
    return first


def write(name, *parts):
    with open(name, "w", encoding="utf-8") as file:
        file.write("".join(parts))


DIAGONAL = ("# Adaptation terminated\n# Step size = {0}\n"
            "# Diagonal elements of inverse mass matrix:\n"
            "# 0.251, 1.02, 0.983\n")

for chain in (1, 2):
    rng = random.Random(2023 + chain)
    name = f"v2.23_{chain}.csv"
    write(name, comment(head(23, "small") + sample(60, "1000 (Default)", False, 1,
                                                   False) +
                        adapt(False, None) + hmc("nuts", "diag_e") +
                        tail(False, 1234, chain, name)),
          f"{SAMPLER},{PARAMETERS}\n", DIAGONAL.format("0.871"),
          rows(rng, 60, nuts("0.871")),
          TIMES.format("0.012", f"0.02{chain}", f"0.03{chain + 2}"))

rng = random.Random(2036)
write("v2.36_dense.csv",
      comment(head(36, "small", "2025-01-15 09:00:00 UTC") +
              sample(80, 40, True, 2, True) + adapt(True, "0.9") +
              ["      save_metric = false (Default)"] + hmc("nuts", "dense_e") +
              ["    num_chains = 1 (Default)"] +
              tail(True, 77, 1, "v2.36_dense.csv")),
      f"{SAMPLER},{PARAMETERS}\n", rows(rng, 20, nuts("1.5"), 100.0),
      "# Adaptation terminated\n# Step size = 0.652\n"
      "# Elements of inverse mass matrix:\n# 0.25, 0.01, -0.02\n"
      "# 0.01, 1.1, 0.03\n# -0.02, 0.03, 0.95\n",
      rows(rng, 40, nuts("0.652")), TIMES.format("0.004", "0.009", "0.013"))

rng = random.Random(2028)
write("v2.28_static.csv",
      comment(head(28, "small", "2021-11-20 10:00:00 UTC") +
              sample(40, "1000 (Default)", False, 1, False) +
              adapt(False, None) + hmc("static", "unit_e") +
              tail(False, 5, 1, "v2.28_static.csv")),
      f"lp__,accept_stat__,stepsize__,int_time__,energy__,{PARAMETERS}\n",
      "# Adaptation terminated\n# Step size = 0.5\n"
      "# No free parameters for unit metric\n",
      rows(rng, 40, lambda r, lp: [f"{lp:.6g}", f"{r.uniform(0.6, 1):.6g}",
                                   "0.5", "6.28319",
                                   f"{-lp + r.expovariate(0.7):.6g}"]),
      TIMES.format("0.1", "0.05", "0.15"))

rng = random.Random(2030)
write("v2.30_fixed_param.csv",
      comment(head(30, "simulate", "2022-08-01 10:00:00 UTC") +
              sample(30, "1000 (Default)", False, 1, False) +
              adapt(False, None) + ["    algorithm = fixed_param"] +
              tail(False, 6, 1, "v2.30_fixed_param.csv")),
      "lp__,accept_stat__,y.1,y.2,y.3\n", rows(rng, 30, lambda r, lp: ["0", "0"]),
      TIMES.format("0", "0.003", "0.003"))

write("v2.36_optimize.csv",
      comment(head(36, "small", "2025-01-15 09:00:00 UTC") +
              ["method = optimize", "  optimize",
               "    algorithm = lbfgs (Default)", "      lbfgs",
               "        init_alpha = 0.001 (Default)",
               "    jacobian = false (Default)", "    iter = 2000 (Default)",
               "    save_iterations = false (Default)"] +
              tail(True, 8, 1, "v2.36_optimize.csv")),
      f"lp__,{PARAMETERS}\n-5.1e-12,1,1,2\n")

rng = random.Random(2029)
write("v2.29_variational.csv",
      comment(head(29, "small", "2022-03-01 10:00:00 UTC") +
              ["method = variational", "  variational",
               "    algorithm = meanfield (Default)", "      meanfield",
               "    iter = 10000 (Default)", "    output_samples = 5"] +
              tail(False, 9, 1, "v2.29_variational.csv")),
      f"lp__,log_p__,log_g__,{PARAMETERS}\n# Stepsize adaptation complete.\n"
      "# eta = 1\n0,0,0,1,1,2\n",
      rows(rng, 5, lambda r, lp: ["0", f"{lp:.6g}", f"{lp:.6g}"]))

rng = random.Random(2033)
write("v2.33_pathfinder.csv",
      comment(head(33, "small", "2023-10-01 10:00:00 UTC") +
              ["method = pathfinder", "  pathfinder",
               "    num_psis_draws = 5", "    num_paths = 4 (Default)"] +
              tail(True, 10, 1, "v2.33_pathfinder.csv")),
      f"lp_approx__,lp__,{PARAMETERS}\n",
      rows(rng, 5, lambda r, lp: [f"{lp:.6g}", f"{lp:.6g}"]).replace(",", ", "))
