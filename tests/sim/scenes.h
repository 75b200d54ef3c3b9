/* Told scenes: one thing at a time happens to a few processes, with a fixed latency. */
#ifndef SIM_SCENES_H
#define SIM_SCENES_H

#include <stddef.h>

#include "stage.h"

struct scene {
    const char *name; /* of the file with what is expected, without .txt */
    int servers;
    void (*play)(struct stage *stage);
};

extern const struct scene scenes[];
extern const size_t scenes_count;

/* Its trace, to be freed; *ret_wrong is what the oracle found wrong, or NULL. */
char *scene_play(const struct scene *scene, char **ret_wrong);

#endif
