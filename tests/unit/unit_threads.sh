#!/bin/bash
# The unit tests for TSan: without the longest of those that call recipes alone, where nothing can race.
exec "$top_builddir/tests/unit/unit" -x attempt_walk once_years proofs
