/* Child processes and scratch folders that never outlive this process, however it ends. */
#ifndef SUPPORT_PROCESS_H
#define SUPPORT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct process_options {
    const char *const *argv; /* argv[0] is looked up in PATH */
    const char *directory;   /* to run in; NULL: ours */
    const char *log;         /* file that gets stdout and stderr, appended to; NULL: discarded */
    int input;               /* descriptor that becomes stdin; -1: /dev/null */
    bool outlives;           /* without it the child is killed when this process ends */
};

/* Returns -1 with errno on failure. The child ignores SIGINT and SIGHUP, which are meant for us.
 * Any thread may call it. */
pid_t process_spawn(const struct process_options *options);

/* The same, with a pipe as its input, whose other end is the caller's. */
pid_t process_spawn_told(const struct process_options *options, int *ret_control);
bool process_tell(int control, const char *order); /* writes a line; false with errno */

/* Sends sig and waits for the end; SIGKILL follows if that is late. Reaps. */
void process_end(pid_t pid, int sig);
bool process_gone(pid_t pid);  /* ended, perhaps not reaped yet */
void process_pause(pid_t pid); /* returns when it has stopped */
void process_resume(pid_t pid);

/* A new folder below $TMPDIR. A small process beside us removes it even if we are killed. */
struct scratch {
    char *path;
    pid_t janitor;
    int lifeline;
};
bool scratch_make(struct scratch *ret, const char *prefix);
void scratch_remove(struct scratch *s);

/* Copies its files to a folder of the present one, and says where. */
void scratch_keep(const struct scratch *s, const char *folder);

#endif
