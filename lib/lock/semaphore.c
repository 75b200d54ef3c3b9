/* Semaphores: permits, their numbers, leases in Curator's layout, and the limit as an administrator
 * reads and sets it. recipes/numbering.h, leasing.h and limit.h decide. The functions named
 * numbered_… and leased_… are called with the monitor held, and so are those in the table
 * limit_driver, and what they call. All others are called without it. */
#include <glib.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "lib/base/callbacks.h"
#include "lib/base/error.h"
#include "lib/base/options.h"
#include "lib/base/path.h"
#include "lib/contender/claim.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "lib/session/driver.h"
#include "multi_attempt.h"
#include "op.h"
#include "recipes/leasing.h"
#include "recipes/limit.h"
#include "recipes/multi_lock.h"
#include "recipes/name.h"
#include "recipes/numbering.h"
#include "recipes/payload.h"
#include "recipes/rule.h"

/* An acquisition of numbered permits: a contender is admitted, and then gets its numbers. If it
 * loses its node before it has them, it begins again. */
struct numbered {
    struct driver driver; /* with a reference until .op is decided; the session outlives it */
    struct contender_spec spec;
    zkl_op *op; /* NULL: it is decided */
    struct claim claim;
    struct numbering machine;
    GPtrArray *before; /* paths of the nodes before its own; an entry is NULL if the numbers of that
                          node are known, or the node is gone */
    GArray *used;      /* of int32_t: the numbers of these nodes that are known */
    int32_t *numbers;  /* its own, chosen or read: one for each permit */
    int32_t ceiling;   /* .numbers and those of all nodes before are below it; 0: not known */
    bool chosen;       /* .numbers were chosen for the present node: others may have read them */
    struct timer timer; /* begins the acquisition again after a loss */
};

/* Returns how many permits are acquired. spec.rank is below 0, which says that they have numbers.
 */
static uint32_t numbered_permits(const struct numbered *n)
{
    return (uint32_t)abs(n->spec.rank);
}

static void numbered_free(struct driver *d)
{
    struct numbered *n = DRIVER_OWNER(d, struct numbered);

    driver_clear(d);
    g_ref_string_release(n->spec.directory);
    g_ref_string_release(n->spec.payload);
    g_rc_box_release(n->spec.limit);
    g_ptr_array_unref(n->before);
    g_array_unref(n->used);
    g_free(n->numbers);
    g_free(n);
}

/* ---- numbered: the result ---- */

/* Returns the data of the own node: the payload, and the numbers. */
static char *numbered_own_data(const struct numbered *n)
{
    GString *text = g_string_new(n->spec.payload);

    g_string_append(text, NUMBERING_WORDS);
    for (uint32_t i = 0; i < numbered_permits(n); i++)
        g_string_append_printf(text, " %d", n->numbers[i]);
    if (n->ceiling > 0)
        g_string_append_printf(text, NUMBERING_CEILING "%d", n->ceiling);
    return g_string_free(text, FALSE);
}

/* Ends the acquisition: with an error; or, if error is NULL, with the grant, whose permits have the
 * numbers. */
static void numbered_decide(struct numbered *n, const zkl_error *error)
{
    zkl_op *op = g_steal_pointer(&n->op);
    zkl_grant *grant = NULL;

    if (!error) {
        char *payload = numbered_own_data(n);
        tenure_set_payload(n->claim.tenure, payload);
        g_free(payload);
        grant = grant_new_on(claim_take(&n->claim));
        grant_set_slots(grant, n->numbers, numbered_permits(n));
    }
    timers_cancel(&n->timer);
    claim_leave(&n->claim);
    op_decide(op, grant, error);
    driver_unref(&n->driver);
}

/* ---- numbered: the driver's table ---- */

/* Parses the name of the child at that path. */
static struct child numbered_child_at(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    struct child child;

    name_parse(name, strlen(name), &child);
    return child;
}

/* Compares the paths of two nodes by their sequence numbers. */
static gint numbered_compare_nodes(gconstpointer a, gconstpointer b)
{
    return rule_compare(numbered_child_at(*(char *const *)a).number,
                        numbered_child_at(*(char *const *)b).number);
}

/* Stores which nodes with numbers are before the own one, from a list of the directory. */
static void numbered_read_list(struct numbered *n, const struct machine_event *ev,
                               struct numbering_moment *shown)
{
    struct child child;
    const int32_t number = numbered_child_at(n->claim.tenure->full_node).number;

    g_ptr_array_set_size(n->before, 0);
    g_array_set_size(n->used, 0);
    for (size_t i = 0; i < ev->count; i++) {
        name_parse(ev->names[i], strlen(ev->names[i]), &child);
        if (child.kind == CHILD_LEASE && child.numbered && rule_compare(child.number, number) < 0)
            g_ptr_array_add(n->before, g_strconcat(n->spec.directory, "/", ev->names[i], NULL));
    }
    g_ptr_array_sort(n->before, numbered_compare_nodes);
    shown->count = n->before->len;
    for (guint i = 0; i < n->before->len; i++)
        shown->permits += numbered_child_at(n->before->pdata[i]).permits;
}

/* Appends the numbers in a node's data. Returns how many there are. */
static size_t numbered_parse(const struct machine_event *ev, GArray *numbers, int32_t *ret_ceiling)
{
    const struct payload p = payload_read(ev->data, ev->length);
    const guint at = numbers->len;

    if (p.numbers == 0)
        return 0;
    g_array_set_size(numbers, at + (guint)p.numbers);
    *ret_ceiling = p.ceiling;
    payload_numbers(ev->data, &p, &g_array_index(numbers, int32_t, at));
    return p.numbers;
}

/* Compares two permits' numbers. */
static int numbered_compare(gconstpointer a, gconstpointer b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Reads the own node. Its data may ask us to give way. Our set of the numbers will overwrite that,
 * so the holder is told now. If the data have numbers, an earlier set of ours was done. */
static void numbered_read_own(struct numbered *n, const struct machine_event *ev,
                              struct numbering_moment *shown)
{
    GArray *own = g_array_new(FALSE, TRUE, sizeof(int32_t));
    int32_t ceiling = 0;

    if (payload_asks(ev->data, ev->length, ev->version))
        grant_call(n->claim.tenure, TENURE_ASKED);
    shown->numbered = numbered_parse(ev, own, &ceiling) == numbered_permits(n);
    if (shown->numbered) {
        g_array_sort(own, numbered_compare);
        memcpy(n->numbers, own->data, own->len * sizeof(int32_t));
        n->ceiling = ceiling;
    }
    g_array_unref(own);
}

/* Stores what an answer has shown, and fills in *shown for the machine. */
static void numbered_read_answer(struct numbered *n, const struct machine_event *ev,
                                 struct numbering_moment *shown)
{
    if (ev->verb == STORE_GET && ev->node != NUMBERING_OWN) {
        if (ev->rc == STORE_OK)
            shown->numbered = numbered_parse(ev, n->used, &shown->ceiling) > 0;
        /* a node that has numbers, or is gone, is not read again */
        if (shown->numbered || ev->rc == STORE_NONODE)
            g_clear_pointer(&n->before->pdata[ev->node - NUMBERING_BEFORE], g_free);
    } else if (ev->verb == STORE_GET && ev->rc == STORE_OK) {
        numbered_read_own(n, ev, shown);
    } else if (ev->verb == STORE_LIST) {
        numbered_read_list(n, ev, shown);
    }
}

static void numbered_step(struct driver *d, const struct machine_event *ev,
                          struct machine_actions *out)
{
    struct numbered *n = DRIVER_OWNER(d, struct numbered);
    struct numbering_moment shown = {.count = 0};

    if (ev->kind == MACHINE_EV_ANSWER)
        numbered_read_answer(n, ev, &shown);
    numbering_step(&n->machine, ev, &shown, out);
}

static char *numbered_path(struct driver *d, unsigned node)
{
    const struct numbered *n = DRIVER_OWNER(d, struct numbered);

    return g_strdup(node == NUMBERING_OWN         ? n->claim.tenure->full_node
                    : node == NUMBERING_DIRECTORY ? n->spec.directory
                                                  : n->before->pdata[node - NUMBERING_BEFORE]);
}

/* Returns the own node's data for a set. The numbers of a node are chosen once. If the answer to a
 * set was lost, contenders after this one may have read the numbers, even if another client has
 * overwritten them since. */
static char *numbered_data(struct driver *d, unsigned node, int *ret_length)
{
    struct numbered *n = DRIVER_OWNER(d, struct numbered);
    char *text;

    (void)node;
    if (!n->chosen)
        n->ceiling = numbering_choose((const int32_t *)(const void *)n->used->data, n->used->len,
                                      n->machine.first, n->numbers, numbered_permits(n));
    n->chosen = true;
    text = numbered_own_data(n);
    *ret_length = (int)strlen(text);
    return text;
}

static void numbered_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct numbered *n = DRIVER_OWNER(d, struct numbered);
    zkl_error why;

    switch ((enum numbering_verdict)a->verdict) {
    case NUMBERING_DONE:
        numbered_decide(n, NULL);
        break;
    case NUMBERING_NODE_GONE:
        tenure_node_gone(n->claim.tenure);
        break;
    case NUMBERING_FAILED:
        denial_fill(d->session, &why, call_error(a->rc),
                    session_path(d->session, n->spec.directory));
        numbered_decide(n, &why);
        break;
    }
}

static const struct driver_ops numbered_driver = {.step = numbered_step,
                                                  .path = numbered_path,
                                                  .data = numbered_data,
                                                  .on_verdict = numbered_on_verdict,
                                                  .free = numbered_free};

/* ---- numbered: the contender ---- */

/* Begins to number a contender that was admitted. */
static void numbered_on_admitted(void *context, const zkl_error *error)
{
    struct numbered *n = context;

    n->chosen = false;
    n->machine = (struct numbering){.state = NUMBERING_IDLE};
    if (error)
        numbered_decide(n, error);
    else
        driver_hear(&n->driver, MACHINE_EV_BEGIN);
}

static void numbered_contend(struct numbered *n);

static void numbered_on_restart(void *data)
{
    numbered_contend(data);
}

/* Begins again after the node was lost. A timer does it, because the contender that ends is still
 * in use during this call. */
static void numbered_on_news(void *context, enum contender_news news)
{
    struct numbered *n = context;

    if (news != CONTENDER_ENDED)
        return;
    driver_hear(&n->driver, MACHINE_EV_STOP);
    timers_arm(n->driver.session->timers, &n->timer, clock_now().boot, numbered_on_restart, n);
}

static void numbered_contend(struct numbered *n)
{
    claim_enter(&n->claim, n->driver.session, &n->spec, numbered_on_admitted, n);
}

static const struct contender *numbered_waiting(const void *numbered)
{
    return ((const struct numbered *)numbered)->claim.contender;
}

/* Whether a try ends because a contender before it has no numbers yet. A try waits for no holder,
 * but for such numbers until its time has passed. code: the error that ends the try. */
static bool numbered_waits_for_numbers(const struct numbered *n, int code)
{
    return code == ZKL_EUNREACHABLE && n->driver.session->up &&
           n->machine.state == NUMBERING_WAITING;
}

/* Ends the acquisition before it is decided. */
static void numbered_abort(void *numbered, int code, const char *text)
{
    struct numbered *n = numbered;
    const char *path = session_path(n->driver.session, n->spec.directory);
    zkl_error why;

    if (n->claim.contender) {
        contender_abort(n->claim.contender, code, text);
        return;
    }
    if (numbered_waits_for_numbers(n, code))
        error_fill(&why, ZKL_EBUSY, path, "%s: %s", path, zkl_strerror(ZKL_EBUSY));
    else
        error_fill(&why, code, path, "%s: %s", path, text);
    driver_hear(&n->driver, MACHINE_EV_STOP);
    numbered_decide(n, &why);
}

static const struct op_ops numbered_op_ops = {.abort = numbered_abort, .waiting = numbered_waiting};

/* Starts an acquisition of numbered permits, whose outcome becomes the outcome of op. */
static void numbered_enter(zkl_op *op, zkl_session *s, const struct contender_spec *spec)
{
    struct numbered *n = g_new0(struct numbered, 1);

    op_assign(op, &numbered_op_ops, n);
    driver_init(&n->driver, &numbered_driver, s, STORE_PERSISTENT);
    n->spec = *spec;
    n->spec.directory = g_ref_string_acquire(spec->directory);
    n->spec.payload = g_ref_string_acquire(spec->payload);
    n->spec.limit = g_rc_box_acquire(spec->limit);
    n->spec.news = numbered_on_news;
    n->op = op;
    n->before = g_ptr_array_new_with_free_func(g_free);
    n->used = g_array_new(FALSE, TRUE, sizeof(int32_t));
    n->numbers = g_new0(int32_t, numbered_permits(n));
    numbered_contend(n);
}

/* An acquisition of permits in the layout of Curator's InterProcessSemaphoreV2: a contender for the
 * lock below the path, and one for each permit, whose node is the lease. The grant stands on all
 * leases. docs/design/leases.md has the argument. */
struct leased;

/* A part of the acquisition: the lock, or all leases. A single lease has .claim,
 * several leases have .several. */
struct leased_part {
    struct leased *leased;
    char *directory;                /* GRefString */
    struct claim claim;             /* of the lock, or of a single lease; all 0 with .several */
    struct multi_attempt *several;  /* for several leases; NULL: none, or it has ended */
    zkl_grant *grant;               /* from .several, with a reference of ours; NULL: none */
    unsigned granted, failed, lost; /* the events for the machine */
};

struct leased {
    struct driver driver;       /* with a reference until .op is decided; the session outlives it */
    struct contender_spec spec; /* .directory: the semaphore's path; .leases: its limit */
    uint32_t permits;           /* how many leases are taken: MULTI_LOCK_PATHS at most */
    zkl_op *op;
    struct leasing machine;
    struct leased_part lock, lease;
    zkl_error why; /* why a part has failed, or why it was stopped */
};

static void leased_free(struct driver *d)
{
    struct leased *l = DRIVER_OWNER(d, struct leased);

    driver_clear(d);
    g_ref_string_release(l->lock.directory);
    g_ref_string_release(l->lease.directory);
    g_ref_string_release(l->spec.directory);
    g_ref_string_release(l->spec.payload);
    g_free(l);
}

/* ---- leases: what contenders tell ---- */

/* Tells the machine that a part was lost. */
static void leased_on_news(void *context, enum contender_news news)
{
    struct leased_part *p = context;

    if (news != CONTENDER_ENDED)
        return;
    p->several = NULL;
    g_clear_pointer(&p->grant, grant_unref);
    driver_hear(&p->leased->driver, p->lost);
}

static void leased_on_decided(void *context, const zkl_error *error)
{
    struct leased_part *p = context;

    if (error)
        p->leased->why = *error;
    else
        contender_set_idle(p->claim.holder, true); /* nobody uses a part alone */
    driver_hear(&p->leased->driver, error ? p->failed : p->granted);
}

/* Tells the machine that several leases were granted, or failed; but not if leased_leave() has
 * ended the attempt. */
static void leased_on_several(void *context, zkl_grant *grant, const zkl_error *error)
{
    struct leased_part *p = context;

    if (!p->several)
        return;
    if (error) {
        p->leased->why = *error;
        p->several = NULL;
    }
    p->grant = grant;
    driver_hear(&p->leased->driver, grant ? p->granted : p->failed);
}

/* ---- leases: what the machine asks ---- */

/* Enters the contender for the lock. */
static void leased_enter_lock(struct leased *l)
{
    struct contender_spec spec = {.directory = l->lock.directory,
                                  .payload = l->spec.payload,
                                  .parents = l->spec.parents,
                                  .rule = RULE_SELECTOR,
                                  .try_only = l->spec.try_only,
                                  .hints = true,
                                  .news = leased_on_news};

    claim_enter(&l->lock.claim, l->driver.session, &spec, leased_on_decided, &l->lock);
}

/* Enters the contender for a single lease, or one for each of several leases. Several enter at
 * once: so all nodes exist while any of them waits. */
static void leased_enter_leases(struct leased *l)
{
    struct multi_path paths[MULTI_LOCK_PATHS];
    struct leased_part *p = &l->lease;
    struct contender_spec spec = l->spec;

    spec.news = leased_on_news;
    if (l->permits == 1) {
        spec.directory = p->directory;
        claim_enter(&p->claim, l->driver.session, &spec, leased_on_decided, p);
        return;
    }
    for (uint32_t i = 0; i < l->permits; i++)
        paths[i] = (struct multi_path){.directory = p->directory, .given = i};
    p->several =
        multi_attempt_new(l->driver.session, &spec, paths, l->permits, leased_on_several, p);
    multi_attempt_begin(p->several);
}

/* Gives up a part, whether it was granted or not. The machine is told nothing of it from now on. */
static void leased_leave(struct leased_part *p)
{
    struct multi_attempt *several = g_steal_pointer(&p->several);

    if (several)
        multi_attempt_forget(several);
    if (several && p->grant)
        grant_give_back(p->grant, false);
    else if (several)
        multi_attempt_abort(several, ZKL_ECANCELED, zkl_strerror(ZKL_ECANCELED));
    g_clear_pointer(&p->grant, grant_unref);
    claim_leave(&p->claim);
}

/* Whether a list of the semaphore's path shows contenders of another layout, which are children of
 * the path itself. If so, stores the error in .why. */
static bool leased_finds_mixed(struct leased *l, const struct machine_event *ev)
{
    const char *path = session_path(l->driver.session, l->spec.directory);
    struct child child;

    for (size_t i = 0; i < ev->count; i++) {
        name_parse(ev->names[i], strlen(ev->names[i]), &child);
        if (child.kind == CHILD_FOREIGN)
            continue;
        char *text = layout_refusal(ev->names[i]);
        error_fill(&l->why, ZKL_ELAYOUT, path, "%s: %s", path, text);
        g_free(text);
        return true;
    }
    return false;
}

static void leased_step(struct driver *d, const struct machine_event *ev,
                        struct machine_actions *out)
{
    struct leased *l = DRIVER_OWNER(d, struct leased);
    struct leasing_moment m = {.now = clock_now().boot};

    m.mixed = ev->kind == MACHINE_EV_ANSWER && leased_finds_mixed(l, ev);
    leasing_step(&l->machine, ev, &m, out);
}

static char *leased_path(struct driver *d, unsigned node)
{
    (void)node;
    return g_strdup(DRIVER_OWNER(d, struct leased)->spec.directory);
}

static void leased_decide(struct leased *l, zkl_grant *grant, const zkl_error *error)
{
    op_decide(l->op, grant, error);
    driver_unref(&l->driver);
}

/* Ends the acquisition with the grant on its leases. */
static void leased_give(struct leased *l)
{
    struct leased_part *p = &l->lease;

    if (p->several)
        multi_attempt_forget(g_steal_pointer(&p->several));
    if (p->claim.holder)
        contender_set_idle(p->claim.holder, false);
    struct tenure *tenure = claim_take(&p->claim);
    zkl_grant *grant = tenure ? grant_new_on(tenure) : g_steal_pointer(&p->grant);
    leased_decide(l, grant, NULL);
}

static void leased_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct leased *l = DRIVER_OWNER(d, struct leased);
    zkl_session *s = d->session;

    switch ((enum leasing_verdict)a->verdict) {
    case LEASING_LOCK:
        leased_enter_lock(l);
        break;
    case LEASING_UNLOCK:
        leased_leave(&l->lock);
        break;
    case LEASING_LEASE:
        leased_enter_leases(l);
        break;
    case LEASING_LEAVE:
        leased_leave(&l->lease);
        break;
    case LEASING_GRANT:
        leased_give(l);
        break;
    case LEASING_FAIL:
        if (a->why == LEASING_CAUSE_REFUSED)
            denial_fill(s, &l->why, call_error(a->rc), session_path(s, l->spec.directory));
        leased_decide(l, NULL, &l->why);
        break;
    }
}

static const struct driver_ops leased_driver = {
    .step = leased_step, .path = leased_path, .on_verdict = leased_on_verdict, .free = leased_free};

/* ---- leases: what the caller does ---- */

static void leased_abort(void *leased, int code, const char *text)
{
    struct leased *l = leased;
    const char *path = session_path(l->driver.session, l->spec.directory);

    error_fill(&l->why, code, path, "%s: %s", path, text);
    driver_hear(&l->driver, MACHINE_EV_STOP);
}

/* Returns the path of a child, as a GRefString. */
static char *leased_child(const char *path, const char *name)
{
    char *child = g_strconcat(path, name, NULL), *shared = g_ref_string_new(child);

    g_free(child);
    return shared;
}

static const struct op_ops leased_op_ops = {.abort = leased_abort};

/* Starts an acquisition of leases, whose outcome becomes the outcome of op. spec->directory is the
 * semaphore's path, spec->rank how many permits are acquired. */
static void leased_enter(zkl_op *op, zkl_session *s, const struct contender_spec *spec)
{
    struct leased *l = g_new0(struct leased, 1);

    op_assign(op, &leased_op_ops, l);
    driver_init(&l->driver, &leased_driver, s, STORE_PERSISTENT);
    l->op = op;
    l->spec = *spec;
    l->permits = (uint32_t)spec->rank;
    l->spec.rank = 1;
    g_ref_string_acquire(l->spec.directory);
    g_ref_string_acquire(l->spec.payload);
    l->lock = (struct leased_part){.leased = l,
                                   .directory = leased_child(spec->directory, "/locks"),
                                   .granted = LEASING_EV_LOCKED,
                                   .failed = LEASING_EV_LOCK_FAILED,
                                   .lost = LEASING_EV_LOCK_LOST};
    l->lease = (struct leased_part){.leased = l,
                                    .directory = leased_child(spec->directory, "/leases"),
                                    .granted = LEASING_EV_LEASED,
                                    .failed = LEASING_EV_LEASE_FAILED,
                                    .lost = LEASING_EV_LEASE_LOST};
    if (spec->rank > spec->leases)
        leased_abort(l, ZKL_ELIMIT, "more permits than the limit");
    else
        driver_hear(&l->driver, MACHINE_EV_BEGIN);
}

struct zkl_semaphore {
    gint refs; /* the user's, and one for each call that waits */
    zkl_session *session;
    char *path;    /* GRefString, with chroot */
    char *payload; /* GRefString */
    zkl_parents parents;
    bool numbered;
    bool curator; /* in Curator's layout */
    /* guarded by the monitor: */
    struct permit_limit *limit; /* an rc_box */
    struct op_queue waiters;
};

/* How many numbers fit into a node's data, even if each has all its digits. */
enum { NUMBERED_MAX = 1000 };

/* Returns the path as the user sees it, without the chroot. */
static const char *semaphore_path(const zkl_semaphore *m)
{
    return session_path(m->session, m->path);
}

static void semaphore_unref(zkl_semaphore *m)
{
    if (!g_atomic_int_dec_and_test(&m->refs))
        return;
    session_lock(m->session); /* it guards the counts of what contenders share */
    op_queue_clear(&m->waiters);
    g_rc_box_release(m->limit);
    g_ref_string_release(m->path);
    g_ref_string_release(m->payload);
    session_unlock(m->session);
    session_unref(m->session);
    g_free(m);
}

/* Checks the semaphore that the user gave to a function of the interface. Returns 0, or the
 * thread's last error. */
static int semaphore_check(const zkl_semaphore *m)
{
    if (!m)
        return error_set(ZKL_EINVAL, NULL, "the semaphore is NULL");
    return session_check(m->session);
}

/* Checks the semaphore for a function that blocks, which must not be called in a callback. */
static int semaphore_check_blocking(const zkl_semaphore *m)
{
    const int code = semaphore_check(m);

    if (!code && callbacks_inside())
        return error_set(ZKL_EDEADLK, semaphore_path(m), "%s: this would wait inside a callback",
                         semaphore_path(m));
    return code;
}

/* ---- new ---- */

static const char *semaphore_check_options(const zkl_semaphore_options *o)
{
    const char *wrong = options_check(o->name, o->parents);

    if (wrong)
        return wrong;
    if (o->numbered & ~1)
        return "numbered must be 0 or 1";
    if (o->numbered && o->name && strchr(o->name, '\n'))
        return "name has a line break, and the numbers are a line after it";
    if (o->limit < 0)
        return "limit must not be negative";
    if ((unsigned)o->layout > ZKL_SEMAPHORE_CURATOR)
        return "layout is none of zkl_semaphore_layout";
    if (o->layout == ZKL_SEMAPHORE_CURATOR && o->limit == 0)
        return "Curator's layout keeps no limit: limit must be given";
    if (o->layout == ZKL_SEMAPHORE_CURATOR && o->numbered)
        return "Curator's layout has no numbers";
    return NULL;
}

int zkl_semaphore_new(zkl_semaphore **ret, zkl_session *s, const char *path,
                      const zkl_semaphore_options *options)
{
    zkl_semaphore_options o = ZKL_SEMAPHORE_OPTIONS_INIT;
    const char *wrong = options_take(&o, sizeof o, options);
    int code = handle_check_new("zkl_semaphore_new", ret, s, path,
                                wrong ? wrong : semaphore_check_options(&o));

    if (code)
        return code;
    zkl_semaphore *m = g_new0(zkl_semaphore, 1);
    m->refs = 1;
    m->session = session_ref(s);
    m->path = path_full(s->chroot, path);
    m->payload = handle_new_payload(o.name, 0);
    m->parents = o.parents;
    m->numbered = o.numbered;
    m->curator = o.layout == ZKL_SEMAPHORE_CURATOR;
    m->limit = g_rc_box_new0(struct permit_limit);
    m->limit->initial = o.limit;
    session_lock(s);
    op_queue_init(&m->waiters, s, m->path);
    session_unlock(s);
    *ret = m;
    return 0;
}

void zkl_semaphore_free(zkl_semaphore *m)
{
    if (!m || fork_is_child(m->session->generation))
        return;
    session_lock(m->session);
    op_queue_abort(&m->waiters, ZKL_ECLOSED, "the semaphore was freed");
    session_unlock(m->session);
    semaphore_unref(m);
}

/* ---- acquiring ---- */

static zkl_op *semaphore_start(zkl_semaphore *m, int permits, int64_t timeout_ms,
                               zkl_acquired_fn fn, void *data)
{
    struct contender_spec spec = {.directory = m->path,
                                  .payload = m->payload,
                                  .parents = m->parents,
                                  .rule = RULE_LEASE,
                                  .rank = m->numbered ? -permits : permits,
                                  .try_only = timeout_ms <= 0,
                                  .limit = m->curator ? NULL : m->limit,
                                  .leases = m->curator ? m->limit->initial : 0};

    session_lock(m->session);
    zkl_op *op = op_begin(&m->waiters, timeout_ms, fn, data);
    if (op_is_open(op) && m->numbered)
        numbered_enter(op, m->session, &spec);
    else if (op_is_open(op) && m->curator)
        leased_enter(op, m->session, &spec);
    else if (op_is_open(op))
        op_contend(op, &spec);
    session_unlock(m->session);
    return op;
}

static int semaphore_check_permits(const zkl_semaphore *m, int permits)
{
    const int most = m->curator ? MULTI_LOCK_PATHS : m->numbered ? NUMBERED_MAX : INT_MAX;

    if (permits > 0 && permits <= most)
        return 0;
    return error_set(ZKL_EINVAL, semaphore_path(m), "%s: permits must be 1%s", semaphore_path(m),
                     most == MULTI_LOCK_PATHS ? " to 64 in Curator's layout"
                     : most == INT_MAX        ? " or more"
                                              : " to 1000");
}

int zkl_semaphore_acquire(zkl_semaphore *m, int permits, int64_t timeout_ms, zkl_grant **ret)
{
    int code = semaphore_check_blocking(m);

    if (!code)
        code = semaphore_check_permits(m, permits);
    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_semaphore_acquire: ret is NULL");
    g_atomic_int_inc(&m->refs);
    code = op_return_grant(semaphore_start(m, permits, timeout_ms, NULL, NULL), ret);
    semaphore_unref(m);
    return code;
}

int zkl_semaphore_acquire_async(zkl_semaphore *m, int permits, int64_t timeout_ms,
                                zkl_acquired_fn fn, void *data, zkl_op **ret)
{
    int code = semaphore_check(m);

    if (!code)
        code = semaphore_check_permits(m, permits);
    if (code)
        return code;
    if (!fn && !ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_semaphore_acquire_async: fn and ret are NULL");
    return op_return_op(semaphore_start(m, permits, timeout_ms, fn, data), ret);
}

/* ---- the limit ---- */

/* A call that reads the limit, and sets it if it is to be another one. */
struct limit_op {
    struct driven driven;
    struct limit_call machine;
};

static struct limit_op *limit_op_of(struct driver *d)
{
    return (struct limit_op *)driven_of(d);
}

static void limit_op_step(struct driver *d, const struct machine_event *ev,
                          struct machine_actions *out)
{
    limit_step(&limit_op_of(d)->machine, ev, out);
}

static char *limit_op_data(struct driver *d, unsigned node, int *ret_length)
{
    char *text = g_strdup_printf("%d", limit_op_of(d)->machine.wanted);

    (void)node;
    *ret_length = (int)strlen(text);
    return text;
}

static void limit_op_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct call *c = &driven_of(d)->call;
    const zkl_error why = c->error; /* why the call was stopped */

    if (a->verdict == LIMIT_STOPPED && (why.code == ZKL_EUNREACHABLE || why.code == ZKL_EHOST))
        call_end_as(c, &why); /* no server was reached: the error names no path */
    else if (a->verdict == LIMIT_STOPPED)
        call_end(c, why.code, why.text);
    else if (a->verdict == LIMIT_ODD)
        call_end(c, ZKL_ELAYOUT, "its data are no limit of a semaphore");
    else
        call_end(c, a->verdict == LIMIT_DONE ? 0 : call_error(a->rc), NULL);
}

static const struct driver_ops limit_driver = {.step = limit_op_step,
                                               .path = driven_path,
                                               .data = limit_op_data,
                                               .on_verdict = limit_op_on_verdict,
                                               .ref_owner = driven_ref,
                                               .free = driven_unref};

/* Checks the semaphore for a call about its limit. */
static int limit_op_check(const zkl_semaphore *m)
{
    const int code = semaphore_check_blocking(m);

    if (!code && m->curator)
        return error_set(ZKL_EINVAL, semaphore_path(m), "%s: Curator's layout keeps no limit",
                         semaphore_path(m));
    return code;
}

/* Reads the limit into *ret, or sets it to wanted if that is not 0. Returns 0, or the thread's last
 * error. */
static int limit_op_run(zkl_semaphore *m, int32_t wanted, int64_t timeout_ms, int *ret)
{
    struct limit_op *x = g_new0(struct limit_op, 1);
    struct call *call = &x->driven.call;

    x->machine.wanted = wanted;
    call_init(call, &driven_call_ops, m->session, g_strdup(m->path), NULL, NULL);
    driver_init(&x->driven.driver, &limit_driver, m->session, STORE_CONTAINER);
    call_ref(call); /* until the limit was taken from it, below */
    const int code = call_run(call, timeout_ms);
    if (!code && ret)
        *ret = x->machine.limit;
    call_free(call);
    return code;
}

int zkl_semaphore_get_limit(zkl_semaphore *m, int64_t timeout_ms, int *ret)
{
    const int code = limit_op_check(m);

    if (code)
        return code;
    if (!ret)
        return error_set(ZKL_EINVAL, NULL, "zkl_semaphore_get_limit: ret is NULL");
    return limit_op_run(m, 0, timeout_ms, ret);
}

int zkl_semaphore_set_limit(zkl_semaphore *m, int limit, int64_t timeout_ms)
{
    const int code = limit_op_check(m);

    if (code)
        return code;
    if (limit < 1)
        return error_set(ZKL_EINVAL, semaphore_path(m), "%s: the limit must be 1 or more",
                         semaphore_path(m));
    return limit_op_run(m, limit, timeout_ms, NULL);
}
