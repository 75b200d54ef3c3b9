#include "waiting.h"
#include "contenders.h"
#include "table.h"
#include "terminal.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FIRST_MS 1000
#define REDRAW_MS 1000
/* A waiter reads the queue no more often than this, and sets no watch for it. */
#define READ_EVERY_MS 10000
#define READ_MS 500
#define LAST_READ_MS 2000 /* for the last sentence: only our end waits for that reading */
#define ROOM 3            /* columns that stay free, for the cursor and ^C */
#define NAMED 3           /* how many holders are named at most */
#define NODE_MAX 2048

#define OVER_IT "\r"
#define END_OF_LINE "\033[K"

/* Whether stderr is our terminal, and we are its foreground group. */
static bool has_terminal(const struct waiting *w)
{
    return !w->run->settings->verbose && terminal_draws(STDERR_FILENO) &&
           tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* Whether lines are written about the wait, for -v or --status-fd. */
static bool has_lines(const struct waiting *w)
{
    return w->run->settings->verbose || w->run->options->hold.status_fd != STATUS_FD_NONE;
}

/* ---- reading ---- */

char *waiting_holders(const struct run *run, const char *path)
{
    g_autoptr(zkl_queue) queue = contenders_first(run->session, path, NAMED + 1, LAST_READ_MS);
    const int64_t own = zkl_session_id(run->session);
    GString *text = g_string_new(NULL);
    size_t holders = 0, named = 0;

    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        const zkl_contender *c = zkl_queue_get(queue, i);
        if (!c->holds || (c->token != 0 && c->session_id == own))
            continue;
        holders++;
        if (named < NAMED && c->token != 0 && c->owner[0]) {
            g_autofree char *holder = identity_sentence(c);
            g_string_append_printf(text, "%s%s", named > 0 ? ", " : "", holder);
            named++;
        }
    }
    if (named > 0 && holders > named)
        g_string_append_printf(text, " and %zu more", holders - named);
    return g_string_free(text, named == 0);
}

/* Reads the name of our node, and the queue. */
static void read_queue_again(struct waiting *w)
{
    char path[NODE_MAX];

    w->read_at = now_ms();
    zkl_queue_free(w->queue);
    g_free(w->node);
    w->queue = NULL;
    w->node = NULL;
    if (w->run->ops->node(w->run->self, path, sizeof path) != 0)
        return;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    w->node = g_strdup(slash + 1);
    w->queue = contenders_first(w->run->session, path, 1, READ_MS);
}

/* ---- what is shown ---- */

/* The part of the queue that matters to our wait. */
struct sight {
    const zkl_contender *first; /* the first holder; NULL: unknown */
    size_t more;                /* how many hold besides */
    size_t place;               /* ours among those who wait, from 1; 0: unknown */
};

/* Finds out who holds, and our place, by the queue as read last. */
static struct sight sight_of(const struct waiting *w)
{
    struct sight s = {.first = zkl_queue_get(w->queue, 0)};
    size_t waiting = 0;

    if (s.first && (strcmp(s.first->node, w->node) == 0 || s.first->token == 0))
        s.first = NULL; /* we are first; or the first has just gone */
    for (size_t i = 0; i < zkl_queue_count(w->queue); i++) {
        const zkl_contender *c = zkl_queue_get(w->queue, i);
        const bool own = strcmp(c->node, w->node) == 0;
        waiting += !c->holds;
        s.more += c->holds && i > 0 && !own;
        if (own && !c->holds)
            s.place = waiting;
        if (own)
            break;
    }
    return s;
}

/* Returns a text like "waiting, 3rd, behind web1 (pid 4711, for 3 min)". */
static char *describe_wait(const struct waiting *w, const struct sight *s)
{
    const char *relation = w->run->options->hold.candidate ? "the leader is" : "behind";
    GString *text = g_string_new("waiting");

    if (s->place > 0)
        g_string_append_printf(text, ", %zu%s", s->place, ordinal_suffix((int)s->place));
    if (s->first) {
        g_autofree char *holder = identity_sentence(s->first);
        g_string_append_printf(text, ", %s %s", relation, holder);
    }
    if (s->first && s->more > 0)
        g_string_append_printf(text, " and %zu more", s->more);
    return g_string_free(text, FALSE);
}

/* Shows text on the terminal's line, if it has changed. A line that is too long goes without the
 * path, which the user has typed. */
static void waiting_show(struct waiting *w, const char *text)
{
    g_autofree char *whole = g_strdup_printf("zkl: %s: %s", w->run->options->hold.path, text),
                    *less = g_strdup_printf("zkl: %s", text);
    g_autoptr(GString) visible = g_string_new(NULL), line = g_string_new(NULL),
                       out = g_string_new(OVER_IT);
    struct winsize size = {0};

    ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    const int columns = MAX((size.ws_col > 0 ? size.ws_col : 80) - ROOM, 2);
    append_visible(visible, whole);
    append_fitting(line, visible->str, columns);
    if (strcmp(line->str, visible->str) != 0) {
        g_string_truncate(line, 0);
        append_fitting(line, less, columns);
    }
    if (g_strcmp0(line->str, w->shown) == 0)
        return;
    g_string_append_printf(out, "%s" END_OF_LINE, line->str);
    write_without_waiting(STDERR_FILENO, out, 0);
    g_free(w->shown);
    w->shown = g_strdup(line->str);
}

/* Writes lines for -v and --status-fd; the same place and the same holder once. */
static void waiting_write_lines(struct waiting *w, const struct sight *s, const char *text)
{
    g_autofree char *about =
        g_strdup_printf("%zu %" PRIu64, s->place, s->first ? s->first->token : 0);

    if (!s->first || g_strcmp0(about, w->told) == 0)
        return;
    if (w->run->settings->verbose)
        say("%s: %s", w->run->options->hold.path, text);
    const struct identity i = identity_of(s->first);
    g_autofree char *place = s->place > 0 ? g_strdup_printf("%zu", s->place) : g_strdup("-"),
                    *host = i.host ? g_strndup(i.host, i.host_length) : g_strdup("-");
    g_autoptr(GString) visible = g_string_new(NULL);
    append_visible(visible, host);
    status_line(w->run->options->hold.status_fd, "behind %s %" PRIu64 " %" PRId64 " %.255s", place,
                s->first->token, i.pid, visible->str);
    g_free(w->told);
    w->told = g_steal_pointer(&about);
}

/* ---- when ---- */

void waiting_begin(struct waiting *w, const struct run *run)
{
    *w = (struct waiting){.run = run, .began = now_ms()};
}

int64_t waiting_due_ms(const struct waiting *w)
{
    if (!w->run->ops->node || !(has_terminal(w) || has_lines(w)))
        return -1;
    return MAX(w->began + FIRST_MS - now_ms(), w->read_at == 0 ? 1 : REDRAW_MS);
}

void waiting_look(struct waiting *w)
{
    const bool terminal = has_terminal(w);

    if (!w->run->ops->node || now_ms() < w->began + FIRST_MS || !(terminal || has_lines(w)))
        return;
    if (w->read_at == 0 || now_ms() >= w->read_at + READ_EVERY_MS)
        read_queue_again(w);
    if (!w->queue)
        return;
    const struct sight s = sight_of(w);
    g_autofree char *text = describe_wait(w, &s);
    if (terminal)
        waiting_show(w, text);
    waiting_write_lines(w, &s, text);
}

void waiting_end(struct waiting *w)
{
    g_autoptr(GString) out = g_string_new(OVER_IT END_OF_LINE);

    if (w->shown)
        write_without_waiting(STDERR_FILENO, out, 0);
    g_free(w->shown);
    zkl_queue_free(w->queue);
    g_free(w->node);
    g_free(w->told);
    *w = (struct waiting){.run = w->run};
}
