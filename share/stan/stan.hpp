/* stan.hpp - what every compiled Stan program includes; precompiled once. */
#ifndef RELMC_STAN_HPP
#define RELMC_STAN_HPP

#include <stan/version.hpp>

#include <stan/math.hpp>

#include <stan/model/model_header.hpp>

#include <stan/io/array_var_context.hpp>
#include <stan/services/util/create_rng.hpp>

#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/* The version as one number: 2.21 is 221, 2.36 is 236. */
#define RELMC_STAN (100 * STAN_MAJOR + STAN_MINOR)

namespace relmc
{

inline std::string text_of_dims(const std::vector<std::size_t> &dims)
{
    std::ostringstream out;

    out << '[';
    for (std::size_t i = 0; i < dims.size(); i++) {
        out << (i ? ", " : "") << dims[i];
    }
    out << ']';
    return out.str();
}

inline bool is_empty(const std::vector<std::size_t> &dims)
{
    for (std::size_t n : dims) {
        if (n == 0) {
            return true;
        }
    }
    return false;
}

/*
 * Stands in for var_context::validate_dims in programs of stanc 2.21, whose
 * message names neither what was given nor how it should look, and which does
 * not take [] for every array without elements, as newer Stan does.
 */
inline void validate_dims(const stan::io::var_context &context,
                          const std::string &stage, const std::string &name,
                          const std::string &type,
                          const std::vector<std::size_t> &declared)
{
    const char *what =
        stage.compare(0, 4, "data") == 0 ? "data: " : "parameters: ";

    if (!context.contains_r(name)) {
        if (is_empty(declared)) {
            return; /* nothing to give */
        }
        throw std::runtime_error(what + name + " is missing");
    }
    if (type == "int" && !context.contains_i(name)) {
        throw std::runtime_error(what + name +
                                 " is declared int, and not all of what is "
                                 "given are whole numbers");
    }
    const std::vector<std::size_t> given = context.dims_r(name);
    if (given == declared || (is_empty(given) && is_empty(declared))) {
        return;
    }
    throw std::runtime_error(
        what + name + " is declared " +
        (declared.empty() ? "a single number"
                          : "with size " + text_of_dims(declared)) +
        ", and " +
        (given.empty() ? "a single number is given"
                       : "size " + text_of_dims(given) + " is given"));
}

} // namespace relmc

#endif
