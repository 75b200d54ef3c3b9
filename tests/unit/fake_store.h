/* A store that answers what the test says: interleavings no server can be made to show on demand.
 * One at a time. */
#ifndef UNIT_FAKE_STORE_H
#define UNIT_FAKE_STORE_H

#include "lib/core.h"
#include "runner.h"

enum { FAKE_SESSION_ID = 7, FAKE_TIMEOUT_MS = 10000 };

zkl_session *fake_session(void); /* connected */
void fake_event(enum store_event event);

/* From here on fn answers requests as they are sent; those it answers false to wait as ever. */
typedef bool fake_answerer(const struct store_request *request, struct store_reply *reply);
void fake_answer_at_once(fake_answerer *fn);

/* All about the first request of that kind below path that is not answered yet. */
bool fake_is_asked(enum store_kind kind, const char *path);
bool fake_answer(enum store_kind kind, const char *path, struct store_reply reply);
/* What the server names the node that is being created; NULL if there is none. */
char *fake_created_name(const char *path, int number);
/* A STORE_MULTI's changes as "set /a/b 0; delete /c -1", NULL if there is none. */
char *fake_changes(const char *path);

#define ANSWER(kind, path, ...) CHECK(fake_answer(kind, path, (struct store_reply){__VA_ARGS__}))

#endif
