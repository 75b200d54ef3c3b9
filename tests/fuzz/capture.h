/* Standard output and standard error of the code under test, while those of the process keep
 * working for whoever reports: a check, a sanitizer, libFuzzer. */
#ifndef FUZZ_CAPTURE_H
#define FUZZ_CAPTURE_H

#include <glib.h>

/* Once, before anything else. */
void capture_init(void);

/* From here on what is written to the two is kept. */
void capture_begin(void);

/* And here that ends; new strings of what was written. */
void capture_end(GString **ret_out, GString **ret_err);

/* To where standard error was at capture_init(). */
void capture_report(const char *format, ...) G_GNUC_PRINTF(1, 2);

#endif
