#!/bin/sh
# Make the virtual environment from requirements.lock, or say in a sentence what is missing.
set -eu
venv=$1

python=
for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "Python 3.11 or later is needed and was not found. Install it (Debian, Ubuntu: sudo apt install" >&2
    echo "python3 python3-venv; macOS: brew install python), or name it: make lab PYTHON=/path/to/python3" >&2
    exit 1
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    echo "$python cannot make virtual environments. Install that part of it" >&2
    echo "(Debian, Ubuntu: sudo apt install python3-venv) and run make again." >&2
    exit 1
fi

echo "Setting up $venv with $("$python" --version), once; this takes about half a minute."
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/python" tools/packages/install.py --no-deps -r requirements.lock \
    -e . -e ./rooflab -e ./roofcheck -e ./roofgrade
# Compile what the sandbox imports at each start, since it can't write there itself.
"$venv/bin/python" -c 'import anywidget, ipywidgets, matplotlib.pyplot, rooflab.explore'
touch "$venv/ready"
