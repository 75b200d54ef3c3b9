/* What goes between us and the server for a transaction: recipes/transaction.h decides. */
#include <string.h>

#include "contender.h"
#include "grant.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "lib/session/incarnation.h"
#include "lib/session/request.h"
#include "multi.h"
#include "recipes/numbering.h"
#include "recipes/revoke.h"
#include "release.h"
#include "whole.h"

static void multi_unref(struct multi *m)
{
    if (--m->refs > 0)
        return;
    sem_destroy(&m->ended);
    g_string_chunk_free(m->texts);
    g_free(m->changes);
    grant_unref(m->grant);
    g_free(m);
}

void multi_end(struct multi *m)
{
    zkl_session *s = session_ref(m->session);

    session_lock(s);
    multi_unref(m);
    session_unlock(s);
    session_unref(s);
}

/* ---- telling ---- */

static void deliver(void *data)
{
    struct multi *m = data;

    m->fn(m->error.code ? &m->error : NULL, m->data);
    multi_end(m);
}

/* Only the first time: who was told that the time is over is told nothing else. */
static void tell(struct multi *m, int code, const char *path)
{
    if (m->told)
        return;
    m->told = true;
    timers_cancel(&m->timer);
    if (code)
        denial_fill(m->session, &m->error, code, path);
    if (m->fn)
        callbacks_push(m->session->callbacks, deliver, m);
    else
        sem_post(&m->ended);
}

static void tell_late(struct multi *m)
{
    zkl_error why = {.code = ZKL_ETIMEDOUT};

    if (!m->session->up)
        session_why_down(m->session, &why);
    tell(m, why.code, zkl_grant_node(m->grant));
}

static void tell_verdict(struct multi *m, const struct transaction_action *a)
{
    const char *node = zkl_grant_node(m->grant);

    switch (a->verdict) {
    case TX_TOLD_APPLIED:
        tell(m, 0, node);
        break;
    case TX_TOLD_REFUSED:
        tell(m, a->error, session_path(m->session, m->changes[a->failed].path));
        break;
    case TX_TOLD_LOST:
        tell(m, m->session->closing ? ZKL_ECLOSED : ZKL_ELOST, node);
        break;
    case TX_TOLD_LATE:
        tell_late(m);
        break;
    case TX_TOLD_UNKNOWN:
        tell(m, ZKL_EUNKNOWN, node);
        break;
    }
}

/* ---- the exchange ---- */

static void step(struct multi *m, struct transaction_event ev);

void multi_on_timeout(void *data)
{
    struct multi *m = data;

    if (m->begun)
        step(m, (struct transaction_event){.kind = TX_EV_TIMEOUT});
    else
        tell_late(m);
}

/* A loop, as many may be settled at once. */
static void begin_next(zkl_grant *g)
{
    struct multi_line *line = grant_line(g);

    if (line->stepping)
        return;
    line->stepping = true;
    for (struct multi *m; (m = g_queue_peek_head(&line->waiting)) && !m->begun;) {
        m->begun = true;
        step(m, (struct transaction_event){
                    .kind = TX_EV_BEGIN, .release = m->release, .told = m->told});
    }
    line->stepping = false;
}

static void end(struct multi *m, bool node_gone)
{
    zkl_grant *g = grant_ref(m->grant);

    g_queue_unlink(&grant_line(g)->waiting, &m->link);
    incarnation_user_left(m->session, &m->session->users.calls);
    if (m->release || node_gone)
        grant_let_go(g, node_gone);
    multi_unref(m);
    begin_next(g);
    grant_unref(g);
}

static enum transaction_event_kind to_event(const struct store_reply *reply)
{
    switch (reply->rc) {
    case STORE_OK:
        return TX_EV_APPLIED;
    case STORE_GONE:
        return TX_EV_GONE;
    case STORE_UNKNOWN:
        return TX_EV_LOST;
    case STORE_NONODE:
        return reply->failed == 0 ? TX_EV_NO_NODE : TX_EV_REFUSED;
    case STORE_BADVERSION:
        return reply->failed == 0 ? TX_EV_OUTDATED : TX_EV_REFUSED;
    default:
        return TX_EV_REFUSED;
    }
}

/* Of a whole's nodes but the first, the one that the server did not find: the grant is lost. NULL:
 * it found them. */
static zkl_grant *missing_part(const struct multi *m, const struct store_reply *reply)
{
    const bool of_part = reply->failed > 0 && (uint32_t)reply->failed < whole_count(m->grant);

    return reply->rc == STORE_NONODE && of_part ? whole_part(m->grant, (uint32_t)reply->failed)
                                                : NULL;
}

static void on_answer(struct request *r, const struct store_reply *reply)
{
    struct multi *m = r->context;
    const zkl_grant *missing = missing_part(m, reply);
    struct transaction_event ev = {.kind = to_event(reply)};

    if (ev.kind == TX_EV_OUTDATED || ev.kind == TX_EV_REFUSED) {
        ev.error = missing ? ZKL_ELOST : call_error(reply->rc);
        ev.failed = reply->failed;
    }
    if (missing && grant_contender(missing))
        contender_vanished(grant_contender(missing));
    step(m, ev);
    multi_unref(m);
}

/* What is written: payload, numbers, line. Whoever asks the holder to give way has put that in
 * place of the payload. It stays there: until it was read nobody may have heard it, and the version
 * that it has is read before it is asked for. */
static char *text_of(const struct multi *m, uint32_t number)
{
    const char *payload = grant_payload(m->grant);
    size_t length;

    numbering_read(payload, strlen(payload), NULL, 0, &length);
    if (grant_line(m->grant)->asked)
        return g_strdup_printf(REVOKE_WORD "%s" TRANSACTION_WORDS "%u", payload + length, number);
    return g_strdup_printf("%s" TRANSACTION_WORDS "%u", payload, number);
}

/* Of our sets, the one that has left these data. */
static uint32_t number_in(const struct multi *m, const struct store_reply *reply)
{
    const char *payload = grant_payload(m->grant), *data = reply->data ? reply->data : "";
    uint32_t number;
    size_t length = transaction_payload(data, (size_t)MAX(reply->length, 0), &number);
    bool ours = length == strlen(payload) && memcmp(data, payload, length) == 0;

    return ours || grant_line(m->grant)->asked ? number : 0;
}

static void on_read(struct request *r, const struct store_reply *reply)
{
    struct multi *m = r->context;
    struct transaction_event ev = {.kind = TX_EV_UNREAD};

    if (reply->rc == STORE_OK) {
        grant_line(m->grant)->asked = revoke_asks(reply->data, reply->length, reply->version);
        ev.kind = TX_EV_READ;
        ev.version = reply->version;
        ev.number = number_in(m, reply);
    } else if (reply->rc == STORE_NONODE) {
        ev.kind = TX_EV_NO_NODE;
    } else if (reply->rc == STORE_GONE) {
        ev.kind = TX_EV_GONE;
    } else {
        ev.error = call_error(reply->rc);
    }
    step(m, ev);
    multi_unref(m);
}

static struct request *ask(struct multi *m, enum store_kind kind,
                           void (*done)(struct request *r, const struct store_reply *reply))
{
    m->refs++;
    return request_new(kind, g_strdup(grant_full_node(m->grant)), done, m);
}

/* Sent again by the machine alone, and so only on a connection that was confirmed. */
static void send(struct multi *m, const struct transaction_action *a)
{
    struct request *r = ask(m, STORE_MULTI, on_answer);
    char *data = text_of(m, a->number);

    m->changes[0].data = data;
    m->changes[0].length = (int)strlen(data);
    m->changes[0].version = a->version;
    r->once = true;
    r->what.changes = m->changes;
    r->what.count = a->kind == TX_ACT_SEAL ? 1 : m->count;
    if (!request_try(m->session, r)) {
        step(m, (struct transaction_event){.kind = TX_EV_UNSENT});
        multi_unref(m);
    }
    g_free(data);
}

static void perform(struct multi *m, const struct transaction_action *a)
{
    switch (a->kind) {
    case TX_ACT_READ:
        request_send(m->session, ask(m, STORE_GET, on_read));
        break;
    case TX_ACT_SEND:
    case TX_ACT_SEAL:
        send(m, a);
        break;
    case TX_ACT_TELL:
        tell_verdict(m, a);
        break;
    case TX_ACT_END:
        end(m, a->node_gone);
        break;
    }
}

static void step(struct multi *m, struct transaction_event ev)
{
    zkl_session *s = m->session;
    struct transaction_actions actions;

    ev.over = s->refused || zkl_grant_session_id(m->grant) != s->id;
    ev.lost = !m->release && zkl_grant_state(m->grant) == ZKL_LOST;
    ev.ready = s->up && s->confirmed == s->connection;
    m->refs++;
    transaction_step(&grant_line(m->grant)->machine, &ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(m, &actions.list[i]);
    multi_unref(m);
}

void multi_enter(struct multi *m)
{
    g_queue_push_tail_link(&grant_line(m->grant)->waiting, &m->link);
    m->session->users.calls++;
    begin_next(m->grant);
}
