# rstan_overhead.R - what a gradient costs inside Stan and inside relmc.
#
#   Rscript bench/rstan_overhead.R bench-stan-overhead MODEL.stan DATA.json LIBRARY
#
# One run of each after the other on the same program and data, 4 chains one by one,
# 500 + 1000 iterations: rstan's NUTS, and bench-stan-overhead on the library that
# `relmc compile` made of the program with the same Stan.  Microseconds for each
# leapfrog step, warm-up included, over those of a plain loop of gradients.  rstan
# compiles for a minute; its flags are those of R.
suppressPackageStartupMessages(library(rstan))
if (!file.exists(rstan_options("boost_lib"))) { # Debian's BH is empty
    rstan_options(boost_lib = "/usr/include")
}

args <- commandArgs(trailingOnly = TRUE)
if (length(args) != 4) {
    stop("usage: rstan_overhead.R bench-stan-overhead MODEL.stan DATA.json LIBRARY")
}
ours <- system2(args[1], args[c(4, 3)], stdout = TRUE)
cat(ours, sep = "\n")
plain <- as.numeric(strsplit(trimws(ours[2]), " +")[[1]][3])

model <- stan_model(args[2])
data <- jsonlite::fromJSON(args[3])
steps <- Inf
for (seed in 1:3) {
    fit <- sampling(model, data, chains = 4, cores = 1, warmup = 500, iter = 1500,
                    seed = seed, refresh = 0)
    leaps <- sum(sapply(get_sampler_params(fit, inc_warmup = TRUE),
                        function(x) sum(x[, "n_leapfrog__"])))
    steps <- min(steps, 1e6 * sum(get_elapsed_time(fit)) / leaps)
}
cat(sprintf("rstan  %26.3f %10.1f %%\n", steps, 100 * (steps / plain - 1)))
