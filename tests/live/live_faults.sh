#!/bin/bash
# tests/live/live in two parts that run side by side, since it is the longest of all and waits most of
# the time: here its suites of faults, in live_calls.sh the others.
exec "$top_builddir/tests/live/live" 'fault_*'
