#include "driven.h"

struct driven *driven_of(struct driver *d)
{
    return DRIVER_OWNER(d, struct driven);
}

static void driven_hear(struct call *c, enum machine_event_kind kind)
{
    driver_hear(&((struct driven *)c)->driver, (struct machine_event){.kind = kind});
}

void driven_begin(struct call *c)
{
    driven_hear(c, MACHINE_EV_BEGIN);
}

void driven_stop(struct call *c, const zkl_error *why)
{
    c->error = *why;
    driven_hear(c, MACHINE_EV_STOP);
}

void driven_replaced(struct call *c)
{
    driven_hear(c, MACHINE_EV_SESSION);
}

void driven_free(struct call *c)
{
    driver_clear(&((struct driven *)c)->driver);
    g_free(c);
}

const struct call_ops driven_call_ops = {
    .begin = driven_begin, .stop = driven_stop, .replaced = driven_replaced, .free = driven_free};

char *driven_path(struct driver *d, unsigned node)
{
    (void)node;
    return g_strdup(driven_of(d)->call.path);
}

void driven_ref(struct driver *d)
{
    call_ref(&driven_of(d)->call);
}

void driven_unref(struct driver *d)
{
    call_unref(&driven_of(d)->call);
}
