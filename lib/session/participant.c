#include "participant.h"

#include "core.h"

struct participant *participant_of(zkl_session *s, const struct participant_ops *ops, size_t size)
{
    struct participant *p;

    for (guint i = 0; i < s->participants->len; i++) {
        p = s->participants->pdata[i];
        if (p->ops == ops)
            return p;
    }
    p = g_malloc0(size);
    p->ops = ops;
    p->session = s;
    g_ptr_array_add(s->participants, p);
    return p;
}

bool participants_are_busy(const zkl_session *s)
{
    for (guint i = 0; i < s->participants->len; i++) {
        const struct participant *p = s->participants->pdata[i];
        if (p->ops->is_busy && p->ops->is_busy(p))
            return true;
    }
    return false;
}

bool participants_need_deadline(const zkl_session *s)
{
    for (guint i = 0; i < s->participants->len; i++) {
        const struct participant *p = s->participants->pdata[i];
        if (p->ops->needs_deadline && p->ops->needs_deadline(p))
            return true;
    }
    return false;
}

enum presence participants_presence(const zkl_session *s)
{
    enum presence most = PRESENCE_NONE;

    for (guint i = 0; i < s->participants->len; i++) {
        const struct participant *p = s->participants->pdata[i];
        if (p->ops->presence)
            most = MAX(most, p->ops->presence(p));
    }
    return most;
}

/* Tells a participant, too, that is added during the loop. */
void participants_tell(zkl_session *s, enum session_news news)
{
    for (guint i = 0; i < s->participants->len; i++) {
        struct participant *p = s->participants->pdata[i];
        if (p->ops->on[news])
            p->ops->on[news](p);
    }
}

void participants_free(zkl_session *s)
{
    for (guint i = 0; i < s->participants->len; i++) {
        struct participant *p = s->participants->pdata[i];
        if (p->ops->free)
            p->ops->free(p);
        else
            g_free(p);
    }
    g_ptr_array_unref(s->participants);
}
