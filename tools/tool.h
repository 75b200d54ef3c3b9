/* What every part of the command shares: the settings, the verbs, and how it speaks. */
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
    gboolean help; /* the user asks for it */
};

/* A verb of the command; argv[0] is its name. Returns the exit status. */
typedef int (*verb_fn)(struct settings *settings, int argc, char **argv);

/* All verbs, as X(name, what it does). */
#define VERBS(X)                                                                                   \
    X(break, "remove a contender by force")                                                        \
    X(elect, "run a command while leading; show who leads")                                        \
    X(limit, "show or set how many slots a semaphore has")                                         \
    X(lock, "run a command while holding a lock")                                                  \
    X(ls, "show who holds a lock and who waits")                                                   \
    X(member, "run a command as a member of a group; show the members")                            \
    X(once, "run a command once for all hosts, once a period, or for each instant")                \
    X(remaining, "show for how long the lock is sure; run a command only while it is")             \
    X(revoke, "ask the holder of a lock to give way")                                              \
    X(shards, "run a command for each shard of work that this host has")                           \
    X(watch, "show who holds a lock and who waits, as it changes")

#define VERB_DECLARED(name, summary)                                                               \
    int verb_##name(struct settings *settings, int argc, char **argv);
VERBS(VERB_DECLARED)

/* All verbs as a table, which ends with one without a name: verbs.c. */
struct verb {
    const char *name;
    verb_fn run;
    const char *summary;
};
extern const struct verb verbs[];

/* credentials.c */

/* Wipes the credentials that were given, in a process that has opened its session or never opens
 * one. */
void credentials_forget(void);

/* options.c */

/* Parses options up to the first operand, and moves argv on so that argv[1] is that operand.
 * tables: those of a verb, OPTION_TABLES at most, with NULL after them; the global options are
 * accepted, too. Returns GO_ON, or a status after a message or the help. summary NULL: the caller
 * shows the help. */
#define OPTION_TABLES 3
int options_parse(struct settings *settings, const GOptionEntry *const *tables,
                  const char *synopsis, const char *summary, int *argc, char ***argv);

/* Does the same for a verb with the operand PATH; options may stand before and after it. entries:
 * the verb's one table, or NULL. second names an operand that may follow; *ret_second is NULL if it
 * is not given. second NULL: nothing may follow. */
int options_parse_path(struct settings *settings, const GOptionEntry *entries, const char *summary,
                       int argc, char **argv, const char **ret, const char *second,
                       const char **ret_second);

/* Parses the time that an option has, by duration_parse(). text NULL: leaves *ret_ms as it is.
 * Returns GO_ON, or STATUS_USAGE after a message if text is no time. */
int option_time(const char *option, const char *text, int64_t *ret_ms);

/* Parses a number of 1 or more in the same way. */
int option_count(const char *option, const char *text, int *ret);

/* Does the same with one of the words in names, which NULL ends. *ret is the word's place there. */
int option_word(const char *option, const char *text, const char *const *names, int *ret);

/* say.c */

/* Writes a line to stderr in one write, with "zkl: " before it, and with control characters made
 * visible. */
void say(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* Makes say() never wait for a reader of stderr that does not read: it misses lines. */
void say_without_waiting(void);

/* Does the same as say(), and returns status. */
int fail(int status, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Writes text to standard output, and frees it. */
void print_text(GString *text);

/* Says that standard output cannot be written, and why: error is an errno value. Returns
 * STATUS_IOERR. */
int fail_output(int error);

/* Says what the library answered, with the name of subject, and returns the exit status for that.
 */
int fail_error(const zkl_error *error, const char *subject);

/* Does the same with the calling thread's last error. */
int fail_last(const char *subject);

/* Does the same as fail_error(), but says nothing if *said_code is the error's code. Sets
 * *said_code to that code. */
int fail_once(const zkl_error *error, const char *subject, int *said_code);

/* Makes fail() and those like it say nothing with that status, which was said. GO_ON: they say all.
 */
void say_no_more_of(int status);

/* Returns "st" for 1st, and so on. */
const char *ordinal_suffix(int n);

/* Writes a whole line, or as much of it as fits. Waits for a slow reader patience_ms at most. */
void write_without_waiting(int fd, const GString *line, int patience_ms);

#define STATUS_FD_NONE (-1)

/* Checks the descriptor of --status-fd. Returns GO_ON, or STATUS_USAGE after a message. The command
 * does not inherit fd, unless it is one of the three that everybody has. Call it before we open
 * anything, so that fd is the one that the user has opened. */
int status_fd_check(int fd);

/* Writes a line about what happens, for a program to read, in one write. Drops the line if the
 * reader is slow or gone. */
void status_line(int fd, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Adds text. Control and format characters are written like \x1b and \u202e. */
void append_visible(GString *out, const char *text);

#endif
