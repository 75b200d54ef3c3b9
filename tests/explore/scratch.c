#include "scratch.h"

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(99);
}

FILE *scratch_open(void)
{
    char *path = NULL;
    int fd = g_file_open_tmp("zkl-explore-XXXXXX", &path, NULL);

    require(fd >= 0, "explore: a temporary file");
    unlink(path);
    g_free(path);
    FILE *file = fdopen(fd, "w+");
    require(file, "explore: a temporary file");
    return file;
}

void scratch_write(FILE *file, const void *data, size_t size)
{
    require(fwrite(data, 1, size, file) == size, "explore: a temporary file is written");
}

void scratch_read(FILE *file, void *data, size_t size)
{
    require(fread(data, 1, size, file) == size, "explore: a temporary file is read");
}

void scratch_seek(FILE *file, uint64_t at)
{
    require(fseeko(file, (off_t)at, SEEK_SET) == 0, "explore: a place in a temporary file");
}

void scratch_empty(FILE *file)
{
    scratch_seek(file, 0);
    require(ftruncate(fileno(file), 0) == 0, "explore: a temporary file is emptied");
}
