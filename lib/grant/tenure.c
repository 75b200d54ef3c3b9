#include "tenure.h"

struct tenure *tenure_new(zkl_session *s, const struct tenure_ops *ops, struct contender *keeper,
                          const char *full_node, const char *payload, uint64_t token)
{
    struct tenure *t = g_new0(struct tenure, 1);

    atomic_init(&t->refs, 1);
    validity_begin(&t->validity, s->up ? ZKL_HELD : ZKL_SUSPECT, s->proofs.deadline);
    t->token = token;
    t->session_id = s->id;
    t->session = session_ref(s);
    t->full_node = g_strdup(full_node);
    t->payload = g_strdup(payload);
    t->ops = ops;
    t->keeper = keeper;
    t->kept = true;
    return t;
}

struct tenure *tenure_ref(struct tenure *t)
{
    atomic_fetch_add(&t->refs, 1);
    return t;
}

void tenure_unref(struct tenure *t)
{
    if (atomic_fetch_sub(&t->refs, 1) != 1)
        return;
    zkl_session *s = t->session;
    if (t->line)
        t->free_line(t->line);
    g_free(t->full_node);
    g_free(t->payload);
    g_free(t);
    session_unref(s);
}

void tenure_set_payload(struct tenure *t, const char *payload)
{
    g_free(t->payload);
    t->payload = g_strdup(payload);
}

void tenure_release(struct tenure *t)
{
    if (t->keeper)
        t->ops->release(t->keeper);
}

void tenure_vanished(struct tenure *t)
{
    if (t->keeper)
        t->ops->vanished(t->keeper);
}

void tenure_find_out(struct tenure *t, enum tenure_call call)
{
    if (t->keeper)
        t->ops->find_out[call](t->keeper);
}
