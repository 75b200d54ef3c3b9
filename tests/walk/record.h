/* The calls in a library that is compiled with -finstrument-functions: each is kept in memory until
 * it is written. Any thread may call the library; one thread alone begins and ends stages. */
#ifndef WALK_RECORD_H
#define WALK_RECORD_H

#include <stdbool.h>

/* What comes next belongs to that stage; NULL: to none. The name must last. */
void record_stage(const char *name);

/* While on, what this thread calls is not kept. */
void record_hide(bool on);

/* Writes to a file what was called, when no other thread is in the library: a line "stage NAME",
 * then for each call "NUMBER-OF-THREAD NAME-OF-THREAD DEPTH ADDRESS". False if there is no such
 * file, or if there were more calls than there is room for. */
bool record_write(const char *file);

/* What gcc lets each function call when it begins, and when it ends. */
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

#endif
