#!/bin/sh
# Sets everything up, then checks style and types and runs the tests: ./test.sh [pytest arguments].
set -eu
cd "$(dirname "$0")"
EXTRAS=test
. scripts/venv.sh
"$PYTHON" -m ruff check .
"$PYTHON" -m mypy
# Files of tests are spread over the cores: most of the time is compiling and playing on one.
exec "$PYTHON" -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile "$@"
