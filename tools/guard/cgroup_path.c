/* The kernel's texts show paths as seen from our cgroup namespace: one outside of it begins with
 * "/..". */
#include "cgroup_path.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

/* Fields of a line of mountinfo. */
enum { ROOT = 3, MOUNT_POINT = 4 };

/* Returns what follows root in path; NULL if path is not root or below it. */
static const char *rest_below(const char *path, const char *root)
{
    const size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    const char *rest = path + length;

    if (strncmp(path, root, length) != 0 || (*rest != '/' && *rest != '\0'))
        return NULL;
    if (strncmp(rest, "/..", 3) == 0 && (rest[3] == '/' || rest[3] == '\0'))
        return NULL;
    return strcmp(rest, "/") == 0 ? "" : rest;
}

/* Whether a line is of cgroup v2: "ID PARENT DEVICE ROOT POINT OPTIONS [TAG...] - TYPE SOURCE
 * OPTIONS" */
static bool is_cgroup2(char *const *fields)
{
    guint i = MOUNT_POINT + 1;

    if (g_strv_length((char **)fields) <= MOUNT_POINT)
        return false;
    while (fields[i] && strcmp(fields[i], "-") != 0)
        i++;
    return fields[i] && fields[i + 1] && strcmp(fields[i + 1], "cgroup2") == 0;
}

/* Returns the path of our cgroup in the hierarchy of v2; NULL: there is none. */
static char *cgroup_path_own_path(const char *membership)
{
    g_auto(GStrv) lines = g_strsplit(membership, "\n", -1);

    for (char **line = lines; *line; line++)
        if (g_str_has_prefix(*line, "0::/"))
            return g_strdup(*line + strlen("0::"));
    return NULL;
}

/* Looks at the last mount first, since it is on top of those before. */
char *cgroup_path(const char *mountinfo, const char *membership)
{
    g_autofree char *own = cgroup_path_own_path(membership);
    g_auto(GStrv) lines = g_strsplit(mountinfo, "\n", -1);
    char *path = NULL;

    for (guint i = g_strv_length(lines); own && i > 0 && !path; i--) {
        g_auto(GStrv) fields = g_strsplit(lines[i - 1], " ", -1);

        if (!is_cgroup2(fields))
            continue;
        g_autofree char *root = g_strcompress(fields[ROOT]); /* special characters are in octal */
        const char *rest = rest_below(own, root);
        g_autofree char *point = rest ? g_strcompress(fields[MOUNT_POINT]) : NULL;
        path = point ? g_strconcat(point, rest, NULL) : NULL;
    }
    return path;
}

void cgroup_name(char ret[CGROUP_NAME_MAX], pid_t maker, int number)
{
    snprintf(ret, CGROUP_NAME_MAX, "zkl-%d-%d", (int)maker, number);
}

bool cgroup_name_parse(const char *name, pid_t *ret_maker)
{
    char again[CGROUP_NAME_MAX];
    int maker;
    int number;

    if (sscanf(name, "zkl-%9d-%9d", &maker, &number) != 2)
        return false;
    cgroup_name(again, maker, number);
    if (maker <= 0 || number < 0 || strcmp(again, name) != 0)
        return false;
    if (ret_maker)
        *ret_maker = maker;
    return true;
}

char *cgroup_path_outside(const char *path)
{
    char *outside = g_strdup(path);
    const char *name;

    while ((name = strrchr(outside, '/')) && cgroup_name_parse(name + 1, NULL))
        outside[name - outside] = '\0';
    if (strcmp(outside, path) == 0)
        g_clear_pointer(&outside, g_free);
    return outside;
}
