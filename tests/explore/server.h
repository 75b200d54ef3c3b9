/* The servers' part of the model: the leader's changes, and what each client's server makes of
 * them. */
#ifndef EXPLORE_SERVER_H
#define EXPLORE_SERVER_H

#include "model.h"

/* Does the request at the head of i's queue and answers it. */
void server_handle(struct state *st, int i);
bool server_can_handle(const struct state *st, int i);

/* Refuses it instead. */
void server_refuse(struct state *st, int i);

/* The leader does the change at the head of i's queue, which stays there; i's server has not heard
 * of it. */
void server_do_unheard(struct state *st, int i);
bool server_is_changed_by(const struct ask *ask);

/* i's server hears of the next change. */
void server_follow(struct state *st, int i);
bool server_can_follow(const struct state *st, int i);

/* A session of i's was made: its server has heard of that, so of everything before. */
void server_begin(struct state *st, int i);
/* The same session has a connection again: its watches are set again. What they have missed is told
 * in any order: by number, or backwards. */
void server_resume(struct state *st, int i, bool backwards);
bool server_has_missed(const struct state *st, int i); /* more than one, so that the order counts */

/* The leader ends sessions of i: the present one, or those it had before. */
void server_close_session(struct state *st, int i);
void server_close_old(struct state *st, int i);
uint16_t server_old_nodes(const struct state *st, int i);

/* By a third party. */
void server_force_delete(struct state *st, int n);
void server_force_close(struct state *st, int i);
void server_touch(struct state *st, int n);
void server_reap(struct state *st);

/* Servers whose lag makes no difference follow at once. Ends each move. */
void server_settle(struct state *st);

#endif
