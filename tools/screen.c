#include "screen.h"
#include "table.h"
#include "tool.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Begins a page of its own, where long lines do not wrap, without a cursor; and ends all that. */
#define BEGIN "\033[?1049h\033[?7l\033[?25l"
#define END "\033[?25h\033[?7h\033[?1049l"
#define HOME "\033[H"
#define END_OF_LINE "\033[K"
#define END_OF_SCREEN "\033[J"

#define PATIENCE_MS 2000 /* how long write_now() waits for the terminal */
#define PIECE 512

void screen_measure(struct screen *s)
{
    struct winsize size = {0};

    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    s->rows = size.ws_row > 0 ? size.ws_row : 24;
    s->columns = size.ws_col > 0 ? size.ws_col : 80;
}

/* Writes text to the terminal, even after ^S. */
static void write_now(const char *text)
{
    g_autoptr(GString) line = g_string_new(text);

    tcflow(STDOUT_FILENO, TCOON); /* after ^S the terminal would show nothing */
    write_without_waiting(STDOUT_FILENO, line, PATIENCE_MS);
}

/* Whether another job has the terminal. A terminal without a foreground group counts as free:
 * nobody would put us in front of it. */
static bool is_anothers(const struct terminal *t)
{
    return t->fd >= 0 && tcgetpgrp(t->fd) >= 0 && !terminal_is_ours(t);
}

void screen_enter(struct screen *s)
{
    struct termios raw;

    terminal_init(&s->terminal);
    terminal_find(&s->terminal);
    /* In the background we stop, until somebody puts us in front. An orphaned group cannot stop:
     * nobody would continue it. */
    while (is_anothers(&s->terminal) && terminal_stop_us(SIGTTOU))
        continue;
    if (!is_anothers(&s->terminal) && tcgetattr(s->terminal.fd, &s->before) == 0) {
        raw = s->before;
        raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        s->set = tcsetattr(s->terminal.fd, TCSANOW, &raw) == 0;
    }
    screen_measure(s);
    s->on = true;
    write_now(BEGIN);
}

void screen_leave(struct screen *s)
{
    if (!s->on)
        return;
    s->on = false;
    write_now(END);
    if (s->set)
        tcsetattr(s->terminal.fd, TCSANOW, &s->before);
    s->set = false;
    terminal_close(&s->terminal);
}

int screen_key(struct screen *s)
{
    struct pollfd in = {.fd = s->set ? s->terminal.fd : -1, .events = POLLIN};
    unsigned char key;

    if (poll(&in, 1, 0) <= 0 || !in.revents)
        return 0;
    return read(in.fd, &key, 1) == 1 ? key : -1;
}

/* Writes a frame, but gives up when a signal comes. Returns false if the terminal has gone. */
static bool write_frame(const struct events *events, const GString *frame)
{
    struct pollfd fds[] = {{.fd = STDOUT_FILENO, .events = POLLOUT},
                           {.fd = events->signals, .events = POLLIN}};
    ssize_t written;

    for (size_t done = 0; done < frame->len; done += (size_t)written) {
        if (poll(fds, G_N_ELEMENTS(fds), -1) <= 0 || fds[1].revents)
            return true;
        written = write(STDOUT_FILENO, frame->str + done, MIN(frame->len - done, PIECE));
        if (written <= 0)
            return errno == EAGAIN || errno == EINTR;
    }
    return true;
}

bool screen_draw(struct screen *s, const struct events *events, const char *text)
{
    g_autoptr(GString) frame = g_string_new(HOME);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (int i = 0; lines[i] && i < s->rows; i++) {
        g_string_append(frame, i > 0 ? "\r\n" : "");
        append_fitting(frame, lines[i], s->columns);
        g_string_append(frame, END_OF_LINE);
    }
    g_string_append(frame, END_OF_SCREEN);
    return write_frame(events, frame);
}
