#include <stdio.h>
#include <zkl.h>

int main(int argc, char **argv)
{
    zkl_election *e;
    zkl_session *s;
    zkl_grant *g;
    char leader[100];

    if (zkl_session_open(&s, argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, NULL) != 0)
        return 1;
    if (zkl_election_new(&e, s, "/services/web", "web1", NULL) == 0) {
        if (zkl_election_campaign(e, 10000, &g) == 0) {
            /* Watches of the election get the address with the leader's id. */
            if (zkl_election_proclaim(e, "10.0.0.1:80", 11, 10000) == 0 &&
                zkl_election_leader(e, leader, sizeof leader, NULL) == 0)
                printf("%s leads, and has said where it is\n", leader);
            zkl_grant_release(g);
        }
        zkl_election_free(e);
    }
    zkl_session_close(s);
    return 0;
}

/* It prints:
 * web1 leads, and has said where it is */
