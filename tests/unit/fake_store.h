/* A store that answers what the test says: interleavings that no server can be made to show on
 * demand. There is one at a time. */
#ifndef UNIT_FAKE_STORE_H
#define UNIT_FAKE_STORE_H

#include "lib/session/core.h"
#include "runner.h"

enum { FAKE_SESSION_ID = 7, FAKE_TIMEOUT_MS = 10000 };

extern const struct store_ops fake_ops;

zkl_session *fake_session(void); /* connected */
zkl_session *fake_open_session(const char *connect, const zkl_session_options *options);
void fake_event(enum store_event event);
void fake_trouble(enum store_trouble trouble, const char *unusable);
void fake_event_of(enum store_event event, int64_t id, int timeout_ms);
void fake_reconnect(void);    /* in the same session */
void fake_next_session(void); /* this one has expired */
void fake_watch(const char *path, bool gone);
const char *fake_hosts(void);  /* that the last store was opened for, or was given since */
const char *fake_config(void); /* what it heard last of its ensemble */
void fake_stray(bool strays);  /* it is connected beside the user's list */
void fake_busy(bool busy);     /* takes no request, and no other store can be opened */

/* From here on fn answers requests as they are sent; those it answers false to wait as ever. */
typedef bool fake_answerer(const struct store_request *request, struct store_reply *reply);
void fake_answer_at_once(fake_answerer *fn);
void fake_answer_all(fake_answerer *fn); /* those that wait, too */
fake_answerer fake_alone; /* all about /l, where nobody else contends; nodes are number 7 */
void fake_fire(const char *path, enum store_fired fired); /* a watch, of the whole path */

/* All about the first request of that kind below path that is not answered yet. */
bool fake_is_asked(enum store_kind kind, const char *path);
void fake_await(enum store_kind kind, const char *path); /* until another thread asks */
bool fake_answer(enum store_kind kind, const char *path, struct store_reply reply);
/* When it was asked among all requests; -1: it was not, or is answered. */
int fake_place(enum store_kind kind, const char *path);
/* How many such are not answered yet. */
int fake_count(enum store_kind kind, const char *path);
/* As it was submitted, without the changes; path NULL: there is none. Good until the session ends.
 */
struct store_request fake_request(enum store_kind kind, const char *path);
bool fake_is_watching(enum store_kind kind, const char *path); /* it asks for a watch */
/* What the server names the node that is being created; NULL if there is none. */
char *fake_created_name(const char *path, int number);
/* A STORE_MULTI's changes as "set /a/b 0; delete /c -1", NULL if there is none. */
char *fake_changes(const char *path);
char *fake_changed_data(const char *path); /* all that these write, one behind the other */

#define ANSWER(kind, path, ...) CHECK(fake_answer(kind, path, (struct store_reply){__VA_ARGS__}))

#endif
