/* The roles in a campaign, by what is to be shown. */
#ifndef FAULTS_ROLES_H
#define FAULTS_ROLES_H

#include "tests/history/scene.h"

struct role {
    enum turn_kind takes;
    unsigned paths;
    int retain_ms;
};

struct roles {
    const char *recipe;
    int paths, count;
    struct role role[ACTORS_MAX];
};

extern const struct roles roles_of[]; /* ends with no recipe; the first one is a mix of all */

const struct roles *roles_find(const char *recipe); /* NULL: there are none of that name */

/* Which claims they make: a bit for each kind. */
unsigned roles_claims(const struct roles *r);
bool roles_retain(const struct roles *r);

#endif
