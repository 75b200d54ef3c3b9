/* One target under libFuzzer: the one that the environment's FUZZ_TARGET names. Here the runner's
 * checks end the process, which makes libFuzzer keep the input. */
#include "targets.h"

#include "capture.h"
#include "runner.h"

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_target *target;

void runner_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = g_strdup_vprintf(format, args);
    va_end(args);
    capture_report("%s:%d: %s\n", file, line, text);
    abort();
}

_Noreturn void runner_fail_fatal(const char *file, int line, const char *condition)
{
    runner_fail(file, line, "REQUIRE(%s)", condition);
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = g_getenv("FUZZ_TARGET");

    (void)argc, (void)argv;
    for (target = fuzz_targets; target->name; target++)
        if (g_strcmp0(target->name, name) == 0)
            break;
    if (!target->name) {
        fprintf(stderr, "FUZZ_TARGET must name one of the targets in tests/fuzz/targets.c\n");
        exit(64);
    }
    capture_init();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    target->one(data, size);
    return 0;
}
