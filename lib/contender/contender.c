/* The driver (lib/session/driver.h) gives events to the machine (recipes/attempt.h), and sends the
 * requests that the machine asks for. All else that the machine decides is a verdict, which
 * contender_on_verdict() carries out. All functions are called with the monitor held, but
 * contender_on_loss_told(), which runs on the callback thread. */
#include "contender.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/path.h"
#include "lib/base/probes.h"
#include "lib/session/denial.h"
#include "lib/session/incarnation.h"
#include "lib/session/orphans.h"
#include "recipes/limit.h"
#include "recipes/name.h"
#include "recipes/observe.h"
#include "recipes/payload.h"
#include "recipes/rule.h"

uint32_t contender_long_queue = LONG_QUEUE;
unsigned contender_entering_max = 32;

/* ---- admission: at most 32 contenders of one session enter a path at once ----
 *
 * They enter in the order in which they came. Contenders whose nodes are gone, with their session
 * or with the directory, enter again before all that came later. The server handles a session's
 * requests in order, so a later contender cannot be granted before an earlier one anyway. If
 * thousands entered at once, nothing would be gained: their requests would fragment memory, and at
 * the server the session's proofs would wait for them. */

/* A contender waits until it is admitted, and enters until it has its place in the queue. If it
 * loses its node, it begins again. */
enum contender_progress { UNADMITTED, ENTERING, PLACED };

struct admission {
    char *path; /* GRefString */
    struct contenders *all;
    unsigned users;    /* the contenders, and admission_admit() while it runs */
    unsigned entering; /* contenders that are ENTERING */
    uint32_t arrivals;
    bool admitting;
    GSequence *unadmitted; /* of struct contender, the oldest first; NULL: none had to wait yet */
};

/* Returns the admission of path, a GRefString. It has one more user. */
static struct admission *admission_use(struct contenders *all, char *path)
{
    struct admission *a = g_hash_table_lookup(all->admissions, path);

    if (!a) {
        a = g_new0(struct admission, 1);
        a->path = g_ref_string_acquire(path);
        a->all = all;
        g_hash_table_insert(all->admissions, a->path, a);
    }
    a->users++;
    return a;
}

static void admission_unuse(struct admission *a)
{
    if (--a->users > 0)
        return;
    g_hash_table_remove(a->all->admissions, a->path);
    g_ref_string_release(a->path);
    g_clear_pointer(&a->unadmitted, g_sequence_free);
    g_free(a);
}

/* ---- memory ---- */

/* Members that few contenders need. Thousands may wait without them. */
struct contender_extras {
    contender_news_fn news; /* NULL: nobody is told */
    char *odd_name; /* the own node's name, if it is not what the id and number make; or NULL */
    zkl_error *why; /* why it was aborted; NULL: it was not */
    char *touched;  /* the data that a touch writes, .touched_length bytes; NULL: the payload */
    int touched_length;
    GList deadline_link; /* in contenders.by_deadline */
    bool by_deadline;    /* .deadline_link is in that list */
};

/* A contender of a semaphore. Contenders of a mutex have no .limit, since thousands may wait. */
struct lease {
    struct contender contender;
    struct permit_limit *limit; /* an rc_box */
};

/* Returns NULL if c is not a semaphore's. */
static struct permit_limit *contender_limit(const struct contender *c)
{
    const bool has = c->machine.rule == RULE_LEASE && !c->machine.counts;

    return has ? ((const struct lease *)c)->limit : NULL;
}

/* Deletes the node that a create whose answer was lost may still make, with the present id. */
static void contender_look_for_late(struct contender *c)
{
    if (c->unsure > 0)
        orphan_look_late(contender_session(c), c->admission->path, c->id, NULL);
    c->unsure = 0;
}

static void contender_free(struct driver *d)
{
    struct contender *c = DRIVER_OWNER(d, struct contender);

    contender_look_for_late(c);
    driver_clear(d);
    admission_unuse(c->admission);
    g_ref_string_release(c->payload);
    if (c->predecessor)
        g_rc_box_release(c->predecessor);
    g_free(c->old_id);
    if (c->extras) {
        g_free(c->extras->odd_name);
        g_free(c->extras->why);
        g_free(c->extras->touched);
        g_free(c->extras);
    }
    if (contender_limit(c))
        g_rc_box_release(contender_limit(c));
    g_free(c);
}

static struct contender_extras *contender_get_extras(struct contender *c)
{
    if (!c->extras) {
        c->extras = g_new0(struct contender_extras, 1);
        c->extras->deadline_link.data = &c->driver;
    }
    return c->extras;
}

/* ---- the own node's name: thousands wait, so none stores a path; its id and number give the name
 * ---- */

/* Takes a new id for the next node. Nodes with the id before are deleted wherever a list shows
 * them. */
static void contender_new_id(struct contender *c)
{
    char *id = layout_new_id(rule_kind(c->machine.rule), c->retains);

    g_free(c->old_id);
    c->old_id = c->id[0] ? g_strdup(c->id) : NULL;
    g_strlcpy(c->id, id, sizeof c->id);
    g_free(id);
}

static char *contender_child_path(const struct contender *c, const char *name)
{
    return g_strconcat(c->admission->path, "/", name, NULL);
}

/* Returns the name without the number: the server appends that. */
static char *contender_new_name(const struct contender *c)
{
    return layout_name(rule_kind(c->machine.rule), c->id, c->rank);
}

static char *contender_numbered(const struct contender *c, int32_t number)
{
    char digits[NAME_NUMBER_SIZE];

    name_write_number(digits, number);
    char *prefix = contender_new_name(c), *name = g_strconcat(prefix, digits, NULL);
    g_free(prefix);
    return name;
}

static char *contender_name(const struct contender *c)
{
    if (c->extras && c->extras->odd_name)
        return g_strdup(c->extras->odd_name);
    return contender_numbered(c, c->machine.number);
}

static char *contender_node(const struct contender *c)
{
    char *name = contender_name(c), *path = contender_child_path(c, name);

    g_free(name);
    return path;
}

/* Stores the name of the own node, and returns its number. The name may be odd: whoever knows our
 * id can create a node that has it. */
static int32_t contender_set_node(struct contender *c, const char *name)
{
    struct child child;

    name_parse(name, strlen(name), &child);
    char *expected = contender_numbered(c, child.number);
    if (c->extras)
        g_clear_pointer(&c->extras->odd_name, g_free);
    if (strcmp(name, expected) != 0)
        contender_get_extras(c)->odd_name = g_strdup(name);
    g_free(expected);
    return child.number;
}

char *contender_own_node(const struct contender *c)
{
    return c->machine.has_node ? contender_node(c) : NULL;
}

static const char *contender_base(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* ---- what a list shows ---- */

/* Whether this is the first time that matter is to be logged of the directory. */
static bool contender_is_first_log(const struct contender *c, const char *matter)
{
    GHashTable *logged = contender_session(c)->logged;

    session_forget_many(logged);
    return g_hash_table_add(logged, g_strconcat(matter, c->admission->path, NULL));
}

/* Logs a child that does not wait for us, and for which we do not wait. Such a child is mostly a
 * mistake. */
static void contender_log_unrelated(const struct contender *c, const struct child *child,
                                    const char *name)
{
    struct log *log = contender_session(c)->log;
    const char *directory = c->admission->path,
               *path = session_path(contender_session(c), directory);

    if (child->kind == CHILD_FOREIGN && contender_is_first_log(c, "foreign ")) {
        log_line(log, ZKL_LOG_INFO, "foreign-node", path,
                 "%s: ignoring \"%.100s\", which is not a contender", directory, name);
    } else if (child->kind != CHILD_FOREIGN && contender_is_first_log(c, "unrelated ")) {
        char *text = layout_incompatible(name);
        log_line(log, ZKL_LOG_WARN, "incompatible-node", path,
                 "%s: %s: its recipe does not wait for the contenders here; give it another path",
                 directory, text);
        g_free(text);
    }
}

static bool contender_is_own(const struct contender *c, const char *name)
{
    return name_has_id(name, strlen(name), c->id, strlen(c->id));
}

/* Whether the node has the former id of this contender. */
static bool contender_is_old(const struct contender *c, const char *name)
{
    return c->old_id && name_has_id(name, strlen(name), c->old_id, strlen(c->old_id));
}

/* Returns what the names of a list say, to be freed. */
static struct child *contender_parse_list(const struct contender *c, const struct machine_event *ev)
{
    struct child *children = g_new0(struct child, ev->count);

    for (uint32_t i = 0; i < ev->count; i++) {
        struct child *child = &children[i];
        const char *name = ev->names[i];
        name_parse(name, strlen(name), child);
        child->id = i;
        child->own = contender_is_own(c, name);
        child->old = contender_is_old(c, name);
        if (rule_ignores(c->machine.rule, child->kind) &&
            !rule_waits(child->rule, rule_kind(c->machine.rule)))
            contender_log_unrelated(c, child, name);
    }
    return children;
}

/* Returns the path of a listed child. Returns NULL if the child is not of this attempt; or, if
 * spare, when it is the own node. */
static char *contender_listed_path(const struct contender *c, const char *name, bool spare)
{
    if (!contender_is_own(c, name) && !contender_is_old(c, name))
        return NULL;
    char *own = contender_name(c);
    const bool left_out = spare && strcmp(name, own) == 0;
    g_free(own);
    return left_out ? NULL : contender_child_path(c, name);
}

/* ---- the limit of a semaphore: what its handle knows ---- */

/* Tells the machine of a semaphore's contender, before it enters, how many permits it asks for, and
 * the limit that the handle knows. A zxid that another session has read does not count. */
static void contender_use_limit(struct contender *c)
{
    const struct permit_limit *limit = contender_limit(c);

    c->machine.permits = (uint32_t)abs(c->rank);
    c->machine.has_limit = limit->initial > 0;
    c->machine.limit = limit->value;
    c->machine.limit_zxid = limit->session == contender_session(c)->id ? limit->zxid : 0;
}

/* Returns the limit that an answered read of the directory shows, and stores it for the handle; 0:
 * none. */
static int32_t contender_take_limit(const struct contender *c, const struct machine_event *ev)
{
    struct permit_limit *limit = contender_limit(c);
    const int32_t value = limit_read(ev->data, ev->length);

    if (value > 0) {
        limit->value = value;
        limit->zxid = ev->mzxid;
        limit->session = contender_session(c)->id;
    }
    return value;
}

/* ---- the driver's table: what the machine sees ---- */

/* Whether the directory's data are nothing, what a leader has proclaimed, or the name of a former
 * head (head_hint.h). Data that others wrote are none of these. */
static bool contender_is_unused(const struct machine_event *ev)
{
    uint64_t token;
    size_t at;

    return head_hint_read(ev->data, ev->length, "") != HINT_FOREIGN ||
           observe_data(ev->data, ev->length, &token, &at);
}

/* Fills in what the data of a node show. */
static void contender_see_data(struct contender *c, const struct machine_event *ev,
                               struct attempt_moment *m)
{
    switch (ev->node) {
    case ATTEMPT_OWN:
        m->asked = payload_asks(ev->data, ev->length, ev->version);
        /* a touch writes what stands there: another client may have written it */
        if (ev->slot == ATTEMPT_SLOT_TOUCH) {
            struct contender_extras *extras = contender_get_extras(c);
            g_free(extras->touched);
            extras->touched = g_strndup(ev->data ? ev->data : "", ev->length);
            extras->touched_length = (int)ev->length;
        }
        break;
    case ATTEMPT_HINT:
        m->hint = head_hint_read(ev->data, ev->length, contender_base(c->predecessor));
        break;
    case ATTEMPT_DIRECTORY:
        m->unused = contender_is_unused(ev);
        m->limit = contender_limit(c) ? contender_take_limit(c, ev) : 0;
        break;
    case ATTEMPT_LIMIT:
        m->limit = contender_take_limit(c, ev);
        break;
    default:
        break;
    }
}

/* Fills in what an answer shows. */
static void contender_see_answer(struct contender *c, const struct machine_event *ev,
                                 struct attempt_moment *m)
{
    if (ev->verb == STORE_CREATE && ev->node == ATTEMPT_NEW) {
        c->unsure += ev->rc == STORE_UNKNOWN;
        if (ev->rc == STORE_OK)
            m->number = contender_set_node(c, contender_base(ev->names[0]));
        else if (ev->rc == STORE_NONODE)
            m->parents = path_count_above(c->admission->path);
    } else if (ev->verb == STORE_GET && ev->rc == STORE_OK) {
        contender_see_data(c, ev, m);
    } else if (ev->verb == STORE_LIST && ev->rc == STORE_OK) {
        m->hint = ev->length > 0 ? HINT_UNREAD : HINT_NONE;
        m->children = contender_parse_list(c, ev);
    }
}

static void contender_step(struct driver *d, const struct machine_event *ev,
                           struct machine_actions *out)
{
    struct contender *c = DRIVER_OWNER(d, struct contender);
    const struct instant now = clock_now();
    struct attempt_moment m = {.now = now.boot,
                               .in_time =
                                   proofs_deadline(&d->session->proofs, now) == DEADLINE_LASTING,
                               .container = c->container,
                               .timeout_ms = d->session->timeout_ms,
                               .connection = d->session->up ? d->session->connection : 0,
                               .loss = d->session->ended};

    if (ev->kind == MACHINE_EV_ANSWER)
        contender_see_answer(c, ev, &m);
    attempt_step(&c->machine, ev, &m, out);
    g_free((void *)(uintptr_t)m.children);
}

/* ---- the driver's table: the paths and data of requests ---- */

static char *contender_path(struct driver *d, unsigned node)
{
    const struct contender *c = DRIVER_OWNER(d, struct contender);
    char *name, *path;

    if (node >= ATTEMPT_OURS)
        return contender_listed_path(c, driver_heard_name(d, node - ATTEMPT_OURS), false);
    if (node >= ATTEMPT_SPARE)
        return contender_listed_path(c, driver_heard_name(d, node - ATTEMPT_SPARE), true);
    if (node >= ATTEMPT_PARENT)
        return path_above(c->admission->path, node - ATTEMPT_PARENT);
    switch ((enum attempt_node)node) {
    case ATTEMPT_NEW:
    case ATTEMPT_QUORUM:
        name = contender_new_name(c);
        path = contender_child_path(c, name);
        g_free(name);
        return path;
    case ATTEMPT_OWN:
        return contender_node(c);
    case ATTEMPT_PREDECESSOR:
        return g_strdup(c->predecessor);
    default:
        return g_strdup(c->admission->path);
    }
}

static char *contender_data(struct driver *d, unsigned node, int *ret_length)
{
    struct contender *c = DRIVER_OWNER(d, struct contender);
    const struct permit_limit *limit = contender_limit(c);
    char *text = NULL, *name;

    if (node == ATTEMPT_OWN && c->extras && c->extras->touched) {
        *ret_length = c->extras->touched_length;
        return g_steal_pointer(&c->extras->touched);
    }
    switch ((enum attempt_node)node) {
    case ATTEMPT_NEW:
    case ATTEMPT_OWN:
        text = g_strdup(c->payload);
        break;
    case ATTEMPT_DIRECTORY: /* the directory of a semaphore is made with the limit */
        if (limit)
            text = g_strdup_printf("%d", limit->zxid ? limit->value : limit->initial);
        break;
    case ATTEMPT_HINT:
        name = contender_name(c);
        text = g_strconcat(HINT_WORDS, name, NULL);
        g_free(name);
        break;
    case ATTEMPT_LIMIT:
        text = g_strdup_printf("%d", limit->initial);
        break;
    default:
        break;
    }
    if (text)
        *ret_length = (int)strlen(text);
    return text;
}

/* Gives the next node another name, when the own node was deleted, or is gone with its session. */
static void contender_rename(struct driver *d, unsigned node)
{
    struct contender *c = DRIVER_OWNER(d, struct contender);

    (void)node;
    contender_look_for_late(c);
    contender_new_id(c);
}

/* ---- admission: those that wait for it, the oldest first ---- */

/* The difference is signed: .arrival may have overflowed. */
static int admission_compare(gconstpointer a, gconstpointer b, gpointer unused)
{
    const struct contender *x = a, *y = b;

    (void)unused;
    return (int32_t)(x->arrival - y->arrival);
}

static void admission_remove_unadmitted(struct contender *c)
{
    g_sequence_remove(c->place);
    c->place = NULL;
}

/* Returns the contender that has waited longest for admission; NULL: none waits. */
static struct contender *admission_oldest(const struct admission *a)
{
    if (!a->unadmitted || g_sequence_is_empty(a->unadmitted))
        return NULL;
    return g_sequence_get(g_sequence_get_begin_iter(a->unadmitted));
}

/* ---- admission: entering ---- */

/* Admits contenders as long as there is room: each joins those of the session, and its machine
 * begins. If a create cannot be sent, its contender ends at once and calls this function again:
 * then it does nothing. */
static void admission_admit(struct admission *a)
{
    struct contender *c;

    if (a->admitting || a->all->admissions_closed)
        return;
    a->admitting = true;
    a->users++;
    while (a->entering < contender_entering_max && (c = admission_oldest(a))) {
        admission_remove_unadmitted(c);
        c->progress = ENTERING;
        a->entering++;
        if (!c->driver.link.data) {
            /* first, since it may open a new session if nobody contends */
            incarnation_warm(contender_session(c));
            driver_join(&c->driver, &a->all->drivers.list);
        }
        if (contender_limit(c))
            contender_use_limit(c);
        driver_hear(&c->driver, MACHINE_EV_BEGIN);
    }
    a->admitting = false;
    admission_unuse(a);
}

/* Admits c at once, or when there is room and c is the oldest. c enters for the first time, or
 * again. */
static void admission_enter(struct contender *c)
{
    struct admission *a = c->admission;

    if (c->progress == ENTERING)
        a->entering--;
    if (!a->unadmitted)
        a->unadmitted = g_sequence_new(NULL);
    c->progress = UNADMITTED;
    c->place = g_sequence_insert_sorted(a->unadmitted, c, admission_compare, NULL);
    admission_admit(a);
}

/* Lets the next caller of c's handle enter. If that one fails at once, it lets in the caller after
 * it. The loop of admission_admit() admits each of them, so their steps do not nest. */
static void admission_leave_queue(struct contender *c)
{
    struct contender_queue *q = g_steal_pointer(&c->queue);

    if (!q)
        return;
    q->current = NULL;
    q->left(q);
}

/* Whether the contender needs no more room: it has its place, or has ended. A contender that leaves
 * may take long to find out what became of its create, and needs no room for that. */
static bool admission_is_through(const struct attempt *m)
{
    return m->state == ST_WAITING || m->state == ST_CLAIMING || m->state == ST_HOLDING ||
           m->state == ST_DONE || (m->state == ST_LEAVING && m->rounds > 0);
}

/* Gives up c's room, after a step that has found its place. */
static void admission_give_up_room(struct contender *c)
{
    if (c->progress != ENTERING || !admission_is_through(&c->machine))
        return;
    c->progress = PLACED;
    c->admission->entering--;
    if (c->machine.state == ST_LEAVING)
        admission_leave_queue(c);
    admission_admit(c->admission);
}

/* ---- verdicts ---- */

static void contender_tell_news(struct contender *c, enum contender_news news)
{
    contender_news_fn fn = c->extras ? c->extras->news : NULL;

    if (fn && news == CONTENDER_ENDED)
        c->extras->news = NULL;
    if (fn)
        fn(c->context, news);
}

static void contender_follow(struct contender *c, const char *name)
{
    char *path = contender_child_path(c, name);
    const size_t size = strlen(path) + 1;

    if (c->predecessor)
        g_rc_box_release(c->predecessor);
    c->predecessor = memcpy(g_rc_box_alloc(size), path, size);
    g_free(path);
}

/* Lets the holder be told at once if it is asked to give way, or was asked before. */
static void contender_watch_own(struct contender *c)
{
    driver_hear(&c->driver, ATTEMPT_EV_WATCH_OWN);
}

static const struct tenure_ops contender_tenure_ops = {
    .release = contender_release,
    .node_gone = contender_node_gone,
    .find_out = {[TENURE_WANTED] = contender_ask_others, [TENURE_ASKED] = contender_watch_own}};

struct contender *contender_of(const struct tenure *t)
{
    return t->keeper;
}

static void contender_be_granted(struct contender *c)
{
    zkl_session *s = contender_session(c);
    char *node = contender_node(c);

    if (c->machine.number >= RULE_NUMBER_WARN)
        log_line(s->log, ZKL_LOG_WARN, "numbers-end", session_path(s, node),
                 "%s: the sequence numbers of its directory end at 2147483647", node);
    c->tenure = tenure_new(s, &contender_tenure_ops, c, node, c->payload, c->machine.token);
    g_free(node);
    /* A create whose answer was lost may have made a second node. A spare lease is a permit less
     * for all, while a lock's waiters wait for its holder anyway. */
    if (c->unsure > 0 && c->machine.rule == RULE_LEASE) {
        char *name = contender_name(c);
        orphan_look_late(s, c->admission->path, c->id, name);
        g_free(name);
    }
    if (c->machine.others == OTHERS_WAIT || (c->queue && !g_queue_is_empty(&c->queue->waiting)))
        grant_call(c->tenure, TENURE_WANTED);
    c->decided(c->context, tenure_ref(c->tenure), NULL);
}

/* Returns what the text says beside the path; NULL: what denial_fill() says of the code. */
static const char *contender_describe(int error)
{
    return error == ATTEMPT_NOCHILDREN ? "it is below an ephemeral node"
           : error == ATTEMPT_NOLIMIT  ? "it has no limit of a semaphore"
           : error == ATTEMPT_PERMITS  ? "more permits than the limit"
           : error == ATTEMPT_UNPROVED ? "the servers do not prove the session in time"
                                       : NULL;
}

static void contender_fail_at(struct contender *c, int error, const char *whole)
{
    zkl_session *s = contender_session(c);
    const char *path = session_path(s, whole);
    zkl_error e;
    static const int codes[] = {
        [ATTEMPT_BUSY] = ZKL_EBUSY,
        [ATTEMPT_REFUSED] = ZKL_EACCES,
        [ATTEMPT_NOCHILDREN] = ZKL_EPATH,
        [ATTEMPT_OVERFLOW] = ZKL_EOVERFLOW,
        [ATTEMPT_WATCHES] = ZKL_ELIMIT,
        [ATTEMPT_PROTOCOL] = ZKL_EPROTO,
        [ATTEMPT_PERMITS] = ZKL_ELIMIT,
        [ATTEMPT_NOLIMIT] = ZKL_ENOENT,
        [ATTEMPT_UNPROVED] = ZKL_EUNREACHABLE,
    };

    if (contender_describe(error))
        error_fill(&e, codes[error], path, "%s: %s", path, contender_describe(error));
    else
        denial_fill(s, &e, codes[error], path);
    c->decided(c->context, NULL, &e);
}

static void contender_fail(struct contender *c, const struct machine_action *a)
{
    contender_forget(c);
    if (a->why == ATTEMPT_ABORTED) {
        c->decided(c->context, NULL, c->extras->why);
    } else if (a->why == ATTEMPT_LAYOUT) {
        /* a text that is too long is cut at the path: which child it is matters more */
        const char *path = session_path(contender_session(c), c->admission->path);
        char *text = layout_refusal(driver_heard_name(&c->driver, a->node));
        zkl_error e;
        const int left = (int)(sizeof e.text - sizeof ": ") - (int)strlen(text);
        error_fill(&e, ZKL_ELAYOUT, path, "%.*s: %s", MAX(left, 0), path, text);
        g_free(text);
        c->decided(c->context, NULL, &e);
    } else {
        const unsigned node = a->node >= ATTEMPT_PARENT ? a->node : ATTEMPT_DIRECTORY;
        char *blamed = contender_path(&c->driver, node);
        contender_fail_at(c, a->why, blamed);
        g_free(blamed);
    }
}

static void contender_detach_tenure(struct contender *c)
{
    if (!c->tenure)
        return;
    grant_detach(c->tenure);
    tenure_unref(c->tenure);
    c->tenure = NULL;
}

static void contender_on_loss_told(void *data)
{
    struct contender *c = data;
    zkl_session *s = contender_session(c);

    session_lock(s);
    contender_release(c);
    driver_unref(&c->driver);
    session_unlock(s);
}

/* Tells the grant that it is lost. If no callback runs, the contender is released at once; the
 * machine gets that event after this step, and ignores it if it is DONE. */
static void contender_tell_loss(struct contender *c, enum loss loss)
{
    zkl_session *s = contender_session(c);
    const zkl_loss before = grant_loss(c->tenure); /* if its deadline had passed before */

    /* not logged: a tenure that a transaction has released with its node, or one of a session that
     * the program has closed */
    if (!c->idle && !grant_is_given_back(c->tenure) && loss != LOSS_CLOSED)
        log_line(s->log, ZKL_LOG_WARN, "lost", session_path(s, c->tenure->full_node),
                 "%s: lost: %s", c->tenure->full_node,
                 zkl_strloss(before ? before : (zkl_loss)loss));
    driver_ref(&c->driver);
    if (!grant_lose(c->tenure, loss, contender_on_loss_told, c)) {
        driver_unref(&c->driver);
        contender_release(c);
    }
    contender_detach_tenure(c);
    contender_tell_news(c, CONTENDER_ENDED);
}

/* A node of ours may stand that cannot be listed. Logs that, and lets the session end as soon as
 * nothing is held. */
static void contender_report_orphan(struct contender *c)
{
    zkl_session *s = contender_session(c);
    const char *directory = c->admission->path;

    if (!c->orphan)
        log_line(s->log, ZKL_LOG_ERROR, "list-refused", session_path(s, directory),
                 "%s: cannot list it, and a node of ours may be there", directory);
    incarnation_want_end(s, c->orphan);
    c->orphan = true;
}

static void contender_log_untouched(const struct contender *c)
{
    zkl_session *s = contender_session(c);
    char *node = contender_node(c);

    log_line(s->log, ZKL_LOG_WARN, "set-refused", session_path(s, node),
             "%s: cannot be set, so that the next in line waits until it is gone", node);
    g_free(node);
}

static enum contender_news contender_news_of(enum attempt_others others)
{
    return others == OTHERS_NONE   ? CONTENDER_ALONE
           : others == OTHERS_WAIT ? CONTENDER_OTHERS
                                   : CONTENDER_UNKNOWN;
}

static void contender_on_verdict(struct driver *d, const struct machine_action *a)
{
    struct contender *c = DRIVER_OWNER(d, struct contender);

    switch ((enum attempt_verdict)a->verdict) {
    case ATTEMPT_ADMIT:
        admission_enter(c);
        break;
    case ATTEMPT_FOLLOW:
        contender_follow(c, driver_heard_name(d, (unsigned)a->why));
        break;
    case ATTEMPT_ADOPT: /* a create whose answer was lost has made that node */
        c->unsure -= c->unsure > 0;
        contender_set_node(c, driver_heard_name(d, (unsigned)a->why));
        break;
    case ATTEMPT_GRANT:
        contender_be_granted(c);
        break;
    case ATTEMPT_FAIL:
        contender_fail(c, a);
        break;
    case ATTEMPT_LOSE:
        contender_tell_loss(c, (enum loss)a->why);
        break;
    case ATTEMPT_OTHERS:
        c->look_again = a->why == OTHERS_UNKNOWN;
        if (a->why == OTHERS_WAIT)
            contender_want(c);
        contender_tell_news(c, contender_news_of((enum attempt_others)a->why));
        break;
    case ATTEMPT_ASKED:
        if (c->tenure)
            grant_call(c->tenure, TENURE_ASKED);
        contender_tell_news(c, CONTENDER_ASKED);
        break;
    case ATTEMPT_UNTOUCHED:
        contender_log_untouched(c);
        break;
    case ATTEMPT_ORPHAN:
        contender_report_orphan(c);
        break;
    }
}

/* ---- after each step ---- */

/* Ends the contender, whose attempt is over. Only answers under way, which have a reference to it,
 * may still call it. */
static void contender_retire(struct contender *c)
{
    zkl_session *s = contender_session(c);

    c->retired = true;
    contender_detach_tenure(c);
    contender_tell_news(c, CONTENDER_ENDED);
    incarnation_want_end_no_more(s, c->orphan);
    if (c->leaves)
        orphan_left(s);
    admission_leave_queue(c); /* the next caller enters first: the session never looks unused */
    if (c->place)
        admission_remove_unadmitted(c);
    if (c->driver.link.data)
        driver_leave(&c->driver, &c->admission->all->drivers.list);
    driver_unref(&c->driver);
    incarnation_retired(s);
}

/* Adds c to those that are told of each proof, or removes it: holders, and contenders that need
 * nothing but a deadline, even while they read their own node again. The thousands that wait are
 * not stepped for each proof. */
static void contender_update_by_deadline(struct contender *c)
{
    const struct attempt *m = &c->machine;
    bool by_deadline =
        c->tenure || m->state == ST_CLAIMING || (m->state == ST_PROVING && m->awaits);

    if (!by_deadline && !c->extras)
        return;
    struct contender_extras *extras = contender_get_extras(c);
    GQueue *all = &c->admission->all->by_deadline;
    if (by_deadline && !extras->by_deadline)
        g_queue_push_tail_link(all, &extras->deadline_link);
    else if (!by_deadline && extras->by_deadline)
        g_queue_unlink(all, &extras->deadline_link);
    extras->by_deadline = by_deadline;
    if (by_deadline)
        incarnation_heat(contender_session(c));
}

static void contender_after_step(struct driver *d)
{
    struct contender *c = DRIVER_OWNER(d, struct contender);

    if (c->machine.state == ST_LEAVING && !c->leaves) {
        c->leaves = true;
        orphan_leaves(d->session);
    }
    if (c->machine.state == ST_DONE && !c->retired)
        contender_retire(c);
    /* the contender and its watch share one copy of the path */
    char *path = driver_watch_path(d, ATTEMPT_PREDECESSOR);
    if (path && path != c->predecessor && strcmp(path, c->predecessor) == 0) {
        g_rc_box_release(c->predecessor);
        c->predecessor = g_rc_box_acquire(path);
    }
    const bool waited = c->waits;
    c->waits = c->machine.state == ST_WAITING;
    if (c->waits && !waited) {
        PROBE(4, queued, c->admission->path, d->session->id, (const char *)c->id,
              c->machine.number);
        contender_tell_news(c, CONTENDER_WAITS);
    }
    contender_update_by_deadline(c);
    admission_give_up_room(c);
}

static const struct driver_ops contender_driver = {.step = contender_step,
                                                   .path = contender_path,
                                                   .data = contender_data,
                                                   .name = contender_rename,
                                                   .on_verdict = contender_on_verdict,
                                                   .after = contender_after_step,
                                                   .free = contender_free};

/* ---- the interface ---- */

void contender_enter(struct contender **ret, zkl_session *s, const struct contender_spec *spec,
                     contender_decided decided, void *context)
{
    struct contender *c;

    if (spec->limit) {
        struct lease *lease = g_new0(struct lease, 1);
        lease->limit = g_rc_box_acquire(spec->limit);
        c = &lease->contender;
    } else {
        c = g_new0(struct contender, 1);
    }
    *ret = c;
    /* the mode is never used: the attempt makes missing parents, in a mode of its own */
    driver_init(&c->driver, &contender_driver, s, STORE_PERSISTENT);
    c->admission = admission_use(contenders_of(s), spec->directory);
    c->payload = g_ref_string_acquire(spec->payload);
    c->container = spec->parents == ZKL_PARENTS_CONTAINER;
    c->retains = spec->retains;
    c->rank = spec->rank;
    c->decided = decided;
    c->context = context;
    if (spec->news)
        contender_get_extras(c)->news = spec->news;
    attempt_init(&c->machine, spec->rule, spec->try_only);
    contender_new_id(c);
    c->machine.strict = spec->limit != NULL;
    c->machine.watch_children = spec->watch_children;
    c->machine.watch_own = spec->watch_own;
    if (spec->leases > 0)
        attempt_count_leases(&c->machine, spec->leases);
    else if (!spec->limit)
        c->machine.long_queue = spec->hints ? contender_long_queue : 0;
    PROBE(3, enter, spec->directory, s->id, (const char *)c->id);
    c->queue = spec->queue;
    if (c->queue)
        c->queue->current = c;
    c->arrival = c->admission->arrivals++;
    admission_enter(c);
}

int contender_ahead(const struct contender *c)
{
    enum attempt_state state = c->machine.state;

    if (state == ST_PROVING || state == ST_CLAIMING || state == ST_HOLDING)
        return 0;
    return c->machine.ahead > 0 ? (int)c->machine.ahead : -1;
}

/* The machine gets the event at once, or after the step in which it is. */
void contender_abort(struct contender *c, int code, const char *text)
{
    const char *path = session_path(contender_session(c), c->admission->path);

    g_free(contender_get_extras(c)->why);
    c->extras->why = g_new(zkl_error, 1);
    error_fill(c->extras->why, code, path, "%s: %s", path, text);
    driver_hear(&c->driver, MACHINE_EV_STOP);
}

static void contender_tell_nobody(void *context, struct tenure *tenure, const zkl_error *error)
{
    (void)context;
    (void)tenure;
    (void)error;
}

void contender_abandon(struct contender *c)
{
    c->decided = contender_tell_nobody;
    contender_forget(c);
    contender_abort(c, ZKL_ECANCELED, zkl_strerror(ZKL_ECANCELED));
}

void contender_want(struct contender *c)
{
    if (c->tenure)
        grant_call(c->tenure, TENURE_WANTED);
}

void contender_ask_others(struct contender *c)
{
    driver_hear(&c->driver, ATTEMPT_EV_ASK_OTHERS);
}

void contender_set_news(struct contender *c, contender_news_fn news)
{
    contender_get_extras(c)->news = news;
}

void contender_release(struct contender *c)
{
    driver_hear(&c->driver, ATTEMPT_EV_RELEASE);
}

void contender_lose(struct contender *c)
{
    driver_hear(&c->driver, ATTEMPT_EV_DEADLINE_PASSED);
}

void contender_node_gone(struct contender *c)
{
    driver_hear(&c->driver, ATTEMPT_EV_NODE_GONE);
}

void contender_set_idle(struct contender *c, bool idle)
{
    c->idle = idle;
    if (idle) /* it keeps the session from being ended no more */
        incarnation_purge(contender_session(c));
}

void contender_forget(struct contender *c)
{
    if (c->extras)
        c->extras->news = NULL;
}

bool contender_has_waited(const struct contender *c)
{
    return c->machine.waited;
}

enum contender_news contender_others(const struct contender *c)
{
    return contender_news_of(c->machine.others);
}

/* ---- admission: all of a session ---- */

static void admission_for_all(struct contenders *all,
                              void (*fn)(struct admission *a, const void *data), const void *data)
{
    GList *admissions = g_hash_table_get_values(all->admissions);

    for (GList *l = admissions; l; l = l->next)
        ((struct admission *)l->data)->users++;
    for (GList *l = admissions; l; l = l->next) {
        fn(l->data, data);
        admission_unuse(l->data);
    }
    g_list_free(admissions);
}

static void admission_reopen(struct admission *a, const void *unused)
{
    (void)unused;
    admission_admit(a);
}

void admissions_open(struct contenders *all)
{
    all->admissions_closed = false;
    admission_for_all(all, admission_reopen, NULL);
}

static void admission_abort_unadmitted(struct admission *a, const void *why)
{
    const zkl_error *e = why;
    int n = a->unadmitted ? g_sequence_get_length(a->unadmitted) : 0;

    for (struct contender *c; n > 0 && (c = admission_oldest(a)); n--)
        contender_abort(c, e->code, e->text);
}

/* ---- callers ---- */

void callers_add(struct all_callers *all, struct callers *callers,
                 void (*abort)(void *context, const zkl_error *why), void *context)
{
    *callers =
        (struct callers){.all = all, .abort = abort, .context = context, .link.data = callers};
    g_queue_push_tail_link(&all->list, &callers->link);
}

void callers_remove(struct callers *callers)
{
    struct all_callers *all = callers->all;

    if (all->next == &callers->link)
        all->next = callers->link.next;
    g_queue_unlink(&all->list, &callers->link);
}

/* ---- what the session tells its contenders ---- */

static struct contenders *contenders_of_participant(struct participant *p)
{
    return (struct contenders *)p;
}

static bool contenders_need_deadline(const struct participant *p)
{
    return ((const struct contenders *)p)->by_deadline.length > 0;
}

static enum presence contenders_presence(const struct participant *p)
{
    for (const GList *l = ((const struct drivers *)p)->list.head; l; l = l->next) {
        const struct contender *c = DRIVER_OWNER(l->data, struct contender);
        if ((c->machine.state == ST_HOLDING || c->machine.state == ST_LOST) && !c->idle)
            return PRESENCE_HOLDS;
    }
    return drivers_are_busy(p) ? PRESENCE_WAITS : PRESENCE_NONE;
}

/* Gives one of .by_deadline the session's deadline. If its own has passed before, the proof came
 * too late. */
static void contenders_move_deadline(struct driver *d, void *proved)
{
    struct contender *c = DRIVER_OWNER(d, struct contender);

    if (!c->tenure) {
        driver_hear(&c->driver, ATTEMPT_EV_DEADLINE_MOVED);
    } else if (!grant_move_deadline(c->tenure, contender_session(c)->proofs.deadline,
                                    *(bool *)proved)) {
        driver_hear(&c->driver, ATTEMPT_EV_DEADLINE_PASSED);
    } else if (*(bool *)proved) {
        if (c->look_again)
            contender_ask_others(c);
        contender_tell_news(c, CONTENDER_PROVED);
    }
}

static void contenders_on_proved(struct participant *p)
{
    bool proved = true;

    drivers_for_all(&contenders_of_participant(p)->by_deadline, contenders_move_deadline, &proved);
}

static void contenders_on_deadline_moved(struct participant *p)
{
    bool proved = false;

    drivers_for_all(&contenders_of_participant(p)->by_deadline, contenders_move_deadline, &proved);
}

/* Lets the first in line of a semaphore list again after a reconnect. If the servers' data have
 * gone back, watches that are set again miss what was changed before. */
static void contenders_doubt_limit(struct driver *d, void *unused)
{
    struct contender *c = DRIVER_OWNER(d, struct contender);

    (void)unused;
    if (c->machine.state == ST_FIRST)
        driver_hear(&c->driver, ATTEMPT_EV_DOUBT);
}

static void contenders_on_up(struct participant *p)
{
    drivers_for_all(&contenders_of_participant(p)->drivers.list, contenders_doubt_limit, NULL);
}

static void contenders_on_deadline_passed(struct participant *p)
{
    drivers_hear(&contenders_of_participant(p)->by_deadline, ATTEMPT_EV_DEADLINE_PASSED);
}

static void contenders_suspect(struct driver *d, void *unused)
{
    struct contender *c = DRIVER_OWNER(d, struct contender);

    (void)unused;
    if (c->tenure)
        grant_suspect(c->tenure);
}

static void contenders_on_suspect(struct participant *p)
{
    drivers_for_all(&contenders_of_participant(p)->by_deadline, contenders_suspect, NULL);
}

/* Tells a contender of the next session. A node that a lost create made in the former session is
 * gone with that session. */
static void contenders_renew(struct driver *d, void *unused)
{
    struct contender *c = DRIVER_OWNER(d, struct contender);

    (void)unused;
    c->unsure = 0;
    driver_hear(&c->driver, MACHINE_EV_SESSION);
}

static void contenders_on_replaced(struct participant *p)
{
    struct contenders *all = contenders_of_participant(p);

    all->admissions_closed = true; /* nobody enters before all have asked to enter again */
    drivers_for_all(&all->drivers.list, contenders_renew, NULL);
    admissions_open(all);
}

static void contenders_end_one(struct driver *d, void *error)
{
    struct contender *c = DRIVER_OWNER(d, struct contender);
    const zkl_error *e = error;

    contender_abort(c, e->code, e->text); /* a machine that has answered ignores this */
    driver_hear(&c->driver, MACHINE_EV_OVER);
}

/* Ends the calls of each handle, then the contenders that wait for admission, then all others. */
static void contenders_end_all(struct contenders *all, int code, const char *text)
{
    struct all_callers *callers = &all->callers;
    zkl_error error;

    error_fill(&error, code, NULL, "%s", text);
    callers->next = callers->list.head;
    while (callers->next) {
        struct callers *one = callers->next->data;
        callers->next = callers->next->next;
        one->abort(one->context, &error);
    }
    admission_for_all(all, admission_abort_unadmitted, &error);
    drivers_for_all(&all->drivers.list, contenders_end_one, &error);
}

static void contenders_on_refused(struct participant *p)
{
    contenders_end_all(contenders_of_participant(p), ZKL_EAUTH,
                       "the server refused the credentials");
}

static void contenders_on_closed(struct participant *p)
{
    contenders_end_all(contenders_of_participant(p), ZKL_ECLOSED, "the session was closed");
}

static void contenders_free(struct participant *p)
{
    struct contenders *all = contenders_of_participant(p);

    g_hash_table_unref(all->admissions);
    g_free(all);
}

static const struct participant_ops contenders_participant = {
    .is_busy = drivers_are_busy,
    .needs_deadline = contenders_need_deadline,
    .presence = contenders_presence,
    .on = {[NEWS_UP] = contenders_on_up,
           [NEWS_PROVED] = contenders_on_proved,
           [NEWS_DEADLINE_MOVED] = contenders_on_deadline_moved,
           [NEWS_SUSPECT] = contenders_on_suspect,
           [NEWS_DEADLINE_PASSED] = contenders_on_deadline_passed,
           [NEWS_REPLACED] = contenders_on_replaced,
           [NEWS_REFUSED] = contenders_on_refused,
           [NEWS_CLOSED] = contenders_on_closed},
    .free = contenders_free};

struct contenders *contenders_of(zkl_session *s)
{
    struct contenders *all =
        (struct contenders *)participant_of(s, &contenders_participant, sizeof(struct contenders));

    if (!all->admissions)
        all->admissions = g_hash_table_new(g_str_hash, g_str_equal);
    return all;
}
