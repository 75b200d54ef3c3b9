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

/* Work in two halves, for a program that does something else in between: once an hour, whichever
 * process asks first. */
static void report_hourly(zkl_session *s)
{
    zkl_once_options options = ZKL_ONCE_OPTIONS_INIT;
    zkl_once *hourly;
    zkl_grant *grant;

    options.period_ms = 3600000;
    if (zkl_once_new(&hourly, s, "/once/report", &options) != 0)
        return;
    const int code = zkl_once_begin(hourly, 10000, &grant);
    if (code == ZKL_EEXIST) {
        puts("this hour has its report");
    } else if (code == 0) {
        if (zkl_grant_remaining_ms(grant) > 0)
            puts("reporting");
        zkl_once_end(hourly, grant, NULL, 0, 10000);
        zkl_grant_release(grant);
    }
    zkl_once_free(hourly);
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
    report_hourly(s);
    report_hourly(s);
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * migrating to v7
 * v7 is recorded
 * reporting
 * this hour has its report */
