#include "fixture.h"
#include "selftest.h"

#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST_SUITE(runner);

static void pass(void)
{
    CHECK(1 + 1 == 2);
    CHECK_INT(3, 3);
    CHECK_STR("a", "a");
    CHECK_STR(NULL, NULL);
    REQUIRE(true);
}

static void fail(void)
{
    int three = 3;
    CHECK(three == 4);
    CHECK_INT(three, 5);
    CHECK_STR("left", "right");
    CHECK_STR(NULL, "right");
}

static void require(void)
{
    REQUIRE(getpid() == 0);
    runner_fail(__FILE__, __LINE__, "came past REQUIRE");
}

static bool is_spoilt;

static void spoil(void)
{
    is_spoilt = true;
    REQUIRE(getpid() == 0);
}

static void spoilt(void)
{
    CHECK(!is_spoilt);
}

static void refuse_to_be_canceled(void)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
}

static void fail_at_the_end(void)
{
    runner_fail(__FILE__, __LINE__, "at the end");
}

static void fails_at_its_end(void)
{
    runner_at_end(fail_at_the_end);
    runner_at_end(fail_at_the_end);
}

static void *check_false(void *unused)
{
    runner_fail(__FILE__, __LINE__, "in a thread");
    return unused;
}

static void fail_in_thread(void)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, check_false, NULL) == 0);
    pthread_join(thread, NULL);
}

static void skip(void)
{
    runner_skip("no reason");
}

static void needs_server(void)
{
    server_or_skip();
}

static int refuse(void)
{
    return 1;
}

static int skip_all(void)
{
    runner_skip("none of us");
    return 0;
}

static int check_in_init(void)
{
    CHECK_STR("in init", "nothing");
    return 0;
}

static void plant(struct test_suite *suite, const char *name, void (*fn)(void))
{
    static struct test_case cases[32];
    static size_t count;

    g_assert(count < G_N_ELEMENTS(cases));
    cases[count] = (struct test_case){.name = name, .fn = fn};
    runner_add(suite, &cases[count++]);
}

int selftest_planted(int argc, char **argv)
{
    static struct test_suite planted = {.name = "planted"},
                             fine[] = {{.name = "bad_init", .init = refuse},
                                       {.name = "bad_done", .done = refuse},
                                       {.name = "skipped", .init = skip_all},
                                       {.name = "checked", .init = check_in_init}};

    plant(&planted, "pass", pass);
    plant(&planted, "fail", fail);
    plant(&planted, "require", require);
    plant(&planted, "fail_in_thread", fail_in_thread);
    plant(&planted, "skip", skip);
    plant(&planted, "spoil", spoil);
    plant(&planted, "spoilt", spoilt);
    plant(&planted, "ending", fails_at_its_end);
    plant(&planted, "uncanceled", refuse_to_be_canceled);
    plant(&planted, "needs_server", needs_server);
    for (size_t i = 0; i < G_N_ELEMENTS(fine); i++) {
        plant(&fine[i], "pass", pass);
        plant(&fine[i], "fail", fail);
    }
    runner_starts_over = getenv("SELFTEST_STARTS_OVER") != NULL;
    return runner_main(argc, argv);
}

/* Runs the planted cases that match; status is an exit status, or 128 + signal. */
static void expect(const char *one, const char *two, const char *const *environment, int status,
                   const char *last_line, const char *contained)
{
    int got;
    const char *const arguments[] = {"--planted", one, two, NULL};
    char *output = selftest_again(arguments, environment, &got);
    CHECK_INT(WIFSIGNALED(got) ? 128 + WTERMSIG(got) : WEXITSTATUS(got), status);
    if (last_line && !g_str_has_suffix(output, last_line))
        runner_fail(__FILE__, __LINE__, "%s: no \"%s\" at the end of:\n%s", one, last_line, output);
    if (contained && !strstr(output, contained))
        runner_fail(__FILE__, __LINE__, "%s: no \"%s\" in:\n%s", one, contained, output);
    g_free(output);
}

TEST_CASE(statuses)
{
    expect("planted.pass", NULL, NULL, 0, "\n1 passed, 0 failed, 0 skipped\n", "ok   planted.pass");
    expect("planted.fail", NULL, NULL, 1, "\n0 passed, 1 failed, 0 skipped\n", "FAIL planted.fail");
    expect("planted.skip", NULL, NULL, 77, "\n0 passed, 0 failed, 1 skipped\n", ": no reason\n");
    expect("planted.pass", "planted.skip", NULL, 0, "\n1 passed, 0 failed, 1 skipped\n", NULL);
    expect("planted.[fp]a[is]*", NULL, NULL, 1, "\n1 passed, 2 failed, 0 skipped\n", NULL);
    expect("-x", "?[!k]*", NULL, 77, "\n0 passed, 0 failed, 2 skipped\n", NULL);
    expect("nothing.like.it", NULL, NULL, 99, NULL, NULL);
}

TEST_CASE(messages)
{
    expect("planted.fail", NULL, NULL, 1, NULL, "selftest_runner.c:");
    expect("planted.fail", NULL, NULL, 1, NULL, "CHECK(three == 4)");
    expect("planted.fail", NULL, NULL, 1, NULL, "three is 3, expected 5");
    expect("planted.fail", NULL, NULL, 1, NULL, "is \"left\", expected \"right\"");
    expect("planted.require", NULL, NULL, 1, "\n0 passed, 1 failed, 0 skipped\n",
           "REQUIRE(getpid() == 0)\nFAIL");
    expect("planted.fail_in_thread", NULL, NULL, 1, NULL, "in a thread");
    expect("planted.uncanceled", NULL, NULL, 1, NULL, "cannot be cancelled any more");
}

TEST_CASE(fails_at_the_end)
{
    expect("planted.ending", "planted.pass", NULL, 1, "\n1 passed, 1 failed, 0 skipped\n",
           "at the end\nFAIL planted.ending");
}

TEST_CASE(starts_over)
{
    static const char *const starts_over[] = {"SELFTEST_STARTS_OVER", "1", NULL};

    expect("planted.*spoil*", NULL, NULL, 1, "\n0 passed, 2 failed, 0 skipped\n", NULL);
    expect("planted.*spoil*", NULL, starts_over, 1, "\n1 passed, 1 failed, 0 skipped\n",
           "FAIL planted.spoil (");
    expect("planted.spoil", "planted.[fp]a[is]*", starts_over, 1,
           "\n1 passed, 3 failed, 0 skipped\n", "ok   planted.pass");
    expect("planted.spoil", NULL, starts_over, 1, "\n0 passed, 1 failed, 0 skipped\n", NULL);
    expect("bad_done.pass", "planted.spoil", starts_over, 99, NULL, "FAIL bad_done");
}

TEST_CASE(suites)
{
    expect("bad_init", NULL, NULL, 99, "\n0 passed, 2 failed, 0 skipped\n", "FAIL bad_init");
    expect("bad_done.pass", NULL, NULL, 99, "\n1 passed, 0 failed, 0 skipped\n", "FAIL bad_done");
    expect("skipped", NULL, NULL, 77, "\n0 passed, 0 failed, 2 skipped\n", ": none of us\n");
    expect("checked.pass", NULL, NULL, 99, NULL, "in init");
    expect("-l", "planted.p*", NULL, 0, "planted.pass\n", NULL);
}

TEST_CASE(server_missing)
{
    static const char *const none[] = {"ZKL_ZOOKEEPER", "none", "ZKL_REQUIRE_SERVER", "0", NULL};
    static const char *const required[] = {"ZKL_ZOOKEEPER", "none", "ZKL_REQUIRE_SERVER", "1",
                                           NULL};
    expect("planted.needs_server", NULL, none, 77, NULL, NULL);
    expect("planted.needs_server", NULL, required, 1, NULL, "ZKL_REQUIRE_SERVER=1");
}
