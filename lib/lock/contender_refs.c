/* What a contender is made of, and for how long: references to it, those of its requests, and the
 * admission that it shares with others. */
#include "contender_state.h"
#include "lib/session/late_create.h"
#include "locks.h"

/* ---- the admission ---- */

struct admission *admission_use(struct locks *all, char *path)
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

void admission_unuse(struct admission *a)
{
    if (--a->users > 0)
        return;
    g_hash_table_remove(a->all->admissions, a->path);
    g_ref_string_release(a->path);
    g_clear_pointer(&a->outside, g_sequence_free);
    g_free(a);
}

/* ---- the contender ---- */

/* Thousands of a mutex may wait, and have none of this. */
struct lease {
    struct contender contender;
    struct permit_limit *limit; /* an rc_box */
};

struct contender *contender_new(struct permit_limit *limit)
{
    if (!limit)
        return g_new0(struct contender, 1);
    struct lease *lease = g_new0(struct lease, 1);
    lease->limit = g_rc_box_acquire(limit);
    return &lease->contender;
}

struct permit_limit *contender_limit(const struct contender *c)
{
    const bool has = c->machine.rule == RULE_LEASE && !c->machine.counts;

    return has ? ((const struct lease *)c)->limit : NULL;
}

void contender_unref(struct contender *c)
{
    if (--c->refs > 0)
        return;
    if (c->unsure > 0)
        late_create_look(c->session, c->admission->path, c->id, NULL);
    admission_unuse(c->admission);
    g_ref_string_release(c->payload);
    if (c->predecessor)
        g_rc_box_release(c->predecessor);
    g_free(c->old_id);
    g_free(c->odd_name);
    g_free(c->head);
    if (contender_limit(c))
        g_rc_box_release(contender_limit(c));
    g_free(c);
}

struct request *contender_request(struct contender *c, enum store_kind kind, char *path,
                                  void (*done)(struct request *r, const struct store_reply *reply),
                                  uint32_t tag)
{
    struct request *r = request_new(kind, path, done, c);

    c->refs++;
    r->tag = tag;
    return r;
}

enum answer contender_to_answer(enum store_rc rc)
{
    switch (rc) {
    case STORE_OK:
        return ANSWER_OK;
    case STORE_NONODE:
        return ANSWER_NONODE;
    case STORE_EXISTS:
        return ANSWER_EXISTS;
    case STORE_NOAUTH:
        return ANSWER_REFUSED;
    case STORE_NOCHILDREN:
        return ANSWER_NOCHILDREN;
    case STORE_NOTEMPTY:
        return ANSWER_NOTEMPTY;
    case STORE_UNKNOWN:
        return ANSWER_UNKNOWN;
    default:
        return ANSWER_BAD;
    }
}
