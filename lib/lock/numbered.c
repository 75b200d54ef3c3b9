#include "numbered.h"

#include <stdlib.h>
#include <string.h>

#include "grant.h"
#include "lib/base/error.h"
#include "lib/session/request.h"
#include "lib/session/watch.h"
#include "locks.h"
#include "recipes/name.h"
#include "recipes/numbering.h"
#include "recipes/rule.h"
#include "recipes/transaction.h"
#include "release.h"

struct numbered {
    zkl_session *session; /* which outlives it */
    struct contender_spec spec;
    contender_decided decided; /* NULL: it was called */
    void *context;
    int refs;                    /* until it is decided, each request under way, each step */
    struct contender *contender; /* NULL: admitted */
    zkl_grant *grant;            /* NULL: not admitted */
    struct numbering machine;
    GPtrArray *before;                /* paths of the nodes whose numbers it must know */
    GArray *used;                     /* of int32_t: the numbers that they have */
    int32_t *numbers;                 /* that were chosen, or found: as many as permits */
    int32_t version;                  /* of the own node */
    struct subscription subscription; /* to the node that it waits for */
    struct timer timer;               /* to begin again */
    struct local_callers callers;     /* of the session's, until then */
    bool restarting;
    bool answered; /* by the present contender */
};

static void step(struct numbered *n, const struct numbering_event *ev);
static void end_restart(struct numbered *n);

static uint32_t permits_of(const struct numbered *n)
{
    return (uint32_t)abs(n->spec.rank);
}

static void numbered_unref(struct numbered *n)
{
    if (--n->refs > 0)
        return;
    g_ref_string_release(n->spec.directory);
    g_ref_string_release(n->spec.payload);
    g_rc_box_release(n->spec.limit);
    g_ptr_array_unref(n->before);
    g_array_unref(n->used);
    g_free(n->numbers);
    g_free(n);
}

/* ---- what becomes of it ---- */

static void decide(struct numbered *n, const zkl_error *error)
{
    const contender_decided decided = n->decided;
    zkl_grant *grant = n->grant;

    n->decided = NULL;
    n->grant = NULL;
    end_restart(n);
    watch_drop(&n->subscription, false);
    if (grant && grant_contender(grant))
        contender_forget(grant_contender(grant));
    if (grant && error) {
        grant_give_back(grant);
        grant_unref(grant);
        grant = NULL;
    }
    decided(n->context, grant, error);
    numbered_unref(n);
}

static void fail(struct numbered *n, int code)
{
    const char *path = session_path(n->session, n->spec.directory);
    zkl_error e;

    error_fill(&e, code, path, "%s: %s", path, zkl_strerror(code));
    decide(n, &e);
}

static void succeed(struct numbered *n)
{
    GString *payload = g_string_new(n->spec.payload);

    g_string_append(payload, NUMBERING_WORDS);
    for (uint32_t i = 0; i < permits_of(n); i++)
        g_string_append_printf(payload, " %d", n->numbers[i]);
    grant_set_slots(n->grant, n->numbers, permits_of(n), payload->str);
    g_string_free(payload, TRUE);
    decide(n, NULL);
}

static void on_admitted(void *context, zkl_grant *grant, const zkl_error *error)
{
    struct numbered *n = context;

    n->contender = NULL;
    n->grant = grant;
    n->answered = true;
    n->machine = (struct numbering){.state = NUMBERING_IDLE, .tag = n->machine.tag + 1};
    if (error)
        decide(n, error);
    else
        step(n, &(struct numbering_event){.kind = NUMBERING_EV_BEGIN});
}

static void enter(struct numbered *n);

static void end_restart(struct numbered *n)
{
    if (n->restarting)
        g_queue_unlink(&locks_of(n->session)->local_callers, &n->callers.link);
    n->restarting = false;
    timers_cancel(&n->timer);
}

static void on_restart(void *data)
{
    end_restart(data);
    enter(data);
}

static void on_session_end(void *context, const zkl_error *why)
{
    decide(context, why);
}

static void restart(struct numbered *n)
{
    n->restarting = true;
    n->callers =
        (struct local_callers){.abort = on_session_end, .context = n, .link.data = &n->callers};
    g_queue_push_tail_link(&locks_of(n->session)->local_callers, &n->callers.link);
    timers_arm(n->session->timers, &n->timer, clock_now().boot, on_restart, n);
}

/* Not from within the contender that ends. */
static void on_news(void *context, enum contender_news news)
{
    struct numbered *n = context;

    if (news != CONTENDER_ENDED || !n->grant || !n->decided)
        return;
    step(n, &(struct numbering_event){.kind = NUMBERING_EV_END});
    grant_unref(n->grant);
    n->grant = NULL;
    if (n->session->closing)
        fail(n, ZKL_ECLOSED);
    else if (n->session->refused)
        fail(n, ZKL_EAUTH);
    else
        restart(n);
}

static void enter(struct numbered *n)
{
    n->refs++;
    n->answered = false;
    struct contender *c = contender_enter(n->session, &n->spec, on_admitted, n);
    if (!n->answered)
        n->contender = c;
    numbered_unref(n);
}

void numbered_abort(struct numbered *n, int code, const char *text)
{
    const char *path = session_path(n->session, n->spec.directory);
    zkl_error why;

    if (n->contender) {
        contender_abort(n->contender, code, text);
        return;
    }
    error_fill(&why, code, path, "%s: %s", path, text);
    step(n, &(struct numbering_event){.kind = NUMBERING_EV_END});
    decide(n, &why);
}

/* ---- what is asked ---- */

static struct request *request_for(struct numbered *n, enum store_kind kind, const char *path,
                                   void (*done)(struct request *r, const struct store_reply *reply))
{
    struct request *r = request_new(kind, g_strdup(path), done, n);

    n->refs++;
    r->tag = n->machine.tag;
    return r;
}

/* An answer; of a session that is over the contender's end tells. */
static void answered(struct numbered *n, const struct request *r, const struct store_reply *reply,
                     struct numbering_event ev)
{
    ev.tag = r->tag;
    if (reply->rc == STORE_NONODE)
        ev.answer = NUMBERING_GONE;
    else if (reply->rc == STORE_BADVERSION)
        ev.answer = NUMBERING_CHANGED;
    else if (reply->rc != STORE_OK)
        ev.answer = NUMBERING_REFUSED;
    if (reply->rc != STORE_GONE && n->decided)
        step(n, &ev);
    numbered_unref(n);
}

static bool is_before(const struct child *child, int32_t number)
{
    return child->kind == CHILD_LEASE && child->numbered && rule_compare(child->number, number) < 0;
}

static void on_listed(struct request *r, const struct store_reply *reply)
{
    struct numbered *n = r->context;
    struct child child;
    struct numbering_event ev = {.kind = NUMBERING_EV_LISTED};

    if (reply->rc == STORE_OK && n->grant && r->tag == n->machine.tag) {
        const char *own = strrchr(grant_full_node(n->grant), '/') + 1;
        name_parse(own, strlen(own), &child);
        const int32_t number = child.number;
        g_ptr_array_set_size(n->before, 0);
        for (int i = 0; i < reply->count; i++) {
            name_parse(reply->names[i], strlen(reply->names[i]), &child);
            if (is_before(&child, number))
                g_ptr_array_add(n->before,
                                g_strconcat(n->spec.directory, "/", reply->names[i], NULL));
        }
        ev.count = n->before->len;
    }
    answered(n, r, reply, ev);
}

/* How many numbers the data have; they are behind those in numbers then. */
static size_t read_numbers(const struct store_reply *reply, GArray *numbers)
{
    uint32_t transaction;
    const char *data = reply->data ? reply->data : "";
    size_t length = transaction_payload(data, (size_t)reply->length, &transaction);
    const guint at = numbers->len;
    const size_t count = numbering_read(data, length, NULL, 0, &length);

    if (count == 0)
        return 0;
    g_array_set_size(numbers, at + (guint)count);
    length = transaction_payload(data, (size_t)reply->length, &transaction);
    numbering_read(data, length, &g_array_index(numbers, int32_t, at), count, &length);
    return count;
}

static void on_read(struct request *r, const struct store_reply *reply)
{
    struct numbered *n = r->context;
    struct numbering_event ev = {.kind = NUMBERING_EV_READ, .answer = NUMBERING_NONE_YET};

    for (guint i = 0; i < n->before->len; i++)
        if (strcmp(n->before->pdata[i], r->what.path) == 0)
            ev.who = i;
    if (reply->rc == STORE_OK && r->tag == n->machine.tag && read_numbers(reply, n->used) > 0)
        ev.answer = NUMBERING_OK;
    answered(n, r, reply, ev);
}

static int compare(gconstpointer a, gconstpointer b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static void on_own_read(struct request *r, const struct store_reply *reply)
{
    struct numbered *n = r->context;
    struct numbering_event ev = {.kind = NUMBERING_EV_OWN, .answer = NUMBERING_NONE_YET};
    GArray *own = g_array_new(FALSE, TRUE, sizeof(int32_t));

    if (reply->rc == STORE_OK && r->tag == n->machine.tag) {
        n->version = reply->version;
        if (read_numbers(reply, own) == permits_of(n)) {
            g_array_sort(own, compare);
            memcpy(n->numbers, own->data, own->len * sizeof(int32_t));
            ev.answer = NUMBERING_OK;
        }
    }
    g_array_unref(own);
    answered(n, r, reply, ev);
}

static void read_all(struct numbered *n)
{
    g_array_set_size(n->used, 0);
    request_send(n->session, request_for(n, STORE_GET, grant_full_node(n->grant), on_own_read));
    for (guint i = 0; i < n->before->len; i++)
        request_send(n->session, request_for(n, STORE_GET, n->before->pdata[i], on_read));
}

static void on_watched(struct request *r, const struct store_reply *reply)
{
    struct numbered *n = r->context;
    struct numbering_event ev = {.kind = NUMBERING_EV_WATCHED, .answer = NUMBERING_NONE_YET};

    watch_answered(n->session, r, reply, &n->subscription);
    if (reply->rc == STORE_OK && read_numbers(reply, n->used) > 0)
        ev.answer = NUMBERING_OK;
    answered(n, r, reply, ev);
}

static void on_fired(void *context, bool gone)
{
    (void)gone;
    step(context, &(struct numbering_event){.kind = NUMBERING_EV_FIRED});
}

static void watch_before(struct numbered *n, uint32_t who)
{
    struct request *r = request_for(n, STORE_GET, n->before->pdata[who], on_watched);

    if (watch_add(n->session, r, &n->subscription)) {
        request_send(n->session, r);
        return;
    }
    request_free(r);
    step(n, &(struct numbering_event){.kind = NUMBERING_EV_END});
    fail(n, ZKL_ELIMIT);
    numbered_unref(n);
}

static void on_written(struct request *r, const struct store_reply *reply)
{
    answered(r->context, r, reply, (struct numbering_event){.kind = NUMBERING_EV_WRITTEN});
}

/* What somebody else has written in place of the payload is heard of as ever: by the version. */
static void write_numbers(struct numbered *n)
{
    GString *data = g_string_new(n->spec.payload);
    struct request *r = request_for(n, STORE_SET, grant_full_node(n->grant), on_written);

    numbering_choose((const int32_t *)(const void *)n->used->data, n->used->len, n->numbers,
                     permits_of(n));
    g_string_append(data, NUMBERING_WORDS);
    for (uint32_t i = 0; i < permits_of(n); i++)
        g_string_append_printf(data, " %d", n->numbers[i]);
    r->what.version = n->version;
    r->what.length = (int)data->len;
    r->what.data = g_string_free(data, FALSE);
    request_send(n->session, r);
}

static void perform(struct numbered *n, const struct numbering_action *a)
{
    switch (a->kind) {
    case NUMBERING_ACT_LIST:
        request_send(n->session, request_for(n, STORE_LIST, n->spec.directory, on_listed));
        break;
    case NUMBERING_ACT_READ:
        read_all(n);
        break;
    case NUMBERING_ACT_WATCH:
        watch_before(n, a->who);
        break;
    case NUMBERING_ACT_UNWATCH:
        watch_drop(&n->subscription, false);
        break;
    case NUMBERING_ACT_WRITE:
        write_numbers(n);
        break;
    case NUMBERING_ACT_DONE:
        succeed(n);
        break;
    case NUMBERING_ACT_VANISHED:
        if (grant_contender(n->grant))
            contender_vanished(grant_contender(n->grant));
        break;
    case NUMBERING_ACT_FAIL:
        fail(n, ZKL_EACCES);
        break;
    }
}

static void step(struct numbered *n, const struct numbering_event *ev)
{
    struct numbering_actions actions;

    n->refs++;
    numbering_step(&n->machine, ev, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(n, &actions.list[i]);
    numbered_unref(n);
}

struct numbered *numbered_enter(zkl_session *s, const struct contender_spec *spec,
                                contender_decided decided, void *context)
{
    struct numbered *n = g_new0(struct numbered, 1);

    n->session = s;
    n->refs = 1;
    n->spec = *spec;
    n->spec.directory = g_ref_string_acquire(spec->directory);
    n->spec.payload = g_ref_string_acquire(spec->payload);
    n->spec.limit = g_rc_box_acquire(spec->limit);
    n->spec.news = on_news;
    n->decided = decided;
    n->context = context;
    n->before = g_ptr_array_new_with_free_func(g_free);
    n->used = g_array_new(FALSE, TRUE, sizeof(int32_t));
    n->numbers = g_new0(int32_t, permits_of(n));
    n->subscription = (struct subscription){.fired = on_fired, .context = n};
    enter(n);
    return n;
}
