#include "own_name.h"

#include <glib.h>
#include <string.h>
#include <sys/prctl.h>

static char *room;
static size_t room_size;
static char **copies; /* of all, whatever becomes of argv */

/* The kernel puts all arguments into one piece. */
void own_name_make_room(char **argv)
{
    const size_t count = g_strv_length(argv);

    room = argv[0];
    room_size = (size_t)(argv[count - 1] - room) + strlen(argv[count - 1]);
    copies = g_strdupv(argv);
    memcpy(argv, copies, count * sizeof *argv);
}

void own_name_take(const char *name, const char *about)
{
    g_autofree char *text = g_strdup_printf("%s %s", name, about);

    prctl(PR_SET_NAME, name);
    memset(room, 0, room_size);
    memcpy(room, text, MIN(room_size, strlen(text)));
}
