/* gate: a proxy in front of the server of ZKL_CONNECT. Prints its address, then answers "ok" to
 * each line of its input: silence (nothing goes through), deafen (answers are lost, requests are
 * not), cut (no connections), refuse (other connections, on which credentials are refused), mute
 * (on other connections nothing is answered from the first read of data or delete on), heal, await
 * (until something is answered again), undeleted (no delete was ever asked for). */
#include "tests/support/progress.h"
#include "tests/support/proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool answered(const struct proxy_stats *stats, void *data)
{
    (void)data;
    return stats->replies > 0;
}

static bool await_answer(struct proxy *p)
{
    proxy_reset_stats(p);
    return proxy_wait(p, answered, NULL, UNTIL_LATE);
}

/* The thread that passes messages on waits here. */
static struct {
    GMutex lock;
    GCond changed;
    bool on;
} mute;

static void set_mute(bool on)
{
    g_mutex_lock(&mute.lock);
    mute.on = on;
    g_cond_broadcast(&mute.changed);
    g_mutex_unlock(&mute.lock);
}

static bool answer_unless_mute(GByteArray *message, int op, void *data)
{
    (void)message;
    (void)data;
    g_mutex_lock(&mute.lock);
    while (mute.on && (op == PROXY_OP_GET_DATA || op == PROXY_OP_DELETE))
        g_cond_wait(&mute.changed, &mute.lock);
    g_mutex_unlock(&mute.lock);
    return true;
}

static bool obey(struct proxy *p, const char *order)
{
    set_mute(strcmp(order, "mute\n") == 0);
    if (mute.on)
        proxy_mangle(p, answer_unless_mute, NULL);
    else if (strcmp(order, "silence\n") == 0)
        proxy_freeze(p, PROXY_BOTH);
    else if (strcmp(order, "deafen\n") == 0)
        proxy_drop(p, PROXY_TO_CLIENT, true);
    else if (strcmp(order, "cut\n") == 0)
        proxy_cut(p);
    else if (strcmp(order, "refuse\n") == 0)
        proxy_refuse_credentials(p);
    else if (strcmp(order, "heal\n") == 0)
        proxy_heal(p);
    else if (strcmp(order, "await\n") == 0)
        return await_answer(p);
    else if (strcmp(order, "undeleted\n") == 0)
        return proxy_requests(p, PROXY_OP_DELETE) == 0;
    else
        return false;
    return true;
}

int main(void)
{
    const char *connect = getenv("ZKL_CONNECT");
    const char *port = connect ? strrchr(connect, ':') : NULL;
    struct proxy *p = port ? proxy_start(atoi(port + 1)) : NULL;
    char line[32];

    if (!p)
        return 69;
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts(proxy_connect(p));
    while (fgets(line, sizeof line, stdin))
        puts(obey(p, line) ? "ok" : "no");
    proxy_stop(p);
    return 0;
}
