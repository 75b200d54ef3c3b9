/* The credentials that prove to the servers who we are: from --auth or --auth-file, or else from
 * ZKL_AUTH or ZKL_AUTH_FILE. */
#ifndef ZKL_TOOLS_CREDENTIALS_H
#define ZKL_TOOLS_CREDENTIALS_H

#include "tool.h"

/* The most bytes of all credentials together, where each scheme and each secret has a NUL after it.
 */
#define CREDENTIALS_MAX ((size_t)64 * 1024)

/* Takes ZKL_AUTH out of the environment: no process that is started later sees it. */
void credentials_hide(void);

/* Takes a value of the option --auth, which may be repeated. */
gboolean credentials_take(const char *option, const char *word, gpointer data, GError **error);

/* If the credentials are in a pipe, reads that, for all sessions to come. A regular file is read
 * anew for each. Call it while signals end us: nobody may ever write to the pipe. Returns GO_ON, or
 * a status after a message. */
int credentials_begin(const struct settings *settings);

/* Makes credentials_forget() do nothing from now on: this process opens more than one session. */
void credentials_keep(void);

/* Reads all credentials into *ret, an array of zkl_credential, whose last reference wipes them.
 * Returns GO_ON, or a status after a message, which shows no secret. */
int credentials_read(const struct settings *settings, GArray **ret);

#endif
