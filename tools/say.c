/* Speaks for the command: writes one line for each failure, which gives the exit status, too; and
 * lines for programs on --status-fd. */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Whether a terminal shows nothing for c, and may act on it. Format characters count, too: they can
 * turn the direction of a line around. */
static bool is_invisible(gunichar c)
{
    GUnicodeType type = g_unichar_type(c);

    return type == G_UNICODE_CONTROL || type == G_UNICODE_FORMAT ||
           type == G_UNICODE_LINE_SEPARATOR || type == G_UNICODE_PARAGRAPH_SEPARATOR;
}

void append_visible(GString *out, const char *text)
{
    const char *p = text;

    while (*p) {
        gunichar c = g_utf8_get_char_validated(p, -1);

        if (c == (gunichar)-1 || c == (gunichar)-2) {
            g_string_append_printf(out, "\\x%02x", (unsigned char)*p++);
            continue;
        }
        if (!is_invisible(c))
            g_string_append_unichar(out, c);
        else
            g_string_append_printf(out, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
        p = g_utf8_next_char(p);
    }
}

const char *ordinal_suffix(int n)
{
    static const char *const suffixes[] = {"th", "st", "nd", "rd"};

    return n % 10 > 3 || n / 10 % 10 == 1 ? suffixes[0] : suffixes[n % 10];
}

/* How long say() waits for a reader of stderr that is slow. */
static int say_patience_ms = 100;

/* Writes at most PIPE_BUF bytes: poll(2) calls a pipe writable that has room for PIPE_BUF bytes; a
 * write of more would block. This write would block too, if somebody else took the room in between
 * and the kernel cannot be asked not to block. */
static ssize_t write_some(int fd, const char *text, size_t length)
{
    struct iovec part = {(void *)(uintptr_t)text, MIN(length, PIPE_BUF)};
    struct stat stat = {0};
    ssize_t written = -1;

    errno = EOPNOTSUPP;
    if (fstat(fd, &stat) == 0 && S_ISSOCK(stat.st_mode))
        written = send(fd, part.iov_base, part.iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (S_ISFIFO(stat.st_mode))
        written = pwritev2(fd, &part, 1, -1, RWF_NOWAIT);
    if (written < 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
        written = write(fd, part.iov_base, part.iov_len);
    return written;
}

void write_without_waiting(int fd, const GString *line, int patience_ms)
{
    struct pollfd out = {.fd = fd, .events = POLLOUT};
    ssize_t written;

    for (size_t done = 0; done < line->len; done += (size_t)written) {
        if (poll(&out, 1, done == 0 ? patience_ms : 0) <= 0 || out.revents != POLLOUT)
            return;
        written = write_some(fd, line->str + done, line->len - done);
        if (written <= 0)
            return;
    }
}

void say_without_waiting(void)
{
    say_patience_ms = 0;
}

static void say_va(const char *format, va_list args) G_GNUC_PRINTF(1, 0);

/* Writes a line to stderr. A descriptor that takes nothing more is no reason to fail: there is
 * nowhere left to say so. Nor may a reader that has stopped reading prevent us from ending the
 * command when its lock ends. */
static void say_va(const char *format, va_list args)
{
    g_autofree char *text = g_strdup_vprintf(format, args);
    g_autoptr(GString) line = g_string_new("zkl: ");

    append_visible(line, text);
    g_string_append_c(line, '\n');
    write_without_waiting(STDERR_FILENO, line, say_patience_ms);
}

void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say_va(format, args);
    va_end(args);
}

static int said = GO_ON; /* the status with which fail() says nothing */

void say_no_more_of(int status)
{
    said = status;
}

int fail(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (status != said)
        say_va(format, args);
    va_end(args);
    return status;
}

void print_text(GString *text)
{
    fputs(text->str, stdout);
    g_string_free(text, TRUE);
}

int fail_output(int error)
{
    return fail(STATUS_IOERR, "standard output: %s", g_strerror(error));
}

/* Replaces what the library calls its arguments by our options and operands, which the user has
 * given. */
static void in_our_words(GString *message)
{
    static const struct {
        const char *theirs, *ours;
    } words[] = {
        {"options: name ", "--name "},
        {"options: period_ms must be 0, or ", "--every must be, in milliseconds, "},
        {"options: slack_ms must be less than half of period_ms",
         "--slack must be less than half of --every"},
        {"options: calendar: ", "--at: "},
        {"options: slack_ms must be 3600000 at most", "--slack must be 1h at most"},
        {"options: late_ms must be 0 to 31622400000", "--late must be 366 days at most"},
        {"options: zone is none ", "--zone is none "},
        {"candidate_id: ", "ID: "},
        {"zkl_member_join: id ", "ID "},
        {"zkl_member_join: data ", "--data "},
        {"zkl_multilock_new: count ", "the number of paths "},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        g_string_replace(message, words[i].theirs, words[i].ours, 0);
}

int fail_error(const zkl_error *error, const char *subject)
{
    const char *about = error->path[0] ? error->path : subject;
    const char *text = error->text[0] ? error->text : zkl_strerror(error->code);

    g_autofree char *begin = g_strndup(about, 32); /* the sentence may have cut a long subject */

    /* The library's sentence often names its subject already. */
    const bool named = strstr(text, begin) != NULL;
    g_autoptr(GString) message = g_string_new(NULL);
    g_string_printf(message, "%s%s%s", named ? "" : about, named ? "" : ": ", text);
    if (error->code == ZKL_EINVAL)
        in_our_words(message);
    return fail(failure_status(error->code), "%s", message->str);
}

int fail_last(const char *subject)
{
    zkl_error error = {0};

    zkl_last_error(&error);
    return fail_error(&error, subject);
}

int fail_once(const zkl_error *error, const char *subject, int *said_code)
{
    const bool again = *said_code == error->code;

    *said_code = error->code;
    return again ? failure_status(error->code) : fail_error(error, subject);
}

/* ---- --status-fd ---- */

int status_fd_check(int fd)
{
    const int flags = fd > 0 ? fcntl(fd, F_GETFL) : -1;

    if (fd <= 0)
        return fail(STATUS_USAGE, "--status-fd: not a descriptor to write to: %d", fd);
    if (flags < 0)
        return fail(STATUS_USAGE, "--status-fd %d: %s", fd, g_strerror(errno));
    if ((flags & O_ACCMODE) == O_RDONLY)
        return fail(STATUS_USAGE, "--status-fd %d: open for reading only", fd);
    if (fd > STDERR_FILENO)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return GO_ON;
}

/* A reader of the status lines must not be able to hold up or end the holder. So SIGPIPE and the
 * like are blocked, and a line that does not fit is dropped. A line is shorter than PIPE_BUF, so
 * that a pipe takes all of it or nothing. */
void status_line(int fd, const char *format, ...)
{
    g_autoptr(GString) line = g_string_new(NULL);
    va_list args;

    if (fd == STATUS_FD_NONE)
        return;
    va_start(args, format);
    g_string_vprintf(line, format, args);
    va_end(args);
    g_string_append_c(line, '\n');
    write_without_waiting(fd, line, 0);
}
