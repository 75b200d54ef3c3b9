#include "creating.h"

#include "lib/base/log.h"

static bool is_ephemeral(const struct request *r)
{
    return r->what.mode == STORE_EPHEMERAL || r->what.mode == STORE_EPHEMERAL_SEQUENTIAL;
}

void creating_send(zkl_session *s, struct request *r, struct store_request *what)
{
    if (r->made) {
        *what = (struct store_request){.kind = STORE_STAT, .path = r->made};
        return;
    }
    r->op = create_forms_op(&s->forms, what->mode == STORE_CONTAINER);
    what->plain = r->op == CREATE_PLAIN;
    if (what->mode == STORE_CONTAINER && r->op != CREATE_CONTAINER)
        what->mode = STORE_PERSISTENT;
    s->creating = s->creating || (what->plain && is_ephemeral(r));
}

void creating_unsent(zkl_session *s, struct request *r)
{
    if (r->op == CREATE_PLAIN && is_ephemeral(r))
        s->creating = false;
    g_clear_pointer(&r->made, g_free);
}

static void tell_form(zkl_session *s, bool told)
{
    const bool plain = s->forms.form == FORM_PLAIN;

    log_line(s->log, ZKL_LOG_WARN, "old-servers", NULL,
             "the servers %s %s: %smissing directories become persistent nodes, which nobody "
             "removes",
             told ? "do not know" : "seem not to know", plain ? "create2" : "containers",
             plain ? "new nodes are read once more, and " : "");
}

/* What ends with its session says nothing of the create, nor what fails on a standing connection:
 * only a server, or the network, ends a connection in the middle. */
static void learn(zkl_session *s, const struct request *r, enum store_rc rc)
{
    bool changed = false;

    if (rc == STORE_UNIMPLEMENTED)
        changed = create_op_unknown(&s->forms, r->op);
    else if (rc < STORE_UNKNOWN)
        create_op_answered(&s->forms, r->op);
    else if (rc == STORE_UNKNOWN && r->connection != s->connection)
        changed = create_op_lost(&s->forms, r->op, r->connection, s->confirmed == r->connection);
    if (changed)
        tell_form(s, rc == STORE_UNIMPLEMENTED);
}

/* What was not done because the server does not know it is sent in another form. Requests behind it
 * have been sent, and one that is marked once may rely on their order: it finds out itself. */
static void translate(const struct request *r, struct store_reply *reply)
{
    if (reply->rc == STORE_UNIMPLEMENTED)
        reply->rc = r->op == CREATE_PLAIN ? STORE_BAD : STORE_UNKNOWN;
}

/* What another session has there, or nobody, says nothing of the create: it was done, but the node
 * may be gone by now. */
static void use_stat(const zkl_session *s, const struct request *r, struct store_reply *reply)
{
    if (reply->rc == STORE_OK && create_is_own(reply->ephemeral_owner, s->id))
        *reply = (struct store_reply){.path = r->made,
                                      .czxid = reply->czxid,
                                      .mzxid = reply->czxid,
                                      .pzxid = reply->czxid,
                                      .ephemeral_owner = reply->ephemeral_owner,
                                      .ctime_ms = reply->ctime_ms,
                                      .data_length = r->what.length};
    else if (reply->rc != STORE_GONE)
        *reply = (struct store_reply){.rc = STORE_UNKNOWN};
}

bool creating_answered(zkl_session *s, struct request *r, struct store_reply *reply)
{
    if (r->made) {
        use_stat(s, r, reply);
    } else {
        learn(s, r, reply->rc);
        translate(r, reply);
        if (reply->rc == STORE_OK && r->op == CREATE_PLAIN && is_ephemeral(r)) {
            r->made = g_strdup(reply->path);
            return false;
        }
    }
    if (r->op == CREATE_PLAIN && is_ephemeral(r))
        s->creating = false;
    if (reply->rc != STORE_OK)
        g_clear_pointer(&r->made, g_free);
    return true;
}
