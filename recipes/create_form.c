#include "create_form.h"

enum create_op create_forms_op(const struct create_forms *f, bool container)
{
    return f->form == FORM_PLAIN                     ? CREATE_PLAIN
           : container && f->form == FORM_CONTAINERS ? CREATE_CONTAINER
                                                     : CREATE_STAT;
}

void create_op_answered(struct create_forms *f, enum create_op op)
{
    f->ops[op].known = true;
    f->ops[op].lost = 0;
}

/* Rules out containers with create2: they came to ZooKeeper later. */
bool create_op_unknown(struct create_forms *f, enum create_op op)
{
    const enum create_form left = op == CREATE_CONTAINER ? FORM_NO_CONTAINERS : FORM_PLAIN;

    if (op == CREATE_PLAIN || left <= f->form)
        return false;
    f->form = left;
    return true;
}

bool create_op_lost(struct create_forms *f, enum create_op op, uint32_t connection, bool served)
{
    if (f->ops[op].known || op == CREATE_PLAIN || !served || f->ops[op].connection == connection)
        return false;
    f->ops[op].connection = connection;
    return ++f->ops[op].lost >= CREATE_LOST_MAX && create_op_unknown(f, op);
}

bool create_is_own(int64_t ephemeral_owner, int64_t session)
{
    return ephemeral_owner != 0 && ephemeral_owner == session;
}
