/* What a command runs under, and until when: a grant, or a membership. */
#ifndef ZKL_TOOLS_RIGHT_H
#define ZKL_TOOLS_RIGHT_H

#include <zkl.h>

struct right;

typedef void (*right_fn)(zkl_state state, void *data);

/* All as the functions of a grant that are called so. */
struct right_ops {
    zkl_state (*state)(struct right *r);
    zkl_loss (*loss)(struct right *r);
    int64_t (*remaining_ms)(struct right *r);
    void (*deadline)(struct right *r, zkl_deadline *ret); /* 0 when it is over */
    void (*on_change)(struct right *r, right_fn fn, void *data);
    void (*on_revoke)(struct right *r, right_fn fn, void *data); /* NULL: nobody asks */
    void (*release)(struct right *r);
    char *(*text)(struct right *r); /* for command_environment() */
};

struct right {
    const struct right_ops *ops;
    uint64_t token;
    int64_t session_id;
    int slot; /* of a semaphore; below 0: none */
};

/* A grant, which it takes. */
struct right_grant {
    struct right right;
    zkl_grant *grant;
    right_fn changed, revoked;
    void *changed_data, *revoked_data;
};

void right_of_grant(struct right_grant *ret, zkl_grant *grant);

#endif
