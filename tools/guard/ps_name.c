#include "ps_name.h"

#include <glib.h>
#include <string.h>
#include <sys/prctl.h>

static char *shown;  /* the arguments, each with its final 0 */
static char *copied; /* the same, for all who read them */
static size_t room;  /* of both */
static char **kept;  /* what ps_name_keep() has returned */

char **ps_name_keep(int argc, char **argv)
{
    char *end = argv[0];
    int count = 0; /* of those that are one after the other */

    for (; count < argc && argv[count] == end; count++)
        end += strlen(end) + 1;
    g_free(copied);
    g_free(kept);
    shown = argv[0];
    room = (size_t)(end - shown);
    copied = g_memdup2(shown, room);
    kept = g_new0(char *, (gsize)argc + 1);
    for (int i = 0; i < argc; i++)
        kept[i] = i < count ? copied + (argv[i] - shown) : argv[i];
    return kept;
}

void ps_name_wipe(const char *text)
{
    if (room > 0 && text >= copied && text < copied + room)
        explicit_bzero(shown + (text - copied), strlen(text));
}

void ps_name_set(const char *name)
{
    prctl(PR_SET_NAME, name);
    if (room == 0)
        return;
    const size_t length = MIN(strlen(name), room - 1), before = strlen(shown) + 1,
                 rest = MIN(room - before, room - length - 1);

    memmove(shown + length + 1, shown + before, rest);
    memset(shown + length + 1 + rest, 0, room - length - 1 - rest);
    memcpy(shown, name, length);
    shown[length] = '\0';
    shown[room - 1] = '\0';
}
