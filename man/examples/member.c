#include <stdio.h>
#include <zkl.h>

int main(int argc, char **argv)
{
    zkl_members *all;
    zkl_member *m;
    zkl_session *s;

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_member_join(&m, s, "/group", "web1", "10.0.0.1:80", 11, NULL) == 0) {
        /* Its address has changed before the others have looked. */
        if (zkl_member_wait(m, 10000) == 0 && zkl_member_update(m, "10.0.0.2:80", 11, 10000) == 0 &&
            zkl_members_read(&all, s, "/group", ZKL_MEMBER_GROUP, 10000) == 0) {
            for (size_t i = 0; i < zkl_members_count(all); i++) {
                const zkl_member_info *info = zkl_members_get(all, i);
                printf("%s at %.*s\n", info->id, (int)info->size, (const char *)info->data);
            }
            zkl_members_free(all);
        }
        zkl_member_leave(m, 10000);
        zkl_member_free(m);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * web1 at 10.0.0.2:80 */
