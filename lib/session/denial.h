/* Which permission was missing, for which operation, at which node. The session keeps what the
 * server refused last, and errors with ZKL_EACCES say it. The caller holds the monitor. */
#ifndef LIB_DENIAL_H
#define LIB_DENIAL_H

#include "core.h"

/* Keeps what the server has refused: it has answered an operation of that kind at path with
 * STORE_NOAUTH. */
void denial_note(zkl_session *s, enum store_kind kind, const char *path,
                 const struct store_reply *reply);

/* Returns the text for an error with this code about path (without the chroot). For ZKL_EACCES it
 * names what the server refused last, if that is at, above or below path. The caller frees it. */
char *denial_text(const zkl_session *s, int code, const char *path);

/* Fills *ret with code, path and that text. */
void denial_fill(const zkl_session *s, zkl_error *ret, int code, const char *path);

#endif
