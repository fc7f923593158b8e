/*
 * samplers.c - samplers compared with Stan's by what a gradient buys, on the
 * targets of the design notes.
 *
 * Every run has a process of its own: one that crashes or never ends is a row
 * that says so.
 */
#include "samplers.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "usage: bench-samplers [options] "
    "[NAME=SAMPLER/KINETIC/ADAPT[/WARMUP[/INTEGRATOR]]]...\n"
    "\n"
    "  --targets a,b,c   names, or: all, regular, hard; default all\n"
    "  --configs a,b     of those below; default all, or none beside those "
    "given\n"
    "                    in full; stan is always there\n"
    "  --seeds 1,2,3     default 1\n"
    "  --gradients G     per chain after warm-up; default 20000\n"
    "  --draws N         per chain, whatever they cost\n"
    "  --chains N        default 4\n"
    "  --threads N       of each run; default 1\n"
    "  --jobs N          runs at a time; default 1\n"
    "  --limit S         seconds a run may take; default 600\n"
    "  --csv FILE        every run, a row each\n"
    "  --reuse FILE      take the runs that such a file has, make the others\n"
    "  --cache FOLDER    quantiles of lr3, lr25 and sv, from long runs: "
    "minutes\n"
    "                    the first time; default: not known\n"
    "  --list            targets and configurations\n"
    "  --quick           a few targets, for `make bench`\n";

static const struct target targets[] = {
    {"normal10", "gaussian:dim=10", 0, 0},
    {"normal100", "gaussian:dim=100", 0, 0},
    {"normal1000", "gaussian:dim=1000", 0, 0},
    {"ill", "gaussian:dim=50,ratio=1e4", 0, 0},
    {"ar1", "gaussian:dim=50,rho=0.95", 0, 0},
    {"quartic", "quartic:dim=10", 0, 0},
    {"x8", "quartic:dim=10,power=8", 0, 0},
    {"t2", "student:dim=10,nu=2", 0, 0},
    {"cauchy", "student:dim=5,nu=1", 1, 0},
    {"t5", "student:dim=50,nu=5", 0, 0},
    {"mvt2", "student:dim=10,nu=2,joint=1", 1, 0},
    {"gmm1", "gmm1", 0, 0},
    {"gmm2", "gmm2", 0, 0},
    {"gmm3", "gmm3", 0, 0},
    {"bi3", "mixture:dim=2", 0, 0},
    {"banana", "banana", 1, 0},
    {"rosen2", "rosenbrock", 1, 0},
    {"hrosen", "rosenbrock:dim=7,block=2", 1, 0},
    {"funnel", "funnel", 1, 0},
    {"eight", "schools", 1, 0},
    {"lr3", "logistic:dim=3,n=500", 0, 20000},
    {"lr25", "logistic:dim=25,n=1000", 0, 20000},
    {"sv", "volatility", 1, 200000},
};

#define RELATIVISTIC "relativistic:cruise=0.79"

/* The first is the rival. */
static const struct config built_in[] = {
    {"stan", "nuts", "newtonian", "stan", NULL, 1000},
    {"n-nuts", "nuts", "newtonian", "auto", NULL, 1000},
    {"r-nuts", "nuts", RELATIVISTIC, "auto", NULL, 1000},
    {"n-ghmc", "ghmc", "newtonian", "auto", NULL, 1000},
    {"r-ghmc", "ghmc", RELATIVISTIC, "auto", NULL, 1000},
    {"walnuts", "walnuts", RELATIVISTIC, "auto", NULL, 500},
    {"n-auto", "auto", "newtonian", "auto", NULL, 500},
    {"auto", "auto", RELATIVISTIC, "auto", NULL, 500}, /* the default */
};

enum {
    N_TARGETS = sizeof targets / sizeof *targets,
    N_BUILT_IN = sizeof built_in / sizeof *built_in,
    MAX_CONFIGS = 32,
    MAX_SEEDS = 64,
    MAX_JOBS = 64
};

struct settings {
    const char *targets, *configs, *seeds; /* as given */
    const char *csv, *reuse, *cache;
    struct effort effort;
    long jobs, limit;
    int is_list;
    struct config given[MAX_CONFIGS]; /* in full */
    size_t n_given;
};

static void complain(const char *what, const char *text)
{
    (void)fprintf(stderr, "bench-samplers: %s '%s'\n", what, text);
    exit(2);
}

/* ---- the command line ------------------------------------------------------- */

static long to_count(const char *text)
{
    char *end;
    const double value = strtod(text, &end); /* 1e5 is a count, too */

    if (*end || !(value >= 1.0 && value <= 1e15)) {
        complain("this must be a positive number:", text);
    }
    return (long)value;
}

/* The next part of *rest up to the separator, NULL after the last. */
static char *next_part(char **rest, char separator)
{
    char *part = *rest;
    char *end = part ? strchr(part, separator) : NULL;

    if (end) {
        *end = '\0';
    }
    *rest = end ? end + 1 : NULL;
    return part;
}

static char *copy_of(const char *text)
{
    char *copy = strdup(text);

    bench_need(!copy, "no memory");
    return copy; /* lives as long as the program */
}

static struct config parse_config(const char *text)
{
    char *rest = copy_of(text);
    struct config c = {.name = next_part(&rest, '='), .warmup = 1000};

    c.sampler = next_part(&rest, '/');
    c.kinetic = next_part(&rest, '/');
    c.adapt = next_part(&rest, '/');
    const char *warmup = next_part(&rest, '/');
    c.integrator = next_part(&rest, '/');
    if (!c.adapt || rest) {
        complain("expected NAME=SAMPLER/KINETIC/ADAPT[/WARMUP[/INTEGRATOR]], "
                 "not",
                 text);
    }
    if (warmup) {
        c.warmup = strcmp(warmup, "0") == 0 ? 0 : to_count(warmup);
    }
    return c;
}

static int set_option(struct settings *s, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **text;
    } texts[] = {
        {"--targets", &s->targets}, {"--configs", &s->configs},
        {"--seeds", &s->seeds},     {"--csv", &s->csv},
        {"--reuse", &s->reuse},     {"--cache", &s->cache},
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].text = value;
            return 1;
        }
    }
    if (strcmp(name, "--gradients") == 0) {
        s->effort.gradients = (double)to_count(value);
    } else if (strcmp(name, "--draws") == 0) {
        s->effort.draws = to_count(value);
    } else if (strcmp(name, "--chains") == 0) {
        s->effort.chains = (uint32_t)to_count(value);
    } else if (strcmp(name, "--threads") == 0) {
        s->effort.threads = (uint32_t)to_count(value);
    } else if (strcmp(name, "--jobs") == 0) {
        s->jobs = to_count(value);
    } else if (strcmp(name, "--limit") == 0) {
        s->limit = to_count(value);
    } else {
        return 0;
    }
    return 1;
}

static void be_quick(struct settings *s)
{
    s->targets = "normal10,normal100,ar1,quartic,t2,gmm1,banana,eight,lr3";
    s->effort.gradients = 10000;
}

static void parse(struct settings *s, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            (void)fputs(help, stdout);
            exit(0);
        } else if (strcmp(argv[i], "--list") == 0) {
            s->is_list = 1;
        } else if (strcmp(argv[i], "--quick") == 0) {
            be_quick(s);
        } else if (argv[i][0] != '-') {
            if (s->n_given == MAX_CONFIGS) {
                complain("too many configurations at", argv[i]);
            }
            s->given[s->n_given++] = parse_config(argv[i]);
        } else if (i + 1 == argc || !set_option(s, argv[i], argv[i + 1])) {
            complain("unknown option, or no value for it:", argv[i]);
        } else {
            i++;
        }
    }
    if (s->jobs > MAX_JOBS) {
        s->jobs = MAX_JOBS;
    }
}

/* ---- what is compared ------------------------------------------------------- */

static int is_meant(const struct target *target, const char *word)
{
    return strcmp(word, target->name) == 0 || strcmp(word, "all") == 0 ||
           strcmp(word, target->is_hard ? "hard" : "regular") == 0;
}

static size_t choose_targets(const struct target **out, const char *list)
{
    int is_chosen[N_TARGETS] = {0};
    char *rest = copy_of(list);
    size_t n = 0;

    for (char *word; (word = next_part(&rest, ','));) {
        int is_known = 0;

        for (size_t t = 0; t < N_TARGETS; t++) {
            const int is = is_meant(&targets[t], word);
            is_chosen[t] |= is;
            is_known |= is;
        }
        if (!is_known) {
            complain("no target", word);
        }
    }
    for (size_t t = 0; t < N_TARGETS; t++) {
        if (is_chosen[t]) {
            out[n++] = &targets[t];
        }
    }
    return n;
}

static const struct config *find_config(const char *name)
{
    for (size_t c = 0; c < N_BUILT_IN; c++) {
        if (strcmp(name, built_in[c].name) == 0) {
            return &built_in[c];
        }
    }
    complain("no configuration", name);
    return NULL;
}

static size_t choose_configs(struct config out[2 * MAX_CONFIGS],
                             const struct settings *s)
{
    size_t n = 0;

    out[n++] = built_in[0];
    if (s->configs) {
        char *rest = copy_of(s->configs);

        for (char *word; (word = next_part(&rest, ','));) {
            const struct config *c = find_config(word);
            if (c != built_in && n < MAX_CONFIGS) {
                out[n++] = *c;
            }
        }
    } else if (!s->n_given) {
        for (size_t c = 1; c < N_BUILT_IN; c++) {
            out[n++] = built_in[c];
        }
    }
    for (size_t c = 0; c < s->n_given; c++) {
        out[n++] = s->given[c];
    }
    return n;
}

static size_t choose_seeds(uint64_t out[MAX_SEEDS], const char *list)
{
    char *rest = copy_of(list);
    size_t n = 0;

    for (char *word; n < MAX_SEEDS && (word = next_part(&rest, ','));) {
        out[n++] = (uint64_t)to_count(word);
    }
    return n;
}

static void list_all(void)
{
    for (size_t t = 0; t < N_TARGETS; t++) {
        (void)printf("target %-12s %s%s\n", targets[t].name, targets[t].model,
                     targets[t].is_hard ? " (hard)" : "");
    }
    for (size_t c = 0; c < N_BUILT_IN; c++) {
        const struct config *b = &built_in[c];
        (void)printf("config %-12s %s/%s/%s/%lld\n", b->name, b->sampler,
                     b->kinetic, b->adapt, (long long)b->warmup);
    }
}

/* ---- processes -------------------------------------------------------------- */

struct worker {
    pid_t pid; /* 0: idle */
    int pipe;  /* where its result comes out */
    struct job job;
};

struct pool {
    struct comparison *all;
    struct worker workers[MAX_JOBS];
    size_t n_workers;
    long limit;
    const char *cache;
    FILE *csv;
    size_t n_done, n_all;
};

static void note(struct pool *pool, struct job job)
{
    const struct comparison *all = pool->all;
    const struct result *r = result_of(all, job);

    (void)fprintf(stderr, "[%zu/%zu] %s %s seed %llu: ", ++pool->n_done,
                  pool->n_all, all->targets[job.target]->name,
                  all->configs[job.config].name,
                  (unsigned long long)all->seeds[job.seed]);
    if (r->state == RAN) {
        (void)fprintf(stderr, "%s, ESS %.4g, %.3g per 1000 gradients\n",
                      r->engine, r->ess, 1e3 * r->ess / r->gradients);
    } else {
        (void)fprintf(stderr, "%s\n", r->message);
    }
    if (pool->csv) {
        csv_row(pool->csv, all, job);
    }
}

/* A process that crashed has written nothing. */
static void take_result(struct result *out, const struct worker *worker,
                        int status, long limit)
{
    const int is_late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;

    if (read(worker->pipe, out, sizeof *out) != (ssize_t)sizeof *out) {
        *out = (struct result){.state = FAILED};
        if (is_late) {
            (void)snprintf(out->message, MAX_TEXT, "took more than %ld seconds",
                           limit);
        } else {
            (void)snprintf(out->message, MAX_TEXT, "crashed");
        }
    }
    (void)close(worker->pipe);
}

/* Wait until one of the processes has ended. */
static void reap(struct pool *pool)
{
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);

    bench_need(pid < 0 && errno != EINTR, "cannot wait for a process");
    for (size_t w = 0; w < pool->n_workers; w++) {
        struct worker *worker = &pool->workers[w];

        if (pid > 0 && worker->pid == pid) {
            take_result(result_of(pool->all, worker->job), worker, status,
                        pool->limit);
            worker->pid = 0;
            note(pool, worker->job);
        }
    }
}

static struct worker *idle(struct pool *pool)
{
    for (size_t w = 0; w < pool->n_workers; w++) {
        if (!pool->workers[w].pid) {
            return &pool->workers[w];
        }
    }
    return NULL;
}

/* A pipe holds a result, whether or not anybody reads. */
_Static_assert(sizeof(struct result) <= _POSIX_PIPE_BUF, "too large to pipe");

static void begin(struct pool *pool, struct job job, const struct truth *truth)
{
    const struct comparison *all = pool->all;
    struct worker *worker;
    int ends[2];

    while (!(worker = idle(pool))) {
        reap(pool);
    }
    bench_need(pipe(ends), "cannot make a pipe");
    *worker = (struct worker){fork(), ends[0], job};
    bench_need(worker->pid < 0, "cannot start a process");
    if (worker->pid == 0) {
        struct result result;

        (void)alarm((unsigned)pool->limit);
        measure(&result, truth, &all->configs[job.config], &all->effort,
                all->seeds[job.seed]);
        _exit(write(ends[1], &result, sizeof result) != (ssize_t)sizeof result);
    }
    (void)close(ends[1]);
}

static void run_target(struct pool *pool, size_t t)
{
    const struct comparison *all = pool->all;
    struct truth truth = {0};
    relmc_error err = {0};
    relmc_status status = RELMC_OK;

    for (size_t c = 0; c < all->n_configs && !status; c++) {
        for (size_t s = 0; s < all->n_seeds && !status; s++) {
            const struct job job = {t, c, s};

            if (result_of(all, job)->state == RAN) {
                continue;
            }
            if (!truth.model && (status = truth_find(&truth, all->targets[t],
                                                     pool->cache, &err))) {
                (void)fprintf(stderr, "%s skipped: %s\n", all->targets[t]->name,
                              err.message);
            } else {
                begin(pool, job, &truth);
            }
        }
    }
    truth_forget(&truth); /* the processes have copies */
}

static void run_all(struct pool *pool)
{
    for (size_t t = 0; t < pool->all->n_targets; t++) {
        run_target(pool, t);
    }
    for (size_t w = 0; w < pool->n_workers;) {
        if (pool->workers[w].pid) {
            reap(pool);
        } else {
            w++;
        }
    }
}

/* ---- the whole -------------------------------------------------------------- */

static FILE *open_csv(const char *path)
{
    FILE *csv = path ? fopen(path, "a") : NULL;

    bench_need(path && !csv, "cannot write the file of --csv");
    if (csv && ftell(csv) == 0) {
        csv_header(csv);
    }
    return csv;
}

int main(int argc, char **argv)
{
    static struct settings s = {
        .targets = "all",
        .seeds = "1",
        .effort = {.gradients = 20000, .chains = 4, .threads = 1},
        .jobs = 1,
        .limit = 600,
    };
    const struct target *chosen[N_TARGETS];
    struct config configs[2 * MAX_CONFIGS];
    uint64_t seeds[MAX_SEEDS];

    parse(&s, argc, argv);
    if (s.is_list) {
        list_all();
        return 0;
    }
    struct comparison all = {
        .n_targets = choose_targets(chosen, s.targets),
        .n_configs = choose_configs(configs, &s),
        .n_seeds = choose_seeds(seeds, s.seeds),
        .targets = chosen,
        .configs = configs,
        .seeds = seeds,
        .effort = s.effort,
    };
    struct pool pool = {.all = &all,
                        .n_workers = (size_t)s.jobs,
                        .limit = s.limit,
                        .cache = s.cache,
                        .n_all = all.n_targets * all.n_configs * all.n_seeds};

    all.results = calloc(pool.n_all, sizeof *all.results);
    bench_need(!all.results, "no memory");
    pool.n_done = s.reuse ? csv_reuse(s.reuse, &all) : 0;
    pool.csv = open_csv(s.csv);
    run_all(&pool);
    print_tables(&all);
    return pool.csv ? fclose(pool.csv) : 0;
}
