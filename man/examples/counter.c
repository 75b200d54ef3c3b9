#include <inttypes.h>
#include <stdio.h>
#include <zkl.h>

int main(int argc, char **argv)
{
    zkl_counter *c;
    zkl_session *s;
    int64_t value;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_counter_new(&c, s, "/counters/served", ZKL_COUNTER_64) == 0) {
        if (zkl_counter_set(c, 41, NULL, 10000) == 0 &&
            zkl_counter_add(c, 1, NULL, 10000, &value) == 0)
            printf("%" PRId64 "\n", value);
        zkl_counter_free(c);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * 42 */
