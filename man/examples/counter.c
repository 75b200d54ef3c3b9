#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <zkl.h>

/* Doubles the number, however many others do so at the same time. */
static int64_t double_number(zkl_counter *c)
{
    int64_t value;

    do {
        if (zkl_counter_get(c, 10000, &value) != 0)
            return -1;
    } while (zkl_counter_compare_and_set(c, value, 2 * value, NULL, 10000) == ZKL_EVERSION);
    return 2 * value;
}

/* On a thread of the library. */
static void on_number(int64_t value, void *data)
{
    if (value == 0)
        sem_post(data);
}

/* Waits until all of the work is done, by whichever process. */
static void await_none(zkl_counter *c)
{
    zkl_watch *w;
    sem_t none;

    sem_init(&none, 0, 0);
    if (zkl_counter_watch(&w, c, on_number, &none) == 0) {
        zkl_counter_add(c, -84, NULL, 10000, NULL); /* others do this */
        sem_wait(&none);
        puts("nothing is left");
        zkl_watch_free(w);
    }
    sem_destroy(&none);
}

int main(int argc, char **argv)
{
    zkl_counter *c;
    zkl_session *s;
    int64_t value;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_counter_new(&c, s, "/counters/left", ZKL_COUNTER_64) == 0) {
        if (zkl_counter_set(c, 41, NULL, 10000) == 0 &&
            zkl_counter_add(c, 1, NULL, 10000, &value) == 0) {
            printf("%" PRId64 ", and twice that: %" PRId64 "\n", value, double_number(c));
            await_none(c);
        }
        zkl_counter_free(c);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * 42, and twice that: 84
 * nothing is left */
