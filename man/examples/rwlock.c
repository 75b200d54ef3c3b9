#include <stdio.h>
#include <zkl.h>

int main(int argc, char **argv)
{
    zkl_session *s;
    zkl_rwlock *l;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_rwlock_new(&l, s, "/data/index", NULL) == 0) {
        if (zkl_rwlock_lock(l, 10000, NULL) == 0) {
            puts("writing, alone");
            zkl_rwlock_unlock(l);
        }
        if (zkl_rwlock_lock_shared(l, 10000, NULL) == 0) {
            puts("reading, with other readers");
            zkl_rwlock_unlock(l);
        }
        zkl_rwlock_free(l);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * writing, alone
 * reading, with other readers */
