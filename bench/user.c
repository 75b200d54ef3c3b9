#include "user.h"

#include "common.h"

void user_require(int rc)
{
    zkl_error error;

    if (rc == 0)
        return;
    zkl_last_error(&error);
    fail("%s", error.text);
}

void user_granted(const zkl_error *error)
{
    if (error)
        fail("%s", error->text);
}

zkl_session *user_session(const char *address)
{
    zkl_session_options options = ZKL_SESSION_OPTIONS_INIT;
    zkl_session *session;

    options.session_timeout_ms = (int)option_number("timeout", 30000);
    options.tick_ms = (int)option_number("tick", 0);
    options.log_level = option_number("quiet", 0) ? ZKL_LOG_ERROR : 0;
    user_require(zkl_session_open(&session, address, &options, NULL));
    user_require(zkl_session_wait(session, 30000));
    return session;
}
