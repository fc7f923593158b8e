/* sha256.c - SHA-256 gives the values of FIPS 180-4 and of NIST's test vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tool/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char empty[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char million[] =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void check_text(const char *text, const char *wanted)
{
    struct sha256 sum;
    char hex[SHA256_HEX];

    sha256_init(&sum);
    sha256_add(&sum, text, strlen(text));
    sha256_hex(&sum, hex);
    assert_string_equal(hex, wanted);
}

static void test_sha256__published_examples(void **state)
{
    (void)state;
    check_text("", empty);
    check_text(
        "abc",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_text(
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_text(
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
        "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

/* A million letters a, in pieces of different sizes. */
static void test_sha256__pieces_do_not_matter(void **state)
{
    static const size_t pieces[] = {1, 3, 63, 64, 65, 1000, 1000000};
    char *text = malloc(1000000);

    (void)state;
    assert_non_null(text);
    memset(text, 'a', 1000000);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct sha256 sum;
        char hex[SHA256_HEX];

        sha256_init(&sum);
        for (size_t left = 1000000; left;) {
            const size_t n = left < pieces[i] ? left : pieces[i];

            sha256_add(&sum, text, n);
            left -= n;
        }
        sha256_hex(&sum, hex);
        assert_string_equal(hex, million);
    }
    free(text);
}

static void test_sha256__files(void **state)
{
    char path[] = "/tmp/relmc-sha256-XXXXXX";
    char hex[SHA256_HEX];
    const int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(sha256_file(path, hex), 0);
    assert_string_equal(hex, empty);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(write(fd, "aaaaaaaaaa", 10), 10);
    }
    assert_int_equal(close(fd), 0);
    assert_int_equal(sha256_file(path, hex), 0);
    assert_string_equal(hex, million);
    assert_int_equal(unlink(path), 0);
    assert_int_not_equal(sha256_file(path, hex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256__published_examples),
        cmocka_unit_test(test_sha256__pieces_do_not_matter),
        cmocka_unit_test(test_sha256__files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
