#include <pthread.h>
#include <stdio.h>
#include <zkl.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of: */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int served, stopped;

static void on_shard(zkl_shards *all, zkl_shards_event event, const zkl_shards_news *news,
                     void *data)
{
    (void)all, (void)data;
    pthread_mutex_lock(&lock);
    if (event == ZKL_SHARDS_GRANTED) {
        if (zkl_grant_remaining_ms(news->grant) > 0)
            served++; /* the work on shard news->shard */
        zkl_grant_release(news->grant);
    }
    stopped |= event == ZKL_SHARDS_STOPPED;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
    zkl_shards *shards;
    zkl_session *s;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_shards_start(&shards, s, "/work", 4, "web1", on_shard, NULL, NULL) == 0) {
        pthread_mutex_lock(&lock);
        while (served < 4)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        zkl_shards_free(shards);
        pthread_mutex_lock(&lock);
        while (!stopped)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        printf("4 shards served\n");
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * 4 shards served */
