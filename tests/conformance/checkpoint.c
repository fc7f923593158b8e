/*
 * checkpoint.c - a checkpoint that is damaged or belongs to another run is refused, and
 * a run cannot be resumed without its files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/archive.h"
#include "conformance/resume.h"

enum { HEAD = 32 }; /* bytes before the content of a checkpoint */

static int is_full; /* forge every byte, not only every fifth */

/* ---- what is refused --------------------------------------------------------- */

static relmc_status load_into(const relmc_target *target, relmc_options o,
                              const char *file, relmc_error *err)
{
    relmc_run *run = NULL;

    const relmc_status status = relmc_run_resume(&run, target, file, &o, err);

    if (status) {
        assert_null(run);
    }
    relmc_run_destroy(run);
    return status;
}

static relmc_options small_options(void)
{
    relmc_options o = options_of("ghmc", "auto");

    o.chains = 1;
    o.warmup = 20;
    o.draws = 4;
    return o;
}

static char *small_checkpoint(const relmc_target *target, size_t *bytes)
{
    const relmc_options o = small_options();
    relmc_run *run = NULL;

    check_ok(relmc_run_create(&run, target, &o, NULL), NULL);
    advance(run, 9);
    save(run, "small");
    relmc_run_destroy(run);
    return read_whole("small", bytes);
}

static void put_byte(int file, size_t at, char byte)
{
    assert_int_equal(pwrite(file, &byte, 1, (off_t)at), 1);
}

/* Reading the note checks the file as resuming does, and is faster. */
static void check_damaged(const relmc_target *target, size_t i)
{
    relmc_error err = {0};
    size_t n;

    assert_int_equal(relmc_checkpoint_note("small", NULL, 0, &n, &err),
                     RELMC_EIO);
    if (i % 16 == 0) {
        assert_int_equal(load_into(target, small_options(), "small", &err),
                         RELMC_EIO);
    }
}

static void test_resume__refuses_every_damage(void **state)
{
    relmc_target *target = target_of("gmm1");
    size_t bytes;
    char *text = small_checkpoint(target, &bytes);
    const int file = open("small", O_WRONLY);
    relmc_error err = {0};

    (void)state;
    check_ok(load_into(target, small_options(), "small", &err), &err);
    for (size_t i = 0; i < bytes; i++) {
        put_byte(file, i, (char)(text[i] ^ 1 << i % 8));
        check_damaged(target, i);
        put_byte(file, i, text[i]);
    }
    check_ok(load_into(target, small_options(), "small", &err), &err);
    for (size_t i = bytes; i-- > 0;) {
        assert_int_equal(ftruncate(file, (off_t)i), 0);
        check_damaged(target, i);
    }
    (void)close(file);
    free(text);
    relmc_target_destroy(target);
}

/* A changed byte with a checksum that fits does not crash. */
static void test_resume__survives_forgeries(void **state)
{
    static const unsigned char forged[] = {0xff, 0x80, 0x01};
    relmc_target *target = target_of("gmm1");
    const relmc_options o = small_options();
    size_t bytes, n, n_refused = 0;
    char *text = small_checkpoint(target, &bytes);
    const int file = open("small", O_WRONLY);

    (void)state;
    for (size_t i = HEAD; i < bytes; i += is_full ? 1 : 5) {
        const char was = text[i];
        relmc_run *run = NULL;

        text[i] ^= (char)forged[i % 3];
        put_byte(file, i, text[i]);
        struct rmc_hash all = {0};
        rmc_hash_add(&all, text + HEAD, bytes - HEAD);
        rmc_hash_add(&all, text, HEAD - 8);
        const uint64_t hash = rmc_hash_end(&all);
        assert_int_equal(pwrite(file, &hash, 8, 24), 8);
        n_refused +=
            relmc_run_resume(&run, target, "small", &o, NULL) != RELMC_OK;
        (void)relmc_checkpoint_note("small", NULL, 0, &n, NULL);
        relmc_run_destroy(run);
        text[i] = was;
        put_byte(file, i, was);
    }
    assert_true(n_refused > 100);
    (void)close(file);
    free(text);
    relmc_target_destroy(target);
}

static int bowl(size_t dim, const double *x, double *grad, double *lp,
                void *ctx)
{
    const double width = *(const double *)ctx;

    *lp = 0.0;
    for (size_t i = 0; i < dim; i++) {
        *lp -= 0.5 * x[i] * x[i] / width;
        grad[i] = -x[i] / width;
    }
    return 0;
}

static void check_refused(const relmc_target *target, relmc_options o,
                          const char *why)
{
    relmc_error err = {0};

    assert_int_equal(load_into(target, o, "bowl", &err), RELMC_EINVAL);
    if (!strstr(err.message, why)) {
        fail_msg("'%s' does not say '%s'", err.message, why);
    }
}

static void test_resume__refuses_another_run(void **state)
{
    double width = 2.0;
    const double metric[] = {1.0, 2.0, 3.0}, others[] = {1.0, 2.0, 3.5};
    relmc_target *target = NULL;
    relmc_options o = options_of("nuts", "dual");
    struct log *log = new_log();

    (void)state;
    check_ok(target_of_point(&target, DIM, bowl, &width, NULL), NULL);
    o.inv_metric = metric;
    relmc_run *run = open_run(target, &o, log, NULL);
    advance(run, 50);
    save(run, "bowl");
    relmc_run_destroy(run);
    relmc_options other = o;
    other.seed = 6;
    check_refused(target, other, "\"seed\" was 5, and now it is 6");
    other = o;
    other.sampler = "nuts:max_depth=9";
    check_refused(target, other, "\"sampler\" was");
    other = o;
    other.warmup = 131;
    check_refused(target, other, "\"warmup\" was 130");
    other = o;
    other.chains = 2;
    check_refused(target, other, "\"chains\" was 4");
    other = o;
    other.inv_metric = others;
    check_refused(target, other, "inverse metric");
    width = 2.0 + 1e-15;
    check_refused(target, o, "the model or its data have changed");
    width = 2.0;
    check_ok(load_into(target, o, "bowl", NULL), NULL);
    free(log);
    relmc_target_destroy(target);
}

static void test_resume__refuses_fewer_draws_than_there_are(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("hmc", "none");
    struct log *log = new_log();
    relmc_run *run = open_run(target, &o, log, NULL);

    (void)state;
    advance(run, 138);
    save(run, "bowl");
    relmc_run_destroy(run);
    o.draws = 7;
    check_refused(target, o, "138 iterations");
    o.draws = 8;
    check_ok(load_into(target, o, "bowl", NULL), NULL);
    free(log);
    relmc_target_destroy(target);
}

/* Resumes with no options but those of the file. */
static void check_resumes_alone(const relmc_target *target,
                                const relmc_options *o)
{
    relmc_run *whole = NULL, *cut = NULL, *rest = NULL;
    relmc_draws x = RELMC_INIT(relmc_draws), y = RELMC_INIT(relmc_draws);
    relmc_error err = {0};

    check_ok(relmc_run_create(&whole, target, o, &err), &err);
    advance(whole, TOTAL);
    check_ok(relmc_run_create(&cut, target, o, &err), &err);
    advance(cut, TOTAL / 2);
    save(cut, "alone");
    relmc_run_destroy(cut);
    check_ok(relmc_run_resume(&rest, target, "alone", NULL, &err), &err);
    assert_string_equal(relmc_run_manifest_json(rest),
                        relmc_run_manifest_json(whole));
    advance(rest, TOTAL);
    for (uint32_t k = 0; k < CHAINS; k++) {
        check_ok(relmc_run_draws(whole, k, &x, &err), &err);
        check_ok(relmc_run_draws(rest, k, &y, &err), &err);
        assert_int_equal(x.n, y.n);
        assert_int_equal(x.n_warmup, y.n_warmup);
        assert_memory_equal(x.outputs, y.outputs,
                            x.n * x.n_outputs * sizeof *x.outputs);
    }
    relmc_run_destroy(rest);
    /* an option that contradicts the file is named */
    relmc_options other = RELMC_INIT(relmc_options);
    other.seed = o->seed + 1;
    assert_int_equal(relmc_run_resume(&rest, target, "alone", &other, &err),
                     RELMC_EINVAL);
    assert_non_null(strstr(err.message, "\"seed\""));
    /* draws that the file does not hold begin where the run was saved */
    other = (relmc_options)RELMC_INIT(relmc_options);
    other.keep = RELMC_KEEP_STATS | RELMC_KEEP_COORDINATES;
    check_ok(relmc_run_resume(&rest, target, "alone", &other, &err), &err);
    check_ok(relmc_run_draws(rest, 0, &y, &err), &err);
    assert_int_equal(y.n, 0);
    advance(rest, TOTAL);
    check_ok(relmc_run_draws(rest, 0, &y, &err), &err);
    assert_int_equal(y.n, TOTAL - TOTAL / 2);
    assert_true(y.stats && y.coordinates && !y.outputs);
    relmc_run_destroy(rest);
    relmc_run_destroy(whole);
}

static void test_resume__takes_its_options_from_the_file(void **state)
{
    static const double metric[] = {1.0, 2.0, 0.5};
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("nuts:max_depth=5", "dual:delta=0.7");

    (void)state;
    o.inv_metric = metric;
    o.init = NULL;
    o.init_radius = 0.5;
    o.first_chain = 7;
    check_resumes_alone(target, &o);
    o = options_of("hmc:steps=3", "none");
    o.kinetic = "newtonian";
    o.init_radius = RELMC_ZERO;
    check_resumes_alone(target, &o);
    relmc_target_destroy(target);
}

static void test_resume__is_not_for_runs_that_have_begun_or_ended(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    const relmc_options o = options_of("hmc", "none");
    struct log *log = new_log();
    relmc_run *run = open_run(target, &o, log, NULL);
    relmc_error err = {0};

    (void)state;
    save(run, "early");
    relmc_run_destroy(run);
    check_ok(relmc_run_resume(&run, target, "early", NULL, &err), &err);
    assert_int_equal(relmc_run_write(run, "csv:none", &err), RELMC_EINVAL);
    assert_non_null(strstr(err.message, "the next sink was none"));
    relmc_run_destroy(run);
    run = open_run(target, &o, log, NULL);
    check_ok(relmc_run_finish(run, &err), &err);
    assert_int_equal(relmc_run_save(run, "late", NULL, 0, &err), RELMC_EINVAL);
    assert_int_not_equal(access("late", F_OK), 0);
    relmc_run_destroy(run);
    free(log);
    relmc_target_destroy(target);
}

struct budget {
    long left; /* requests for memory that will be granted */
};

static void *acquire(void *ctx, size_t bytes)
{
    struct budget *b = ctx;

    return b->left-- > 0 ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
}

static void release(void *ctx, void *block, size_t bytes)
{
    (void)ctx, (void)bytes;
    free(block);
}

static void test_resume__reports_lack_of_memory(void **state)
{
    relmc_target *target = target_of("gmm1");
    struct budget budget = {.left = 1000000};
    relmc_options o = small_options();
    size_t bytes;

    (void)state;
    free(small_checkpoint(target, &bytes));
    o.acquire = acquire;
    o.release = release;
    o.memory_ctx = &budget;
    for (long granted = 0;; granted++) {
        relmc_run *run = NULL;
        relmc_error err = {0};

        budget.left = 1000000;
        budget.left = granted;
        const relmc_status loaded =
            relmc_run_resume(&run, target, "small", &o, &err);
        if (!loaded) {
            budget.left = granted;
            const relmc_status saved =
                relmc_run_save(run, "scarce", NULL, 0, &err);
            assert_true(saved == RELMC_OK || saved == RELMC_ENOMEM);
            assert_true(granted > 0);
            relmc_run_destroy(run);
            if (!saved) {
                break;
            }
            continue;
        }
        assert_int_equal(loaded, RELMC_ENOMEM);
    }
    relmc_target_destroy(target);
}

/* The checksum does not depend on how the data are split. */
static void test_resume__checksum_of_pieces_is_that_of_the_whole(void **state)
{
    enum { N = 61 };
    unsigned char data[N + 3];
    struct rmc_hash whole = {0};

    (void)state;
    for (size_t i = 0; i < N; i++) {
        data[i] = (unsigned char)(i * 37 + 11);
    }
    rmc_hash_add(&whole, data, N);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = i; j < N; j++) {
            struct rmc_hash parts = {0};

            rmc_hash_add(&parts, data, i);
            rmc_hash_add(&parts, data + i, j - i);
            rmc_hash_add(&parts, data + j, N - j);
            assert_true(rmc_hash_end(&parts) == rmc_hash_end(&whole));
        }
    }
    memset(data, 0, sizeof data);
    for (size_t i = 0; i < N; i++) { /* zeros at the end count */
        struct rmc_hash a = {0}, b = {0};

        rmc_hash_add(&a, data, i);
        rmc_hash_add(&b, data, i + 1);
        assert_true(rmc_hash_end(&a) != rmc_hash_end(&b));
    }
}

/* ---- the file ----------------------------------------------------------------- */

static void check_note(const char *path, const char *wanted)
{
    char note[16] = "";
    size_t bytes = 0;
    relmc_error err = {0};

    check_ok(relmc_checkpoint_note(path, note, sizeof note, &bytes, &err),
             &err);
    assert_int_equal(bytes, strlen(wanted) + 1);
    assert_string_equal(note, wanted);
}

static void test_resume__keeps_two_generations(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    const relmc_options o = options_of("hmc", "none");
    struct log *log = new_log();
    relmc_run *run = open_run(target, &o, log, NULL);
    relmc_error err = {0};
    size_t n;

    (void)state;
    check_ok(relmc_run_save(run, "two", "first", 6, &err), &err);
    check_note("two", "first");
    assert_int_not_equal(access("two.1", F_OK), 0);
    check_ok(relmc_run_save(run, "two", "second", 7, &err), &err);
    check_note("two", "second");
    check_note("two.1", "first");
    check_ok(relmc_run_save(run, "two", "third", 6, &err), &err);
    check_note("two.1", "second");
    assert_int_not_equal(access("two.tmp", F_OK), 0);
    assert_int_equal(relmc_run_save(run, "no/such/folder", NULL, 0, &err),
                     RELMC_EIO);
    assert_non_null(strstr(err.message, "no/such/folder"));
    assert_int_equal(relmc_checkpoint_note("none", NULL, 0, &n, &err),
                     RELMC_EIO);
    advance(run, 3); /* a failed save does not end the run */
    relmc_run_destroy(run);
    free(log);
    relmc_target_destroy(target);
}

/* A file of draws that is missing or too short is refused and not changed. */
static void test_resume__needs_the_files_of_the_run(void **state)
{
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("hmc", "none");
    relmc_run *run = NULL;
    relmc_error err = {0};
    size_t bytes, left;

    (void)state;
    enter("lost");
    check_ok(relmc_run_create(&run, target, &o, &err), &err);
    check_ok(relmc_run_write(run, "csv:draws", &err), &err);
    advance(run, 40);
    save(run, "run.checkpoint");
    relmc_run_destroy(run);
    char *text = read_whole("draws_2.csv", &bytes);
    assert_int_equal(truncate("draws_2.csv", (off_t)(bytes / 2)), 0);
    check_ok(relmc_run_resume(&run, target, "run.checkpoint", &o, &err), &err);
    assert_int_equal(relmc_run_write(run, "csv:draws", &err), RELMC_EIO);
    assert_non_null(strstr(err.message, "draws_2.csv is too short"));
    relmc_run_destroy(run);
    free(read_whole("draws_2.csv", &left));
    assert_int_equal(left, bytes / 2);
    assert_int_equal(remove("draws_2.csv"), 0);
    check_ok(relmc_run_resume(&run, target, "run.checkpoint", &o, &err), &err);
    assert_int_equal(relmc_run_write(run, "csv:draws", &err), RELMC_EIO);
    assert_non_null(strstr(err.message, "draws_2.csv"));
    relmc_run_destroy(run);
    assert_int_not_equal(access("draws_2.csv", F_OK), 0);
    free(text);
    leave();
    relmc_target_destroy(target);
}

static int n_open_files(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++) {
        n += fcntl(fd, F_GETFD) != -1;
    }
    return n;
}

/* A refused sink opens no file and changes no header, although 12000 draws need a
 * longer one. */
static void test_resume__leaves_files_of_the_wrong_sink_alone(void **state)
{
    static const char *const sinks[] = {"raw:rows", "csv:draws", "csv:more"};
    relmc_target *target = target_of("gaussian:dim=3");
    relmc_options o = options_of("hmc", "none");
    const int n_before = n_open_files();
    relmc_run *run = NULL;
    relmc_error err = {0};
    size_t bytes, left;

    (void)state;
    enter("order");
    check_ok(relmc_run_create(&run, target, &o, &err), &err);
    for (size_t i = 0; i < 3; i++) {
        check_ok(relmc_run_write(run, sinks[i], &err), &err);
    }
    advance(run, 40);
    save(run, "run.checkpoint");
    relmc_run_destroy(run);
    char *text = read_whole("draws_1.csv", &bytes);
    o.draws = 12000;
    for (size_t i = 1; i < 3; i++) {
        check_ok(relmc_run_resume(&run, target, "run.checkpoint", &o, &err),
                 &err);
        assert_int_equal(relmc_run_write(run, sinks[i], &err), RELMC_EINVAL);
        assert_non_null(strstr(err.message, "the next sink was raw, not"));
        assert_int_equal(relmc_run_advance(run, 1, NULL), RELMC_EINVAL);
        relmc_run_destroy(run);
        assert_int_equal(n_open_files(), n_before);
    }
    char *now = read_whole("draws_1.csv", &left);
    assert_int_equal(left, bytes);
    assert_memory_equal(now, text, bytes);
    free(now);
    free(text);
    leave();
    relmc_target_destroy(target);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume__keeps_two_generations),
        cmocka_unit_test(test_resume__reports_lack_of_memory),
        cmocka_unit_test(test_resume__checksum_of_pieces_is_that_of_the_whole),
        cmocka_unit_test(test_resume__refuses_every_damage),
        cmocka_unit_test(test_resume__survives_forgeries),
        cmocka_unit_test(test_resume__refuses_another_run),
        cmocka_unit_test(test_resume__refuses_fewer_draws_than_there_are),
        cmocka_unit_test(test_resume__takes_its_options_from_the_file),
        cmocka_unit_test(test_resume__is_not_for_runs_that_have_begun_or_ended),
        cmocka_unit_test(test_resume__needs_the_files_of_the_run),
        cmocka_unit_test(test_resume__leaves_files_of_the_wrong_sink_alone),
    };

    is_full = argc > 1 && !strcmp(argv[1], "full");
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
