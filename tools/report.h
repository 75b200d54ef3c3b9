/* What zkl elect knows of its candidate: memory mapped before the fork. Whatever is final is told
 * here and by no message, for the queue of one who is stopped may be full. */
#ifndef ZKL_TOOLS_REPORT_H
#define ZKL_TOOLS_REPORT_H

#include <stdatomic.h>
#include <stdint.h>

enum stage {
    STAGE_CONNECTING,
    STAGE_WAITING,
    STAGE_LEADING,
    STAGE_OVER /* leads no more, and its process has not ended yet */
};

enum outcome {
    OUTCOME_NONE,  /* it was killed */
    OUTCOME_FINAL, /* its exit status is ours */
    OUTCOME_AGAIN, /* deposed, or it has stepped down: the next term may begin */
    OUTCOME_FAILED /* its exit status says whether another one may, after a pause */
};

struct report {
    atomic_int stage;
    atomic_bool in_line;   /* it was once */
    atomic_int ahead;      /* how many are before it in line; -1: not known */
    _Atomic int64_t since; /* STAGE_LEADING: seconds since 1970 */
    atomic_int guard;      /* its guard's process */
    atomic_int outcome;
    atomic_int key; /* the signal of the key that ended the command */
};

#endif
