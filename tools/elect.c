/* zkl elect: runs the command in one term after the other; or shows who leads.
 *
 * Each term has a process of its own, the candidate: a guard is forked before there are threads.
 * The supervisor of the terms has no threads and no session, and is the service manager's main
 * process. It passes signals on and tells it how the term stands. Before the next term, the
 * supervisor waits for the end of all processes that its child leaves. */
#include "connect.h"
#include "contenders.h"
#include "elect_options.h"
#include "guard/channel.h"
#include "guard/processes.h"
#include "guard/shared.h"
#include "guard/sweep.h"
#include "json.h"
#include "listener.h"
#include "notify.h"
#include "run.h"
#include "terminal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the candidate ---- */

/* A process that gets the grant by an election. With --once it campaigns once. Otherwise it starts
 * the election, whose events tell even when to step down. */
struct candidate {
    struct elect_options *options;
    struct shared *shared;
    struct run run;
    struct attempt *attempt;
    zkl_election *election;
    zkl_op *op;           /* --once */
    char *node;           /* the name of our node; NULL: it was not seen yet */
    int64_t node_session; /* in which it was seen, or looked for */
};

/* How many candidates are read, once for each session, to find our own; and for how long. */
#define CANDIDATES_READ 100
#define READ_MS 500

/* Makes the supervisor look at the shared memory. Any thread may call it. */
static void wake_supervisor(void *self)
{
    const struct candidate *c = self;

    channel_nudge(c->run.events->orders);
}

static int candidate_open(void *self, zkl_session *session)
{
    struct candidate *c = self;

    return zkl_election_new(&c->election, session, c->options->run.hold.path,
                            c->options->run.hold.candidate, &c->options->election);
}

/* Takes the grant, or the error that ends the attempt. Runs on a thread of the library, and so does
 * the next function. */
static void candidate_take_result(zkl_grant *grant, const zkl_error *error, void *data)
{
    struct candidate *c = data;

    if (grant) {
        atomic_store(&c->shared->since, (int64_t)time(NULL));
        atomic_store(&c->shared->in_line, true);
        wake_supervisor(c);
    }
    attempt_end(grant, error, c->attempt);
}

/* Acts on an event of a started election. */
static void candidate_on_event(zkl_election *election, zkl_election_event event,
                               const zkl_grant *lent, const zkl_error *error, void *data)
{
    struct candidate *c = data;
    zkl_grant *grant = NULL;
    zkl_error lost = {.code = ZKL_ELOST};

    (void)lent;
    switch (event) {
    case ZKL_ELECTION_LEADING:
        /* Takes a reference of our own. */
        if (zkl_election_campaign(election, 0, &grant) == 0)
            candidate_take_result(grant, NULL, c);
        else
            candidate_take_result(NULL, &lost, c);
        break;
    case ZKL_ELECTION_ASKED:
        guard_ask_to_end(&c->run.guard);
        break;
    case ZKL_ELECTION_FAILED:
    case ZKL_ELECTION_STOPPED:
        if (!atomic_load(&c->attempt->done))
            candidate_take_result(NULL, error ? error : &lost, c);
        break;
    default: /* the grant tells the holder */
        break;
    }
}

static int candidate_seek(void *self, int64_t timeout_ms, struct attempt *attempt)
{
    struct candidate *c = self;

    c->attempt = attempt;
    atomic_store(&c->shared->connected, true);
    wake_supervisor(c);
    if (c->options->once)
        return zkl_election_campaign_async(c->election, timeout_ms, candidate_take_result, c,
                                           &c->op);
    return zkl_election_start(c->election, candidate_on_event, c);
}

/* Tells the supervisor how many are before us, if that has changed. */
static void candidate_look(void *self)
{
    struct candidate *c = self;
    zkl_election_status status = ZKL_ELECTION_STATUS_INIT;

    if (zkl_election_get_status(c->election, &status) != 0)
        return;
    if (status.ahead >= 0)
        atomic_store(&c->shared->in_line, true);
    if (atomic_exchange(&c->shared->ahead, status.ahead) != status.ahead)
        wake_supervisor(c);
}

/* Writes the path of our node. Finds it in the queue, once for each session, because a started
 * election has no operation that knows its node. */
static int candidate_node(void *self, char *buf, size_t size)
{
    struct candidate *c = self;
    const char *path = c->options->run.hold.path;
    const int64_t session = zkl_session_id(c->run.session);

    if (!c->node || c->node_session != session) {
        g_autoptr(zkl_queue) queue =
            contenders_first(c->run.session, path, CANDIDATES_READ, READ_MS);

        g_clear_pointer(&c->node, g_free);
        c->node_session = session;
        for (size_t i = 0; i < zkl_queue_count(queue) && !c->node; i++) {
            const zkl_contender *contender = zkl_queue_get(queue, i);

            if (contender->token != 0 && contender->session_id == session)
                c->node = g_strdup(contender->node);
        }
    }
    if (!c->node)
        return ZKL_ENOENT;
    return (size_t)g_snprintf(buf, size, "%s/%s", path, c->node) < size ? 0 : ZKL_ERANGE;
}

static void candidate_give_up(void *self)
{
    const struct candidate *c = self;

    zkl_election_resign(c->election);
}

static void candidate_close(void *self)
{
    struct candidate *c = self;

    zkl_op_free(c->op);
    zkl_election_free(c->election);
    g_free(c->node);
}

static const struct acquire_ops candidate_ops = {.open = candidate_open,
                                                 .seek = candidate_seek,
                                                 .look = candidate_look,
                                                 .node = candidate_node,
                                                 .give_up = candidate_give_up,
                                                 .over = wake_supervisor,
                                                 .close = candidate_close};

/* ---- the supervisor ---- */

/* The pause between two KILLs of what is left: the first, and the longest. */
#define SWEEP_FIRST_MS 20
#define SWEEP_LAST_MS 1000

struct supervisor {
    const struct settings *settings;
    struct elect_options *options;
    struct events *events;
    struct notify *notify;
    struct shared *shared; /* with the child and its guard */
    struct sweep sweep;    /* for what child and guard leave to us if both are killed */
    int channel;           /* to the child */
    pid_t child;
    int result; /* how the child has ended, as waitpid() gives it */
    bool child_ended;
    bool cleared;          /* its guard has ended all of the command's tree */
    bool ready;            /* READY=1 was sent */
    bool asked;            /* INT or TERM has been passed on */
    bool asked_to_end;     /* a signal has come that ends us */
    int late_signal;       /* it is this one, and came after the child's end; 0: it did not */
    bool was_in_line;      /* a candidate was, in any term */
    int64_t pause_ms;      /* after the last failure; 0: there was none since the last term */
    int64_t refused_since; /* by now_ms(), for failure_passes() */
    int said;              /* the status of the last failure, which was said; GO_ON: none */
    int lost;              /* terms */
};

/* ---- what the service manager is told ---- */

/* Sends READY=1 once a candidate has been connected. A term that was over before we looked counts,
 * too. */
static void notify_ready(struct supervisor *s)
{
    const bool connected = atomic_load(&s->shared->connected);

    if (connected && !s->ready && !s->asked_to_end)
        notify_send(s->notify, "READY=1");
    s->ready |= connected;
}

/* Tells the service manager how the term stands. */
static void notify_stage(struct supervisor *s)
{
    const bool over = atomic_load(&s->shared->gone);
    const int ahead = atomic_load(&s->shared->ahead);
    int64_t since;

    notify_ready(s);
    if (s->child_ended)
        notify_send(s->notify, "STATUS=not in line, ending what is left of the last term");
    else if (over)
        notify_send(s->notify, "STATUS=no longer leader%s",
                    s->options->run.hold.on_lost ? ", running --on-lost" : "");
    if (s->asked_to_end || s->child_ended || over)
        return;
    if (!atomic_load(&s->shared->connected)) {
        notify_send(s->notify, "STATUS=connecting");
    } else if ((since = atomic_load(&s->shared->since)) != 0) {
        g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(since);
        g_autofree char *text = g_date_time_format_iso8601(time);

        notify_send(s->notify, "STATUS=leader since %s", text);
    } else if (ahead > 0) {
        notify_send(s->notify, "STATUS=waiting, %d%s in line", ahead, ordinal_suffix(ahead));
    } else {
        notify_send(s->notify, "STATUS=waiting");
    }
}

/* ---- one term ---- */

/* Keeps signals that are meant for running commands, for example to make them reload, from ending a
 * candidate that stands by: operators send them to all candidates alike. Without a terminal HUP is
 * such a signal; with a terminal it means the end. */
static void spare_signals_of_command(struct events *events, const struct elect_options *options)
{
    struct terminal terminal;

    if (options->once)
        return;
    events_spare(events, SIGUSR1);
    events_spare(events, SIGUSR2);
    terminal_init(&terminal);
    if (!terminal_find(&terminal))
        events_spare(events, SIGHUP);
    terminal_close(&terminal);
}

/* Does the work of the candidate, in its new process: campaigns, leads and ends. The supervisor
 * reads in the shared memory why the term has ended. */
static _Noreturn void become_candidate(const struct supervisor *s, pid_t parent)
{
    struct metrics_gauge gauges[] = {
        {"zkl_terms_lost_total", "Terms before the present one that were lost.", s->lost},
        {.name = NULL}};
    struct events events;
    struct candidate c = {.options = s->options,
                          .shared = s->shared,
                          .run = {.settings = s->settings,
                                  .options = &s->options->run,
                                  .events = &events,
                                  .shared = s->shared,
                                  .ops = &candidate_ops,
                                  .self = &c,
                                  .gauges = gauges}};
    int status = STATUS_INTERNAL;

    /* This process dies with the supervisor. Its guard sees that, and kills the command. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    say_no_more_of(s->said);
    if (getppid() == parent && events_open_below(&events, s->events, s->channel)) {
        spare_signals_of_command(&events, s->options);
        status = run_once(&c.run);
    }
    exit(status);
}

/* Forks the child of the next term. */
static bool start_candidate(struct supervisor *s)
{
    const pid_t self = getpid();

    shared_free(s->shared, 1);
    s->shared = shared_new(1);
    s->child_ended = false;
    s->cleared = false;
    if (!s->shared)
        return false;
    s->child = channel_fork(&s->channel);
    if (s->child == 0)
        become_candidate(s, self);
    if (s->child > 0)
        events_add(s->events, s->channel);
    return s->child > 0;
}

/* Whether the member is part of --on-lost, and none of its daemons, which have sessions of their
 * own and look after themselves. */
static bool is_on_lost(const struct member *m, void *data)
{
    (void)data;
    return m->process->session == getsid(0);
}

/* Returns the signal that has stopped the child; 0: it is not stopped. */
static int child_stopped_by(const struct supervisor *s)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)s->child, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
                   info.si_pid != 0
               ? info.si_status
               : 0;
}

/* Whether the signal ends us: INT and TERM always do. Between two terms no command hears what ends
 * a candidate that waits, and no candidate acts on it, so that ends us, too. */
static bool supervisor_ends(const struct supervisor *s, int signo)
{
    const bool between = s->child_ended || atomic_load(&s->shared->gone);

    return signo == SIGINT || signo == SIGTERM || (between && events_ends(s->events, signo));
}

/* Passes a signal on to the child, which takes signals from us alone: see events_open_below(). */
static void supervisor_pass_on(struct supervisor *s, int signo)
{
    const struct message message = {
        .kind = MESSAGE_SIGNAL, .value = signo, .typed = events_typed(s->events, signo)};
    const bool asks = signo == SIGINT || signo == SIGTERM;
    const bool again = asks && s->asked; /* a dying child may have swallowed the first */
    const bool ends = supervisor_ends(s, signo);

    if (signo == SIGCHLD)
        return;
    if (ends && s->child_ended && !s->asked_to_end)
        s->late_signal = signo; /* the candidate has got neither this one nor one before */
    s->asked |= asks;
    if (ends) {
        s->asked_to_end = true;
        notify_send(s->notify, "STOPPING=1");
    }
    if (!s->child_ended) {
        channel_send(s->channel, &message, NULL, -1);
    } else { /* the guard of a dead candidate passes nothing on to --on-lost */
        s->sweep.tree.helper = atomic_load(&s->shared->guard);
        if (again)
            sweep_kill(&s->sweep, is_on_lost, NULL);
        else
            sweep_signal(&s->sweep, signo, is_on_lost, NULL);
    }
    if (ends && child_stopped_by(s) != 0)
        kill(s->child, SIGCONT); /* a stopped child could not end */
}

/* Reaps all children, even those that other processes have left to us. */
static void supervisor_reap(struct supervisor *s)
{
    pid_t pid;
    int result;

    while ((pid = waitpid(-1, &result, WNOHANG)) > 0)
        if (pid == s->child) {
            s->child_ended = true;
            s->result = result;
        } else if (pid == atomic_load(&s->shared->guard)) {
            s->cleared = WIFEXITED(result) && WEXITSTATUS(result) == STATUS_LOST;
        }
}

/* Whether a signal ended the child, so that it has said nothing of its end. */
static bool was_killed(const struct supervisor *s)
{
    return !WIFEXITED(s->result);
}

/* Whether the child's guard lives. After the child was killed, the guard is our child and ends the
 * command. Continues the guard, which may be stopped. */
static bool guard_lives(const struct supervisor *s)
{
    const pid_t guard = atomic_load(&s->shared->guard);

    if (child_look(guard, NULL) == CHILD_NONE)
        return false;
    kill(guard, SIGCONT);
    return true;
}

/* Waits for the end of the child, and of its guard. Passes signals on, and tells how the term
 * stands. */
static void wait_for_child(struct supervisor *s)
{
    bool open = true;

    while (!s->child_ended || guard_lives(s)) {
        int signo;

        notify_stage(s);
        events_wait(s->events);
        supervisor_reap(s); /* before the signals: a dead child passes none on */
        while ((signo = events_signal(s->events)) != 0)
            supervisor_pass_on(s, signo);
        supervisor_reap(s); /* and after: a SIGCHLD just read may tell of a later death */
        if (open && !channel_take_nudges(s->channel)) {
            open = false;
            events_remove(s->events, s->channel);
        }
        /* The child stops with its command, and our group with it. We block this signal, so it
         * waits; if we went on, no shell would see the job as stopped. */
        if (child_stopped_by(s) == SIGTTOU)
            terminal_let_stop(SIGTTOU);
    }
    notify_ready(s);
    if (open)
        events_remove(s->events, s->channel);
    close(s->channel);
}

static void supervisor_on_refused(const struct process *p, void *data)
{
    const struct supervisor *s = data;

    say("%s: process %d (%s) cannot be signalled because it runs as another user; no new term "
        "begins while it lives",
        s->options->run.hold.path, (int)p->pid, p->name[0] ? p->name : "?");
}

/* Kills what a candidate and its guard have left to us, when both were killed. */
static void kill_orphans(struct supervisor *s)
{
    int64_t pause_ms = SWEEP_FIRST_MS;

    while (sweep_left(&s->sweep) == SWEEP_LIVES) {
        sweep_kill(&s->sweep, sweep_everybody, NULL);
        if (events_wait_at_most(s->events, pause_ms) != 0)
            s->asked_to_end = true;
        if (s->asked_to_end && pause_ms == SWEEP_LAST_MS)
            return; /* we are to end, and KILL has not helped */
        pause_ms = MIN(pause_ms * 2, SWEEP_LAST_MS);
    }
}

/* ---- again and again ---- */

/* Returns the status for a signal that ends us while no command runs. */
static int ended_by(struct supervisor *s, int signo)
{
    if (events_typed(s->events, signo))
        atomic_store(&s->shared->key, signo);
    return STATUS_SIGNAL + signo;
}

/* Says that the term has failed, and waits before the next one. Returns GO_ON, or 128+n: signal n
 * came. */
static int pause_after_failure(struct supervisor *s, int status)
{
    s->pause_ms = pause_next_ms(s->pause_ms);
    if (status != s->said)
        say("%s: not in line; tried again at least every %d s", s->options->run.hold.path,
            PAUSE_LAST_MS / 1000);
    s->said = s->settings->verbose ? GO_ON : status;
    notify_send(s->notify, "STATUS=not in line, next attempt in %d s", (int)(s->pause_ms / 1000));
    const int signo = events_pause(s->events, s->pause_ms);
    supervisor_reap(s);
    return signo != 0 ? ended_by(s, signo) : GO_ON;
}

/* Decides what follows a term. Returns GO_ON if another term does, or the status to end with. */
static int judge_term(struct supervisor *s)
{
    const bool killed = was_killed(s);
    const enum exit_cause cause = killed ? CAUSE_NONE : shared_cause(s->shared);
    const int status = killed ? fail(STATUS_INTERNAL, "%s: the candidate's process was killed",
                                     s->options->run.hold.path)
                              : WEXITSTATUS(s->result);

    s->lost += status == STATUS_LOST && cause != CAUSE_ASKED; /* what is given up is not lost */
    if (cause == CAUSE_ENDED || s->options->once)
        return status;
    if (s->late_signal != 0 && !killed)
        return ended_by(s, s->late_signal);
    if (s->asked_to_end)
        return status;
    /* If the candidate was in line, earlier failures are forgotten, however it has ended. */
    if (atomic_load(&s->shared->in_line)) {
        s->was_in_line = true;
        s->refused_since = 0;
        s->said = GO_ON;
        if (atomic_load(&s->shared->since) != 0)
            s->pause_ms = 0;
    }
    if (cause != CAUSE_NONE && cause != CAUSE_GUARD)
        return GO_ON; /* deposed, or it has stepped down */
    return failure_passes(status, s->was_in_line, &s->refused_since, now_ms(),
                          s->settings->session_timeout_ms)
               ? pause_after_failure(s, status)
               : status;
}

/* Runs one term. A process that an earlier term has left, as --on-lost may on purpose, is not part
 * of this term. Returns false with errno set if no process can be started. */
static bool run_term(struct supervisor *s)
{
    struct hold_options *o = &s->options->run.hold;

    if (!processes_reserve())
        return false;
    sweep_init(&s->sweep, getpid(), 0, o->leave_daemons);
    o->cgroup = cgroup_new(o->leave_daemons);
    s->sweep.cgroup = o->cgroup;
    s->sweep.on_refused = supervisor_on_refused;
    s->sweep.data = s;
    const bool started = start_candidate(s);
    if (started)
        wait_for_child(s);
    if (started && was_killed(s) && !s->cleared)
        kill_orphans(s);
    sweep_free(&s->sweep);
    cgroup_free(o->cgroup);
    return started;
}

/* Runs terms until one ends it all. Returns the exit status. */
static int run_terms(const struct settings *settings, struct elect_options *options,
                     struct events *events)
{
    struct supervisor s = {
        .settings = settings, .options = options, .events = events, .said = GO_ON};
    int status = GO_ON;

    termination_say_unseen(&options->run.hold);
    s.notify = notify_open();
    spare_signals_of_command(events, options);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    while (status == GO_ON)
        status = run_term(&s)
                     ? judge_term(&s)
                     : fail(STATUS_INTERNAL, "cannot start a process: %s", g_strerror(errno));
    notify_send(s.notify, "STOPPING=1");
    notify_close(s.notify);
    events->key = s.shared ? atomic_load(&s.shared->key) : 0;
    shared_free(s.shared, 1);
    return status;
}

/* ---- who leads ---- */

/* What --listen and --leader show: a line for each leader, its token and its id, or "nobody". */
struct elect_look {
    struct listener listener; /* the first member */
    const struct elect_options *options;
    zkl_election *election;
    uint64_t token; /* the leader's, in the last line */
    bool told;      /* a line was written */
};

/* Returns the line that shows a leader, for people or as JSON; token 0: nobody leads. */
static char *leader_line(bool json, uint64_t token, const char *id)
{
    GString *out = g_string_new(json ? "{\"token\": " : NULL);

    if (token == 0) {
        g_string_append(out, json ? "null, \"id\": null" : "nobody");
    } else if (json) {
        g_string_append_printf(out, "%" G_GUINT64_FORMAT ", \"id\": ", token);
        json_string(out, id);
    } else {
        g_string_append_printf(out, "%" G_GUINT64_FORMAT " ", token);
        append_visible(out, id);
    }
    g_string_append(out, json ? "}\n" : "\n");
    return g_string_free(out, FALSE);
}

static int open_election(struct onlooker *o)
{
    struct elect_look *l = (struct elect_look *)o;

    return zkl_election_new(&l->election, o->session, o->path, NULL, &l->options->election) == 0
               ? GO_ON
               : fail_last(o->path);
}

/* ---- --leader ---- */

static int show_leader(struct onlooker *o)
{
    const struct elect_look *l = (const struct elect_look *)o;
    uint64_t token = 0;
    int code;
    size_t size = 2048;
    g_autofree char *id = g_malloc(size);
    g_autoptr(GString) line = g_string_new(NULL);

    /* Other programs may have long ids. A node's data has a megabyte at most. */
    while ((code = zkl_election_leader(l->election, id, size, &token)) == ZKL_ERANGE) {
        size *= 2;
        id = g_realloc(id, size);
    }
    if (code != 0 && code != ZKL_ENOENT)
        return contenders_failed(o->path);
    if (l->options->json) {
        g_autofree char *json = leader_line(true, token, id);

        fputs(json, stdout);
    } else if (code == 0) {
        if (o->settings->verbose)
            g_string_append_printf(line, "%" G_GUINT64_FORMAT " ", token);
        append_visible(line, id);
        puts(line->str);
    }
    return code == 0 ? STATUS_OK : STATUS_CONFLICT;
}

/* ---- --listen ---- */

/* Adds a line for a new leader. Runs on a thread of the library, which must not wait for a slow
 * reader. So older lines are dropped when there is no room: the last leader counts. */
static void on_leader(const zkl_leader *leader, void *data)
{
    struct elect_look *l = data;

    if (l->told && leader->token == l->token)
        return; /* the same leader has proclaimed something */
    l->told = true;
    l->token = leader->token;
    listener_add(&l->listener, leader_line(l->options->json, leader->token, leader->id), false);
}

/* Reads one candidate: only whether that is possible counts. */
static int read_first_candidate(zkl_queue **ret, struct reader *r, size_t most)
{
    const struct onlooker *o = r->data;
    zkl_queue_options options = ZKL_QUEUE_OPTIONS_INIT;

    (void)most;
    options.max_nodes = 1;
    return zkl_queue_read(ret, o->session, o->path, &options, ZKL_FOREVER);
}

/* Begins to show changes for --listen; or shows the present leader for --leader. */
static int look_at_leaders(struct onlooker *o)
{
    struct elect_look *l = (struct elect_look *)o;

    if (l->options->mode == ELECT_LEADER)
        return show_leader(o);
    return zkl_election_watch(&l->listener.observer, l->election, on_leader, l) == 0
               ? GO_ON
               : fail_last(o->path);
}

static int elect_look(const struct settings *settings, const struct elect_options *options,
                      struct events *events)
{
    static const struct onlooker_ops ops = {.open = open_election,
                                            .begin = look_at_leaders,
                                            .see = listener_see,
                                            .end = listener_end,
                                            .read = read_first_candidate};
    struct elect_look l = {.options = options};
    const int status = listener_run(&l.listener, settings, options->run.hold.path, events, &ops);

    zkl_election_free(l.election);
    return status;
}

/* ---- the verb ---- */

int verb_elect(struct settings *settings, int argc, char **argv)
{
    struct elect_options options;
    struct events events;
    int status = elect_options_parse(&options, settings, argc, argv);

    if (status == GO_ON)
        status = connect_begin(settings, &events);
    if (status == GO_ON) {
        status = options.mode == ELECT_RUN ? run_terms(settings, &options, &events)
                                           : elect_look(settings, &options, &events);
        events_close(&events);
    }
    lock_options_free(&options.run);
    return status;
}
