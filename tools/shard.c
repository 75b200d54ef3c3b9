#include "shard.h"
#include "contenders.h"

#include <errno.h>
#include <sys/socket.h>

/* How long a reading of a queue may take. */
#define READ_MS 1000

const char *shard_path(const struct shard *s)
{
    return s->host->holds[s->number].path;
}

void shard_init(struct shard *s, struct host_common *host, int number)
{
    *s = (struct shard){.host = host, .number = number, .attempt = {.events = host->events}};
}

int shard_open(struct shard *s)
{
    zkl_mutex_options options = ZKL_MUTEX_OPTIONS_INIT;

    options.name = s->host->options->id;
    options.parents = s->host->options->run.parents;
    atomic_store(&s->stuck, false);
    s->stuck_since = 0;
    if (zkl_mutex_new(&s->mutex, s->host->session, shard_path(s), &options) == 0)
        return GO_ON;
    return fail_last(shard_path(s));
}

void shard_close(struct shard *s)
{
    zkl_mutex_free(s->mutex);
    s->mutex = NULL;
}

/* ---- on other threads ---- */

/* Tells the main thread that another contender has come. */
static void on_shard_wanted(const zkl_grant *grant, zkl_state state, void *data)
{
    struct shard *s = data;

    (void)grant;
    (void)state;
    atomic_store(&s->wanted, true);
    events_wake(s->host->events);
}

/* Tells the main thread that somebody asks for the lock. */
static void on_shard_revoke(const zkl_grant *grant, zkl_state state, void *data)
{
    struct shard *s = data;

    (void)grant;
    (void)state;
    atomic_store(&s->revoked, true);
    events_wake(s->host->events);
}

/* Gives up the reference that the library's calls have to a struct loss, at the last call for the
 * grant. The library calls this after loss_on_change(). */
static void on_last_call(const zkl_grant *grant, zkl_state state, void *data)
{
    (void)grant;
    if (state == ZKL_LOST || state == ZKL_RELEASED)
        g_atomic_rc_box_release(data);
}

void shard_read_queue(struct shard *s)
{
    const int64_t began = now_ms();

    atomic_store(&s->look_due, false); /* a request from now on is for another look */
    g_autoptr(zkl_queue) queue = contenders_first(s->host->session, shard_path(s), 1, READ_MS);
    const bool failed = !queue && zkl_last_error(NULL) != ZKL_ENOENT; /* our node may be there */
    const zkl_contender *first = zkl_queue_get(queue, 0);
    const bool own = first && first->session_id == zkl_session_id(s->host->session);
    atomic_store(&s->waits, zkl_queue_count(queue) > 1);
    atomic_store(&s->own_first, failed || own);
    atomic_store(&s->looked_at, began);
    events_wake(s->host->events);
}

/* ---- acquiring the lock ---- */

/* Ends the attempt, so that the shard is ready for another one. failed: it has ended by itself, not
 * because we ended it. */
static void end_attempt(struct shard *s, bool failed)
{
    const int fd = s->host->options->run.hold.status_fd;
    const bool asked = s->plan.state > SHARD_HELD;

    s->phase = SHARD_IDLE;
    if (s->plan.held_at != 0)
        status_line(fd, "ended %d %d", s->number, s->status);
    shard_ended(&s->plan, failed, now_ms());
    if (asked || s->plan.pause_ms == 0)
        return;
    status_line(fd, "paused %d %d %d", s->number, s->status, (int)(s->plan.pause_ms / 1000));
    if (s->cause != CAUSE_NONE)
        say("%s: ended with status %d, again in %d s", shard_path(s), s->status,
            (int)(s->plan.pause_ms / 1000));
}

/* Ends an attempt that has brought no grant. The same error is said once, however often it comes.
 */
static void see_refusal(struct shard *s, const zkl_error *error)
{
    const bool ours = s->plan.state > SHARD_HELD || error->code == ZKL_ECANCELED;

    s->cause = CAUSE_NONE;
    if (!ours)
        s->status = fail_once(error, shard_path(s), &s->trouble);
    end_attempt(s, !ours);
}

/* Gives the lock back before a command has begun. failed: as in end_attempt(). */
static void release_at_once(struct shard *s, bool failed)
{
    s->cause = CAUSE_NONE;
    zkl_grant_release(s->attempt.grant);
    end_attempt(s, failed);
}

/* Takes the end of the acquisition, if it has ended. */
static void see_answer(struct shard *s)
{
    if (!atomic_load(&s->attempt.done))
        return;
    zkl_op_free(s->op);
    s->op = NULL;
    if (!s->attempt.grant) {
        see_refusal(s, &s->attempt.error);
        return;
    }
    if (s->plan.state != SHARD_SEEKING) { /* the grant came when we had ordered the end */
        release_at_once(s, false);
        return;
    }
    s->token = zkl_grant_token(s->attempt.grant);
    s->trouble = 0;
    s->stuck_since = 0;
    atomic_store(&s->stuck, false);
    atomic_store(&s->looked_at, 0);
    zkl_grant_on_wanted(s->attempt.grant, on_shard_wanted, s);
    zkl_grant_on_revoke(s->attempt.grant, on_shard_revoke, s);
    shared_reset(&s->host->zygote.shared[s->number]);
    s->phase = SHARD_GRANTED;
}

/* ---- the command ---- */

/* Says why no guard could be started; 0: one could. Says an error once, until a command has begun.
 */
static void say_guardless(struct shard *s, int error)
{
    if (error == 0 || error == s->guardless)
        return;
    say("%s: cannot start the guard: %s", shard_path(s), g_strerror(error));
    s->guardless = error;
}

/* Has a guard forked for the grant, or gives the lock back. */
static void prepare_guard(struct shard *s)
{
    struct hold_options *o = &s->host->holds[s->number];

    if (s->plan.state > SHARD_HELD) {
        release_at_once(s, false);
        return;
    }
    if (!zygote_fork(&s->host->zygote, s->number, &s->guard)) {
        if (errno == EAGAIN)
            return; /* the zygote is busy: this is tried again */
        /* Without a guard the shard would be held and not worked on. */
        say_guardless(s, errno);
        s->status = STATUS_INTERNAL;
        release_at_once(s, true);
        return;
    }
    hold_fit(o, s->host->options->run.hold.grace_ms, zkl_session_timeout_ms(s->host->session));
    s->loss = g_atomic_rc_box_new0(struct loss);
    loss_init(s->loss, &s->guard, s->attempt.grant, s->host->events);
    g_atomic_rc_box_acquire(s->loss);
    if (zkl_grant_on_change(s->attempt.grant, on_last_call, s->loss) != 0)
        g_atomic_rc_box_release(s->loss);
    s->phase = SHARD_READY;
}

/* Continues the guard: it may be stopped, and has something to do. */
static void continue_guard(const struct shard *s)
{
    const pid_t guard = atomic_load(&s->host->zygote.shared[s->number].guard);

    if (guard > 0)
        kill(guard, SIGCONT);
}

/* Releases the grant. Call it when nothing of the command lives, or it never began. */
static void give_lock_back(struct shard *s)
{
    s->cause = shared_cause(s->guard.termination.shared);
    s->status = guard_result(&s->guard, loss_remaining_ms(s->loss) > 0);
    if (atomic_load(&s->guard.termination.shared->begun))
        s->guardless = 0;
    if (s->cause == CAUSE_ENDED && atomic_load(&s->guard.termination.shared->exec_error) != 0 &&
        !s->host->executed)
        s->host->fatal = s->status;
    loss_finish(s->loss);
    zkl_grant_release(s->attempt.grant);
    g_clear_pointer(&s->loss, g_atomic_rc_box_release);
    if (!s->guard.running)
        shutdown(s->guard.channel, SHUT_WR); /* which ends the guard */
    continue_guard(s);
    s->to_send = 0;
    s->phase = SHARD_CLEARING;
}

/* Tells the guard to run the command, once the grant is safe. */
static void begin_command(struct shard *s)
{
    if (s->plan.state > SHARD_HELD || loss_before_beginning(s->loss)) {
        give_lock_back(s);
        return;
    }
    if (!loss_is_safe(s->loss))
        return;
    loss_publish(s->loss);
    if (!guard_run(&s->guard, s->attempt.grant, false, s->host->events)) {
        give_lock_back(s); /* the guard could not be forked */
        return;
    }
    if (s->host->settings->verbose)
        say("%s: held with token %" G_GUINT64_FORMAT, shard_path(s), (guint64)s->token);
    s->phase = SHARD_RUNNING;
}

/* Looks at the command, and gives the lock back when it is over. */
static void watch_command(struct shard *s)
{
    const struct shared *shared = s->guard.termination.shared;

    loss_look(s->loss);
    if (s->to_send != 0)
        shard_signal(s, s->to_send);
    const bool over = shared_cause(shared) == CAUSE_ENDED || atomic_load(&shared->gone);
    s->host->executed |=
        atomic_load(&shared->executed); /* before give_lock_back(), which reads it */
    if (over)
        give_lock_back(s);
}

/* Has another guard run --on-lost, if the guard that was to run it was killed. Returns whether that
 * goes on, or is to be tried again. */
static bool begin_on_lost(struct shard *s)
{
    struct shared *shared = s->guard.termination.shared;
    struct guard heir;

    if (!s->guard.termination.options->on_lost || !exit_cause_is_forced(s->cause) ||
        !atomic_load(&shared->begun) || atomic_load(&shared->on_lost_begun) || s->host->zygote.dead)
        return false;
    /* nobody signals the dead leader's pid any more */
    atomic_store(&shared->leader, LEADER_BARRED);
    if (!zygote_fork(&s->host->zygote, s->number, &heir)) {
        const bool again = errno == EAGAIN;

        say_guardless(s, again ? 0 : errno);
        return again;
    }
    guard_repeat(&heir, &s->guard, s->host->events);
    guard_free(&s->guard, s->host->events);
    s->guard = heir;
    return true;
}

/* Ends the attempt once the guard has ended and nothing of its tree is left. */
static void see_cleared(struct shard *s)
{
    const struct shared *shared = s->guard.termination.shared;

    guard_look(&s->guard, s->host->events);
    if (!zygote_cleared(&s->host->zygote, s->number) || begin_on_lost(s))
        return;
    const bool begun = atomic_load(&shared->begun);
    const int error = atomic_load(&shared->fork_error);
    if (error != 0 && !begun)
        s->cause = CAUSE_NONE;
    say_guardless(s, error);
    zygote_forget(&s->host->zygote, s->number, &s->guard);
    /* The attempt has failed if the command has ended by itself; or if the system had no process
     * for it, though the guard may have been told to run it. */
    const bool failed =
        s->cause == CAUSE_ENDED || (!begun && (s->cause == CAUSE_NONE || s->cause == CAUSE_GUARD));
    end_attempt(s, failed);
}

/* ---- what the plan says ---- */

void shard_signal(struct shard *s, int signo)
{
    s->to_send = 0;
    if (s->phase == SHARD_CLEARING)
        guard_tell(&s->guard, MESSAGE_SIGNAL, signo); /* for --on-lost */
    else if (s->phase == SHARD_RUNNING && shared_leader(s->guard.termination.shared) != 0)
        guard_signal(&s->guard, signo);
    else
        s->to_send = signo;
}

/* Sends signo to the command, or stops seeking the lock. */
static void stop_command(struct shard *s, int signo)
{
    if (s->phase == SHARD_ASKING)
        zkl_op_cancel(s->op);
    else
        shard_signal(s, signo);
    continue_guard(s);
}

/* Does what the plan says. */
static void act_on_plan(struct shard *s, enum shard_act what)
{
    zkl_error error = {0};

    switch (what) {
    case SHARD_SEEK:
        atomic_store(&s->wanted, false);
        atomic_store(&s->revoked, false);
        atomic_store(&s->attempt.done, false);
        s->phase = SHARD_ASKING;
        if (zkl_mutex_lock_async(s->mutex, ZKL_FOREVER, attempt_end, &s->attempt, &s->op) != 0) {
            zkl_last_error(&error);
            see_refusal(s, &error);
        }
        break;
    case SHARD_LOOK:
        atomic_store(&s->look_due, true);
        break;
    case SHARD_STOP:
        if (s->plan.held_at != 0)
            status_line(s->host->options->run.hold.status_fd, "asked %d", s->number);
        stop_command(s, SIGTERM);
        break;
    case SHARD_KILL:
        stop_command(s, SIGKILL);
        break;
    default:
        break;
    }
}

/* Returns in how many ms the shard is to be looked at, whatever the plan says. */
static int64_t due_in_ms(const struct shard *s)
{
    switch (s->phase) {
    case SHARD_GRANTED:
    case SHARD_READY:
        return LOOK_MS;
    case SHARD_RUNNING:
        return s->to_send != 0 ? LOOK_MS : loss_due_ms(s->loss);
    default:
        return INT64_MAX / 2;
    }
}

int64_t shard_look(struct shard *s, const struct shard_facts *of_host)
{
    struct shard_facts facts = *of_host;
    int64_t due;

    /* The shard may pass through several phases now. */
    if (s->phase == SHARD_ASKING)
        see_answer(s);
    if (s->phase == SHARD_GRANTED)
        prepare_guard(s);
    if (s->phase == SHARD_READY)
        begin_command(s);
    if (s->phase == SHARD_RUNNING)
        watch_command(s);
    if (s->phase == SHARD_CLEARING)
        see_cleared(s);
    const bool held = s->plan.held_at != 0;
    facts.granted = s->phase >= SHARD_GRANTED;
    facts.wanted = atomic_load(&s->wanted);
    facts.revoked = atomic_load(&s->revoked);
    facts.waits = atomic_load(&s->waits);
    facts.looked_at = atomic_load(&s->looked_at);
    act_on_plan(s, shard_step(&s->plan, &facts, &due));
    if (!held && s->plan.held_at != 0)
        status_line(s->host->options->run.hold.status_fd, "held %d %" G_GUINT64_FORMAT, s->number,
                    (guint64)s->token);
    return MIN(due, facts.now + due_in_ms(s));
}
