#ifndef TORTURE_MEMORY_H
#define TORTURE_MEMORY_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define MEMORY_FAILS 0
#else
#define MEMORY_FAILS 1
#endif

#endif
