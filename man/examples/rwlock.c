#include <stdio.h>
#include <zkl.h>

/* Called by readers and by the writer, who may read what it has written. */
static void look_up(zkl_rwlock *l)
{
    if (zkl_rwlock_lock_shared(l, 10000, NULL) != 0)
        return;
    puts(zkl_rwlock_depth(l) == 1 ? "reading, with other readers" : "reading, alone");
    zkl_rwlock_unlock(l);
}

int main(int argc, char **argv)
{
    zkl_session *s;
    zkl_rwlock *l;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_rwlock_new(&l, s, "/data/index", NULL) == 0) {
        if (zkl_rwlock_lock(l, 10000, NULL) == 0) {
            puts("writing, alone");
            look_up(l);
            zkl_rwlock_unlock(l);
        }
        look_up(l);
        zkl_rwlock_free(l);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * writing, alone
 * reading, alone
 * reading, with other readers */
