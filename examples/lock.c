#include <stdio.h>
#include <zkl.h>

int main(int argc, char **argv)
{
    zkl_session *s;
    zkl_mutex *m = NULL;
    const zkl_grant *g;
    int status = 1;
    if (argc != 2 || zkl_session_open(&s, argv[1], NULL, NULL) != 0)
        return 1;
    if (zkl_mutex_new(&m, s, "/jobs/nightly", NULL) == 0 && zkl_mutex_lock(m, 10000, &g) == 0) {
        printf("mine, with token %llu\n", (unsigned long long)zkl_grant_token(g));
        status = 0;
    }
    zkl_mutex_free(m); /* unlocks */
    zkl_session_close(s);
    return status;
}
