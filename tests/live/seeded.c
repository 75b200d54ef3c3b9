#include "seeded.h"

#include "server.h"

#include <stdlib.h>
#include <string.h>

int seeded_init(void)
{
    if (!zk_server_available())
        runner_skip("no server");
    return 0;
}

int seeded_main(struct seeded *s, int argc, char **argv)
{
    char *only[] = {argv[0], argc % 2 == 0 ? argv[argc - 1] : NULL, NULL};

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seconds") == 0)
            s->seconds = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--seed") == 0)
            s->seed = (guint32)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--nodes") == 0)
            s->nodes = atoi(argv[i + 1]);
    }
    char *path = g_file_read_link("/proc/self/exe", NULL);
    s->self = path;
    s->rand = g_rand_new_with_seed(s->seed);
    int status = runner_main(only[1] ? 2 : 1, only);
    g_rand_free(s->rand);
    g_free(path);
    return status;
}
