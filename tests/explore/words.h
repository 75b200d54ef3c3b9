/* Included before all else in words.c, and in the library's files that it tries: each access to an
 * atomic word is a place at which the thread may be stopped. */
#ifndef EXPLORE_WORDS_H
#define EXPLORE_WORDS_H

#include <stdatomic.h>

void words_access(void);

#undef atomic_load
#undef atomic_store
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_weak
#define atomic_load(p) (words_access(), atomic_load_explicit((p), memory_order_seq_cst))
#define atomic_store(p, value)                                                                     \
    (words_access(), atomic_store_explicit((p), (value), memory_order_seq_cst))
#define atomic_compare_exchange_strong(p, expected, desired)                                       \
    (words_access(), atomic_compare_exchange_strong_explicit(                                      \
                         (p), (expected), (desired), memory_order_seq_cst, memory_order_seq_cst))
#define atomic_compare_exchange_weak(p, expected, desired)                                         \
    atomic_compare_exchange_strong((p), (expected), (desired))

#endif
