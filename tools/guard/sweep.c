/* A sweep sends a signal to the members of a tree (tree.h). Before it signals a process, it opens a
 * pidfd of that process, and then looks once more whether the process is a member. A child that we
 * have not reaped needs no such look: its pid means nobody else. */
#include "sweep.h"
#include "../events.h"
#include "priority.h"
#include "processes.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The most passes over a tree that keeps growing, before the caller looks at its clock again. */
#define PASSES_MOST 32

/* How often our own children are killed after one look at all processes. */
#define CHILDREN_MOST 64

/* How often a list of children that keeps changing is read anew. */
#define LOOKS_MOST 16

/* How long a look goes on before the caller takes its events again; and how many processes the look
 * reads before it reads the clock again. */
#define LOOK_PART_MS 50
#define LOOK_PART 16

/* After how many signals to others our own children are listed again: when a parent is dead, its
 * children come to us. */
#define OTHERS_MOST 32

/* No process has a higher number, whatever the system is set to: PID_MAX_LIMIT of the kernel. */
#define PID_LAST (sizeof(long) > 4 ? 4 * 1024 * 1024 : 32 * 1024)

/* How many pids are tried in a row. */
#define ASK_PART 4096

/* ---- sets of processes ---- */

/* Returns what names a process for ever: its start and its pid. A pid has 22 bits, and is not used
 * again within a tick. */
static gint64 process_key(const struct process *p)
{
    return (gint64)(p->start << 22) | p->pid;
}

/* Adds a process to a set. Returns whether it was not there before. */
static bool sweep_add(GHashTable *set, const struct process *p)
{
    const gint64 key = process_key(p);

    return g_hash_table_add(set, g_memdup2(&key, sizeof key));
}

static bool sweep_contains(GHashTable *set, const struct process *p)
{
    const gint64 key = process_key(p);

    return g_hash_table_contains(set, &key);
}

/* Lends list as a table; NULL: an empty one. */
static struct process_table as_table(const GArray *list)
{
    return list
               ? (struct process_table){(const struct process *)(const void *)list->data, list->len}
               : (struct process_table){0};
}

/* Reads our present children, sorted. */
static GArray *read_own_children(void)
{
    g_autoptr(GArray) pids = processes_children(getpid());
    GArray *list = g_array_new(FALSE, FALSE, sizeof(struct process));
    for (guint i = 0; pids && i < pids->len; i++) {
        struct process p;

        if (process_read(g_array_index(pids, pid_t, i), &p, NULL))
            g_array_append_val(list, p);
    }
    tree_sort((struct process *)(void *)list->data, list->len);
    return list;
}

void sweep_init(struct sweep *s, pid_t root, pid_t helper, bool leave_sessions)
{
    *s = (struct sweep){.tree = {.root = root, .helper = helper}};
    s->tree.leave_sessions = leave_sessions;
    s->tree.session = getsid(0); /* 0 if its leader is outside of our namespace */
    s->alone = waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) != 0;
    s->found = s->alone ? NULL : read_own_children();
    s->prior = s->found ? g_array_ref(s->found) : NULL;
    s->tree.prior = as_table(s->prior);
    s->killed = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    s->stopped = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    s->refused = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    s->own = g_hash_table_new(NULL, NULL);
    s->struck = g_hash_table_new(NULL, NULL);
}

void sweep_free(struct sweep *s)
{
    g_clear_pointer(&s->prior, g_array_unref);
    g_clear_pointer(&s->found, g_array_unref);
    g_clear_pointer(&s->killed, g_hash_table_unref);
    g_clear_pointer(&s->stopped, g_hash_table_unref);
    g_clear_pointer(&s->refused, g_hash_table_unref);
    g_clear_pointer(&s->own, g_hash_table_unref);
    g_clear_pointer(&s->struck, g_hash_table_unref);
    g_clear_pointer(&s->known, g_array_unref);
    g_clear_pointer(&s->look.seen, g_hash_table_unref);
    g_clear_pointer(&s->look.list, g_array_unref);
}

void sweep_spare(struct sweep *s, GArray *processes)
{
    g_clear_pointer(&s->prior, g_array_unref);
    s->alone = false;
    if (s->found)
        g_array_append_vals(processes, s->found->data, s->found->len);
    s->prior = processes;
    tree_sort((struct process *)(void *)processes->data, processes->len);
    s->tree.prior = as_table(s->prior);
}

/* ---- our own children ---- */

/* Whether pid is that of a prior process, and still means that process as far as can be read. */
static bool is_prior(const struct sweep *s, pid_t pid)
{
    for (size_t i = 0; i < s->tree.prior.count; i++) {
        const struct process *prior = &s->tree.prior.list[i];
        struct process now;

        if (prior->pid == pid)
            return !process_read(pid, &now, NULL) || now.start == prior->start;
    }
    return false;
}

/* Whether a child must stay unreaped, or is no member. */
static bool must_stay(const struct sweep *s, pid_t pid)
{
    return pid == s->tree.group || pid == s->tree.helper || is_prior(s, pid);
}

/* Whether our children have to be found by trying pids, because no list shows them. All of them are
 * members then. */
static bool must_ask(const struct sweep *s)
{
    return s->alone && !s->tree.leave_sessions && s->tree.root == getpid() &&
           processes_sight() == SIGHT_NONE;
}

/* Appends those of the ASK_PART pids after last that are our children. */
static void ask_for_numbers(pid_t last, GArray *pids)
{
    for (int i = 0; i < ASK_PART; i++) {
        const pid_t pid = (last + i) % (pid_t)PID_LAST + 1;

        if (child_look(pid, NULL) != CHILD_NONE)
            g_array_append_val(pids, pid);
    }
}

/* Finds our children among the processes with the next pids. They began after us, so their pids
 * come after our own, or after 0 if the kernel has begun again there since. */
static GArray *ask_for_children(struct sweep *s)
{
    const int64_t until = now_ms() + LOOK_PART_MS;
    GArray *pids = g_array_new(FALSE, FALSE, sizeof(pid_t));

    do {
        ask_for_numbers(getpid() + s->asked, pids);
        ask_for_numbers(s->asked, pids);
        s->asked = (s->asked + ASK_PART) % (pid_t)PID_LAST;
    } while (now_ms() < until);
    return pids;
}

/* Reaps our children that have ended, except those that must stay. */
static void sweep_reap(const struct sweep *s)
{
    g_autoptr(GArray) pids = processes_children(getpid());

    for (guint i = 0; pids && i < pids->len; i++)
        if (!must_stay(s, g_array_index(pids, pid_t, i)))
            waitpid(g_array_index(pids, pid_t, i), NULL, WNOHANG);
}

/* ---- signals ---- */

/* Tells of a process that we may not signal, once. */
static void report_refused(struct sweep *s, const struct process *p)
{
    if (sweep_add(s->refused, p) && s->on_refused)
        s->on_refused(p, s->data);
}

static bool is_own(const struct sweep *s, pid_t pid)
{
    return g_hash_table_contains(s->own, GINT_TO_POINTER(pid));
}

/* Lists our children in .own. The list is empty if we do not reap them, or if one may be no member:
 * then a pid might mean another process. */
static void list_own(struct sweep *s)
{
    const bool all = s->tree.root == getpid() && !s->tree.leave_sessions;
    g_autoptr(GArray) pids = all ? processes_children(getpid()) : NULL;

    g_hash_table_remove_all(s->own);
    for (guint i = 0; pids && i < pids->len; i++)
        if (!must_stay(s, g_array_index(pids, pid_t, i)))
            g_hash_table_add(s->own, GINT_TO_POINTER(g_array_index(pids, pid_t, i)));
}

/* Sends by the pidfd, or by the pid if there is no pidfd. */
static int send_by(int fd, pid_t pid, int signo)
{
    return fd >= 0 ? (int)syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0) : kill(pid, signo);
}

/* Sends signo to a process of which we know that it is meant; CONT too, after TERM. */
static bool send_now(struct sweep *s, int fd, const struct process *p, int signo)
{
    const bool sent = send_by(fd, p->pid, signo) == 0;

    if (!sent && errno == EPERM)
        report_refused(s, p);
    if (sent && signo == SIGTERM)
        send_by(fd, p->pid, SIGCONT); /* a stopped one does not act on TERM */
    return sent;
}

/* Sends signo to a member. If list_own() has found it, its pid is nobody else's until we reap it.
 * So one system call is enough, where others need nine: a pidfd is opened, and a look tells once
 * more whether the process is meant. On a kernel without pidfds, only that look is left. */
static bool send_to(struct sweep *s, struct process_table table, const struct process *p, int signo,
                    size_t *others)
{
    if (!is_own(s, p->pid) && (*others)++ % OTHERS_MOST == 0)
        list_own(s);
    if (is_own(s, p->pid)) {
        if (signo == SIGKILL)
            g_hash_table_add(s->struck, GINT_TO_POINTER(p->pid));
        return send_now(s, -1, p, signo);
    }
    const int fd = process_open(p->pid);
    const bool sent = (fd >= 0 || errno == ENOSYS) &&
                      tree_still(&s->tree, table, p, process_read, NULL) &&
                      send_now(s, fd, p, signo);
    if (fd >= 0)
        close(fd);
    processes_reserve();
    return sent;
}

bool sweep_everybody(const struct member *m, void *data)
{
    (void)m;
    (void)data;
    return true;
}

/* Whether a process is to get signo. KILL is sent once. STOP is sent again if somebody else has
 * continued the process. */
static bool is_due(const struct sweep *s, const struct process *p, int signo)
{
    if (signo == SIGKILL)
        return !sweep_contains(s->killed, p);
    return signo != SIGSTOP || !p->stopped;
}

/* Remembers who has got KILL or STOP. Returns whether this was the first time; true for other
 * signals. */
static bool remember_sent(const struct sweep *s, const struct process *p, int signo)
{
    if (signo == SIGKILL)
        return sweep_add(s->killed, p);
    return signo != SIGSTOP || sweep_add(s->stopped, p);
}

/* Sends signo to the chosen members in list, until the time until, by now_ms(); INT64_MAX: there is
 * none. A parent may act on the stop of a child. The list is by pid, so parents mostly come first:
 * they are stopped before their children and continued after them. */
static struct swept signal_listed(struct sweep *s, const GArray *list, int signo, int64_t until,
                                  sweep_choose_fn *choose, void *data)
{
    const struct process_table table = as_table(list);
    g_autofree struct member *members = g_new(struct member, table.count + 1);
    const size_t count = tree_members(&s->tree, table, members);
    struct swept r = {0};
    size_t others = 0;

    g_hash_table_remove_all(s->own);
    for (size_t i = 0; i < count && (until == INT64_MAX || now_ms() < until); i++) {
        const struct member *m = &members[signo == SIGCONT ? count - 1 - i : i];
        const struct process *p = m->process;

        if (r.first.pid == 0 || (r.first.guard && !p->guard))
            r.first = *p;
        r.others += p->guard ? 0 : 1;
        if (!choose || !choose(m, data))
            r.spared++;
        else if (is_due(s, p, signo) && send_to(s, table, p, signo, &others) &&
                 remember_sent(s, p, signo))
            r.sent++;
    }
    return r;
}

struct swept sweep_signal(struct sweep *s, int signo, sweep_choose_fn *choose, void *data)
{
    g_autoptr(GArray) list = processes_below(&s->tree);

    if (!list)
        list = processes_read();
    return list ? signal_listed(s, list, signo, INT64_MAX, choose, data)
                : (struct swept){.blind = true};
}

/* Ends a look, and takes its result as .known. If the kernel has not told of children, all
 * processes are read for that. */
static void finish_look(struct sweep *s, struct processes_look *look, enum processes_looked looked)
{
    g_clear_pointer(&s->known, g_array_unref);
    s->known = processes_look_end(look);
    if (looked != LOOK_UNTOLD)
        return;
    g_array_unref(s->known);
    s->known = processes_read();
}

/* Goes on with a look until it is finished, or until the time until, by now_ms(). */
static enum processes_looked look_until(const struct sweep *s, struct processes_look *look,
                                        int64_t until)
{
    enum processes_looked looked;

    do
        looked = processes_look_on(&s->tree, look, LOOK_PART);
    while (looked == LOOK_UNFINISHED && now_ms() < until);
    return looked;
}

bool sweep_look_on(struct sweep *s)
{
    if (!s->look.list)
        processes_look_begin(&s->look, 1);
    const enum processes_looked looked = look_until(s, &s->look, now_ms() + LOOK_PART_MS);
    if (looked == LOOK_UNFINISHED)
        return false;
    finish_look(s, &s->look, looked);
    return true;
}

size_t sweep_count(const struct sweep *s)
{
    const struct process_table table = as_table(s->known);
    g_autofree struct member *members = g_new(struct member, table.count + 1);

    return tree_members(&s->tree, table, members);
}

/* Ends an unfinished look, and takes its result if that is more than what was known. */
static void finish_look_if_more(struct sweep *s, struct processes_look *look)
{
    if (!s->known || s->known->len < look->list->len)
        finish_look(s, look, LOOK_UNFINISHED);
    else
        g_array_unref(processes_look_end(look));
}

void sweep_term(struct sweep *s, int64_t until, sweep_choose_fn *choose, void *data)
{
    struct processes_look look;

    processes_look_begin(&look, LOOK_ROUNDS_MOST);
    const enum processes_looked looked = look_until(s, &look, now_ms() + (until - now_ms()) / 2);
    if (looked == LOOK_UNFINISHED)
        finish_look_if_more(s, &look);
    else
        finish_look(s, &look, looked);
    if (s->known)
        signal_listed(s, s->known, SIGTERM, until, choose, data);
}

/* Kills a child that lives, is a member and is chosen. Returns whether it had not been killed
 * before. */
static bool kill_child(struct sweep *s, pid_t pid, sweep_choose_fn *choose, void *data)
{
    struct process p = {.pid = pid};
    const struct member m = {.process = &p, .place = TREE_INSIDE};

    if (must_stay(s, pid) || waitpid(pid, NULL, WNOHANG) != 0)
        return false;
    process_read(pid, &p, NULL);
    if (tree_exempts(&s->tree, &p) || !choose(&m, data))
        return false;
    if (kill(pid, SIGKILL) != 0) {
        report_refused(s, &p);
        return false;
    }
    g_hash_table_add(s->struck, GINT_TO_POINTER(pid));
    return sweep_add(s->killed, &p);
}

/* Removes from .struck what is no child any more: such a pid may mean another process soon. */
static void forget_struck(struct sweep *s, const GArray *pids)
{
    GHashTable *left = g_hash_table_new(NULL, NULL);

    for (guint i = 0; pids && i < pids->len; i++) {
        const gpointer pid = GINT_TO_POINTER(g_array_index(pids, pid_t, i));

        if (g_hash_table_contains(s->struck, pid))
            g_hash_table_add(left, pid);
    }
    g_hash_table_unref(s->struck);
    s->struck = left;
}

/* The children of a process that forks and ends faster than we look at all processes become ours,
 * again and again. The pid of a child that we have not reaped means nobody else. The newest come
 * first, because most of the others are dead. We wait for nobody: that would keep a processor from
 * those who are to die. */
void sweep_kill_children(struct sweep *s, sweep_choose_fn *choose, void *data)
{
    bool any = s->all_killed;

    for (int i = 0; i < CHILDREN_MOST && any; i++) {
        g_autoptr(GArray) pids = must_ask(s) ? ask_for_children(s) : processes_children(getpid());

        any = false;
        forget_struck(s, pids);
        for (guint k = pids ? pids->len : 0; k > 0; k--) {
            const pid_t pid = g_array_index(pids, pid_t, k - 1);

            any |= !g_hash_table_contains(s->struck, GINT_TO_POINTER(pid)) &&
                   kill_child(s, pid, choose, data);
        }
        if (any) {
            s->asked = 0;     /* the pids of what these leave are near */
            priority_pause(); /* for them to die */
        }
    }
}

/* Sends signo in passes over the tree, until a pass finds nobody new. */
static struct swept signal_until_nobody_new(struct sweep *s, int signo, sweep_choose_fn *choose,
                                            void *data)
{
    struct swept r = {0};
    size_t sent = 0;

    for (int i = 0; i < PASSES_MOST; i++) {
        sweep_reap(s);
        r = sweep_signal(s, signo, choose, data);
        sent += r.sent;
        s->all_killed = signo == SIGKILL && r.spared == 0 && (!r.blind || must_ask(s));
        if (s->all_killed && !r.blind)
            cgroup_kill(s->cgroup);
        sweep_kill_children(s, choose, data);
        if (r.sent == 0)
            break;
        priority_pause();
    }
    s->all_killed &= r.sent == 0;
    r.sent = sent;
    return r;
}

struct swept sweep_kill(struct sweep *s, sweep_choose_fn *choose, void *data)
{
    if (s->look.list)
        finish_look_if_more(s, &s->look);
    if (s->known)
        signal_listed(s, s->known, SIGKILL, INT64_MAX, choose, data);
    g_clear_pointer(&s->known, g_array_unref);
    return signal_until_nobody_new(s, SIGKILL, choose, data);
}

struct swept sweep_stop(struct sweep *s, sweep_choose_fn *choose, void *data)
{
    return signal_until_nobody_new(s, SIGSTOP, choose, data);
}

/* Whether sweep_stop() has stopped the member, or it is a zkl that has stopped since. */
static bool stopped_by_us(const struct member *m, void *data)
{
    const struct sweep *s = data;

    return sweep_contains(s->stopped, m->process) || (m->tool && m->process->stopped);
}

struct swept sweep_continue(struct sweep *s)
{
    const struct swept r = sweep_signal(s, SIGCONT, stopped_by_us, s);

    g_hash_table_remove_all(s->stopped);
    return r;
}

/* ---- what is left ---- */

/* Whether a process lives. The kernel tells that of a child of ours. Others are looked up in /proc,
 * and one that /proc does not show may still be there. */
static bool is_alive(struct sweep *s, pid_t pid)
{
    struct process p = {.pid = pid};
    const enum child ours = child_look(pid, NULL);
    const bool seen = process_read(pid, &p, NULL);

    if (ours == CHILD_ENDED)
        return false;
    if (ours == CHILD_NONE && seen)
        return !p.dead;
    if (kill(pid, 0) == 0 || seen)
        return true;
    if (errno != EPERM)
        return false;
    report_refused(s, &p);
    return true;
}

/* Whether a child of root or of helper is a member. */
static bool is_member(const struct sweep *s, pid_t pid)
{
    const bool exempt = s->tree.leave_sessions && getsid(pid) != s->tree.session;
    struct process p;

    if (process_read(pid, &p, NULL) && p.closing)
        return false;
    return pid != s->tree.helper && !exempt && !is_prior(s, pid);
}

/* Appends the children of a process. Returns false if the kernel does not tell. */
static bool sweep_append_children(GArray *all, pid_t parent)
{
    g_autoptr(GArray) pids = processes_children(parent);

    if (pids)
        g_array_append_vals(all, pids->data, pids->len);
    return pids != NULL;
}

/* Lists the children of root and helper; NULL: they are not known. */
static GArray *children_of_tree(const struct sweep *s)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(pid_t));

    if (!sweep_append_children(all, s->tree.root) ||
        (s->tree.helper != 0 && !sweep_append_children(all, s->tree.helper) &&
         processes_are_short()))
        g_clear_pointer(&all, g_array_unref); /* a helper that is gone has none */
    return all;
}

/* Whether one of the children is a member that lives. */
static bool any_alive(struct sweep *s, const GArray *pids)
{
    bool alive = false;

    /* Once one lives, the others matter only if they refuse signals, which is_alive() reports. */
    for (guint i = 0; i < pids->len; i++)
        if (!alive || kill(g_array_index(pids, pid_t, i), 0) != 0)
            alive |= is_member(s, g_array_index(pids, pid_t, i)) &&
                     is_alive(s, g_array_index(pids, pid_t, i));
    return alive;
}

/* Returns what is left when a look has failed: something, if memory or descriptors were short; else
 * that is not known. */
static enum sweep_left cannot_tell(void)
{
    return processes_are_short() ? SWEEP_LIVES : SWEEP_UNKNOWN;
}

/* Looks for living members in lists of children. Children may come to us after a list was made.
 * But if all in it were dead before the next list was made, and that is the same, there are no
 * others. */
static enum sweep_left left_by_children(struct sweep *s)
{
    g_autoptr(GArray) last = NULL;
    enum sweep_left result = SWEEP_LIVES;

    for (int i = 0; i < LOOKS_MOST && result == SWEEP_LIVES; i++) {
        sweep_reap(s);
        GArray *now = children_of_tree(s);
        if (!now)
            result = cannot_tell();
        else if (any_alive(s, now))
            i = LOOKS_MOST;
        else if (last && last->len == now->len &&
                 (now->len == 0 || memcmp(last->data, now->data, now->len * sizeof(pid_t)) == 0))
            result = SWEEP_GONE;
        g_clear_pointer(&last, g_array_unref);
        last = now;
    }
    return result;
}

/* A wait for stops alone does not count the dead. */
bool sweep_has_child(void)
{
    return waitid(P_ALL, 0, &(siginfo_t){0}, WSTOPPED | WNOHANG | WNOWAIT) == 0;
}

/* Looks for living members among all processes, twice: the second look sees what began where the
 * first had passed. */
static enum sweep_left left_by_table(struct sweep *s)
{
    for (int i = 0; i < 2; i++) {
        g_autoptr(GArray) list = processes_read();

        if (!list)
            return cannot_tell();
        if (signal_listed(s, list, 0, INT64_MAX, NULL, NULL).first.pid != 0)
            return SWEEP_LIVES;
    }
    return SWEEP_GONE;
}

enum sweep_left sweep_left(struct sweep *s)
{
    const enum sweep_left left = left_by_children(s);

    if (left == SWEEP_UNKNOWN && must_ask(s))
        return sweep_has_child() ? SWEEP_LIVES : SWEEP_GONE;
    /* Below a child in another session there may be members. */
    if (left == SWEEP_UNKNOWN || (left == SWEEP_GONE && s->tree.leave_sessions))
        return left_by_table(s);
    return left;
}
