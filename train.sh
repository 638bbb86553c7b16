#!/bin/sh
# Sets everything up, then trains and measures: ./train.sh [key=value ...], as in `python train.py --help`.
set -eu
cd "$(dirname "$0")"
EXTRAS=web
. scripts/venv.sh
echo "Starting ..."
exec "$PYTHON" train.py "$@"
