# stanc.R - what relmc asks of R: where Stan is, and Stan programs as C++.
#
#   Rscript --vanilla stanc.R where
#       lines "key value": versions, folders of headers, libraries to link
#   Rscript --vanilla stanc.R translate FROM.stan TO.cpp NAME
#       exit status 1 after the messages of stanc on stdout
#
# The compiler from Stan to C++ sits in rstan's shared library.  It is called
# there directly: loading the package would take seconds and plotting packages.

entry <- "CPP_stanc280" # of stanc 2.21

say <- function(key, value) cat(key, " ", value, "\n", sep = "")

folder <- function(package) {
    found <- find.package(package, quiet = TRUE)
    if (length(found)) found[1] else ""
}

where <- function() {
    needed <- c("rstan", "StanHeaders", "RcppParallel")
    missing <- needed[vapply(needed, folder, "") == ""]
    if (length(missing)) {
        say("missing", missing[1])
        return(invisible())
    }
    headers <- folder("StanHeaders")
    say("rstan", as.character(packageVersion("rstan")))
    say("stanheaders", as.character(packageVersion("StanHeaders")))
    say("file", file.path(folder("rstan"), "DESCRIPTION"))
    say("file", file.path(headers, "DESCRIPTION"))
    # Boost and Eigen are packages of R, or of the system, or both in one.
    places <- c(file.path(headers, c("include/src", "include")),
                if (nzchar(folder("BH"))) file.path(folder("BH"), "include"),
                if (nzchar(folder("RcppEigen")))
                    file.path(folder("RcppEigen"), "include"),
                file.path(folder("RcppParallel"), "include"),
                "/usr/include/eigen3")
    for (place in places[dir.exists(places)]) say("include", place)
    say("library", file.path(headers, "lib", "libStanHeaders.a"))
    tbb <- loaded_tbb()
    if (nzchar(tbb)) say("library", tbb)
}

# The file of the TBB that RcppParallel brings or finds in the system.
loaded_tbb <- function() {
    path <- try(RcppParallel::tbbLibraryPath("tbb"), silent = TRUE)
    if (is.character(path) && length(path) == 1 && file.exists(path)) {
        return(normalizePath(path))
    }
    ""
}

translate <- function(from, to, name) {
    # rstan.so needs Rcpp's functions and the symbols of TBB
    invisible(loadNamespace("Rcpp"))
    invisible(loadNamespace("RcppParallel"))
    code <- paste(readLines(from, warn = FALSE), collapse = "\n")
    library <- dyn.load(file.path(folder("rstan"), "libs", "rstan.so"))
    if (!is.loaded(entry, PACKAGE = library[["name"]])) {
        cat("rstan", as.character(packageVersion("rstan")), "has no", entry,
            "inside; give relmc --stanc PROGRAM and --stan-headers DIR\n")
        return(1L)
    }
    result <- .Call(getNativeSymbolInfo(entry, library), code, name, FALSE,
                    dirname(from))
    if (result$status != 0) {
        cat(unlist(result$msg), sep = "\n")
        return(1L)
    }
    writeLines(result$cppcode, to)
    0L
}

arguments <- commandArgs(TRUE)
status <- switch(arguments[1],
    where = { where(); 0L },
    translate = translate(arguments[2], arguments[3], arguments[4]),
    2L)
quit(status = status)
