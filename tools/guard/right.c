#include "right.h"

#include "environment.h"

static struct right_grant *right_of(struct right *r)
{
    return (struct right_grant *)r;
}

static zkl_state right_state(struct right *r)
{
    return zkl_grant_state(right_of(r)->grant);
}

static zkl_loss right_loss(struct right *r)
{
    return zkl_grant_loss(right_of(r)->grant);
}

static int64_t right_remaining_ms(struct right *r)
{
    return zkl_grant_remaining_ms(right_of(r)->grant);
}

static void right_deadline(struct right *r, zkl_deadline *ret)
{
    zkl_grant_deadline(right_of(r)->grant, ret); /* 0 when it is not ours any more */
}

static void call_changed(const zkl_grant *grant, zkl_state now, void *data)
{
    const struct right_grant *r = data;

    (void)grant;
    r->changed(now, r->changed_data);
}

static void right_on_change(struct right *r, right_fn fn, void *data)
{
    right_of(r)->changed = fn;
    right_of(r)->changed_data = data;
    zkl_grant_on_change(right_of(r)->grant, call_changed, r);
}

static void call_revoked(const zkl_grant *grant, zkl_state now, void *data)
{
    const struct right_grant *r = data;

    (void)grant;
    r->revoked(now, r->revoked_data);
}

static void right_on_revoke(struct right *r, right_fn fn, void *data)
{
    right_of(r)->revoked = fn;
    right_of(r)->revoked_data = data;
    zkl_grant_on_revoke(right_of(r)->grant, call_revoked, r);
}

static void right_release(struct right *r)
{
    zkl_grant_release(right_of(r)->grant);
}

static char *right_text(struct right *r)
{
    return grant_text(right_of(r)->grant);
}

static const struct right_ops ops = {.state = right_state,
                                     .loss = right_loss,
                                     .remaining_ms = right_remaining_ms,
                                     .deadline = right_deadline,
                                     .on_change = right_on_change,
                                     .on_revoke = right_on_revoke,
                                     .release = right_release,
                                     .text = right_text};

void right_of_grant(struct right_grant *ret, zkl_grant *grant)
{
    zkl_part first;

    zkl_grant_part(grant, 0, &first);
    *ret = (struct right_grant){.right = {.ops = &ops,
                                          .token = first.token,
                                          .session_id = zkl_grant_session_id(grant),
                                          .slot = first.slot},
                                .grant = grant};
}
