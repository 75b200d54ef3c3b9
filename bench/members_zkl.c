/* A group: as many members as option members says, from option sessions in turn, and one observer
 * on a session of its own. In each round all join; then the observer begins; then one changes after
 * the other; then option burst of them change at once; then all leave, and join again, while the
 * observer watches. */
#include <dlfcn.h>
#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <zookeeper/zookeeper.h>

#include "common.h"
#include "traffic.h"
#include "user.h"

enum { SINGLE = 5 };

static zkl_session **sessions, *observing;
static zkl_member **group;
static int64_t members, session_count, burst;
static const char *path;
static atomic_int lists;

/* Before libzookeeper's: only the observer lists anything. */
__attribute__((visibility("default"))) int zoo_awget_children2(zhandle_t *zh, const char *of,
                                                               watcher_fn watcher, void *context,
                                                               strings_stat_completion_t completion,
                                                               const void *data)
{
    static int (*next)(zhandle_t *, const char *, watcher_fn, void *, strings_stat_completion_t,
                       const void *);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "zoo_awget_children2");
    atomic_fetch_add(&lists, 1);
    return next(zh, of, watcher, context, completion, data);
}

/* ---- what is heard ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t news;
    int64_t joined, left, there, changed;
} heard = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, -1, 0};

static void await(const int64_t *what, int64_t wanted)
{
    pthread_mutex_lock(&heard.lock);
    while (*what != wanted)
        pthread_cond_wait(&heard.news, &heard.lock);
    pthread_mutex_unlock(&heard.lock);
}

static void on_member(zkl_member *m, zkl_member_event event, const zkl_member_news *news,
                      void *data)
{
    (void)m, (void)news, (void)data;
    if (event != ZKL_MEMBER_JOINED && event != ZKL_MEMBER_LEFT)
        fail("a member is told %d", (int)event);
    pthread_mutex_lock(&heard.lock);
    heard.joined += event == ZKL_MEMBER_JOINED;
    heard.left += event == ZKL_MEMBER_LEFT;
    pthread_cond_signal(&heard.news);
    pthread_mutex_unlock(&heard.lock);
}

static void on_members(zkl_members_event event, const zkl_member_info *member,
                       const zkl_members *all, void *data)
{
    (void)member, (void)data;
    pthread_mutex_lock(&heard.lock);
    heard.changed += event == ZKL_MEMBERS_CHANGED;
    if (event == ZKL_MEMBERS_ALL)
        heard.there = (int64_t)zkl_members_count(all);
    pthread_cond_signal(&heard.news);
    pthread_mutex_unlock(&heard.lock);
}

static void on_updated(const zkl_error *error, void *data)
{
    (void)data;
    user_granted(error);
}

/* ---- what is done ---- */

static void join_all(void)
{
    zkl_member_options options = ZKL_MEMBER_OPTIONS_INIT;

    options.fn = on_member;
    heard.joined = 0;
    for (int64_t i = 0; i < members; i++) {
        char id[16];
        g_snprintf(id, sizeof id, "m%05d", (int)i);
        user_require(zkl_member_join(&group[i], sessions[i % session_count], path, id, "10.0.0.1",
                                     8, &options));
    }
}

static void leave_all(void)
{
    heard.left = 0;
    for (int64_t i = 0; i < members; i++)
        zkl_member_free(group[i]);
}

static void change(int64_t i)
{
    user_require(zkl_member_update_async(group[i], "10.0.0.2", 8, ZKL_FOREVER, on_updated, NULL));
}

/* ---- what it costs ---- */

static struct usage began;
static int64_t bytes;

static void begin(bool others)
{
    bytes = traffic_received(others);
    atomic_store(&lists, 0);
    began = usage_now();
}

static void number(const char *phase, const char *key, double value)
{
    char *name = g_strconcat(phase, "_", key, NULL);

    answer_number(name, value);
    g_free(name);
}

static void end(const char *phase, bool others, int64_t count)
{
    const struct usage now = usage_now();

    number(phase, "s", (double)(now.ns - began.ns) * 1e-9);
    number(phase, "cpu_us", (double)(now.cpu_us - began.cpu_us) / (double)count);
    number(phase, "bytes", (double)(traffic_received(others) - bytes) / (double)count);
    number(phase, "lists", atomic_load(&lists));
}

static void observe(zkl_watch **ret)
{
    begin(true);
    heard.there = -1;
    user_require(zkl_members_watch(ret, observing, path, ZKL_MEMBER_GROUP, on_members, NULL));
    await(&heard.there, members);
    end("first", true, members);
}

static void change_some(void)
{
    begin(true);
    for (int64_t i = 0; i < SINGLE; i++) {
        heard.changed = 0;
        change(i);
        await(&heard.changed, 1);
    }
    end("single", true, SINGLE);
    begin(true);
    heard.changed = 0;
    for (int64_t i = SINGLE; i < SINGLE + burst; i++)
        change(i);
    await(&heard.changed, burst);
    end("burst", true, burst);
}

static void come_and_go(void)
{
    begin(true);
    leave_all();
    await(&heard.there, 0);
    await(&heard.left, members);
    end("leave", true, members);
    begin(true);
    join_all();
    await(&heard.there, members);
    end("watched", true, members);
}

static void play(void)
{
    zkl_watch *watch;

    begin(false);
    const struct usage all = began;
    join_all();
    await(&heard.joined, members);
    answer_begin(members, all);
    end("storm", false, members);
    observe(&watch);
    change_some();
    come_and_go();
    answer_end();
    zkl_watch_free(watch);
    leave_all();
    await(&heard.left, members);
}

int main(int argc, char **argv)
{
    const char *address;
    (void)argc;
    options_set(argv);
    address = option("address", "");
    path = option("lock", "/bench/members");
    session_count = option_number("sessions", 1);
    members = option_number("members", 100);
    burst = option_number("burst", members / 10);
    group = g_new0(zkl_member *, (gsize)members);
    sessions = g_new0(zkl_session *, (gsize)session_count);
    for (int64_t i = 0; i < session_count; i++)
        sessions[i] = user_session(address);
    traffic_divide();
    observing = user_session(address);
    say("READY");
    while (told())
        play();
    return 0;
}
