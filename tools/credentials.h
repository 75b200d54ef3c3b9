/* The credentials that prove to the servers who we are: from --auth or --auth-file, or else from
 * ZKL_AUTH or ZKL_AUTH_FILE. */
#ifndef ZKL_TOOLS_CREDENTIALS_H
#define ZKL_TOOLS_CREDENTIALS_H

#include "tool.h"

/* All credentials together have no more bytes than these, with one after each scheme and secret. */
#define CREDENTIALS_MAX ((size_t)64 * 1024)

/* Takes ZKL_AUTH out of the environment: no process that is started later sees it. */
void credentials_hide(void);

/* Option --auth, which may be given again. */
gboolean credentials_take(const char *option, const char *word, gpointer data, GError **error);

/* This process opens more than one session: credentials_forget() does nothing from now on. */
void credentials_keep(void);

/* GO_ON and an array of zkl_credential, whose last reference wipes them; or a status after a
 * message, which shows no secret. */
int credentials_read(const struct settings *settings, GArray **ret);

#endif
