/* zkl shards: makes this host a member, which holds the locks of its shards, all in one session.
 * Each shard has a command, under a guard that the zygote forks. recipes/shard.h decides which
 * shards are this host's.
 *
 * Two faults cannot be mended within a session: the servers refuse the credentials, or they refuse
 * to delete the node of a shard that was given up, which would block that shard for all. After
 * either one, zkl ends all commands, gives back all locks, closes the session and opens another
 * one. */
#include "closing.h"
#include "connect.h"
#include "credentials.h"
#include "members.h"
#include "metrics.h"
#include "reader.h"
#include "shard.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

/* ---- membership ---- */

/* The host as a member of PATH/members. It sees who else is a member, and so knows which shards it
 * should have. */
struct shards_member {
    struct host_common *host;
    char *group; /* PATH/members */
    char *data;
    zkl_watch *observer;
    zkl_member *member;
    atomic_bool is_in;  /* the view shows the node with which it has joined */
    atomic_bool was_in; /* the host was a member once */
    atomic_bool doubt;  /* the members can perhaps not be read: shards_member_read() finds out */

    pthread_mutex_t lock;    /* guards the rest */
    bool *owned;             /* for each shard: it is ours by the last view */
    GHashTable *others;      /* the N last told of each other member; none: it has had ours */
    uint64_t joined;         /* the token of our membership; 0: others may think that we are gone */
    uint64_t seen;           /* the token of our id in the last view; 0: it is not there */
    int64_t is_in_since;     /* by now_ms(): when .is_in changed last */
    zkl_error denied[2];     /* by TO_JOIN and TO_SEE: why we cannot; code 0: we can */
    int64_t denied_since[2]; /* by now_ms(), for failure_passes() */
};

enum { TO_JOIN, TO_SEE };

/* How long a reading of the members may take. */
#define READ_MS 1000

/* ---- membership: events, on a thread of the library ---- */

/* Sets whether the view shows the node with which we have joined. The caller holds the lock. */
static void compare_tokens(struct shards_member *m)
{
    const bool is_in = m->joined != 0 && m->joined == m->seen;

    if (atomic_exchange(&m->is_in, is_in) != is_in)
        m->is_in_since = now_ms();
}

/* Sets the token of our membership; 0: it may be over. */
static void set_joined(struct shards_member *m, uint64_t token)
{
    pthread_mutex_lock(&m->lock);
    m->joined = token;
    if (token != 0) {
        atomic_store(&m->was_in, true);
        m->denied[TO_JOIN].code = 0;
    }
    compare_tokens(m);
    pthread_mutex_unlock(&m->lock);
}

/* Sets why the host cannot join (TO_JOIN) or see the members (TO_SEE); error NULL: it can. */
static void set_denied(struct shards_member *m, int what, const zkl_error *error)
{
    pthread_mutex_lock(&m->lock);
    m->denied[what] = error ? *error : (zkl_error){0};
    pthread_mutex_unlock(&m->lock);
}

static void on_member_event(zkl_member *member, zkl_member_event event, const zkl_member_news *news,
                            void *data)
{
    struct shards_member *m = data;

    (void)member;
    switch (event) {
    case ZKL_MEMBER_JOINED:
        set_joined(m, news->token);
        break;
    case ZKL_MEMBER_LOST:
    case ZKL_MEMBER_LEFT:
        set_joined(m, 0);
        break;
    case ZKL_MEMBER_BUSY:
        say_id_is_taken(m->group, m->host->options->id, news);
        break;
    case ZKL_MEMBER_FAILED:
        set_denied(m, TO_JOIN, news->err);
        break;
    default:
        break;
    }
    events_wake(m->host->events);
}

/* Says, once for each host and N, that another host has another N. During a rolling change of N
 * that is as it should be. */
static void compare_counts(struct shards_member *m, const zkl_member_info *other)
{
    const struct shards_options *o = m->host->options;
    zkl_shards_share share;

    if (zkl_shards_share_of(other, &share) == 0)
        return;
    if (share.count == (uint32_t)o->count) {
        g_hash_table_remove(m->others, other->id);
        return;
    }
    if (GPOINTER_TO_UINT(g_hash_table_lookup(m->others, other->id)) == share.count)
        return;
    say("%s: %s shares %u shards, not %d", o->run.hold.path, other->id, (unsigned)share.count,
        o->count);
    g_hash_table_insert(m->others, g_strdup(other->id), GUINT_TO_POINTER(share.count));
}

/* Takes the present members, and finds out which shards are ours. */
static void on_view(zkl_members_event event, const zkl_member_info *member, const zkl_members *all,
                    void *data)
{
    struct shards_member *m = data;
    const struct shards_options *o = m->host->options;

    (void)member;
    if (event != ZKL_MEMBERS_ALL)
        return;
    g_autofree const zkl_member_info **owners = g_new0(const zkl_member_info *, (gsize)o->count);
    pthread_mutex_lock(&m->lock);
    m->seen = 0;
    for (size_t i = 0; i < zkl_members_count(all); i++) {
        const zkl_member_info *one = zkl_members_get(all, i);

        if (strcmp(one->id, o->id) == 0)
            m->seen = one->token;
        else
            compare_counts(m, one);
    }
    zkl_shards_plan(owners, (size_t)o->count, all);
    for (int k = 0; k < o->count; k++)
        m->owned[k] = owners[k] && strcmp(owners[k]->id, o->id) == 0;
    m->denied[TO_SEE].code = 0;
    compare_tokens(m);
    pthread_mutex_unlock(&m->lock);
    events_wake(m->host->events);
}

/* ---- membership: the main thread ---- */

static void shards_member_init(struct shards_member *m, struct host_common *host)
{
    const struct shards_options *o = host->options;

    *m = (struct shards_member){.host = host, .lock = PTHREAD_MUTEX_INITIALIZER};
    m->group = g_strconcat(o->run.hold.path, "/members", NULL);
    m->data = g_strdup_printf("%s%szkl-shards %d %d", o->data ? o->data : "", o->data ? "\n" : "",
                              o->count, o->weight);
    m->owned = g_new0(bool, (gsize)o->count);
    m->others = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    m->is_in_since = now_ms();
}

static void shards_member_free(struct shards_member *m)
{
    g_free(m->group);
    g_free(m->data);
    g_free(m->owned);
    g_hash_table_unref(m->others);
}

/* Joins the group and watches it, in a session that is connected. Returns GO_ON, or a status after
 * a message. */
static int shards_member_join(struct shards_member *m)
{
    const struct shards_options *o = m->host->options;
    zkl_session *session = m->host->session;
    zkl_member_options options = ZKL_MEMBER_OPTIONS_INIT;

    options.parents = o->run.parents;
    options.fn = on_member_event;
    options.fn_data = m;
    if (zkl_members_watch(&m->observer, session, m->group, ZKL_MEMBER_GROUP, on_view, m) == 0 &&
        zkl_member_join(&m->member, session, m->group, o->id, m->data, strlen(m->data), &options) ==
            0)
        return GO_ON;
    return fail_last(m->group);
}

/* Tries to read the members, to see whether that is possible. Runs on the reader's thread. */
static void shards_member_read(struct shards_member *m)
{
    g_autoptr(zkl_members) all = NULL;
    zkl_error error = {0};
    int code = zkl_members_read(&all, m->host->session, m->group, ZKL_MEMBER_GROUP, READ_MS);

    if (code != 0)
        zkl_last_error(&error);
    if (code == 0 || code == ZKL_ENOENT)
        set_denied(m, TO_SEE, NULL);
    else if (code != ZKL_ETIMEDOUT && code != ZKL_EUNREACHABLE)
        set_denied(m, TO_SEE, &error);
    atomic_store(&m->doubt, code != 0 && code != ZKL_ENOENT);
    events_wake(m->host->events);
}

/* ---- the host ---- */

/* The pause between two sessions, and between two looks at what is in doubt. */
#define AGAIN_MS 1000

enum { RUNNING, PAUSED };

struct host {
    struct host_common common; /* the first member */
    struct shards_member member;
    struct shard *shards;
    struct reader reader;    /* reads queues, and the members */
    struct metrics *metrics; /* the session's; NULL: none */
    struct metrics_gauge *gauges;
    int64_t claimed;       /* the id of the session that the zygote would end */
    int64_t refused_since; /* by now_ms(): when the refusals began that the host bears; 0: there are
                              none */
    int64_t doubt_at;      /* by now_ms(): when what is in doubt is looked at again */
    int denied;  /* the code of the error that was said, which keeps us from being a member */
    bool ending; /* the session is to be closed, when all shards are idle */
    int status;  /* to end with; GO_ON: there is none */
    bool hurry;  /* we were asked to end twice */
    atomic_bool refused; /* the credentials are; a thread of the library sets it */
};

/* ---- on other threads ---- */

/* Takes what the library logs: a watch may have failed, or the delete of a node of a shard's lock.
 */
static void host_on_log(const zkl_log_record *record, void *data)
{
    struct host *h = data;
    const char *refused = strcmp(record->event, "delete-refused") == 0 ? record->path : NULL;

    if (h->common.settings->verbose)
        say("%s", record->text);
    if (strcmp(record->event, "watch-failed") == 0)
        atomic_store(&h->member.doubt, true);
    for (int k = 0; refused && k < h->common.options->count; k++) {
        const char *path = shard_path(&h->shards[k]);
        const size_t length = strlen(path);

        if (strncmp(refused, path, length) == 0 && refused[length] == '/')
            atomic_store(&h->shards[k].stuck, true);
    }
    events_wake(h->common.events);
}

static void host_on_session(zkl_session *session, zkl_session_event event, int64_t id, void *data)
{
    struct host *h = data;

    (void)session;
    (void)id;
    if (event == ZKL_SESSION_REFUSED)
        atomic_store(&h->refused, true);
    events_wake(h->common.events);
}

/* Reads the members and queues that are in doubt. Runs on the reader's thread. */
static int read_what_is_in_doubt(zkl_queue **ret, struct reader *r, size_t most)
{
    struct host *h = r->data;

    (void)most;
    *ret = NULL;
    if (atomic_load(&h->member.doubt))
        shards_member_read(&h->member);
    for (int k = 0; k < h->common.options->count; k++)
        if (atomic_load(&h->shards[k].look_due))
            shard_read_queue(&h->shards[k]);
    return 0;
}

/* ---- a session ---- */

/* Waits for the session, and joins the group. Returns GO_ON, or a status after a message. */
static int connect_host(struct host *h)
{
    int status =
        session_connect(h->common.settings, &h->common.session, ZKL_FOREVER, h->common.events);

    if (status == GO_ON)
        status = hold_check_grace(h->common.options->run.hold.grace_ms,
                                  zkl_session_timeout_ms(h->common.session));
    if (status == GO_ON)
        status = shards_member_join(&h->member);
    if (status == GO_ON) {
        zkl_session_on_change(h->common.session, host_on_session, h);
        atomic_store(&h->refused, zkl_session_outage(h->common.session) == ZKL_OUTAGE_AUTH);
        h->metrics = metrics_begin(h->common.options->run.metrics_file,
                                   h->common.options->run.hold.path, h->common.session, h->gauges);
    }
    return status;
}

/* Closes the session, and then frees what the host had in it. */
static void close_host_session(struct host *h)
{
    struct shards_member *m = &h->member;

    reader_stop(&h->reader);
    metrics_end(h->metrics, h->status);
    h->metrics = NULL;
    if (h->status == GO_ON)
        zkl_session_close(h->common.session);
    else
        closing_close(h->common.session, CLOSING_PATIENCE_MS);
    reader_join(&h->reader);
    zkl_watch_free(m->observer);
    zkl_member_free(m->member);
    m->observer = NULL;
    m->member = NULL;
    m->seen = m->joined = 0;
    compare_tokens(m); /* without the lock: no callback comes any more */
    for (int i = TO_JOIN; i <= TO_SEE; i++)
        m->denied[i].code = 0;
    for (int k = 0; k < h->common.options->count; k++)
        shard_close(&h->shards[k]);
    h->common.session = NULL;
    h->ending = false;
}

/* Opens a session with the locks of all shards, and joins the group. Returns GO_ON, or a status
 * after a message. */
static int open_session(struct host *h)
{
    int status = session_open_logged(h->common.settings, &h->common.session, host_on_log, h);

    if (status != GO_ON)
        return status;
    atomic_store(&h->refused, false);
    atomic_store(&h->member.doubt, false);
    h->reader =
        (struct reader){.read = read_what_is_in_doubt, .data = h, .events = h->common.events};
    status = reader_start(&h->reader);
    if (status != GO_ON) {
        zkl_session_close(h->common.session);
        return status;
    }
    for (int k = 0; k < h->common.options->count && status == GO_ON; k++)
        status = shard_open(&h->shards[k]);
    if (status == GO_ON)
        status = connect_host(h);
    if (status == GO_ON)
        return GO_ON;
    h->status = status;
    close_host_session(h);
    return status;
}

/* ---- the end ---- */

/* Begins to end the session. We leave the group first, so that others ask for our shards while
 * these are drained. */
static void end_host_session(struct host *h)
{
    if (h->ending)
        return;
    h->ending = true;
    if (h->member.member)
        leave_group(h->member.member);
}

/* Begins to end the host, with that status. */
static void end_host(struct host *h, int status)
{
    if (h->status != GO_ON)
        return;
    h->status = status;
    end_host_session(h);
}

static void on_host_signal(struct host *h, int signo)
{
    switch (signo) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
        h->hurry |= h->status != GO_ON && (signo == SIGINT || signo == SIGTERM);
        end_host(h, STATUS_SIGNAL + signo);
        break;
    case SIGUSR1:
    case SIGUSR2:
        for (int k = 0; k < h->common.options->count; k++)
            if (h->shards[k].plan.state == SHARD_HELD)
                shard_signal(&h->shards[k], signo);
        break;
    default:
        break;
    }
}

/* ---- trouble ---- */

/* Whether the host goes on after a failure with that status. */
static bool host_bears(struct host *h, int status)
{
    return failure_passes(status, atomic_load(&h->member.was_in), &h->refused_since, now_ms(),
                          h->common.settings->session_timeout_ms);
}

/* Ends the session if the servers refuse the credentials, and the host if that lasts. */
static void look_at_credentials(struct host *h)
{
    const zkl_error error = {.code = ZKL_EAUTH};

    if (atomic_load(&h->member.is_in))
        h->refused_since = 0;
    const bool first = h->refused_since == 0;
    if (!atomic_load(&h->refused) || h->ending)
        return;
    if (!host_bears(h, failure_status(error.code)))
        end_host(h, fail_error(&error, h->common.options->run.hold.path));
    else if (first)
        say("%s: the servers refuse the credentials; all shards are given up, and other sessions "
            "are tried",
            h->common.options->run.hold.path);
    end_host_session(h);
}

/* Says why the host cannot join or see the members, and ends the host if the reason does not pass,
 * by failure_passes(). */
static void look_at_denials(struct host *h)
{
    const int64_t now = now_ms();
    struct shards_member *m = &h->member;
    zkl_error error = {0};
    bool last = false;

    pthread_mutex_lock(&m->lock);
    for (int i = TO_JOIN; i <= TO_SEE && !last; i++) {
        if (m->denied[i].code == 0) {
            m->denied_since[i] = 0;
            continue;
        }
        error = m->denied[i];
        last = !failure_passes(failure_status(error.code), atomic_load(&m->was_in),
                               &m->denied_since[i], now, h->common.settings->session_timeout_ms);
    }
    pthread_mutex_unlock(&m->lock);
    if (error.code == 0)
        h->denied = 0;
    if (error.code == 0 || h->status != GO_ON)
        return;
    const int status = fail_once(&error, m->group, &h->denied);
    if (last)
        end_host(h, status);
}

/* Looks at a shard whose node could not be deleted. The node would be first in line as long as the
 * session lives. So the session ends, unless the node is gone in time. */
static void look_at_stuck(struct host *h, struct shard *s)
{
    if (!atomic_load(&s->stuck) || h->ending)
        return;
    if (s->stuck_since == 0)
        s->stuck_since = now_ms();
    if (atomic_load(&s->looked_at) > s->stuck_since && !atomic_load(&s->own_first)) {
        atomic_store(&s->stuck, false);
        s->stuck_since = 0;
    } else if (now_ms() >= s->stuck_since + h->common.settings->session_timeout_ms) {
        say("%s: the node of a shard that was given up cannot be deleted; all shards are given up "
            "for a new session, which ends it",
            shard_path(s));
        end_host_session(h);
    } else {
        atomic_store(&s->look_due, true);
    }
}

/* Looks at all trouble that there may be. Returns when it is to be called again, by now_ms(). */
static int64_t look_at_trouble(struct host *h)
{
    bool in_doubt = atomic_load(&h->member.doubt);

    look_at_credentials(h);
    look_at_denials(h);
    if (now_ms() < h->doubt_at)
        return h->doubt_at;
    for (int k = 0; k < h->common.options->count; k++) {
        look_at_stuck(h, &h->shards[k]);
        in_doubt |= atomic_load(&h->shards[k].stuck);
    }
    if (!in_doubt)
        return INT64_MAX;
    reader_want_again(&h->reader);
    h->doubt_at = now_ms() + AGAIN_MS;
    return h->doubt_at;
}

/* ---- the whole ---- */

/* Looks at each shard. Returns when it is to be called again, by now_ms(). */
static int64_t look_at_shards(struct host *h)
{
    const struct shards_options *o = h->common.options;
    struct shards_member *m = &h->member;
    struct shard_facts facts = {
        .now = now_ms(),
        .drain_ms = o->drain_ms,
        .doubt_ms = h->common.settings->session_timeout_ms,
        .stop = h->ending,
        .hurry = h->hurry,
    };
    int64_t due = INT64_MAX;
    bool looks = false;
    int running = 0, paused = 0;

    facts.member_until = facts.now + (m->member ? membership_ms(m->member) : 0);
    pthread_mutex_lock(&m->lock);
    facts.confirmed = atomic_load(&m->is_in);
    facts.confirmed_since = m->is_in_since;
    pthread_mutex_unlock(&m->lock);
    for (int k = 0; k < o->count; k++) {
        pthread_mutex_lock(&m->lock);
        facts.owned = m->owned[k];
        pthread_mutex_unlock(&m->lock);
        due = MIN(due, shard_look(&h->shards[k], &facts));
        looks |= atomic_load(&h->shards[k].look_due);
        running += h->shards[k].phase == SHARD_RUNNING;
        paused += shard_is_paused(&h->shards[k].plan) && !h->ending;
    }
    atomic_store(&h->gauges[RUNNING].value, running);
    atomic_store(&h->gauges[PAUSED].value, paused);
    if (looks)
        reader_want_again(&h->reader);
    return due;
}

static bool is_idle(const struct host *h)
{
    bool idle = true;

    for (int k = 0; k < h->common.options->count && idle; k++)
        idle = h->shards[k].phase == SHARD_IDLE;
    return idle;
}

/* Looks at the zygote. Ends the host if it is dead. */
static void look_at_zygote(struct host *h, int64_t *due)
{
    const int64_t again = zygote_look(&h->common.zygote);

    if (h->common.zygote.dead && h->status == GO_ON) {
        say("%s: the process that starts the guards is dead; all commands are ended",
            h->common.options->run.hold.path);
        end_host(h, STATUS_INTERNAL);
    }
    if (again != INT64_MAX)
        *due = MIN(*due, now_ms() + again);
}

/* Serves the shards until the session is to be closed. Only here the zygote's channel is waited
 * for, because nobody else takes its nudges. */
static void serve_session(struct host *h)
{
    events_add(h->common.events, h->common.zygote.channel);
    for (;;) {
        int64_t due = INT64_MAX;
        int signo;

        while ((signo = events_signal(h->common.events)) != 0)
            on_host_signal(h, signo);
        look_at_zygote(h, &due);
        const int64_t id = zkl_session_id(h->common.session);
        if (id != h->claimed) {
            zygote_claim(&h->common.zygote, h->common.session);
            h->claimed = id;
        }
        due = MIN(due, look_at_trouble(h));
        due = MIN(due, look_at_shards(h));
        if (h->common.fatal != GO_ON)
            end_host(h, h->common.fatal);
        if (h->ending && is_idle(h))
            break;
        if (due != INT64_MAX)
            events_arm(h->common.events, due - now_ms());
        events_wait(h->common.events);
    }
    events_remove(h->common.events, h->common.zygote.channel);
}

/* Serves the shards in one session after the other. */
static int serve_sessions(struct host *h)
{
    for (;;) {
        int status, signo;

        h->status = GO_ON;
        status = open_session(h);
        say_no_more_of(h->common.settings->verbose ? GO_ON : status);
        if (status == GO_ON) {
            serve_session(h);
            close_host_session(h);
            if (h->status != GO_ON)
                return h->status;
        } else if (!host_bears(h, status)) {
            return status;
        }
        signo = events_pause(h->common.events, AGAIN_MS);
        if (signo != 0)
            return STATUS_SIGNAL + signo;
    }
}

/* ---- before any thread ---- */

/* Makes the options of each shard's command. */
static void fill_holds(struct host *h)
{
    const struct lock_options *run = &h->common.options->run;

    h->common.holds = g_new0(struct hold_options, (gsize)h->common.options->count);
    for (int k = 0; k < h->common.options->count; k++) {
        struct hold_options *hold = &h->common.holds[k];

        *hold = run->hold;
        hold->path = g_strdup_printf("%s/shards/%d", run->hold.path, k);
        hold->commands = h->common.options->count;
        hold->ends_rest = true;
        hold->status_fd = STATUS_FD_NONE; /* the host writes the status lines */
    }
}

static void set_number(const char *name, int number)
{
    g_autofree char *text = g_strdup_printf("%d", number);

    g_setenv(name, text, TRUE);
}

/* Sets the numbers that the command of a new guard inherits. Runs in that guard. */
static void on_guard_born(int k, const struct zygote *z)
{
    set_number("ZKL_SHARD", k);
    set_number("ZKL_SHARDS", z->count);
}

/* Runs the host, from the first process to the last. Returns the exit status. */
static int run_host(struct host *h)
{
    const struct shards_options *o = h->common.options;
    struct rlimit files;
    int status = STATUS_INTERNAL;

    termination_say_unseen(&o->run.hold);
    fill_holds(h);
    h->common.zygote = (struct zygote){.options = h->common.holds,
                                       .count = o->count,
                                       .born = on_guard_born,
                                       .events = h->common.events};
    h->shards = g_new0(struct shard, (gsize)o->count);
    for (int k = 0; k < o->count; k++)
        shard_init(&h->shards[k], &h->common, k);
    shards_member_init(&h->member, &h->common);
    if (zygote_start(&h->common.zygote)) {
        /* The zygote was forked before, so it and the commands have the limit of descriptors that
         * we were given. */
        if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
            files.rlim_cur = files.rlim_max;
            setrlimit(RLIMIT_NOFILE, &files);
        }
        credentials_keep();
        status = serve_sessions(h);
        if (events_typed(h->common.events, status - STATUS_SIGNAL))
            h->common.events->key = status - STATUS_SIGNAL;
        zygote_end(&h->common.zygote);
    }
    shards_member_free(&h->member);
    for (int k = 0; k < o->count; k++)
        g_free((char *)(uintptr_t)h->common.holds[k].path);
    g_free(h->common.holds);
    g_free(h->shards);
    return status;
}

int verb_shards(struct settings *settings, int argc, char **argv)
{
    struct shards_options options;
    struct events events;
    struct metrics_gauge gauges[] = {
        [RUNNING] = {.name = "zkl_shards_running", .help = "Shards whose command runs."},
        [PAUSED] = {.name = "zkl_shards_paused",
                    .help = "Shards that were tried in vain, until they are tried again."},
        {.name = NULL}};
    struct host host = {
        .common = {.settings = settings, .options = &options, .events = &events, .fatal = GO_ON},
        .gauges = gauges,
        .status = GO_ON};
    int status = shards_options_parse(&options, settings, argc, argv);

    if (status == GO_ON)
        status = hold_check_grace(options.run.hold.grace_ms, settings->session_timeout_ms);
    if (status == GO_ON)
        status = connect_begin(settings, &events);
    if (status == GO_ON) {
        events_spare(&events, SIGUSR1);
        events_spare(&events, SIGUSR2);
        status = run_host(&host);
        events_close(&events);
    }
    lock_options_free(&options.run);
    return status;
}
