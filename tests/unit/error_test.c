#include "lib/base/error.h"
#include "runner.h"

#include <pthread.h>
#include <string.h>

TEST_SUITE(error);

TEST_CASE(texts)
{
    for (int code = 0; code >= ZKL_EOVERDUE; code--)
        CHECK(strcmp(zkl_strerror(code), "unknown error") != 0);
    CHECK_STR(zkl_strerror(0), "success");
    CHECK_STR(zkl_strerror(1), "unknown error");
    CHECK_STR(zkl_strerror(ZKL_EOVERDUE - 1), "unknown error");
    CHECK_STR(zkl_strerror(INT32_MIN + 1), "unknown error");
}

/* What others wrote may end up in a terminal. */
TEST_CASE(cleaned_and_cut)
{
    zkl_error e;
    char longer[400];

    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_INT(error_fill(&e, ZKL_EINVAL, "/a\x1b[2J\x7f", "%s", longer), ZKL_EINVAL);
    CHECK_INT(e.code, ZKL_EINVAL);
    CHECK_STR(e.path, "/a?[2J?");
    CHECK_INT(strlen(e.text), sizeof e.text - 1);
    CHECK_STR(e.text + sizeof e.text - 5, "x...");
    error_fill(&e, ZKL_EPERM, "/\xc2\x9b\xff\xc3", "%s", "Zo\xc3\xab\r\n\xed\xa0\x80");
    CHECK_STR(e.path, "/????"); /* a character of C1, and two bytes that are no UTF-8 */
    CHECK_STR(e.text, "Zo\xc3\xab?????");
    CHECK_INT(error_fill(&e, ZKL_EPERM, NULL, "%s", ""), ZKL_EPERM);
    CHECK_STR(e.path, "");
    memcpy(longer + sizeof e.text - 5, "\xc3\xab", 2); /* of which only half would fit */
    error_fill(&e, ZKL_EPERM, NULL, "%s", longer);
    CHECK_STR(e.text + sizeof e.text - 6, "x...");
    longer[sizeof e.text - 1] = '\0'; /* just fits */
    error_fill(&e, ZKL_EPERM, NULL, "%s", longer);
    CHECK_STR(e.text, longer);
}

static void *look(void *ret)
{
    *(int *)ret = zkl_last_error(NULL);
    return NULL;
}

TEST_CASE(one_per_thread)
{
    zkl_error e;
    pthread_t thread;
    int other = 1;

    CHECK_INT(error_set(ZKL_EBUSY, "/p", "%d", 7), ZKL_EBUSY);
    REQUIRE(pthread_create(&thread, NULL, look, &other) == 0);
    pthread_join(thread, NULL);
    CHECK_INT(other, 0);
    CHECK_INT(zkl_last_error(&e), ZKL_EBUSY);
    CHECK_STR(e.path, "/p");
    CHECK_STR(e.text, "7");
    e.code = ZKL_ELOST;
    CHECK_INT(error_keep(&e), ZKL_ELOST);
    CHECK_INT(zkl_last_error(NULL), ZKL_ELOST);
}
