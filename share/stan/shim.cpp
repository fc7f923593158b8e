/*
 * shim.cpp - the BridgeStan C interface, version 2, around a compiled program.
 *
 * It is compiled once for every version of Stan and linked to each program.
 * Nothing but the bs_ functions leaves the library.  Functions that return int
 * give 0, or -1 and an explanation that the caller frees.  All of them may be
 * called from several threads at a time.
 */
#include "json.hpp"
#include "stan.hpp"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>

/* Written by stanc into every program. */
stan::model::model_base &new_model(stan::io::var_context &context,
                                   unsigned int seed, std::ostream *messages);

#define BS_PUBLIC extern "C" __attribute__((visibility("default")))

using print_callback = void (*)(const char *text, std::size_t bytes);
using rng_type = decltype(stan::services::util::create_rng(1u, 1u));
using real_vector = Eigen::VectorXd;
using var_vector = Eigen::Matrix<stan::math::var, Eigen::Dynamic, 1>;

struct bs_rng {
    rng_type engine;
};

struct bs_model {
    std::unique_ptr<stan::model::model_base> program;
    std::string name, info, unconstrained;
    std::string names[2][2]; /* with transformed parameters, with generated */
    int counts[2][2];
    Eigen::Index dim;
};

namespace
{

/* ---- what programs print ------------------------------------------------- */

std::atomic<print_callback> printer{nullptr};

/* One stream per thread: making one costs as much as a small gradient. */
std::ostringstream &messages()
{
    static thread_local std::ostringstream stream;

    return stream;
}

void print_messages()
{
    static std::mutex one_at_a_time;
    std::ostringstream &stream = messages();

    if (stream.tellp() <= 0) {
        return;
    }
    const std::string text = stream.str();
    const print_callback callback = printer;
    const std::lock_guard<std::mutex> lock(one_at_a_time);

    stream.str("");
    stream.clear();
    if (callback) {
        callback(text.data(), text.size());
    } else {
        std::cout << text << std::flush;
    }
}

/* ---- errors -------------------------------------------------------------- */

/* Stan's messages end in empty lines. */
int fail(char **error, const char *text)
{
    if (error) {
        std::size_t n = std::strlen(text);

        while (n && std::strchr(" \n", text[n - 1])) {
            n--;
        }
        *error = strndup(text, n);
    }
    return -1;
}

/* Gives the memory of an abandoned calculation back. */
void forget_calculation()
{
    while (!stan::math::empty_nested()) {
        stan::math::recover_memory_nested();
    }
    stan::math::recover_memory();
}

/* Calls body(); an exception becomes -1 and its text. */
template <typename Body> int guard(char **error, Body body)
{
    /* Stan's memory for derivatives, of this thread */
    static thread_local stan::math::ChainableStack stack;

    (void)stack;
    try {
        body();
        print_messages();
        return 0;
    } catch (const std::exception &e) {
        forget_calculation();
        print_messages();
        return fail(error, e.what());
    } catch (...) {
        forget_calculation();
        print_messages();
        return fail(error, "an exception of unknown type");
    }
}

/* ---- data and names ------------------------------------------------------ */

bool ends_with(const std::string &text, const std::string &end)
{
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/* Text as it is, or what stands in the file if it ends in .json. */
std::string read_data(const char *data)
{
    const std::string text = data ? data : "";

    if (!ends_with(text, ".json")) {
        return text;
    }
    std::ifstream file(text);
    std::ostringstream out;

    if (!file || !(out << file.rdbuf())) {
        throw std::runtime_error("cannot read " + text);
    }
    return out.str();
}

std::string join(const std::vector<std::string> &words)
{
    std::string out;

    for (const std::string &word : words) {
        out += (out.empty() ? "" : ",") + word;
    }
    return out;
}

std::string describe()
{
    return "relmc shim for Stan\nStan version: " + stan::MAJOR_VERSION + "." +
           stan::MINOR_VERSION + "." + stan::PATCH_VERSION +
           "\nStan C++ Defines:\n"
#ifdef STAN_THREADS
           "\tSTAN_THREADS=true\n";
#else
           "\tSTAN_THREADS=false\n";
#endif
}

void fill_names(bs_model *model)
{
    std::vector<std::string> names;

    model->name = model->program->model_name();
    model->info = describe();
    model->dim = static_cast<Eigen::Index>(model->program->num_params_r());
    model->program->unconstrained_param_names(names, false, false);
    model->unconstrained = join(names);
    for (int tp = 0; tp < 2; tp++) {
        for (int gq = 0; gq < 2; gq++) {
            names.clear();
            model->program->constrained_param_names(names, tp, gq);
            model->names[tp][gq] = join(names);
            model->counts[tp][gq] = static_cast<int>(names.size());
        }
    }
}

/* ---- densities ----------------------------------------------------------- */

template <typename Vector>
auto log_density(const bs_model *model, bool propto, bool jacobian, Vector &x)
{
    const stan::model::model_base &program = *model->program;

    if (propto) {
        return jacobian ? program.log_prob_propto_jacobian(x, &messages())
                        : program.log_prob_propto(x, &messages());
    }
    return jacobian ? program.log_prob_jacobian(x, &messages())
                    : program.log_prob(x, &messages());
}

void evaluate(const bs_model *model, bool propto, bool jacobian,
              const double *at, double *value, double *gradient)
{
    var_vector x(model->dim);

    for (Eigen::Index i = 0; i < model->dim; i++) {
        x.coeffRef(i) = at[i];
    }
    stan::math::var result = log_density(model, propto, jacobian, x);

    *value = result.val();
    if (gradient) {
        stan::math::grad(result.vi_);
        for (Eigen::Index i = 0; i < model->dim; i++) {
            gradient[i] = x.coeff(i).adj();
        }
    }
    stan::math::recover_memory();
}

/* The gradient's derivative along v, from central differences. */
void differences(const bs_model *model, bool propto, bool jacobian,
                 const double *at, const double *v, double *out)
{
    const Eigen::Index n = model->dim;
    const Eigen::Map<const real_vector> x(at, n), along(v, n);
    const double length = along.norm();
    real_vector ahead(n), behind(n);
    double unused;

    if (length == 0.0) {
        std::fill(out, out + n, 0.0);
        return;
    }
    const double h = std::cbrt(std::numeric_limits<double>::epsilon()) *
                     (1.0 + x.lpNorm<Eigen::Infinity>()) / length;
    const real_vector right = x + h * along, left = x - h * along;

    evaluate(model, propto, jacobian, right.data(), &unused, ahead.data());
    evaluate(model, propto, jacobian, left.data(), &unused, behind.data());
    Eigen::Map<real_vector>(out, n) = (ahead - behind) / (2.0 * h);
}

/* ---- parameters ---------------------------------------------------------- */

void copy_out(const real_vector &from, double *to)
{
    std::copy(from.data(), from.data() + from.size(), to);
}

/* The variables of the parameters block alone. */
void list_parameters(const bs_model *model, std::vector<std::string> *names,
                     std::vector<std::vector<std::size_t>> *dims)
{
    std::vector<std::string> all;
    std::vector<std::vector<std::size_t>> sizes;
    std::size_t left = static_cast<std::size_t>(model->counts[0][0]);

    model->program->get_param_names(all);
    model->program->get_dims(sizes);
    for (std::size_t i = 0; i < all.size(); i++) {
        std::size_t n = 1;

        for (std::size_t size : sizes[i]) {
            n *= size;
        }
        if (n > left) {
            break; /* the first transformed one */
        }
        left -= n;
        names->push_back(all[i]);
        dims->push_back(sizes[i]);
    }
}

} // namespace

/* ---- the interface ------------------------------------------------------- */

extern "C" {
__attribute__((visibility("default"))) extern const int bs_major_version = 2;
__attribute__((visibility("default"))) extern const int bs_minor_version = 7;
__attribute__((visibility("default"))) extern const int bs_patch_version = 0;
}

BS_PUBLIC void bs_free_error_msg(char *error)
{
    std::free(error);
}

BS_PUBLIC bs_model *bs_model_construct(const char *data, unsigned int seed,
                                       char **error)
{
    std::unique_ptr<bs_model> model(new bs_model);
    const int status = guard(error, [&] {
        relmc::json_context context(read_data(data));

        model->program.reset(&new_model(context, seed, &messages()));
        fill_names(model.get());
    });

    return status ? nullptr : model.release();
}

BS_PUBLIC void bs_model_destruct(bs_model *model)
{
    delete model;
}

BS_PUBLIC const char *bs_name(const bs_model *model)
{
    return model->name.c_str();
}

BS_PUBLIC const char *bs_model_info(const bs_model *model)
{
    return model->info.c_str();
}

BS_PUBLIC const char *bs_param_names(const bs_model *model, bool include_tp,
                                     bool include_gq)
{
    return model->names[include_tp][include_gq].c_str();
}

BS_PUBLIC const char *bs_param_unc_names(const bs_model *model)
{
    return model->unconstrained.c_str();
}

BS_PUBLIC int bs_param_num(const bs_model *model, bool include_tp,
                           bool include_gq)
{
    return model->counts[include_tp][include_gq];
}

BS_PUBLIC int bs_param_unc_num(const bs_model *model)
{
    return static_cast<int>(model->dim);
}

BS_PUBLIC bs_rng *bs_rng_construct(unsigned int seed, char **error)
{
    bs_rng *rng = nullptr;

    (void)guard(error, [&] {
        rng = new bs_rng{stan::services::util::create_rng(seed, 1u)};
    });
    return rng;
}

BS_PUBLIC void bs_rng_destruct(bs_rng *rng)
{
    delete rng;
}

BS_PUBLIC int bs_set_print_callback(print_callback callback, char **)
{
    printer = callback;
    return 0;
}

BS_PUBLIC int bs_param_constrain(const bs_model *model, bool include_tp,
                                 bool include_gq, const double *theta_unc,
                                 double *theta, bs_rng *rng, char **error)
{
    if (include_gq && !rng) {
        return fail(error, "bs_param_constrain: generated quantities need a "
                           "generator, and rng is NULL");
    }
    return guard(error, [&] {
        /* without generated quantities nothing is drawn from it */
        static thread_local bs_rng idle{
            stan::services::util::create_rng(1u, 1u)};
        real_vector x = Eigen::Map<const real_vector>(theta_unc, model->dim);
        real_vector out;

        model->program->write_array(rng ? rng->engine : idle.engine, x, out,
                                    include_tp, include_gq, &messages());
        copy_out(out, theta);
    });
}

BS_PUBLIC int bs_param_unconstrain(const bs_model *model, const double *theta,
                                   double *theta_unc, char **error)
{
    return guard(error, [&] {
        const real_vector given =
            Eigen::Map<const real_vector>(theta, model->counts[0][0]);
        real_vector out;

#if RELMC_STAN >= 229
        model->program->unconstrain_array(given, out, &messages());
#else
        std::vector<std::string> names;
        std::vector<std::vector<std::size_t>> dims;

        list_parameters(model, &names, &dims);
        stan::io::array_var_context context(names, given, dims);
        model->program->transform_inits(context, out, &messages());
#endif
        copy_out(out, theta_unc);
    });
}

BS_PUBLIC int bs_param_unconstrain_json(const bs_model *model, const char *json,
                                        double *theta_unc, char **error)
{
    return guard(error, [&] {
        relmc::json_context context{read_data(json)};
        real_vector out;

        model->program->transform_inits(context, out, &messages());
        copy_out(out, theta_unc);
    });
}

BS_PUBLIC int bs_log_density(const bs_model *model, bool propto, bool jacobian,
                             const double *theta_unc, double *value,
                             char **error)
{
    return guard(error, [&] {
        if (propto) { /* which terms are constant is known to var only */
            evaluate(model, propto, jacobian, theta_unc, value, nullptr);
            return;
        }
        real_vector x = Eigen::Map<const real_vector>(theta_unc, model->dim);

        *value = log_density(model, propto, jacobian, x);
    });
}

BS_PUBLIC int bs_log_density_gradient(const bs_model *model, bool propto,
                                      bool jacobian, const double *theta_unc,
                                      double *value, double *gradient,
                                      char **error)
{
    return guard(error, [&] {
        evaluate(model, propto, jacobian, theta_unc, value, gradient);
    });
}

BS_PUBLIC int bs_log_density_hessian_vector_product(
    const bs_model *model, bool propto, bool jacobian, const double *theta_unc,
    const double *v, double *value, double *product, char **error)
{
    return guard(error, [&] {
        evaluate(model, propto, jacobian, theta_unc, value, nullptr);
        differences(model, propto, jacobian, theta_unc, v, product);
    });
}

BS_PUBLIC int bs_log_density_hessian(const bs_model *model, bool propto,
                                     bool jacobian, const double *theta_unc,
                                     double *value, double *gradient,
                                     double *hessian, char **error)
{
    return guard(error, [&] {
        const Eigen::Index n = model->dim;
        Eigen::MatrixXd columns(n, n);
        real_vector unit = real_vector::Zero(n);

        evaluate(model, propto, jacobian, theta_unc, value, gradient);
        for (Eigen::Index i = 0; i < n; i++) {
            unit[i] = 1.0;
            differences(model, propto, jacobian, theta_unc, unit.data(),
                        columns.col(i).data());
            unit[i] = 0.0;
        }
        Eigen::Map<Eigen::MatrixXd>(hessian, n, n) =
            0.5 * (columns + columns.transpose());
    });
}
