#!/bin/bash
# The suites of tests/live/live that sanitizers leave out, or do less of, in the build that ships.
exec "$top_builddir/tests/live/live" thread_refused 'fault_long_queue.costs_*' mutex fence
