#include "right.h"

#include "environment.h"

static struct right_grant *of(struct right *r)
{
    return (struct right_grant *)r;
}

static zkl_state state(struct right *r)
{
    return zkl_grant_state(of(r)->grant);
}

static zkl_loss loss(struct right *r)
{
    return zkl_grant_loss(of(r)->grant);
}

static int64_t remaining_ms(struct right *r)
{
    return zkl_grant_remaining_ms(of(r)->grant);
}

static void deadline(struct right *r, zkl_deadline *ret)
{
    zkl_grant_deadline(of(r)->grant, ret); /* 0 when it is not ours any more */
}

static void call_changed(zkl_grant *grant, zkl_state now, void *data)
{
    const struct right_grant *r = data;

    (void)grant;
    r->changed(now, r->changed_data);
}

static void on_change(struct right *r, right_fn fn, void *data)
{
    of(r)->changed = fn;
    of(r)->changed_data = data;
    zkl_grant_on_change(of(r)->grant, call_changed, r);
}

static void call_revoked(zkl_grant *grant, zkl_state now, void *data)
{
    const struct right_grant *r = data;

    (void)grant;
    r->revoked(now, r->revoked_data);
}

static void on_revoke(struct right *r, right_fn fn, void *data)
{
    of(r)->revoked = fn;
    of(r)->revoked_data = data;
    zkl_grant_on_revoke(of(r)->grant, call_revoked, r);
}

static void release(struct right *r)
{
    zkl_grant_release(of(r)->grant);
}

static char *text(struct right *r)
{
    return grant_text(of(r)->grant);
}

static const struct right_ops ops = {.state = state,
                                     .loss = loss,
                                     .remaining_ms = remaining_ms,
                                     .deadline = deadline,
                                     .on_change = on_change,
                                     .on_revoke = on_revoke,
                                     .release = release,
                                     .text = text};

void right_of_grant(struct right_grant *ret, zkl_grant *grant)
{
    *ret = (struct right_grant){.right = {.ops = &ops,
                                          .token = zkl_grant_token(grant),
                                          .session_id = zkl_grant_session_id(grant),
                                          .slot = -1},
                                .grant = grant};
    zkl_grant_slots(grant, &ret->right.slot, 1);
}
