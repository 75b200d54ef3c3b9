/* The judgement of a run under faults, computed from its merged history alone.
 *
 * V1 What different owners believed does not overlap: at any path of theirs, but for readers of one
 *    path; never more permits than there are, and no number of a permit twice.
 * V2 What the library promised an owner that did not release has run out before the next grant.
 * V3 Tokens, and turns of one token, rise from grant to grant of a path, but for readers among
 *    themselves and for permits; who was seen in line keeps its place in its session.
 * V4 The register never accepts below a token, or turn of it, that wrote before, and loses no
 *    write; nobody writes without a grant.
 * V5 Every waiter that lives is served.
 * V6 At rest no node is left.
 * V7 A loss is told exactly once, nothing after it, and late only while the holder was stopped.
 * V8 Who got several paths got all; who got numbers got as many as permits, below the limit.
 * V9 What a session counted at its end is what its process recorded: grants, and losses by kind.
 * V10 At most one run is recorded for each due instant, begun when it was due; what its runner has
 *    heard is what is recorded. An instant without a run is one at whose time nobody who asked was
 *    told that none is due.
 *
 * Where a third party deleted the node or ended the session, V1 and V2 are not promised from then
 * on; the token (V3, V4) and being told (V7) are. */
#ifndef HISTORY_JUDGE_H
#define HISTORY_JUDGE_H

#include "hold.h"

#include <zkl/grant.h>

enum { VERDICTS = 11 }; /* V1 to V10; 0: the history makes no sense, or a call failed */

/* What a session counts, beside each zkl_loss. In a history, this is the token of EV_COUNTED. */
enum { COUNTED_GRANTS = 0, COUNTED_WAITS = 8, COUNTED_HOLDS, COUNTED };

/* What a number is at the end, and by which token and turn it was written last. */
struct register_end {
    int64_t number;
    uint64_t token, turn;
};

/* What the uses of a number came to. Each finds it and later writes one more, so a write is known
 * by what it wrote. */
struct register_judgement {
    guint increments; /* recorded */
    guint kept;       /* written, but their process was killed before it had recorded that */
    guint lost;       /* recorded, but overwritten */
    guint stale;   /* accepted although a higher token had been accepted before, or a later turn */
    guint turns;   /* of those accepted: not the first of their token */
    guint made_up; /* in the number, and nobody's */
};

/* What became of the runs that were begun, and of the due instants. */
struct runs_judgement {
    guint completed, given_up, failed, unknown; /* by what their runners have heard */
    guint recorded;
    guint missed; /* instants without a run */
};

typedef struct judge_input {
    const GArray *events;           /* sorted by time */
    int workers;                    /* none has this number, or a higher one */
    int paths;                      /* as for holds_new() */
    bool look;                      /* as for holds_new() */
    const struct register_end *end; /* NULL: of one number for each path, whose end is unknown */
    int nodes_left;                 /* children of the paths at rest */
    bool garbled;                   /* a record could not be read */
    int64_t service_ns;             /* an aim, printed only: session timeout, 1.5 ticks and 2 s */
    int64_t idle_ns; /* printed only: session timeout and 1.5 ticks, in which servers that run all
                        the while end the session of one that retained an idle lock and died */
} judge_input;

typedef struct violation {
    int number; /* of the verdict */
    int path;
    int64_t at;
    char *text;
} violation;

struct judged_kind {
    guint grants;
    int64_t longest_wait; /* of those served */
};

typedef struct judgement {
    GArray *violations; /* of violation */
    struct judged_kind of[CLAIM_KINDS];
    guint readers, permits; /* that were believed in at once, at most */
    guint grants, losses, kills, overlaps, refused, unserved;
    guint turns;       /* grants that were later turns of a token */
    guint kept;        /* places in line that were kept */
    guint third_party; /* holds that one took away */
    guint sessions;    /* whose counts were compared; and the sums of both: */
    int64_t counted[COUNTED], recorded[COUNTED];
    struct register_judgement number; /* where its end is known */
    struct runs_judgement runs;
    guint falls; /* grants with a token that is not above that of one before */
    int nodes_left;
    int64_t longest_wait;     /* of those served */
    int64_t longest_unused;   /* of that, what passed after the one before had released it */
    double unused_share;      /* in parts of idle_ns */
    guint slow_unused;        /* grants that took more than idle_ns of it */
    int64_t latest_told;      /* after the deadline, the holder's stopped time not counted */
    guint successions;        /* grants after a holder that did not release */
    guint slow_successions;   /* later than service_ns after its deadline */
    int64_t worst_succession; /* from that deadline on */
} judgement;

judgement *judge(const judge_input *in);
void judgement_free(judgement *j);
bool judgement_passes(const judgement *j);
guint judgement_count(const judgement *j, int number); /* of violations of this verdict */

/* What a verdict says if it is kept. */
const char *judge_promise(int number);

/* The number alone. events: each process's in its order; those of killed ones are known by EV_KILL.
 */
void judge_register(const GArray *events, const struct register_end *end,
                    struct register_judgement *ret);

/* Whether event i was a begin that came to no write, though its process went on to something else:
 * the register refused it. */
bool register_refused(const GArray *events, guint i);

/* Prints the violations, at most so many, each with what its path's history says around it. */
void judgement_explain(const judgement *j, const judge_input *in, guint most);

#endif
