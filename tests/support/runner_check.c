/* What the checks compare, whoever it is that a failure is told to. */
#include "runner.h"

#include <glib.h>

bool runner_check(bool ok, const char *condition, const char *file, int line)
{
    if (!ok)
        runner_fail(file, line, "CHECK(%s)", condition);
    return ok;
}

bool runner_check_int(int64_t actual, int64_t expected, const char *what, const char *file,
                      int line)
{
    if (actual != expected)
        runner_fail(file, line, "%s is %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT, what,
                    actual, expected);
    return actual == expected;
}

bool runner_check_str(const char *actual, const char *expected, const char *what, const char *file,
                      int line)
{
    bool same = g_strcmp0(actual, expected) == 0;
    if (!same)
        runner_fail(file, line, "%s is \"%s\", expected \"%s\"", what, actual ? actual : "(null)",
                    expected ? expected : "(null)");
    return same;
}
