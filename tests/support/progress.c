#include "progress.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct progress_page nobody_looks;
static struct progress_page *page = &nobody_looks;

static void find_page(void)
{
    const char *file = getenv("ZKL_PROGRESS");
    int fd = file ? open(file, O_RDWR | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    void *shared = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED)
        page = shared;
    close(fd);
}

static struct progress_page *the_page(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_page);
    return page;
}

void progress_step(void)
{
    struct progress_page *p = the_page();

    atomic_store(&p->allowed_s, 0);
    atomic_fetch_add(&p->steps, 1);
}

void progress_name(const char *name)
{
    snprintf(the_page()->name, sizeof(page->name), "%s", name);
    progress_step();
}

void progress_allow(int seconds)
{
    atomic_store(&the_page()->allowed_s, (uint32_t)seconds);
}

bool progress_is_late(void)
{
    struct progress_page *p = the_page();

    return atomic_load(&p->late) == atomic_load(&p->steps) + 1;
}

bool progress_wait(pthread_cond_t *changed, pthread_mutex_t *mutex)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_clockwait(changed, mutex, CLOCK_MONOTONIC, &until);
    return !progress_is_late();
}
