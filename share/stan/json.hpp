/*
 * json.hpp - data and parameter values of a Stan program, read from JSON.
 *
 * One object; values are numbers, nested rectangular arrays of them (the
 * outermost index first), or for newer Stan tuples as objects {"1": ..}, which
 * become variables with the names x.1, x.2.  Strings "NaN", "Inf", "-inf" and
 * the bare words NaN, Infinity stand for what JSON has no number for.
 */
#ifndef RELMC_JSON_HPP
#define RELMC_JSON_HPP

#include "stan.hpp"

#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <locale.h>
#include <map>

namespace relmc
{

struct variable {
    std::vector<double> values; /* the first index runs fastest */
    std::vector<std::size_t> dims;
    bool is_int = true; /* every value is a whole number that fits an int */
};

using variables = std::map<std::string, variable>;

/* A number may be written the English way only, whatever the locale. */
inline double parse_double(const char *text, char **end)
{
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);

    return strtod_l(text, end, plain);
}

class json_reader
{
  public:
    json_reader(const std::string &text, variables *out)
        : start_(text.c_str()), end_(start_ + text.size()), at_(start_),
          out_(out)
    {
    }

    void read()
    {
        if (peek() == '\0' && at_ == end_) {
            return; /* no data at all */
        }
        read_object("");
        if (peek() != '\0' || at_ != end_) {
            fail("text after the last }");
        }
    }

  private:
    const char *const start_, *const end_;
    const char *at_;
    variables *const out_;

    [[noreturn]] void fail(const std::string &what) const
    {
        std::size_t line = 1, column = 1;

        for (const char *p = start_; p < at_; p++) {
            column = *p == '\n' ? 1 : column + 1;
            line += *p == '\n';
        }
        throw std::runtime_error("JSON, line " + std::to_string(line) +
                                 ", column " + std::to_string(column) + ": " +
                                 what);
    }

    char peek()
    {
        at_ += std::strspn(at_, " \t\r\n");
        return *at_;
    }

    void expect(char c)
    {
        if (peek() != c) {
            fail(std::string("expected ") + c);
        }
        at_++;
    }

    /* After an element: is there another?  If not, the closing mark is eaten. */
    bool has_more(char closing)
    {
        if (peek() == ',') {
            at_++;
            return true;
        }
        if (*at_ != closing) {
            fail(std::string("expected , or ") + closing);
        }
        at_++;
        return false;
    }

    std::string read_string()
    {
        std::string out;

        expect('"');
        for (; *at_ != '"'; at_++) {
            if (*at_ == '\0') {
                fail("a string without an end");
            }
            if (*at_ == '\\') {
                fail("escapes are not for names of Stan variables");
            }
            out += *at_;
        }
        at_++;
        return out;
    }

    void read_object(const std::string &prefix)
    {
        expect('{');
        if (peek() == '}') {
            at_++;
            return;
        }
        do {
            peek();
            const std::string name = prefix + read_string();

            expect(':');
            if (peek() == '{') {
                read_object(name + ".");
                continue;
            }
            if (out_->count(name)) {
                fail("\"" + name + "\" is there twice");
            }
            (*out_)[name] = read_variable(name);
        } while (has_more('}'));
    }

    variable read_variable(const std::string &name)
    {
        variable v;
        bool is_complete = false;

        read_value(name, &v, 0, &is_complete);
        to_column_major(&v);
        return v;
    }

    /* Sizes are those of the first element at every depth; the others must
     * agree.  They are all known when the first number or [] is read. */
    void read_value(const std::string &name, variable *v, std::size_t depth,
                    bool *is_complete)
    {
        if (peek() != '[') {
            if (v->dims.size() > depth) {
                fail("\"" + name + "\" is not rectangular");
            }
            *is_complete = true;
            read_number(name, v);
            return;
        }
        const bool is_first = !*is_complete && v->dims.size() == depth;
        std::size_t n = 0;

        at_++;
        if (is_first) {
            v->dims.push_back(0);
        } else if (v->dims.size() <= depth) {
            fail("\"" + name + "\" is not rectangular");
        }
        if (peek() == ']') {
            at_++;
            *is_complete = true;
        } else {
            do {
                read_value(name, v, depth + 1, is_complete);
                n++;
            } while (has_more(']'));
        }
        if (is_first) {
            v->dims[depth] = n;
        } else if (v->dims[depth] != n) {
            fail("\"" + name + "\" is not rectangular");
        }
    }

    static bool word_value(const std::string &word, double *out)
    {
        static const struct {
            const char *word;
            double value;
        } words[] = {
            {"NaN", std::numeric_limits<double>::quiet_NaN()},
            {"nan", std::numeric_limits<double>::quiet_NaN()},
            {"Inf", std::numeric_limits<double>::infinity()},
            {"+Inf", std::numeric_limits<double>::infinity()},
            {"inf", std::numeric_limits<double>::infinity()},
            {"+inf", std::numeric_limits<double>::infinity()},
            {"Infinity", std::numeric_limits<double>::infinity()},
            {"+Infinity", std::numeric_limits<double>::infinity()},
            {"-Inf", -std::numeric_limits<double>::infinity()},
            {"-inf", -std::numeric_limits<double>::infinity()},
            {"-Infinity", -std::numeric_limits<double>::infinity()},
            {"true", 1.0},
            {"false", 0.0},
        };

        for (const auto &known : words) {
            if (word == known.word) {
                *out = known.value;
                return true;
            }
        }
        return false;
    }

    void read_number(const std::string &name, variable *v)
    {
        const char *before = at_;
        double value = 0.0;

        if (*at_ == '"') {
            if (!word_value(read_string(), &value)) {
                at_ = before;
                fail("\"" + name + "\" has a text where a number should be");
            }
        } else if (*at_ == '-' || (*at_ >= '0' && *at_ <= '9')) {
            char *after = nullptr;

            value = parse_double(at_, &after);
            at_ = after;
        }
        if (at_ == before || (at_ == before + 1 && *before == '-')) {
            const std::size_t n = std::strcspn(before, " \t\r\n,]}");

            if (!word_value(std::string(before, n), &value)) {
                at_ = before;
                fail("\"" + name + "\" has no number here");
            }
            at_ = before + n;
        }
        if (*at_ && !std::strchr(" \t\r\n,]}", *at_)) {
            fail("\"" + name + "\" has no number here");
        }
        if (!(value >= -2147483648.0 && value <= 2147483647.0) ||
            value != static_cast<double>(static_cast<std::int64_t>(value))) {
            v->is_int = false;
        }
        v->values.push_back(value);
    }

    /* JSON has the last index fastest, Stan the first. */
    static void to_column_major(variable *v)
    {
        const std::size_t n_dims = v->dims.size(), n = v->values.size();

        if (n_dims < 2) {
            return;
        }
        std::vector<double> out(n);
        std::vector<std::size_t> index(n_dims, 0);

        for (std::size_t j = 0; j < n; j++) {
            std::size_t to = 0;

            for (std::size_t d = n_dims; d-- > 0;) {
                to = to * v->dims[d] + index[d];
            }
            out[to] = v->values[j];
            for (std::size_t d = n_dims; d-- > 0;) {
                if (++index[d] < v->dims[d]) {
                    break;
                }
                index[d] = 0;
            }
        }
        v->values.swap(out);
    }
};

/* What a Stan program asks for its data. */
class json_context : public stan::io::var_context
{
  public:
    explicit json_context(const std::string &text)
    {
        json_reader(text, &all_).read();
    }

    bool contains_r(const std::string &name) const override
    {
        return all_.count(name) > 0;
    }

    bool contains_i(const std::string &name) const override
    {
        const variable *v = find(name);

        return v && v->is_int;
    }

    std::vector<double> vals_r(const std::string &name) const override
    {
        const variable *v = find(name);

        return v ? v->values : std::vector<double>();
    }

    std::vector<int> vals_i(const std::string &name) const override
    {
        const variable *v = find(name);

        return v && v->is_int
                   ? std::vector<int>(v->values.begin(), v->values.end())
                   : std::vector<int>();
    }

    std::vector<std::size_t> dims_r(const std::string &name) const override
    {
        const variable *v = find(name);

        return v ? v->dims : std::vector<std::size_t>();
    }

    std::vector<std::size_t> dims_i(const std::string &name) const override
    {
        return dims_r(name);
    }

    void names_r(std::vector<std::string> &names) const override
    {
        list(&names, false);
    }

    void names_i(std::vector<std::string> &names) const override
    {
        list(&names, true);
    }

#if RELMC_STAN >= 227
    /* Complex numbers: pairs, so the last dimension is 2. */
    std::vector<std::complex<double>>
    vals_c(const std::string &name) const override
    {
        const variable *v = find(name);
        std::vector<std::complex<double>> out;

        if (v) {
            const std::size_t n = v->values.size() / 2;

            for (std::size_t i = 0; i < n; i++) {
                out.emplace_back(v->values[i], v->values[n + i]);
            }
        }
        return out;
    }

    void validate_dims(const std::string &stage, const std::string &name,
                       const std::string &type,
                       const std::vector<std::size_t> &dims) const override
    {
        relmc::validate_dims(*this, stage, name, type, dims);
    }
#endif

  private:
    variables all_;

    const variable *find(const std::string &name) const
    {
        const auto found = all_.find(name);

        return found == all_.end() ? nullptr : &found->second;
    }

    void list(std::vector<std::string> *names, bool is_int) const
    {
        names->clear();
        for (const auto &each : all_) {
            if (each.second.is_int == is_int) {
                names->push_back(each.first);
            }
        }
    }
};

} // namespace relmc

#endif
