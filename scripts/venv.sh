# Sourced by train.sh and test.sh: makes the virtual environment once and puts its Python into $PYTHON.
# DAMAS_VENV chooses the folder (default .venv); DAMAS_PYTHON the interpreter that makes it (default: 3.11 or newer);
# EXTRAS, which the caller sets, the optional dependencies.
VENV=${DAMAS_VENV:-.venv}
PYTHON=$VENV/bin/python
EXTRAS=${EXTRAS:-}

if [ ! -x "$PYTHON" ]; then
    base=
    for candidate in ${DAMAS_PYTHON:-python3.11 python3 python3.12 python3.13}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            base=$candidate
            break
        fi
    done
    if [ -z "$base" ]; then
        echo "Python 3.11 or newer was not found; install it, or name it with DAMAS_PYTHON=/path/to/python." >&2
        exit 2
    fi
    echo "Making the virtual environment $VENV with $base ..."
    if ! "$base" -m venv "$VENV"; then
        rm -rf "$VENV"
        echo "The virtual environment could not be made; on Debian and Ubuntu: apt install python3-venv." >&2
        exit 2
    fi
fi

# The stamp holds what was installed, so that a changed requirement or a first `test` after `train` installs again.
stamp=$VENV/.damas-installed-${EXTRAS:-base}
if ! cat pyproject.toml constraints.txt | cmp -s - "$stamp"; then
    echo "Installing damas-rl and what it needs (a few minutes the first time) ..."
    "$PYTHON" -m pip install --disable-pip-version-check -c constraints.txt -e ".${EXTRAS:+[$EXTRAS]}" || exit 1
    cat pyproject.toml constraints.txt > "$stamp"
fi
