/* What is read in texts of /zookeeper/config, good and odd ones, and what is added of it. */
#include "recipes/ensemble.h"

#include "runner.h"

#include <glib.h>
#include <string.h>

TEST_SUITE(ensemble);

/* "host:port host:port", a '-' before those that do not vote. */
static char *show_members(const char *config, size_t length)
{
    struct ensemble_member members[ENSEMBLE_MAX];
    GString *shown = g_string_new(NULL);
    const size_t count = ensemble_read(config, length, members);

    for (size_t i = 0; i < count; i++) {
        const struct ensemble_member *m = &members[i];
        g_string_append_printf(shown, "%s%s%.*s:%.*s", i ? " " : "", m->votes ? "" : "-",
                               m->host_length, m->host, m->port_length, m->port);
    }
    return g_string_free(shown, FALSE);
}

TEST_CASE(configs)
{
    static const struct {
        const char *config, *members;
    } rows[] = {
        {"", ""},
        {"server.1=a.b-c:2888:3888:participant;10.0.0.1:2181\n"
         "server.2=d:2888:3888:observer;e:2182\nversion=100000000",
         "10.0.0.1:2181 -e:2182"},
        /* wildcards take the member's host */
        {"server.1=zk1:2888:3888:participant;0.0.0.0:2181", "zk1:2181"},
        {"server.1=zk1:2888:3888:participant;2181", "zk1:2181"},
        {"server.1=zk1:2888:3888;[::]:2181", "zk1:2181"},
        {"server.1=zk1:2888:3888;[0:0:0:0:0:0:0:0]:2181", "zk1:2181"},
        {"server.1=zk1:2888:3888;0:0:0:0:0:0:0:0:2181", "zk1:2181"},
        /* unless that is one, too */
        {"server.1=0.0.0.0:2888:3888;0.0.0.0:2181\nserver.2=b:1:2;2181", "b:2181"},
        /* IPv6, with brackets and without */
        {"server.1=[2001:db8::1]:2888:3888:participant;[2001:db8::2]:2181", "2001:db8::2:2181"},
        {"server.1=[2001:db8::1]:2888:3888:observer;2181", "-2001:db8::1:2181"},
        {"server.1=2001:db8::1:2888:3888:participant;0.0.0.0:2181", "2001:db8::1:2181"},
        {"server.1=2001:db8::1:2888:3888;2181", "2001:db8::1:2181"},
        /* several addresses of one server */
        {"server.1=a:1:2|b:1:2:participant;0.0.0.0:2181\nserver.2=c:1:2|d:1:2:observer;e:9",
         "a:2181 b:2181 -e:9"},
        {"server.1=[::1]:1:2|b:1:2;2181", "::1:2181 b:2181"},
        /* no part for clients: before 3.5, or from the static file */
        {"server.1=a:2888:3888\nserver.2=b:2888:3888:participant\nversion=0", ""},
        {"server.1=a:2888\nserver.1=a", ""},
        /* blanks, ends of lines, other keys, what later versions may append */
        {" server.1 = a:1:2:participant;b:3 \r\n\n#server.2=c:1:2;4\ngroup.1=1:2\nweight.1=1\n",
         "b:3"},
        {"server.1=a:1:2:participant;b:3;4", "b:3"},
        {"peers.server.1=a:1:2;b:3\nserver=a:1:2;b:3\nserver.=a:1:2;b:3", ""},
        /* nonsense */
        {"server.1=a:1:2:leader;3", ""},
        {"server.1=a:1:2;b:0\nserver.2=a:1:2;b:65536\nserver.3=a:1:2;b:99999999999999999999", ""},
        {"server.1=a:1:2;b:\nserver.2=a:1:2;:\nserver.3=a:1:2;\nserver.4=;\nserver.5=", ""},
        {"server.1=a:1:2;b:3x\nserver.2=a:x:2;3\nserver.3=:1:2;3\nserver.4=1:2;3", ""},
        {"server.1=a:1:2;b,c:3\nserver.2=a b:1:2;3\nserver.3=a/b:1:2;3\nserver.4=|;3", ""},
        {"server.1=a:1:2;[b:3\nserver.2=a:1:2;[]:3", "a:3"},
        {"server.1=a:1:2|:|b:1:2|;3", "a:3 b:3"},
        {"====\n::::\n;;;;\n||||\nserver.1=a:1:2;3=4", ""},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        char *shown = show_members(rows[i].config, strlen(rows[i].config));
        CHECK_STR(shown, rows[i].members);
        g_free(shown);
    }
}

TEST_CASE(observers)
{
    static const struct {
        const char *config;
        int server;
        bool observes;
    } rows[] = {
        {"", ENSEMBLE_ANY, false},
        {"server.1=a:1:2:participant;b:3\nversion=0", ENSEMBLE_ANY, false},
        {"server.1=a:1:2\nserver.2=observer:1:2;observer:3", ENSEMBLE_ANY, false},
        {"server.1=a:1:2:participant\nserver.2=a:1:2:observer\nversion=0", ENSEMBLE_ANY, true},
        {"server.1=a:1:2:participant\nserver.2=a:1:2:observer\nversion=0", 1, false},
        {"server.1=a:1:2:participant\nserver.2=a:1:2:observer\nversion=0", 2, true},
        {"server.1=a:1:2|b:1:2:observer;c:3;4", 1, true},
        {" server.12 = [::1]:1:2:observer \r\n", 12, true},
        {"server.255=a:1:2:observer", 255, true},
        {"server.258=a:1:2:observer", 2, true}, /* of the number an id has one byte */
        {"server.2=a:1:2:observer", 0, false},
        {"group.2=a:1:2:observer", ENSEMBLE_ANY, false},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (!CHECK_INT(ensemble_observes(rows[i].config, strlen(rows[i].config), rows[i].server),
                       rows[i].observes))
            runner_fail(__FILE__, __LINE__, "row %zu", i);
    CHECK(!ensemble_observes(NULL, 0, ENSEMBLE_ANY));
}

/* At each length: nothing behind the end is read, and NULL is none. */
TEST_CASE(cut_short)
{
    static const char config[] = "server.1=[::2]:1:2|b:1:2:participant;[::]:2181\nversion=1";

    for (size_t length = 0; length < sizeof config; length++) {
        char *copy = g_memdup2(config, length), *shown = show_members(copy, length);
        const bool whole = length >= strlen("server.1=[::2]:1:2|b:1:2:participant;[::]:2");
        CHECK_INT(shown[0] != '\0', whole);
        g_free(shown);
        g_free(copy);
    }
}

/* Bytes that are no text, a name that is too long, and more members than are read. */
TEST_CASE(too_much)
{
    GString *many = g_string_new(NULL);
    struct ensemble_member members[ENSEMBLE_MAX];
    static const char binary[] = "\0\0server.1=a\0:1:2;3\n\xff\xfe=\x80";

    CHECK_INT((int)ensemble_read(binary, sizeof binary, members), 0);
    for (int length = 255; length <= 256; length++) {
        char *name = g_strnfill((gsize)length, 'a');
        g_string_printf(many, "server.1=a:1:2;%s:3", name);
        CHECK_INT((int)ensemble_read(many->str, many->len, members), length == 255);
        g_free(name);
    }
    g_string_truncate(many, 0);
    for (int i = 1; i <= ENSEMBLE_MAX + 5; i++)
        g_string_append_printf(many, "server.%d=a:1:2;%d\n", i, i);
    CHECK_INT((int)ensemble_read(many->str, many->len, members), ENSEMBLE_MAX);
    g_string_free(many, TRUE);
}

/* NAT and load balancers: the ensemble calls the server otherwise than we do. */
TEST_CASE(known)
{
    CHECK(ensemble_knows("10.0.0.1:2181,10.0.0.2:2181", "10.0.0.2:2181"));
    CHECK(!ensemble_knows("10.0.0.1:2181,10.0.0.2:2181", "10.0.0.2:218"));
    CHECK(!ensemble_knows("10.0.0.1:2181,10.0.0.22:2181", "0.0.0.22:2181"));
    CHECK(!ensemble_knows("10.0.0.1:2181", ""));
    CHECK(!ensemble_knows("", "10.0.0.1:2181"));
    CHECK(!ensemble_knows("", ""));
}

TEST_CASE(added)
{
    static const char own[] = "10.0.0.1:2181,10.0.0.2:2181", added[] = "10.0.0.4:2181,::1:2189";
    static const struct {
        const char *address, *server;
        enum ensemble_use use, unknown; /* and at a server that the ensemble does not know */
    } rows[] = {
        {"10.0.0.1:2181", "10.0.0.2:2181", ENSEMBLE_LEFT, ENSEMBLE_LEFT}, /* our own */
        {"10.0.0.1:2182", "10.0.0.2:2181", ENSEMBLE_ASKED, ENSEMBLE_LEFT},
        {"10.0.0.3:2181", "10.0.0.2:2181", ENSEMBLE_ASKED, ENSEMBLE_LEFT},
        /* the server was removed, and those that were added have taken its place */
        {"10.0.0.4:2181", "10.0.0.2:2181", ENSEMBLE_KEPT, ENSEMBLE_KEPT},
        /* the machine's own: another ensemble may serve there */
        {"127.0.0.1:2181", "10.0.0.2:2181", ENSEMBLE_LEFT, ENSEMBLE_LEFT},
        {"127.1.2.3:2181", "10.0.0.2:2181", ENSEMBLE_LEFT, ENSEMBLE_LEFT},
        {"::1:2181", "10.0.0.2:2181", ENSEMBLE_LEFT, ENSEMBLE_LEFT},
        {"::1:2189", "10.0.0.2:2181", ENSEMBLE_LEFT, ENSEMBLE_LEFT},
        {"::1:2181", "2001:db8::1:2181", ENSEMBLE_LEFT, ENSEMBLE_LEFT},
        {"::1:2181", "127.0.0.1:2181", ENSEMBLE_ASKED, ENSEMBLE_LEFT},
        {"127.0.0.1:2182", "127.0.0.1:2181", ENSEMBLE_ASKED, ENSEMBLE_LEFT},
        {"::12:2181", "2001:db8::1:2181", ENSEMBLE_ASKED, ENSEMBLE_LEFT},
        {"12.7.0.1:2181", "10.0.0.2:2181", ENSEMBLE_ASKED, ENSEMBLE_LEFT},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        const char *address = rows[i].address, *server = rows[i].server;
        CHECK_INT(ensemble_uses(address, own, added, server, true), rows[i].use);
        CHECK_INT(ensemble_uses(address, own, added, server, false), rows[i].unknown);
    }
}
