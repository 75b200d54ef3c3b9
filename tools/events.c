/* Makes signals, wake-ups and one timer descriptors, for poll(2) in the main thread. */
#include "events.h"
#include "guard/channel.h"
#include "tool.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Signals that end us while no command runs, and that we pass on when one does. */
static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/* Signals that never end us. */
static const int harmless[] = {SIGCONT, SIGWINCH};

/* Signals that our own output can cause, and that must not end or stop a holder: a reader is gone,
 * a file may not grow, a terminal is not ours to write to or to take back, a descriptor tells that
 * it is ready (O_ASYNC). */
static const int silent[] = {SIGPIPE, SIGXFSZ, SIGTTOU, SIGIO};

void events_catch(struct events *e, int signo)
{
    struct sigaction old;

    /* A signal that nohup(1) or "command &" ignores stays ignored. */
    if (sigaction(signo, NULL, &old) != 0 || old.sa_handler == SIG_IGN)
        return;
    sigaddset(&e->caught, signo);
    pthread_sigmask(SIG_BLOCK, &e->caught, NULL);
    if (e->signals >= 0)
        signalfd(e->signals, &e->caught, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void catch_harmless(struct events *e)
{
    for (size_t i = 0; i < G_N_ELEMENTS(harmless); i++)
        events_catch(e, harmless[i]);
}

/* Opens the descriptors of e, which has had no event yet. */
static bool open_descriptors(struct events *e)
{
    e->vital = 0;
    e->reaps = false;
    e->unreaped = NULL;
    e->forker = 0;
    e->asked_at = 0;
    e->key = 0;
    sigemptyset(&e->spared);
    sigemptyset(&e->typed);
    e->others = g_array_new(FALSE, FALSE, sizeof(int));
    e->signals = signalfd(-1, &e->caught, SFD_CLOEXEC | SFD_NONBLOCK);
    e->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (e->signals >= 0 && e->wakeup >= 0 && e->timer >= 0)
        return true;
    say("cannot create descriptors: %s", g_strerror(errno));
    events_close(e);
    return false;
}

bool events_open(struct events *e)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t set;

    e->signals = -1;
    e->orders = -1;
    pthread_sigmask(SIG_BLOCK, NULL, &e->original);
    sigemptyset(&e->caught);
    for (size_t i = 0; i < G_N_ELEMENTS(deadly); i++)
        events_catch(e, deadly[i]);
    catch_harmless(e);
    /* An ignored SIGCHLD would let the kernel reap the command before we know how it ended. */
    sigaction(SIGCHLD, &standard, &e->chld);
    events_catch(e, SIGCHLD);
    sigemptyset(&set);
    for (size_t i = 0; i < G_N_ELEMENTS(silent); i++)
        sigaddset(&set, silent[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return open_descriptors(e);
}

/* Opens e in a child, with fd as one more descriptor. What the child starts gets the signal mask
 * and the action at SIGCHLD that parent was started with. */
static bool open_for_child(struct events *e, struct events *parent, int fd)
{
    e->original = parent->original;
    e->chld = parent->chld;
    events_close(parent);
    if (!open_descriptors(e))
        return false;
    events_add(e, fd);
    return true;
}

bool events_open_below(struct events *e, struct events *parent, int orders)
{
    e->signals = -1;
    e->orders = orders;
    sigemptyset(&e->caught);
    catch_harmless(e);
    events_catch(e, SIGCHLD);
    return open_for_child(e, parent, orders);
}

bool events_open_deaf(struct events *e, struct events *parent, int channel)
{
    sigset_t all;

    e->orders = -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&e->caught);
    sigaddset(&e->caught, SIGCHLD);
    return open_for_child(e, parent, channel);
}

/* Lets signo end us as it does by default; and our group, unless the group has had it. */
static void end_group(const struct events *e, int signo)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t set;

    if (!sigismember(&e->caught, signo))
        return;
    prctl(PR_SET_DUMPABLE, 0); /* SIGQUIT is meant for the command: no core of ours */
    sigaction(signo, &standard, NULL);
    sigemptyset(&set);
    sigaddset(&set, signo);
    kill(events_typed(e, signo) ? getpid() : 0, signo);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void events_close(struct events *e)
{
    if (e->signals >= 0)
        close(e->signals);
    if (e->wakeup >= 0)
        close(e->wakeup);
    if (e->timer >= 0)
        close(e->timer);
    if (e->orders >= 0)
        close(e->orders);
    g_clear_pointer(&e->others, g_array_unref);
    if (e->key != 0)
        end_group(e, e->key);
}

/* Empties an eventfd or a timerfd. */
static void drain_counter(int fd)
{
    uint64_t count;

    while (read(fd, &count, sizeof count) == (ssize_t)sizeof count)
        continue;
}

void events_wait(struct events *e)
{
    const int own[] = {e->signals, e->wakeup, e->timer};
    const guint count = G_N_ELEMENTS(own) + e->others->len;
    struct pollfd *fds = g_newa(struct pollfd, count);

    for (guint i = 0; i < count; i++)
        fds[i] = (struct pollfd){
            .fd = i < G_N_ELEMENTS(own)
                      ? own[i]
                      : g_array_index(e->others, int, i - (guint)G_N_ELEMENTS(own)),
            .events = POLLIN,
        };
    if (poll(fds, count, -1) <= 0)
        return;
    if (fds[1].revents)
        drain_counter(e->wakeup);
    if (fds[2].revents)
        drain_counter(e->timer);
}

void events_add(struct events *e, int fd)
{
    g_array_append_val(e->others, fd);
}

void events_remove(struct events *e, int fd)
{
    for (guint i = 0; i < e->others->len; i++)
        if (g_array_index(e->others, int, i) == fd) {
            g_array_remove_index_fast(e->others, i);
            return;
        }
}

/* Takes a signal that our parent has passed on; 0: there is none. */
static int ordered_signal(struct events *e)
{
    struct message message = {0};
    g_autofree char *text = NULL;

    if (e->orders < 0 || channel_receive(e->orders, &message, &text, NULL) != MESSAGE_RECEIVED)
        return 0;
    if (message.typed)
        sigaddset(&e->typed, message.value);
    return message.value;
}

bool events_typed(const struct events *e, int signo)
{
    return sigismember(&e->typed, signo) == 1;
}

/* Whether signo repeats the first request to end too soon to count. Remembers when the first came.
 */
static bool is_echo(struct events *e, uint32_t signo)
{
    const bool asks = signo == SIGINT || signo == SIGTERM;

    if (asks && e->asked_at == 0) {
        e->asked_at = now_ms();
        return false;
    }
    return asks && now_ms() < e->asked_at + ASKED_AGAIN_MS;
}

void events_reap_strangers(struct events *e)
{
    e->reaps = getpid() == 1;
}

enum child child_look(pid_t pid, siginfo_t *ret)
{
    siginfo_t info = {0};

    if (pid <= 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return CHILD_NONE;
    if (ret)
        *ret = info;
    return info.si_pid == pid ? CHILD_ENDED : CHILD_LIVES;
}

void children_reap(pid_t unreaped, pid_t unreaped_too)
{
    siginfo_t info = {0};

    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
           info.si_pid != unreaped && info.si_pid != unreaped_too) {
        waitpid(info.si_pid, NULL, 0);
        info.si_pid = 0;
    }
}

/* Does what events_reap_strangers() says. A child that has ended while .forker lives is none of
 * .forker's. */
static void reap_strangers(const struct events *e)
{
    siginfo_t info = {0};

    if (e->forker == 0)
        children_reap(e->vital, e->unreaped ? atomic_load(e->unreaped) : 0);
    while (e->forker != 0 && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0 && child_look(e->forker, NULL) == CHILD_LIVES) {
        waitpid(info.si_pid, NULL, 0);
        info.si_pid = 0;
    }
}

int events_signal(struct events *e)
{
    struct signalfd_siginfo info;

    do
        if (read(e->signals, &info, sizeof info) != (ssize_t)sizeof info)
            return ordered_signal(e);
    while (is_echo(e, info.ssi_signo));
    if (info.ssi_code == SI_KERNEL)
        sigaddset(&e->typed, (int)info.ssi_signo);
    if (info.ssi_signo == SIGCHLD && e->reaps)
        reap_strangers(e);
    return (int)info.ssi_signo;
}

void events_wake(struct events *e)
{
    const uint64_t one = 1;
    ssize_t written = write(e->wakeup, &one, sizeof one);

    (void)written; /* if the counter is full, the wake-up is there anyway */
}

void events_arm(struct events *e, int64_t ms)
{
    struct itimerspec spec = {0};

    ms = CLAMP(ms, 1, INT64_C(1000) * INT32_MAX); /* 0 would disarm; time_t may have 32 bits */
    spec.it_value.tv_sec = (time_t)(ms / 1000);
    spec.it_value.tv_nsec = (long)(ms % 1000) * 1000000;
    timerfd_settime(e->timer, 0, &spec, NULL);
}

void events_spare(struct events *e, int signo)
{
    sigaddset(&e->spared, signo);
}

bool events_ends(const struct events *e, int signo)
{
    for (size_t i = 0; i < G_N_ELEMENTS(deadly); i++)
        if (deadly[i] == signo)
            return !sigismember(&e->spared, signo);
    return false;
}

int events_asked_to_end(struct events *e)
{
    int signo;

    while ((signo = events_signal(e)) != 0)
        if (events_ends(e, signo) ||
            (signo == SIGCHLD && child_look(e->vital, NULL) == CHILD_ENDED))
            return signo;
    return 0;
}

int events_wait_at_most(struct events *e, int64_t ms)
{
    if (ms >= 0)
        events_arm(e, ms);
    events_wait(e);
    return events_asked_to_end(e);
}

int events_pause(struct events *e, int64_t ms)
{
    const int64_t until = now_ms() + ms;
    int signo = 0;

    while (signo == 0 && now_ms() < until)
        signo = events_wait_at_most(e, until - now_ms());
    return signo;
}

int events_until(struct events *e, const atomic_bool *done)
{
    int signo = 0;

    while (signo == 0 && !atomic_load(done))
        signo = events_wait_at_most(e, -1);
    return signo;
}

int events_print(const struct events *e, const char *text)
{
    sigset_t ours;

    pthread_sigmask(SIG_SETMASK, &e->original, &ours);
    const bool written = fputs(text, stdout) >= 0 && fflush(stdout) == 0;
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &ours, NULL);
    return written ? GO_ON : fail_output(error);
}

int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
