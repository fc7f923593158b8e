# rstan_match.R - is relmc's NUTS with Stan's warm-up as good as Stan's own?
#
#   Rscript bench/rstan_match.R path/to/relmc [seeds]
#
# The fair rival of relmc's other samplers is `--sampler nuts --kinetic newtonian
# --adapt stan`.  Here it runs beside rstan (diag_e, delta 0.8, depth 10, 1000
# iterations of warm-up and 1000 draws) on the same densities, with as many
# chains: 4 for each seed, 8 seeds unless given.  Gradients are those of the
# draws, not of warm-up.  Prints a table in Markdown.
#
#   ratio   relmc over rstan, of means over the seeds
#   s.e.    its standard error, from the scatter between seeds
#   z       log(ratio) over the standard error of that
#
# |z| > 3 is flagged and makes the exit status 1.  With 8 seeds z has Student's t
# distribution with about 14 degrees of freedom, so that some of the 21 z is
# flagged by chance in about one run of six: ask for more seeds then.
#
# Needs rstan, whose Stan must have the seam checks of the U-turn criterion (that
# of rstan 2.21.7 has), a C++ compiler for half a minute, and posterior if it is
# there.

suppressPackageStartupMessages(library(rstan))

args <- commandArgs(trailingOnly = TRUE)
if (length(args) < 1 || file.access(args[1], mode = 1) != 0) {
  stop("usage: Rscript bench/rstan_match.R path/to/relmc [seeds]")
}
relmc <- normalizePath(args[1])
n_seeds <- if (length(args) > 1) as.integer(args[2]) else 8L
stopifnot(!is.na(n_seeds), n_seeds >= 2)
n_chains <- 4L
n_warmup <- n_draws <- 1000L
ess_bulk <- if (requireNamespace("posterior", quietly = TRUE)) {
  posterior::ess_bulk
} else {
  rstan::ess_bulk
}

# ---- models ------------------------------------------------------------------

# One program for all, compiled once.  The densities are those in src/model, term
# by term, without the constants that those leave out.
program <- "
data {
  int<lower=1, upper=5> which;
  int<lower=1> d;
  vector<lower=0>[d] scale;  // gaussian: standard deviations
  real rho;                  // gaussian: correlations rho^|i-j|
}
transformed data {
  vector[8] y = [28, 8, -3, 7, -1, 1, 18, 12]';
  vector[8] sigma = [15, 10, 16, 11, 9, 11, 10, 18]';
}
parameters {
  vector[d] x;
}
model {
  if (which == 1) {  // gaussian
    vector[d] u = x ./ scale;
    target += -0.5 * square(u[1]);
    target += -0.5 * dot_self(u[2:d] - rho * u[1:(d - 1)]) / (1 - square(rho));
  } else if (which == 2) {  // quartic
    target += -sum(square(square(x)));
  } else if (which == 3) {  // student with nu = 5, independent
    target += -3 * sum(log1p(square(x) / 5));
  } else if (which == 4) {  // schools, not centred: x = (mu, log tau, eta)
    vector[8] f = (x[1] + exp(x[2]) * x[3:10] - y) ./ sigma;
    target += x[2] - log1p(exp(2 * x[2]) / 25) - square(x[1]) / 50;
    target += -0.5 * dot_self(x[3:10]) - 0.5 * dot_self(f);
  } else {  // funnel with sd = 3
    target += -square(x[1]) / 18 - 0.5 * (d - 1) * x[1];
    target += -0.5 * exp(-x[1]) * dot_self(x[2:d]);
  }
}
"

describe <- function(which, d, rho = 0, ratio = 1) {
  list(which = which, d = d, rho = rho,
       scale = ratio^(seq(0, 1, length.out = d) - 0.5))
}

models <- list(
  "gaussian:dim=10" = describe(1, 10),
  "gaussian:dim=10,ratio=100" = describe(1, 10, ratio = 100),
  "gaussian:dim=50,rho=0.95" = describe(1, 50, rho = 0.95),
  "quartic:dim=10" = describe(2, 10),
  "student:dim=10,nu=5" = describe(3, 10),
  "schools:centred=0" = describe(4, 10),
  "funnel:dim=5,sd=3" = describe(5, 5)
)

# ---- runs --------------------------------------------------------------------

# Both return what each iteration reports, a list of one data frame per chain,
# and the draws: draws x chains x parameters.
run_rstan <- function(compiled, data, seed) {
  fit <- suppressWarnings(sampling( # about R-hat and divergences, if any
    compiled, data = data, pars = "x", seed = seed, chains = n_chains,
    iter = n_warmup + n_draws, warmup = n_warmup, init_r = 2, cores = 1,
    refresh = 0, control = list(metric = "diag_e", adapt_delta = 0.8,
                                max_treedepth = 10)))
  list(fit = fit, x = as.array(fit, pars = "x"),
       report = lapply(get_sampler_params(fit, inc_warmup = FALSE),
                       as.data.frame))
}

run_relmc <- function(model, seed) {
  base <- tempfile("relmc")
  status <- system2(relmc, c(
    "sample", model, "--sampler", "nuts", "--kinetic", "newtonian", "--adapt",
    "stan", "--warmup", n_warmup, "--samples", n_draws, "--chains", n_chains,
    "--seed", seed, "--cores", 1, "--sig-figs", 17, "-q", "-o", base),
    stdout = FALSE)
  if (status != 0) stop("relmc sample ", model, ": exit status ", status)
  report <- lapply(sprintf("%s_%d.csv", base, seq_len(n_chains)), read.csv,
                   comment.char = "#")
  unlink(Sys.glob(paste0(base, "_*")))
  is_parameter <- !grepl("__$", names(report[[1]]))
  x <- vapply(report, function(chain) as.matrix(chain[is_parameter]),
              matrix(0, n_draws, sum(is_parameter)))
  list(report = report, x = aperm(x, c(1, 3, 2)))
}

# What is compared, for the chains of one seed.
measure <- function(run) {
  column <- function(name) sapply(run$report, function(chain) chain[[name]])
  c("leapfrog steps per draw" = mean(column("n_leapfrog__")),
    "step size" = mean(column("stepsize__")),
    "min bulk ESS per 1000 gradients" =
      1000 * min(apply(run$x, 3, ess_bulk)) / sum(column("n_leapfrog__")))
}

# The same density up to a constant: log densities of some of relmc's draws.
check_density <- function(model, fit, run) {
  at <- seq(1, n_draws, length.out = 20)
  stan_lp <- apply(run$x[at, 1, ], 1, function(x) log_prob(fit, x))
  off <- stan_lp - run$report[[1]]$lp__[at]
  if (diff(range(off)) > 1e-9 * max(1, abs(stan_lp))) {
    stop(model, ": the Stan program is not relmc's density")
  }
}

# ---- table -------------------------------------------------------------------

if (!file.exists(rstan_options("boost_lib"))) { # Debian's BH is empty
  rstan_options(boost_lib = "/usr/include")
}
compiled <- stan_model(model_code = program, model_name = "rstan_match")
cat("| model | | rstan | relmc | ratio | s.e. | z | |\n",
    "|---|---|---:|---:|---:|---:|---:|---|\n", sep = "")
is_flagged <- FALSE
for (model in names(models)) {
  stan <- ours <- NULL # quantities x seeds
  first <- 1000 * match(model, names(models)) # no seed twice: rows independent
  for (seed in first + seq_len(n_seeds)) {
    a <- run_rstan(compiled, models[[model]], seed)
    b <- run_relmc(model, seed)
    if (seed == first + 1) check_density(model, a$fit, b)
    stan <- cbind(stan, measure(a))
    ours <- cbind(ours, measure(b))
  }
  for (what in rownames(stan)) {
    ratio <- mean(ours[what, ]) / mean(stan[what, ])
    relative_se <- sqrt((var(ours[what, ]) / mean(ours[what, ])^2 +
                         var(stan[what, ]) / mean(stan[what, ])^2) / n_seeds)
    z <- log(ratio) / relative_se
    flag <- if (abs(z) > 3) "differs" else ""
    is_flagged <- is_flagged || abs(z) > 3
    cat(sprintf("| %s | %s | %.4g | %.4g | %.3f | %.3f | %+.1f | %s |\n", model,
                what, mean(stan[what, ]), mean(ours[what, ]), ratio,
                ratio * relative_se, z, flag))
  }
}
quit(status = as.integer(is_flagged))
