/* What came in on the TCP connections of this process. */
#ifndef BENCH_TRAFFIC_H
#define BENCH_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

/* From here on those that are open now are told from others. */
void traffic_divide(void);

/* Bytes so far, of those that are open: of the former or of the others. */
int64_t traffic_received(bool others);

#endif
