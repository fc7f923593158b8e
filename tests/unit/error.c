/* error.c - an error is one terminated line in the caller's struct. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"
#include "support/check.h"

#include <string.h>

static void test_fail__fills_the_struct_and_returns_the_status(void **state)
{
    relmc_error err;

    (void)state;
    memset(&err, 'x', sizeof err);
    assert_int_equal(rmc_fail(&err, RELMC_EINVAL, "a %s of %d", "test", 3),
                     RELMC_EINVAL);
    assert_int_equal(err.status, RELMC_EINVAL);
    assert_string_equal(err.message, "a test of 3");
    assert_int_equal(rmc_fail(NULL, RELMC_EIO, "nobody listens"), RELMC_EIO);
}

static void test_fail__of_callbacks_takes_the_text_as_it_is(void **state)
{
    relmc_error err;

    (void)state;
    memset(&err, 'x', sizeof err);
    assert_int_equal(relmc_fail(&err, RELMC_ETARGET, "100 %s of it"),
                     RELMC_ETARGET);
    assert_int_equal(err.status, RELMC_ETARGET);
    assert_string_equal(err.message, "100 %s of it");
    assert_int_equal(relmc_fail(NULL, RELMC_EIO, "text"), RELMC_EIO);
    assert_int_equal(relmc_fail(&err, RELMC_EIO, NULL), RELMC_EIO);
    assert_string_equal(err.message, "");
}

static void test_fail__cuts_a_long_message(void **state)
{
    struct {
        relmc_error err;
        char guard[8];
    } box;
    char text[2000];

    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memset(&box, 'x', sizeof box);
    assert_int_equal(rmc_fail(&box.err, RELMC_EIO, "%s", text), RELMC_EIO);
    assert_int_equal(strlen(box.err.message), sizeof box.err.message - 1);
    assert_memory_equal(box.guard, "xxxxxxxx", sizeof box.guard);
}

static void test_status_name__is_there_for_each(void **state)
{
    static const relmc_status all[] = {
        RELMC_OK,     RELMC_STOPPED,  RELMC_REJECT,  RELMC_EINVAL,
        RELMC_ENOMEM, RELMC_EUNKNOWN, RELMC_EUNSUPP, RELMC_ETARGET,
        RELMC_EINIT,  RELMC_EIO,      RELMC_EABI,    RELMC_EBUSY};
    enum { N = sizeof all / sizeof *all };

    (void)state;
    for (int i = 0; i < N; i++) {
        assert_string_not_equal(relmc_status_name(all[i]), "unknown status");
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(relmc_status_name(all[i]),
                                    relmc_status_name(all[j]));
        }
    }
    assert_string_equal(relmc_status_name((relmc_status)-100),
                        "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail__fills_the_struct_and_returns_the_status),
        cmocka_unit_test(test_fail__of_callbacks_takes_the_text_as_it_is),
        cmocka_unit_test(test_fail__cuts_a_long_message),
        cmocka_unit_test(test_status_name__is_there_for_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
