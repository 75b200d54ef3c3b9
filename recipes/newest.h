/* A read should never show older data than an earlier read: within a session the servers see to it,
 * and in the next one the sync before its first list does. Two things make data older all the same:
 * a server lags, or the servers' data have gone back, which nobody may have noticed. So the reader
 * holds older data back, and reads again. When data have been older for one session timeout on one
 * connection, or for two in all, nothing newer will come. Then they count. */
#ifndef RECIPES_NEWEST_H
#define RECIPES_NEWEST_H

#include <stdbool.h>
#include <stdint.h>

/* All 0 at the beginning. */
struct newest {
    uint64_t changed; /* the pzxid of the newest list: when the children changed last */
    bool older;       /* what was read is older than what was told, */
    int64_t since;    /* since then, on this connection; ns */
    int64_t last;     /* when it was seen to be so last */
    int64_t held;     /* for how long on the connections before */
    bool rewound;     /* what is older counts */
};

/* A list of that pzxid: whether it is as new as what was seen before, and then counts. */
bool newest_list(struct newest *n, uint64_t pzxid);

/* A read, of a list or something else, has older data than were told. Returns whether they are held
 * back; if not, all is rewound. patience: for how long, ns. */
bool newest_holds_back(struct newest *n, int64_t now, int64_t patience);

/* Another connection: its server need not be the one that had older data. */
void newest_connected(struct newest *n);

/* All that is there was read, and was told. */
void newest_told(struct newest *n);

/* The servers' data have gone back: what was seen so far is no measure any more. */
void newest_rewind(struct newest *n);

#endif
