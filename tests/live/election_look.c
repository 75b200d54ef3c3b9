/* Callers ask once who leads, and read what leaders proclaim. */
#include "election_actors.h"
#include "live.h"
#include "mutex_actors.h"
#include "runner.h"

#include <stdlib.h>
#include <string.h>

TEST_SUITE(election_look, .init = live_init);

TEST_CASE(nobody)
{
    struct live *t = live_begin();
    zkl_election *e = election_of(t->session, t->lock, NULL);
    char buf[8] = "as was";
    uint64_t token = 7;
    CHECK_INT(zkl_election_leader(e, buf, sizeof(buf), &token), ZKL_ENOENT);
    CHECK_ERROR(ZKL_ENOENT, t->lock);
    live_make_directory(t);
    CHECK_INT(zkl_election_leader(e, buf, sizeof(buf), &token), ZKL_ENOENT);
    CHECK_STR(buf, "as was");
    CHECK_INT(token, 7);
    zkl_election_free(e);
    live_end(t);
}

/* The whole id, whatever is in it, and no byte beyond the buffer. */
TEST_CASE(leader_id)
{
    struct live *t = live_begin();
    char id[1025], buf[1025];
    uint64_t token = 0;
    zkl_grant *g;
    memset(id, 'x', 1024);
    id[0] = '\n';
    id[1024] = '\0';
    zkl_election *e = election_of(t->session, t->lock, id);
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_election_leader(e, buf, sizeof(buf), &token), 0);
    CHECK(strcmp(buf, id) == 0);
    CHECK(token == zkl_grant_token(g));
    buf[1023] = '!';
    CHECK_INT(zkl_election_leader(e, buf, 1024, NULL), ZKL_ERANGE);
    CHECK_INT(zkl_election_leader(e, NULL, 0, NULL), ZKL_ERANGE);
    CHECK(buf[1023] == '!');
    zkl_grant_release(g);
    zkl_election_free(e);
    live_end(t);
}

TEST_CASE(candidates_in_order)
{
    struct live *t = live_begin();
    struct tale tale[3] = {TALE_INIT, TALE_INIT, TALE_INIT};
    zkl_election *e[3], *look = election_of(t->session, t->lock, NULL);
    zkl_queue *q;
    char buf[8];
    for (int i = 0; i < 3; i++) {
        char id[] = {(char)('a' + i), '\0'};
        e[i] = election_of(t->session, t->lock, id);
        election_queue(t, e[i], &tale[i], t->lock, i + 1);
    }
    REQUIRE(zkl_queue_read(&q, t->session, t->lock, NULL, ZKL_FOREVER) == 0);
    REQUIRE(zkl_queue_count(q) == 3);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(zkl_queue_get(q, (size_t)i)->owner[0], 'a' + i);
        CHECK_INT(zkl_queue_get(q, (size_t)i)->holds, i == 0);
    }
    zkl_queue_free(q);
    CHECK_INT(zkl_election_leader(look, buf, sizeof(buf), NULL), 0);
    CHECK_STR(buf, "a");
    for (int i = 0; i < 3; i++)
        zkl_election_free(e[i]);
    TALE_WAIT(&tale[0], "leading resigned stopped");
    zkl_election_free(look);
    live_end(t);
}

/* The path's own data: the token, and what was proclaimed behind it. */
TEST_CASE(proclaimed)
{
    struct live *t = live_begin();
    zkl_election *e = election_of(t->session, t->lock, "a");
    zkl_grant *g;
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    CHECK_INT(zkl_election_proclaim(e, "port 80", 7, ZKL_FOREVER), 0);
    char *expected = g_strdup_printf("%" G_GUINT64_FORMAT "\nport 80", zkl_grant_token(g));
    char *data = raw_get(t->admin, t->lock, NULL);
    CHECK_STR(data, expected);
    free(data);
    CHECK_INT(zkl_election_proclaim(e, NULL, 0, ZKL_FOREVER), 0);
    data = raw_get(t->admin, t->lock, NULL);
    CHECK_INT(strlen(data), strlen(expected) - 7);
    free(data);
    data = raw_get(t->admin, zkl_grant_node(g), NULL);
    CHECK_STR(data, "a\nzkl tx 2"); /* the payload is the id alone, before the fence's line */
    free(data);
    char id[8];
    CHECK_INT(zkl_election_leader(e, id, sizeof(id), NULL), 0);
    CHECK_STR(id, "a");
    char *large = g_strnfill(64 * 1024 + 1, 'x');
    CHECK_INT(zkl_election_proclaim(e, large, 64 * 1024, ZKL_FOREVER), 0);
    CHECK_INT(zkl_election_proclaim(e, large, 64 * 1024 + 1, ZKL_FOREVER), ZKL_ELIMIT);
    CHECK_INT(zkl_election_resign(e), 0);
    CHECK_INT(zkl_election_proclaim(e, "x", 1, ZKL_FOREVER), ZKL_EPERM);
    zkl_grant_release(g);
    zkl_election_free(e);
    g_free(large);
    g_free(expected);
    live_end(t);
}

struct outcome {
    struct gate gate;
    int code;
};

static void on_proclaimed(const zkl_error *err, void *data)
{
    struct outcome *o = data;
    o->code = err ? err->code : 0;
    gate_pass(&o->gate);
}

/* The servers refuse what comes behind the end of the term, even if this side does not know yet. */
TEST_CASE(proclaiming_is_fenced)
{
    struct live *t = live_begin();
    struct outcome o = {GATE_INIT, 1};
    struct gate gate = GATE_INIT;
    zkl_election *e = election_of(t->session, t->lock, "a");
    zkl_grant *g;
    gate_open(&o.gate);
    REQUIRE(zkl_election_campaign(e, ZKL_FOREVER, &g) == 0);
    REQUIRE(zkl_election_proclaim_async(e, "good", 4, ZKL_FOREVER, on_proclaimed, &o) == 0);
    gate_wait_entered(&o.gate);
    CHECK_INT(o.code, 0);
    session_block(t, t->session, &gate);
    REQUIRE(raw_delete(t->admin, zkl_grant_node(g)) == ZOK);
    int code = zkl_election_proclaim(e, "bad", 3, ZKL_FOREVER);
    CHECK_INT(code, ZKL_ELOST);
    char *data = raw_get(t->admin, t->lock, NULL);
    CHECK(data && g_str_has_suffix(data, "\ngood"));
    free(data);
    gate_open(&gate);
    zkl_grant_release(g);
    zkl_election_free(e);
    live_end(t);
}
