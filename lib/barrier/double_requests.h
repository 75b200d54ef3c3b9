/* Between the files that ask of the server what a double barrier needs. */
#ifndef LIB_DOUBLE_REQUESTS_H
#define LIB_DOUBLE_REQUESTS_H

#include "double.h"

/* ---- double_exchange.c ---- */

void double_answer(zkl_double_barrier *b, uint32_t tag, enum barrier_event_kind kind);
void double_refuse(zkl_double_barrier *b, uint32_t tag, int code);
bool double_is_present(const zkl_double_barrier *b, const struct request *r);

struct request *double_request(zkl_double_barrier *b, enum store_kind kind, const char *path,
                               void (*done)(struct request *r, const struct store_reply *reply),
                               uint32_t tag);

/* Of the changes in b. */
struct request *double_transaction(zkl_double_barrier *b,
                                   void (*done)(struct request *r, const struct store_reply *reply),
                                   uint32_t tag);

/* With a watch; or the machine hears that there are too many. */
void double_send_watching(zkl_double_barrier *b, struct request *r, struct subscription *watch);

/* ---- double_own.c ---- */

void double_ask_join(zkl_double_barrier *b, uint32_t tag);
void double_ask_quit(zkl_double_barrier *b, const struct barrier_action *a);

/* ---- double_members.c ---- */

void double_ask_list(zkl_double_barrier *b, uint32_t tag);
void double_read(zkl_double_barrier *b, uint32_t tag, size_t member); /* their count: each */
void double_ask_member(zkl_double_barrier *b, uint32_t tag);

#endif
