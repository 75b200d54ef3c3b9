#include "numbered.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/session/call.h"
#include "lib/session/denial.h"
#include "lib/session/driver.h"
#include "recipes/name.h"
#include "recipes/numbering.h"
#include "recipes/revoke.h"
#include "recipes/rule.h"
#include "recipes/transaction.h"

struct numbered {
    struct driver driver; /* of a session that outlives it */
    struct contender_spec spec;
    grant_decided decided; /* NULL: it was called */
    void *context;
    int refs;                    /* until it is decided, each request under way, each step */
    struct contender *contender; /* NULL: admitted */
    struct tenure *tenure;       /* NULL: not admitted */
    struct numbering machine;
    GPtrArray *before;  /* paths of the nodes whose numbers it must know; NULL: it knows these */
    GArray *used;       /* of int32_t: the numbers that they have */
    int32_t *numbers;   /* that were chosen, or found: as many as permits */
    int32_t ceiling;    /* these are, and those of all before it; 0: not known */
    bool chosen;        /* for the present node: others may know them */
    struct timer timer; /* to begin again */
};

static uint32_t numbered_permits(const struct numbered *n)
{
    return (uint32_t)abs(n->spec.rank);
}

static void numbered_unref(struct numbered *n)
{
    if (--n->refs > 0)
        return;
    driver_clear(&n->driver);
    g_ref_string_release(n->spec.directory);
    g_ref_string_release(n->spec.payload);
    g_rc_box_release(n->spec.limit);
    g_ptr_array_unref(n->before);
    g_array_unref(n->used);
    g_free(n->numbers);
    g_free(n);
}

/* ---- what becomes of it ---- */

/* The payload with the numbers that were chosen, as they stand in the own node's data. */
static char *numbered_text(const struct numbered *n)
{
    GString *text = g_string_new(n->spec.payload);

    g_string_append(text, NUMBERING_WORDS);
    for (uint32_t i = 0; i < numbered_permits(n); i++)
        g_string_append_printf(text, " %d", n->numbers[i]);
    if (n->ceiling > 0)
        g_string_append_printf(text, NUMBERING_CEILING "%d", n->ceiling);
    return g_string_free(text, FALSE);
}

static zkl_grant *numbered_grant(const struct numbered *n)
{
    zkl_grant *grant = grant_new_on(n->tenure);
    char *payload = numbered_text(n);

    grant_set_slots(grant, n->numbers, numbered_permits(n));
    tenure_set_payload(n->tenure, payload);
    g_free(payload);
    return grant;
}

static void numbered_give_up_tenure(struct numbered *n)
{
    if (!n->tenure)
        return;
    tenure_release(n->tenure);
    tenure_unref(n->tenure);
}

static void numbered_decide(struct numbered *n, const zkl_error *error)
{
    const grant_decided decided = n->decided;
    zkl_grant *grant = NULL;

    n->decided = NULL;
    timers_cancel(&n->timer);
    if (n->tenure && contender_of(n->tenure))
        contender_forget(contender_of(n->tenure));
    if (error)
        numbered_give_up_tenure(n);
    else
        grant = numbered_grant(n);
    n->tenure = NULL;
    decided(n->context, grant, error);
    numbered_unref(n);
}

static void numbered_fail(struct numbered *n, int code)
{
    const char *path = session_path(n->driver.session, n->spec.directory);
    zkl_error e;

    denial_fill(n->driver.session, &e, code, path);
    numbered_decide(n, &e);
}

/* ---- the driver's table ---- */

static struct numbered *numbered_driven(struct driver *d)
{
    return DRIVER_OWNER(d, struct numbered);
}

static void numbered_hear(struct numbered *n, enum machine_event_kind kind)
{
    driver_hear(&n->driver, (struct machine_event){.kind = kind});
}

static struct child numbered_child_at(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    struct child child;

    name_parse(name, strlen(name), &child);
    return child;
}

static bool numbered_is_before(const struct child *child, int32_t number)
{
    return child->kind == CHILD_LEASE && child->numbered && rule_compare(child->number, number) < 0;
}

static gint numbered_compare_places(gconstpointer a, gconstpointer b)
{
    return rule_compare(numbered_child_at(*(char *const *)a).number,
                        numbered_child_at(*(char *const *)b).number);
}

static void numbered_keep(struct numbered *n, const struct machine_event *ev)
{
    struct child child;
    const int32_t number = numbered_child_at(n->tenure->full_node).number;
    g_ptr_array_set_size(n->before, 0);
    g_array_set_size(n->used, 0);
    for (size_t i = 0; i < ev->count; i++) {
        name_parse(ev->names[i], strlen(ev->names[i]), &child);
        if (numbered_is_before(&child, number))
            g_ptr_array_add(n->before, g_strconcat(n->spec.directory, "/", ev->names[i], NULL));
    }
    g_ptr_array_sort(n->before, numbered_compare_places);
}

static void numbered_see_list(struct numbered *n, const struct machine_event *ev,
                              struct numbering_moment *shown)
{
    numbered_keep(n, ev);
    shown->count = n->before->len;
    for (guint i = 0; i < n->before->len; i++)
        shown->permits += numbered_child_at(n->before->pdata[i]).permits;
}

/* How many numbers the data have; they are behind those in numbers then. */
static size_t numbered_read(const struct machine_event *ev, GArray *numbers, int32_t *ret_ceiling)
{
    uint32_t transaction;
    const char *data = ev->data ? ev->data : "";
    size_t payload, length = transaction_payload(data, ev->length, &transaction);
    const guint at = numbers->len;
    const size_t count = numbering_read(data, length, NULL, 0, &payload);

    if (count == 0)
        return 0;
    g_array_set_size(numbers, at + (guint)count);
    *ret_ceiling = numbering_ceiling(data, &length);
    numbering_read(data, length, &g_array_index(numbers, int32_t, at), count, &payload);
    return count;
}

static int numbered_compare(gconstpointer a, gconstpointer b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* The numbers will replace what asks it to give way: nobody reads that later. */
static void numbered_see_own(struct numbered *n, const struct machine_event *ev,
                             struct numbering_moment *shown)
{
    GArray *own = g_array_new(FALSE, TRUE, sizeof(int32_t));
    int32_t ceiling = 0;

    if (revoke_asks(ev->data, (int)ev->length, ev->version))
        grant_call(n->tenure, TENURE_ASKED);
    shown->numbered = numbered_read(ev, own, &ceiling) == numbered_permits(n);
    if (shown->numbered) {
        g_array_sort(own, numbered_compare);
        memcpy(n->numbers, own->data, own->len * sizeof(int32_t));
        n->ceiling = ceiling;
    }
    g_array_unref(own);
}

/* What is known of it is not read again; and one that is gone has none. */
static void numbered_see_before(struct numbered *n, const struct machine_event *ev,
                                struct numbering_moment *shown)
{
    if (ev->rc == STORE_OK)
        shown->numbered = numbered_read(ev, n->used, &shown->ceiling) > 0;
    if (shown->numbered || ev->rc == STORE_NONODE)
        g_clear_pointer(&n->before->pdata[ev->node - NUMBERING_BEFORE], g_free);
}

static void numbered_see(struct numbered *n, const struct machine_event *ev,
                         struct numbering_moment *shown)
{
    if (ev->verb == STORE_GET && ev->node != NUMBERING_OWN)
        numbered_see_before(n, ev, shown);
    else if (ev->verb == STORE_GET && ev->rc == STORE_OK)
        numbered_see_own(n, ev, shown);
    else if (ev->verb == STORE_LIST)
        numbered_see_list(n, ev, shown);
}

static void numbered_step(struct driver *d, const struct machine_event *ev,
                          struct machine_actions *out)
{
    struct numbered *n = numbered_driven(d);
    struct numbering_moment shown = {.count = 0};

    if (ev->kind == MACHINE_EV_ANSWER)
        numbered_see(n, ev, &shown);
    numbering_step(&n->machine, ev, &shown, out);
}

static char *numbered_path(struct driver *d, unsigned node)
{
    const struct numbered *n = numbered_driven(d);

    return g_strdup(node == NUMBERING_OWN         ? n->tenure->full_node
                    : node == NUMBERING_DIRECTORY ? n->spec.directory
                                                  : n->before->pdata[node - NUMBERING_BEFORE]);
}

/* The numbers of a node are chosen once. If the answer to the set was lost, the contenders behind
 * this one may have read the numbers, and somebody may have written over them since. */
static char *numbered_data(struct driver *d, unsigned node, int *ret_length)
{
    struct numbered *n = numbered_driven(d);
    char *text;

    (void)node;
    if (!n->chosen)
        n->ceiling = numbering_choose((const int32_t *)(const void *)n->used->data, n->used->len,
                                      n->machine.first, n->numbers, numbered_permits(n));
    n->chosen = true;
    text = numbered_text(n);
    *ret_length = (int)strlen(text);
    return text;
}

static void numbered_tell(struct driver *d, const struct machine_action *a)
{
    struct numbered *n = numbered_driven(d);

    switch ((enum numbering_verdict)a->verdict) {
    case NUMBERING_DONE:
        numbered_decide(n, NULL);
        break;
    case NUMBERING_VANISHED:
        tenure_vanished(n->tenure);
        break;
    case NUMBERING_FAILED:
        numbered_fail(n, call_error(a->rc));
        break;
    }
}

static void numbered_ref_driven(struct driver *d)
{
    numbered_driven(d)->refs++;
}

static void numbered_unref_driven(struct driver *d)
{
    numbered_unref(numbered_driven(d));
}

static const struct driver_ops numbered_driver = {.step = numbered_step,
                                                  .path = numbered_path,
                                                  .data = numbered_data,
                                                  .tell = numbered_tell,
                                                  .ref = numbered_ref_driven,
                                                  .unref = numbered_unref_driven};

/* ---- the contender ---- */

static void numbered_on_admitted(void *context, struct tenure *tenure, const zkl_error *error)
{
    struct numbered *n = context;

    n->contender = NULL;
    n->tenure = tenure;
    n->chosen = false;
    n->machine = (struct numbering){.state = NUMBERING_IDLE};
    if (error)
        numbered_decide(n, error);
    else
        numbered_hear(n, MACHINE_EV_BEGIN);
}

static void numbered_contend(struct numbered *n);

static void numbered_on_restart(void *data)
{
    numbered_contend(data);
}

static void numbered_restart(struct numbered *n)
{
    timers_arm(n->driver.session->timers, &n->timer, clock_now().boot, numbered_on_restart, n);
}

/* Not from within the contender that ends. */
static void numbered_on_news(void *context, enum contender_news news)
{
    struct numbered *n = context;

    if (news != CONTENDER_ENDED || !n->tenure || !n->decided)
        return;
    numbered_hear(n, MACHINE_EV_STOP);
    tenure_unref(n->tenure);
    n->tenure = NULL;
    numbered_restart(n);
}

static void numbered_contend(struct numbered *n)
{
    contender_enter(&n->contender, n->driver.session, &n->spec, numbered_on_admitted, n);
}

const struct contender *numbered_waiting(const struct numbered *n)
{
    return n->contender;
}

/* A try waits for no holder, but for numbers that are about to be chosen, until its time is up. */
static bool numbered_waits_for_numbers(const struct numbered *n, int code)
{
    return code == ZKL_EUNREACHABLE && n->driver.session->up &&
           n->machine.state == NUMBERING_WAITING;
}

void numbered_abort(struct numbered *n, int code, const char *text)
{
    const char *path = session_path(n->driver.session, n->spec.directory);
    zkl_error why;

    if (n->contender) {
        contender_abort(n->contender, code, text);
        return;
    }
    if (numbered_waits_for_numbers(n, code))
        error_fill(&why, ZKL_EBUSY, path, "%s: %s", path, zkl_strerror(ZKL_EBUSY));
    else
        error_fill(&why, code, path, "%s: %s", path, text);
    numbered_hear(n, MACHINE_EV_STOP);
    numbered_decide(n, &why);
}

void numbered_enter(struct numbered **ret, zkl_session *s, const struct contender_spec *spec,
                    grant_decided decided, void *context)
{
    struct numbered *n = g_new0(struct numbered, 1);

    *ret = n;
    driver_init(&n->driver, &numbered_driver, s, STORE_PERSISTENT);
    n->refs = 1;
    n->spec = *spec;
    n->spec.directory = g_ref_string_acquire(spec->directory);
    n->spec.payload = g_ref_string_acquire(spec->payload);
    n->spec.limit = g_rc_box_acquire(spec->limit);
    n->spec.news = numbered_on_news;
    n->decided = decided;
    n->context = context;
    n->before = g_ptr_array_new_with_free_func(g_free);
    n->used = g_array_new(FALSE, TRUE, sizeof(int32_t));
    n->numbers = g_new0(int32_t, numbered_permits(n));
    numbered_contend(n);
}
