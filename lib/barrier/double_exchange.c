/* Requests and answers of a member of a double barrier, whatever they are about. */
#include "double_requests.h"
#include "lib/session/denial.h"

void double_answer(zkl_double_barrier *b, uint32_t tag, enum barrier_event_kind kind)
{
    double_step(b, (struct barrier_event){.kind = kind, .tag = tag});
}

void double_refuse(zkl_double_barrier *b, uint32_t tag, int code)
{
    const char *path = session_path(b->spec.session, b->spec.path);

    if (tag == b->machine.tag)
        denial_fill(b->spec.session, &b->error, code, path);
    double_answer(b, tag, BARRIER_EV_REFUSED);
}

struct request *double_request(zkl_double_barrier *b, enum store_kind kind, const char *path,
                               void (*done)(struct request *r, const struct store_reply *reply),
                               uint32_t tag)
{
    struct request *r = request_new(kind, g_strdup(path), done, b);

    double_ref(b);
    r->tag = tag;
    return r;
}

bool double_is_present(const zkl_double_barrier *b, const struct request *r)
{
    return r->tag == b->machine.tag;
}

void double_send_watching(zkl_double_barrier *b, struct request *r, struct subscription *watch)
{
    uint32_t tag = r->tag;

    if (watch_add(b->spec.session, r, watch)) {
        request_send(b->spec.session, r);
        return;
    }
    request_free(r);
    double_refuse(b, tag, ZKL_ELIMIT);
    double_unref(b);
}

struct request *double_transaction(zkl_double_barrier *b,
                                   void (*done)(struct request *r, const struct store_reply *reply),
                                   uint32_t tag)
{
    struct request *r = double_request(b, STORE_MULTI, b->spec.path, done, tag);

    r->what.changes = b->changes;
    r->what.count = G_N_ELEMENTS(b->changes);
    return r;
}
