#include "capture.h"

#include "runner.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where there is a sanitizer, it reports to the descriptor that it is given as a pointer. */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));

static struct {
    int report;  /* where standard error was */
    int file[2]; /* what stands in for 1 and 2 */
    int saved[2];
} capture;

void capture_init(void)
{
    capture.report = dup(STDERR_FILENO);
    capture.file[0] = memfd_create("out", MFD_CLOEXEC);
    capture.file[1] = memfd_create("err", MFD_CLOEXEC);
    REQUIRE(capture.report >= 0 && capture.file[0] >= 0 && capture.file[1] >= 0);
    if (__sanitizer_set_report_fd)
        __sanitizer_set_report_fd(GINT_TO_POINTER(capture.report));
}

void capture_report(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vdprintf(capture.report, format, args);
    va_end(args);
}

void capture_begin(void)
{
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        capture.saved[i] = dup(STDOUT_FILENO + i);
        REQUIRE(ftruncate(capture.file[i], 0) == 0 && lseek(capture.file[i], 0, SEEK_SET) == 0);
        dup2(capture.file[i], STDOUT_FILENO + i);
    }
}

static GString *written(int fd)
{
    off_t size = lseek(fd, 0, SEEK_END);
    GString *text = g_string_new(NULL);

    g_string_set_size(text, (gsize)size);
    REQUIRE(pread(fd, text->str, (size_t)size, 0) == size);
    return text;
}

void capture_end(GString **ret_out, GString **ret_err)
{
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        dup2(capture.saved[i], STDOUT_FILENO + i);
        close(capture.saved[i]);
    }
    *ret_out = written(capture.file[0]);
    *ret_err = written(capture.file[1]);
}
