/* SET NX with an expiry, and the script that deletes only one's own, in bench/loop.c. There is no
 * queue: those that wait ask again after a pause of 0.5 to 1.5 ms. */
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common.h"
#include "../loop.h"

struct locker {
    redisContext *redis;
    const char *key;
    char token[32];
    char script[48]; /* its digest */
    unsigned seed;
};

static const char unlock_script[] =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

static redisReply *answer(struct locker *l, redisReply *r)
{
    if (!r || r->type == REDIS_REPLY_ERROR)
        fail("redis: %s", r ? r->str : l->redis->errstr);
    return r;
}

struct locker *locker_open(const char *address, const char *path)
{
    struct locker *l = calloc(1, sizeof *l);
    char host[64];
    int port;

    if (!l || sscanf(address, "%63[^:]:%d", host, &port) != 2)
        fail("redis: no address");
    l->redis = redisConnect(host, port);
    if (!l->redis || l->redis->err)
        fail("redis: cannot connect");
    redisReply *r = answer(l, redisCommand(l->redis, "SCRIPT LOAD %s", unlock_script));
    snprintf(l->script, sizeof l->script, "%s", r->str);
    freeReplyObject(r);
    l->key = path;
    l->seed = (unsigned)getpid();
    snprintf(l->token, sizeof l->token, "%d", (int)getpid());
    return l;
}

static bool take(struct locker *l)
{
    redisReply *r = answer(l, redisCommand(l->redis, "SET %s %s NX PX 60000", l->key, l->token));
    bool taken = r->type == REDIS_REPLY_STATUS;

    freeReplyObject(r);
    return taken;
}

void locker_acquire(struct locker *l)
{
    while (!take(l))
        usleep(500 + (unsigned)rand_r(&l->seed) % 1000);
}

void locker_release(struct locker *l)
{
    redisReply *r =
        answer(l, redisCommand(l->redis, "EVALSHA %s 1 %s %s", l->script, l->key, l->token));

    if (r->integer != 1)
        fail("redis: the lock was not ours");
    freeReplyObject(r);
}
