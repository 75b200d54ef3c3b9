/* A session's advisory lock, pg_advisory_lock(), in bench/loop.c. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common.h"
#include "../loop.h"

struct locker {
    PGconn *connection;
    char key[24];
};

static void require(const struct locker *l, PGresult *r, ExecStatusType wanted)
{
    if (PQresultStatus(r) != wanted)
        fail("postgres: %s", PQerrorMessage(l->connection));
    PQclear(r);
}

static void prepare(struct locker *l, const char *name, const char *sql)
{
    require(l, PQprepare(l->connection, name, sql, 1, NULL), PGRES_COMMAND_OK);
}

static void call(struct locker *l, const char *statement)
{
    const char *values[] = {l->key};

    require(l, PQexecPrepared(l->connection, statement, 1, values, NULL, NULL, 0), PGRES_TUPLES_OK);
}

struct locker *locker_open(const char *address, const char *path)
{
    struct locker *l = calloc(1, sizeof *l);
    char dial[128], host[64];
    unsigned port, key = 5381;

    if (!l || sscanf(address, "%63[^:]:%u", host, &port) != 2)
        fail("postgres: no address");
    snprintf(dial, sizeof dial, "host=%s port=%u user=postgres dbname=postgres", host, port);
    l->connection = PQconnectdb(dial);
    if (PQstatus(l->connection) != CONNECTION_OK)
        fail("postgres: %s", PQerrorMessage(l->connection));
    for (; *path; path++)
        key = key * 33 + (unsigned char)*path;
    snprintf(l->key, sizeof l->key, "%u", key);
    prepare(l, "lock", "SELECT pg_advisory_lock($1::bigint)");
    prepare(l, "unlock", "SELECT pg_advisory_unlock($1::bigint)");
    return l;
}

void locker_acquire(struct locker *l)
{
    call(l, "lock");
}

void locker_release(struct locker *l)
{
    call(l, "unlock");
}
