# rstan_match.R - compiled programs equal rstan to the last bit: log density, gradient,
# parameters and transformed parameters, their names and order.
#
#   Rscript --vanilla rstan_match.R RELMC EVAL PROGRAMS OWN
#
# PROGRAMS is examples/stan/posteriordb, OWN the folder of this file.  Exit
# status 77, skipped, without rstan.

arguments <- commandArgs(TRUE)
relmc <- arguments[1]
eval_program <- arguments[2]
programs <- arguments[3]
own <- arguments[4]

if (!requireNamespace("rstan", quietly = TRUE)) {
    cat("rstan is not installed: skipped\n")
    quit(status = 77)
}
suppressMessages(library(rstan))
# Debian's package BH is empty: Boost is where the system keeps it.
rstan_options(boost_lib = "/usr/include")

folder <- tempfile("match")
invisible(dir.create(folder))
setwd(folder)
# This saves two thirds of the time and does not change the arithmetic.
writeLines(c("CXXFLAGS = -O0 -w", "CXX14FLAGS = -O0 -w"), "Makevars")
Sys.setenv(R_MAKEVARS_USER = file.path(folder, "Makevars"))

set.seed(20)
schools <- list(J = 8L, y = c(28, 8, -3, 7, -1, 1, 18, 12),
                sigma = c(15, 10, 16, 11, 9, 11, 10, 18))
chain <- list(N = 40L, K = 2L, y = rnorm(40, rep(c(3, 10), each = 20)))
pelts <- list(N = 6L, ts = as.double(1:6), y_init = c(30, 4),
              y = exp(matrix(rnorm(12, 3, 0.5), 6, 2)))

# rstan 2.21 reads old syntax only; relmc gets the first program.
cases <- list(
    list(ours = file.path(programs, "eight_schools_noncentered.stan"),
         data = schools, scale = 1),
    list(ours = file.path(programs, "hmm_example.stan"), data = chain,
         scale = 1),
    list(ours = file.path(programs, "lotka_volterra.stan"),
         theirs = file.path(own, "lotka_volterra_old.stan"), data = pelts,
         scale = 0.3))

as_json <- function(value) {
    if (is.matrix(value)) {
        rows <- apply(value, 1, function(row) as_json(as.vector(row)))
        return(paste0("[", paste(rows, collapse = ", "), "]"))
    }
    text <- sprintf("%.17g", value)
    if (length(value) == 1) text else
        paste0("[", paste(text, collapse = ", "), "]")
}

write_data <- function(data, path) {
    fields <- vapply(names(data), function(name)
        sprintf("\"%s\": %s", name, as_json(data[[name]])), "")
    writeLines(paste0("{", paste(fields, collapse = ",\n "), "}"), path)
}

run <- function(...) {
    out <- suppressWarnings(system2(..., stdout = TRUE))
    status <- attr(out, "status")
    if (!is.null(status)) stop(paste(c(..1, "fails:", out), collapse = "\n"))
    out
}

# theta.1.2 of relmc is theta[1,2] of rstan
as_rstan_name <- function(name) {
    name <- sub("\\.", "[", name)
    ifelse(grepl("[", name, fixed = TRUE),
           paste0(gsub(".", ",", name, fixed = TRUE), "]"), name)
}

numbers <- function(line) as.numeric(strsplit(line, " ")[[1]])

# Stops at the first difference; returns the number of values compared.
compare <- function(what, ours, theirs) {
    if (length(ours) != length(theirs) || !all(ours == theirs)) {
        stop(sprintf("%s: %s is not %s", what,
                     paste(format(ours, digits = 17), collapse = " "),
                     paste(format(theirs, digits = 17), collapse = " ")))
    }
    length(ours)
}

check <- function(case) {
    name <- sub("\\.stan$", "", basename(case$ours))
    library_file <- file.path(folder, paste0(name, ".so"))
    data_file <- file.path(folder, paste0(name, ".json"))
    write_data(case$data, data_file)
    run(relmc, c("compile", "-q", case$ours, "-o", library_file))
    run(eval_program, c(library_file, data_file, "self"))

    source <- if (is.null(case$theirs)) case$ours else case$theirs
    model <- stan_model(source, save_dso = FALSE)
    fit <- suppressWarnings(suppressMessages(
        sampling(model, data = case$data, chains = 0)))
    dim <- get_num_upars(fit)
    points <- matrix(runif(5 * dim, -case$scale, case$scale), 5, dim)
    writeLines(apply(points, 1, function(q)
        paste(sprintf("%a", q), collapse = " ")), "points.txt")
    out <- run(eval_program, c(library_file, data_file, "points", "points.txt"))

    fit_names <- fit@.MISC$stan_fit_instance$param_fnames_oi()
    n <- compare(paste(name, "names"),
                 as_rstan_name(strsplit(out[1], ",")[[1]]),
                 setdiff(fit_names, "lp__"))
    for (k in 1:5) {
        q <- points[k, ]
        gradient <- grad_log_prob(fit, q)
        n <- n + compare(paste(name, "log density"), numbers(out[3 * k - 1]),
                         log_prob(fit, q)) +
            compare(paste(name, "log density with gradient"),
                    numbers(out[3 * k - 1]), attr(gradient, "log_prob")) +
            compare(paste(name, "gradient"), numbers(out[3 * k]),
                    as.vector(gradient)) +
            compare(paste(name, "outputs"), numbers(out[3 * k + 1]),
                    unlist(constrain_pars(fit, q), use.names = FALSE))
    }
    cat(sprintf("ok    %s: %d values are equal\n", name, n))
}

for (case in cases) check(case)
setwd("/")
unlink(folder, recursive = TRUE)
