/* The judgement of what contenders of one lock did to a number, from their records alone.
 *
 * Each reads the number and later writes one more. So a write is known by what it wrote, and the
 * order of writes is that of the numbers: no clock is asked. */
#ifndef INTEROP_CHAOS_JUDGE_H
#define INTEROP_CHAOS_JUDGE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum act_word {
    ACT_BEGIN, /* has read the number from a register that looks at tokens, and means to write */
    ACT_READ,  /* has read the number, and means nothing yet */
    ACT_GO,    /* means to write now */
    ACT_END,   /* has written the number */
    ACT_SKIP,  /* does not write: its time was too short */
    ACT_WORDS
} act_word;

typedef struct act {
    int64_t ns; /* CLOCK_MONOTONIC */
    act_word word;
    char kind[16];
    int pid;
    uint64_t token;
    int64_t number;
    uint64_t turn; /* of the token */
} act;

/* From a line "NANOSECONDS WORD KIND PID TOKEN[.TURN] NUMBER"; false: it is none. */
bool act_parse(act *ret, const char *line);
const char *act_word_name(act_word word);

struct chaos_input {
    const GArray *acts;   /* of act, each process's in its order */
    const GArray *killed; /* of int: processes that were killed, and so may not have recorded */
    int64_t number;       /* at the end */
    uint64_t token;       /* that it was last written with */
    uint64_t turn;        /* and which turn of it */
};

struct chaos_verdict {
    guint increments; /* recorded */
    guint kept;       /* written, but their process was killed before it had recorded that */
    guint lost;       /* recorded, but overwritten */
    guint stale;   /* accepted although a higher token had been accepted before, or a later turn */
    guint turns;   /* of those accepted: not the first of their token */
    guint made_up; /* in the number, and nobody's */
};

void chaos_judge(const struct chaos_input *in, struct chaos_verdict *ret);

/* Whether act i was a register's begin that came to no end, though its process went on to
 * something else: the register refused the write. */
bool chaos_refused(const GArray *acts, guint i);

bool chaos_passes(const struct chaos_verdict *v);

#endif
