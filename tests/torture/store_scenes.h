/* What programs do with locks, played to its end whatever is answered. */
#ifndef TORTURE_STORE_SCENES_H
#define TORTURE_STORE_SCENES_H

#include <stdbool.h>

struct scene {
    const char *name;
    void (*fn)(void);
    const char *outcome; /* when nothing fails: codes, "-" for a loss told, "; " transactions */
    unsigned requests;   /* that it makes then, at least */
    bool trio;           /* to be played in an ensemble, too */
    int also;            /* a code that may come when a request is refused */
};

extern const struct scene scenes[]; /* ends with a NULL name */

#endif
