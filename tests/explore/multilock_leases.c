/* One who takes permits in Curator's layout: the lock at its first path, a lease at each other one.
 * As much of lib/lock/semaphore.c as matters. */
#include "multilock.h"

enum { LOCK, LEASE };

static void enter(struct multilock_state *st, uint8_t client, uint32_t path)
{
    st->c[client].paths[path].place = MULTI_LOCK_ENTERING;
    multilock_enter(st, client, path);
}

static void leave(struct multilock_state *st, uint8_t client, uint32_t path)
{
    st->c[client].paths[path].place = MULTI_LOCK_OUT;
    multilock_leave(st, client, path);
}

static void enter_from(struct multilock_state *st, uint8_t client, uint32_t path)
{
    for (; path < st->c[client].machine.count; path++)
        enter(st, client, path);
}

static void leave_from(struct multilock_state *st, uint8_t client, uint32_t path)
{
    for (uint32_t i = st->c[client].machine.count; i-- > path;)
        if (st->c[client].paths[i].place != MULTI_LOCK_OUT)
            leave(st, client, i);
}

static bool has_all(const struct multilock_client *c)
{
    for (uint32_t i = LEASE; i < c->machine.count; i++)
        if (c->paths[i].place != MULTI_LOCK_HELD)
            return false;
    return true;
}

static void tell(struct multilock_state *st, uint8_t client, enum leasing_verdict verdict)
{
    switch (verdict) {
    case LEASING_LOCK:
        enter(st, client, LOCK);
        break;
    case LEASING_UNLOCK:
        leave(st, client, LOCK);
        break;
    case LEASING_LEASE:
        enter_from(st, client, LEASE);
        break;
    case LEASING_LEAVE:
        leave_from(st, client, LEASE);
        break;
    case LEASING_GRANT:
        st->c[client].machine.state = MULTI_LOCK_HOLDING;
        break;
    case LEASING_FAIL:
        st->c[client].machine.state = MULTI_LOCK_DONE;
        break;
    }
}

/* The timer is MULTILOCK_BEGIN, too. */
static void perform(struct multilock_state *st, uint8_t client, const struct machine_action *a)
{
    if (a->kind == MACHINE_ACT_REQUEST)
        multilock_ask(st, client, WIRE_CHECK, LEASE, true);
    else if (a->kind == MACHINE_ACT_TELL)
        tell(st, client, (enum leasing_verdict)a->verdict);
}

static void hear(struct multilock_state *st, uint8_t client, struct machine_event ev,
                 struct leasing_moment m)
{
    struct machine_actions actions = {.count = 0};

    leasing_step(&st->c[client].leasing, &ev, &m, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        perform(st, client, &actions.list[i]);
}

static void step(struct multilock_state *st, uint8_t client, unsigned kind)
{
    hear(st, client, (struct machine_event){.kind = kind}, (struct leasing_moment){.now = 0});
}

static void on_begin(struct multilock_state *st, uint8_t client)
{
    struct multilock_client *c = &st->c[client];

    const bool again = c->leasing.state == LEASING_RESTARTING;

    if (!again)
        c->leasing = (struct leasing){.state = LEASING_IDLE};
    c->machine.state = MULTI_LOCK_ACQUIRING;
    step(st, client, again ? MACHINE_EV_TIMER : MACHINE_EV_BEGIN);
}

static void on_release(struct multilock_state *st, uint8_t client)
{
    st->c[client].machine.state = MULTI_LOCK_DONE;
    leave_from(st, client, LEASE);
}

static void on_waits(struct multilock_state *st, uint8_t client, uint32_t path)
{
    st->c[client].paths[path].place = MULTI_LOCK_WAITING;
}

static void on_granted(struct multilock_state *st, uint8_t client, uint32_t path)
{
    st->c[client].paths[path].place = MULTI_LOCK_HELD;
    if (path == LOCK)
        step(st, client, LEASING_EV_LOCKED);
    else if (has_all(&st->c[client]))
        step(st, client, LEASING_EV_LEASED);
}

/* If leases are not admitted yet, the client leaves those behind the lost one, and makes all of
 * them anew, the lost one too. What was granted to the user is the grant's business, and all of it
 * is lost. */
static void on_lost(struct multilock_state *st, uint8_t client, uint32_t path)
{
    struct multilock_client *c = &st->c[client];

    c->paths[path].place = MULTI_LOCK_OUT;
    if (path == LOCK) {
        step(st, client, LEASING_EV_LOCK_LOST);
        return;
    }
    if (c->leasing.state == LEASING_LEASING) {
        leave_from(st, client, path + 1);
        enter_from(st, client, path);
        return;
    }
    leave_from(st, client, LEASE);
    if (c->machine.state == MULTI_LOCK_HOLDING)
        c->machine.state = MULTI_LOCK_DONE;
    else
        step(st, client, LEASING_EV_LEASE_LOST);
}

static void on_failed(struct multilock_state *st, uint8_t client, uint32_t path)
{
    st->c[client].paths[path].place = MULTI_LOCK_OUT;
    if (path > LOCK)
        leave_from(st, client, LEASE);
    step(st, client, path == LOCK ? LEASING_EV_LOCK_FAILED : LEASING_EV_LEASE_FAILED);
}

static void on_abort(struct multilock_state *st, uint8_t client)
{
    step(st, client, MACHINE_EV_STOP);
}

void multilock_checked(struct multilock_state *st, uint8_t client, bool mixed)
{
    hear(st, client, (struct machine_event){.kind = MACHINE_EV_ANSWER, .verb = STORE_LIST},
         (struct leasing_moment){.mixed = mixed});
}

const struct multilock_user multilock_leases = {.begin = on_begin,
                                                .release = on_release,
                                                .waits = on_waits,
                                                .granted = on_granted,
                                                .lost = on_lost,
                                                .failed = on_failed,
                                                .abort = on_abort};
