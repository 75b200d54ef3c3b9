/* libzookeeper's log function has no context, so each slot of sessions has a function of its own.
 */
#include <string.h>

#include "lib/base/log.h"
#include "store_zk.h"

/* What the library says of each attempt to connect: an outage is told by other means. */
static enum library_line kind_of(const char *line)
{
    static const char *const functions[] = {"@handle_socket_error_msg@", "@zookeeper_interest@",
                                            "@check_events@", "@resolve_hosts@"};

    for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
        if (strstr(line, functions[i]))
            return strstr(line, " zk retcode=") ? LIBRARY_FAILED : LIBRARY_CONNECTS;
    }
    return LIBRARY_LINE;
}

static zkl_log_level level_of(const char *line)
{
    return strstr(line, ":ZOO_ERROR@")  ? ZKL_LOG_ERROR
           : strstr(line, ":ZOO_WARN@") ? ZKL_LOG_WARN
           : strstr(line, ":ZOO_INFO@") ? ZKL_LOG_INFO
                                        : ZKL_LOG_DEBUG;
}

static void on_line(unsigned slot, const char *line)
{
    const enum library_line kind = kind_of(line);

    log_library(slot, kind == LIBRARY_LINE ? level_of(line) : ZKL_LOG_DEBUG, kind, line);
}

#define SLOTS(X)                                                                                   \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define FUNCTION(n)                                                                                \
    static void on_line_##n(const char *line)                                                      \
    {                                                                                              \
        on_line(n, line);                                                                          \
    }
#define NAME(n) on_line_##n,

SLOTS(FUNCTION)

static void ignore(const char *line)
{
    (void)line;
}

log_callback_fn store_zk_log(const struct log *log)
{
    static const log_callback_fn functions[] = {SLOTS(NAME)};

    G_STATIC_ASSERT(G_N_ELEMENTS(functions) == LOG_SLOTS);
    return log ? functions[log_slot(log)] : ignore;
}
