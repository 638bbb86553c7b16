#!/bin/sh
# Sets everything up, then checks style and types and runs the tests: ./test.sh [pytest arguments].
set -eu
cd "$(dirname "$0")"
EXTRAS=test
. scripts/venv.sh
"$PYTHON" -m ruff check .
"$PYTHON" -m mypy
exec "$PYTHON" -m pytest "$@"
