#include "tables.h"

const char *request_name(enum store_kind kind)
{
    static const char *const names[] = {
        [STORE_CREATE] = "create", [STORE_DELETE] = "delete", [STORE_GET] = "get",
        [STORE_LIST] = "list",     [STORE_SYNC] = "sync",     [STORE_SET] = "set",
        [STORE_STAT] = "exists",   [STORE_MULTI] = "multi",   [STORE_UNWATCH] = "unwatch",
    };
    return names[kind];
}

const char *fired_name(enum store_fired fired)
{
    static const char *const names[] = {
        [STORE_FIRED_CHANGED] = "is changed",
        [STORE_FIRED_GONE] = "is gone",
        [STORE_FIRED_CHILDREN] = "has other children",
        [STORE_FIRED_CREATED] = "is made",
    };
    return names[fired];
}

const char *rc_name(enum store_rc rc)
{
    static const char *const names[] = {
        [STORE_OK] = "ok",
        [STORE_NONODE] = "no node",
        [STORE_EXISTS] = "exists",
        [STORE_BADVERSION] = "other version",
        [STORE_NOAUTH] = "refused",
        [STORE_NOCHILDREN] = "no children here",
        [STORE_NOTEMPTY] = "not empty",
        [STORE_BAD] = "bad",
        [STORE_UNIMPLEMENTED] = "unknown operation",
        [STORE_UNKNOWN] = "unknown",
        [STORE_GONE] = "session over",
    };
    return names[rc];
}

const char *cause_name(enum cause cause)
{
    static const char *const names[] = {
        [CAUSE_REQUEST] = "request", [CAUSE_EXPIRY] = "expired",      [CAUSE_CLOSE] = "closed",
        [CAUSE_FORCED] = "forced",   [CAUSE_ADMIN] = "administrator", [CAUSE_REAPED] = "reaped",
    };
    return names[cause];
}

const char *event_name(enum store_event event)
{
    static const char *const names[] = {
        [STORE_EV_UP] = "is connected",
        [STORE_EV_DOWN] = "is disconnected",
        [STORE_EV_EXPIRED] = "hears that it is expired",
        [STORE_EV_AUTH] = "is refused",
        [STORE_EV_BEGIN] = "asks for a session",
        [STORE_EV_HOST] = "knows no host",
        [STORE_EV_FOREIGN] = "meets no ZooKeeper",
        [STORE_EV_UNSERVED] = "meets no server",
        [STORE_EV_SERVED] = "meets a server",
        [STORE_EV_REFUSED] = "meets a server that has gone back",
    };
    return names[event];
}

const char *election_event_name(zkl_election_event event)
{
    static const char *const names[] = {
        [ZKL_ELECTION_LEADING] = "LEADING", [ZKL_ELECTION_SUSPECT] = "SUSPECT",
        [ZKL_ELECTION_HELD] = "HELD",       [ZKL_ELECTION_ASKED] = "ASKED",
        [ZKL_ELECTION_LOST] = "LOST",       [ZKL_ELECTION_RESIGNED] = "RESIGNED",
        [ZKL_ELECTION_FAILED] = "FAILED",   [ZKL_ELECTION_STOPPED] = "STOPPED",
    };
    return names[event];
}

const char *state_name(zkl_state state)
{
    static const char *const names[] = {
        [ZKL_HELD] = "HELD",
        [ZKL_SUSPECT] = "SUSPECT",
        [ZKL_LOST] = "LOST",
        [ZKL_RELEASED] = "RELEASED",
    };
    return names[state];
}
