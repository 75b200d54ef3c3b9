#!/bin/bash
# tests/live/live without its suites of faults, which are in live_faults.sh.
exec "$top_builddir/tests/live/live" -x 'fault_*'
