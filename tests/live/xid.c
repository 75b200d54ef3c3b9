/* A process whose requests come to the numbers that mean something else: as if it had made two and
 * a half billion of them before. */
#include "lib/store/store_zk_xid.h"
#include "live.h"
#include "process.h"
#include "runner.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

TEST_SUITE(xid, .init = live_init);

enum { LOCKERS = 4, LOCKS = 30 };

static bool begun; /* all libraries are loaded */

/* libzookeeper counts from there, as it was when the library was loaded. */
__attribute__((visibility("default"))) time_t time(time_t *ret)
{
    const char *from = begun ? NULL : getenv("ZKL_XID_FROM");
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (from)
        now.tv_sec = atol(from);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}

struct locker {
    pthread_t thread;
    zkl_session *session;
    char *path;
    int wrong; /* the error of what failed first */
};

static void *lock_often(void *data)
{
    struct locker *l = data;
    zkl_mutex *m;

    if ((l->wrong = zkl_mutex_new(&m, l->session, l->path, NULL)) != 0)
        return NULL;
    for (int i = 0; i < LOCKS && !l->wrong; i++) {
        l->wrong = zkl_mutex_lock(m, ZKL_FOREVER, NULL);
        if (!l->wrong)
            l->wrong = zkl_mutex_unlock(m);
        progress_step();
    }
    zkl_mutex_free(m);
    return NULL;
}

/* CONNECT PATH REQUESTS: so many were made on a handle that zkl does not know; less than 0: zkl has
 * counted so many that were not. */
int xid_worker(int argc, char **argv)
{
    struct locker lockers[LOCKERS] = {{0}};
    zkl_session *sessions[LOCKERS / 2];
    int wrong = argc != 3;

    begun = true;
    for (int i = 0; !wrong && i < atoi(argv[2]); i++)
        zoo_adelete(NULL, "/", -1, NULL, NULL);
    for (int i = 0; !wrong && i > atoi(argv[2]); i--)
        xid_used();
    for (int i = 0; i < LOCKERS / 2 && !wrong; i++)
        wrong = zkl_session_open(&sessions[i], argv[0], NULL, NULL) != 0;
    if (wrong)
        return 1;
    for (int i = 0; i < LOCKERS; i++) {
        lockers[i].session = sessions[i % (LOCKERS / 2)];
        lockers[i].path = g_strdup_printf("%s/%d", argv[1], i);
        REQUIRE(pthread_create(&lockers[i].thread, NULL, lock_often, &lockers[i]) == 0);
    }
    for (int i = 0; i < LOCKERS; i++) {
        pthread_join(lockers[i].thread, NULL);
        wrong |= lockers[i].wrong;
        g_free(lockers[i].path);
    }
    for (int i = 0; i < LOCKERS / 2; i++)
        zkl_session_close(sessions[i]);
    return wrong != 0;
}

static void pass_numbers(long from, const char *others)
{
    struct live *t = live_begin();
    char self[PATH_MAX] = "", *variable = g_strdup_printf("ZKL_XID_FROM=%ld", from);
    int status = -1;

    REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    const char *const argv[] = {"env",      variable, self,   "--xid-worker",
                                t->connect, t->path,  others, NULL};
    const pid_t pid = process_spawn(&(struct process_options){.argv = argv, .input = -1});
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    g_free(variable);
    live_end(t);
}

TEST_CASE(others_have_asked)
{
    pass_numbers(-500300, "500000");
}

TEST_CASE(counted_too_many)
{
    pass_numbers(-400, "-100");
}
