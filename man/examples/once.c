#include <stdio.h>
#include <zkl.h>

static int migrate(const zkl_grant *grant, void *data, const void **ret, size_t *ret_size)
{
    const char *schema = data;

    if (zkl_grant_state(grant) != ZKL_HELD)
        return 1;
    printf("migrating to %s\n", schema);
    *ret = schema;
    *ret_size = 2;
    return 0;
}

int main(int argc, char **argv)
{
    char schema[] = "v7";
    zkl_once *once;
    zkl_once_run *run;
    zkl_session *s;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_once_new(&once, s, "/once/migration", NULL) == 0) {
        if (zkl_once_call(once, ZKL_FOREVER, migrate, schema, &run) == 0) {
            printf("%.*s is recorded\n", (int)run->size, (const char *)run->result);
            zkl_once_run_free(run);
        }
        zkl_once_free(once);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * migrating to v7
 * v7 is recorded */
