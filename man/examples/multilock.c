#include <stdio.h>
#include <zkl.h>

int main(int argc, char **argv)
{
    const char *paths[] = {"/accounts/b", "/accounts/a"};
    zkl_multilock *l;
    zkl_session *s;
    zkl_grant *g;
    zkl_part part;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_multilock_new(&l, s, paths, 2, NULL) == 0) {
        if (zkl_multilock_lock(l, 10000, &g) == 0) {
            for (size_t i = 0; zkl_grant_part(g, i, &part) == 0; i++)
                printf("%s has a token of its own\n", paths[i]);
            zkl_grant_release(g);
        }
        zkl_multilock_free(l);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * /accounts/b has a token of its own
 * /accounts/a has a token of its own */
