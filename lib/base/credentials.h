/* The credentials by which servers know whose a session is. The session and its connections share
 * one copy. It is wiped with the last reference. It never changes, so any thread may read it. */
#ifndef LIB_CREDENTIALS_H
#define LIB_CREDENTIALS_H

#include <stddef.h>

#include "zkl/session.h"

struct credential {
    char *scheme, *secret;
};

struct credentials {
    size_t count;
    struct credential each[];
};

/* Returns what is wrong with the credentials in the options; NULL: nothing. */
const char *credentials_check(const zkl_session_options *o);

/* Copies the credentials in the options. The caller has the first reference. */
struct credentials *credentials_new(const zkl_session_options *o);

struct credentials *credentials_ref(struct credentials *c);
void credentials_unref(struct credentials *c);

#endif
