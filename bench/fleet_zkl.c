/* One process of a fleet. It opens as many sessions as option sessions says, each in option role:
 * idle, holder, waiter, member or barrier. Option first is the number of the first one among all
 * sessions of the fleet. Each holder has a lock, or as many as option locks says. The waiters of a
 * process wait for one lock, which a holder in another process has. All members are of one group.
 * The sessions of a process with role barrier are members of one double barrier.
 *
 * Each line of input is an instant in ns. The answer says how many sessions have a connection, how
 * long after the instant they got it, and how many have ended. If the instant is 0, the answer says
 * how much memory there is, too. */
#include <glib.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "common.h"
#include "user.h"

struct fleet_session {
    zkl_session *session;
    int64_t id, number, connected_ns; /* connected_ns: 0 without a connection */
};

static struct fleet_session *fleet;
static int64_t count, locks, lost;
static const char *path;
static pthread_mutex_t fleet_mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t ready;

static void fleet_on_session(zkl_session *s, zkl_session_event event, int64_t id, void *data)
{
    struct fleet_session *one = data;

    (void)s;
    pthread_mutex_lock(&fleet_mutex);
    one->connected_ns = event == ZKL_SESSION_CONNECTED ? now_ns() : 0;
    if (event == ZKL_SESSION_CONNECTED) {
        lost += one->id != 0 && one->id != id;
        one->id = id;
    }
    pthread_mutex_unlock(&fleet_mutex);
}

/* ---- roles ---- */

static void fleet_on_granted(zkl_grant *grant, const zkl_error *error, void *data)
{
    (void)grant, (void)data;
    user_granted(error);
    sem_post(&ready);
}

static void fleet_on_entered(const zkl_error *error, void *data)
{
    (void)data;
    user_granted(error);
    sem_post(&ready);
}

static char *fleet_path(int64_t number)
{
    return g_strdup_printf("%s-%d", path, (int)number);
}

static void fleet_contend(const struct fleet_session *one, int64_t number)
{
    char *name = fleet_path(number);
    zkl_mutex *m;

    user_require(zkl_mutex_new(&m, one->session, name, NULL));
    user_require(zkl_mutex_lock_async(m, ZKL_FOREVER, fleet_on_granted, NULL, NULL));
    g_free(name);
}

static void fleet_rest(const struct fleet_session *one)
{
    (void)one;
    sem_post(&ready);
}

static void fleet_hold(const struct fleet_session *one)
{
    for (int64_t i = 0; i < locks; i++)
        fleet_contend(one, one->number * locks + i);
    for (int64_t i = 1; i < locks; i++) /* one more is waited for with the others' */
        while (sem_wait(&ready) != 0)
            continue;
}

static void fleet_wait(const struct fleet_session *one)
{
    fleet_contend(one, one->number / count);
    sem_post(&ready);
}

static void fleet_join(const struct fleet_session *one)
{
    char id[16];
    zkl_member *m;

    g_snprintf(id, sizeof id, "m%06d", (int)one->number);
    user_require(zkl_member_join(&m, one->session, path, id, NULL, 0, NULL));
    user_require(zkl_member_wait(m, ZKL_FOREVER));
    sem_post(&ready);
}

static void fleet_enter(const struct fleet_session *one)
{
    char *name = fleet_path(one->number / count);
    zkl_double_barrier *b;

    user_require(zkl_double_barrier_new(&b, one->session, name, (int)count, NULL));
    user_require(zkl_double_barrier_enter_async(b, ZKL_FOREVER, fleet_on_entered, NULL));
    g_free(name);
}

static const struct {
    const char *name;
    void (*take)(const struct fleet_session *);
} roles[] = {
    {"idle", fleet_rest},   {"holder", fleet_hold},   {"waiter", fleet_wait},
    {"member", fleet_join}, {"barrier", fleet_enter},
};

static void fleet_begin(const char *name)
{
    for (size_t r = 0; r < G_N_ELEMENTS(roles); r++) {
        for (int64_t i = 0; i < count && g_str_equal(name, roles[r].name); i++)
            roles[r].take(&fleet[i]);
    }
    for (int64_t i = 0; i < count; i++)
        while (sem_wait(&ready) != 0)
            continue;
}

/* ---- what is told ---- */

static void fleet_answer(int64_t since_ns, struct usage began, int64_t resident)
{
    static struct times back;
    int64_t connected = 0, tried = 0;

    back = (struct times){.longest = 0};
    pthread_mutex_lock(&fleet_mutex);
    for (int64_t i = 0; i < count; i++) {
        connected += fleet[i].connected_ns > since_ns;
        if (fleet[i].connected_ns > since_ns)
            times_add(&back, fleet[i].connected_ns - since_ns);
    }
    answer_begin(count, began);
    answer_number("connected", (double)connected);
    answer_number("lost", (double)lost);
    pthread_mutex_unlock(&fleet_mutex);
    for (int64_t i = 0; i < count; i++) {
        zkl_stats stats = ZKL_STATS_INIT;
        user_require(zkl_session_stats(fleet[i].session, &stats));
        tried += (int64_t)(stats.attempts_failed + stats.connections);
    }
    answer_number("tried", (double)tried);
    if (since_ns == 0)
        answer_number("resident", (double)(memory_now().resident - resident));
    answer_times("back", &back);
    answer_end();
}

int main(int argc, char **argv)
{
    const char *line;
    (void)argc;
    options_set(argv);
    path = option("lock", "/bench/fleet");
    count = option_number("sessions", 1);
    locks = option_number("locks", 1);
    fleet = g_new0(struct fleet_session, (gsize)count);
    sem_init(&ready, 0, 0);
    const int64_t resident = memory_now().resident;
    for (int64_t i = 0; i < count; i++) {
        fleet[i].number = option_number("first", 0) + i;
        fleet[i].session = user_session(option("address", ""));
        user_require(zkl_session_on_change(fleet[i].session, fleet_on_session, &fleet[i]));
    }
    fleet_begin(option("role", "idle"));
    say("READY");
    struct usage began = usage_now();
    while ((line = told())) {
        fleet_answer(strtoll(line, NULL, 10), began, resident);
        began = usage_now();
    }
    return 0;
}
