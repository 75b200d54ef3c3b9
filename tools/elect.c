/* zkl elect: the verb. */
#include "elect_look.h"
#include "supervisor.h"

int verb_elect(struct settings *settings, int argc, char **argv)
{
    struct elect_options options;
    struct events events;
    int status = elect_options_parse(&options, settings, argc, argv);

    if (status == GO_ON && !events_open(&events))
        status = STATUS_INTERNAL;
    if (status == GO_ON) {
        status = options.mode == ELECT_RUN ? supervise(settings, &options, &events)
                                           : elect_look(settings, &options, &events);
        events_close(&events);
    }
    lock_options_free(&options.run);
    return status;
}
