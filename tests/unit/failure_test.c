/* What a failure means: its status, and whether a service goes on. */
#include "runner.h"
#include "tools/failure.h"

#include <zkl/error.h>

TEST_SUITE(failure);

enum { BEARABLE = 6000, BEGAN = 100 };

/* By a service that has been refused for so long; was_in: it was in line before. */
static bool passes(int status, bool was_in, int64_t refused_ms)
{
    int64_t since = BEGAN;

    return failure_passes(status, was_in, &since, BEGAN + refused_ms, BEARABLE);
}

/* A service manager, which sees the status alone, does the same: these are what a unit lists. */
TEST_CASE(a_unit_can_tell)
{
    for (int status = 1; status < STATUS_SIGNAL; status++) {
        const bool ours = status == 1 || status == 65 || status == 69 || status == 70 ||
                          status == 74 || status == 75 || status == 79;

        CHECK(passes(status, false, 0) == ours);
        CHECK(passes(status, true, BEARABLE) == ours);
        CHECK(passes(status, true, BEARABLE - 1) == (ours || status == 77));
    }
    CHECK(!passes(STATUS_SIGNAL + 15, true, 0)); /* we were asked to end */
}

/* Nothing that somebody else has done, or may mend, is called the user's own mistake. */
TEST_CASE(usage_is_ones_own)
{
    for (int code = ZKL_EOVERDUE; code < 0; code++)
        CHECK((failure_status(code) == STATUS_USAGE) == (code == ZKL_EINVAL));
    CHECK_INT(failure_status(ZKL_ELAYOUT), 65);
    CHECK_INT(failure_status(ZKL_EOVERDUE), 79);
    CHECK_INT(failure_status(ZKL_EPATH), 65);
    CHECK_INT(failure_status(ZKL_EUNREACHABLE), 69);
    CHECK_INT(failure_status(ZKL_ETIMEDOUT), 69); /* of a lock it is told as a conflict */
    CHECK_INT(failure_status(ZKL_EUNKNOWN), 69);
    CHECK_INT(failure_status(ZKL_ELOST), 75);
    CHECK_INT(failure_status(ZKL_EAUTH), 77);
    CHECK_INT(failure_status(ZKL_EBUSY), 1);
    CHECK_INT(failure_status(ZKL_ENOMEM), 70);
    CHECK_INT(failure_status(0), 70);
}

TEST_CASE(a_refusal_has_a_beginning)
{
    int64_t since = 0;

    CHECK(failure_passes(STATUS_UNAVAILABLE, true, &since, BEGAN, BEARABLE));
    CHECK_INT(since, 0);
    CHECK(failure_passes(STATUS_NOPERM, true, &since, BEGAN, BEARABLE));
    CHECK_INT(since, BEGAN);
    CHECK(failure_passes(STATUS_NOPERM, true, &since, BEGAN + BEARABLE - 1, BEARABLE));
    CHECK_INT(since, BEGAN);
    CHECK(!failure_passes(STATUS_NOPERM, true, &since, BEGAN + BEARABLE, BEARABLE));
}

TEST_CASE(pauses_double)
{
    static const int64_t pauses[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    int64_t pause = 0;

    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        pause = pause_next_ms(pause);
        CHECK_INT(pause, pauses[i]);
    }
}
