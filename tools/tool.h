/* What every part of the command shares: settings, how it speaks. */
#ifndef ZKL_TOOLS_TOOL_H
#define ZKL_TOOLS_TOOL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <zkl-glib.h>

#include "duration.h"
#include "failure.h"

/* The global options, with their defaults filled in by main(). Texts are words of the command line,
 * here as in all options. */
struct settings {
    char *connect;
    char *session_timeout; /* as it was given, or NULL */
    int session_timeout_ms;
    int64_t connect_timeout_ms;
    int64_t tick_ms; /* 0: unknown */
    char *auth_file;
    char *acl;
    char *cacert, *cert, *key;
    gboolean fixed_servers;
    gboolean verbose;
    gboolean help; /* is asked for */
};

/* A verb of the command; argv[0] is its name. Returns the exit status. */
typedef int (*verb_fn)(struct settings *settings, int argc, char **argv);

/* All of them, for X(name, what it does). */
#define VERBS(X)                                                                                   \
    X(break, "remove a contender by force")                                                        \
    X(elect, "run a command while leading; show who leads")                                        \
    X(limit, "show or set how many slots a semaphore has")                                         \
    X(lock, "run a command while holding a lock")                                                  \
    X(ls, "show who holds a lock and who waits")                                                   \
    X(member, "run a command as a member of a group; show the members")                            \
    X(once, "run a command once on all hosts, once a period, or for each instant")                 \
    X(revoke, "ask the holder of a lock to give way")                                              \
    X(shards, "run a command for each shard of work that this host has")                           \
    X(watch, "show who holds a lock and who waits, as it changes")

#define VERB_DECLARED(name, summary)                                                               \
    int verb_##name(struct settings *settings, int argc, char **argv);
VERBS(VERB_DECLARED)

/* The same, up to one without a name: verbs.c. */
struct verb {
    const char *name;
    verb_fn run;
    const char *summary;
};
extern const struct verb verbs[];

/* credentials.c */

/* Wipes what was given, in a process that has opened its session or never opens one. */
void credentials_forget(void);

/* options.c */

/* Parses options up to the first operand and moves what is left to the front. GO_ON, or a status
 * after a message or the help; summary NULL: the caller shows the help. tables: a verb's,
 * OPTION_TABLES at most, up to NULL; the global options are accepted too. */
#define OPTION_TABLES 3
int options_parse(struct settings *settings, const GOptionEntry *const *tables,
                  const char *synopsis, const char *summary, int *argc, char ***argv);

/* The same for a verb with the operand PATH, before and after options of one table, or of none:
 * NULL. second names an operand that may follow; *ret_second is NULL if it is not given. second
 * NULL: nothing may follow. */
int options_parse_path(struct settings *settings, const GOptionEntry *entries, const char *summary,
                       int argc, char **argv, const char **ret, const char *second,
                       const char **ret_second);

/* Parses the time that an option has, with duration_parse(). Without a text it leaves *ret_ms
 * alone. A text that is no time is told in a message. Returns GO_ON or STATUS_USAGE. */
int option_time(const char *option, const char *text, int64_t *ret_ms);

/* The same for a number of 1 or more. */
int option_count(const char *option, const char *text, int *ret);

/* say.c */

/* Writes a line to stderr, "zkl: " before it, control characters made visible, in one write. */
void say(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* From now on we never wait for a reader of stderr that does not read: it misses lines. */
void say_without_waiting(void);

/* The same as say(), and returns status. */
int fail(int status, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Writes text to standard output, and frees it. */
void print_text(GString *text);

/* Says that standard output cannot be written, an errno value being why; returns STATUS_IOERR. */
int fail_output(int error);

/* Says what the library answered, naming subject, and gives the exit status for it. */
int fail_error(const zkl_error *error, const char *subject);

/* The same of the calling thread's last error. */
int fail_last(const char *subject);

/* The same, but says nothing if *said_code is the error's code, which it becomes. */
int fail_once(const zkl_error *error, const char *subject, int *said_code);

/* From now on fail() and those like it say nothing with that status: it was said. GO_ON: all. */
void say_no_more_of(int status);

/* "st" for 1st, and so on. */
const char *ordinal_suffix(int n);

/* Writes a whole line, or as much of it as fits. Waits for a slow reader patience_ms at most. */
void write_without_waiting(int fd, const GString *line, int patience_ms);

#define STATUS_FD_NONE (-1)

/* For --status-fd. Returns GO_ON, or STATUS_USAGE after a message. The command does not inherit fd,
 * unless it is one of the three that everybody has. This is called before we open anything, so that
 * fd is the caller's. */
int status_fd_check(int fd);

/* What happens, one line each, for a program to read; in one write. Dropped when the reader is slow
 * or gone. */
void status_line(int fd, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Adds text with control and format characters as \x1b or \u202e; never a raw one. */
void append_visible(GString *out, const char *text);

#endif
