/* Static probes for bpftrace, perf and SystemTap: zkl-probes(7). A probe is a nop until somebody
 * listens. But its arguments, count of them, are computed each time: so they must be values at
 * hand. */
#ifndef LIB_PROBES_H
#define LIB_PROBES_H

#ifdef ZKL_PROBES
#include <sys/sdt.h>
#define PROBE(count, name, ...) STAP_PROBE##count(zkl, name, __VA_ARGS__)
#else
#define PROBE(count, name, ...) ((void)0)
#endif

#endif
