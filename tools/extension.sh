#!/bin/sh
# Build the JupyterLab extension from its sources: sh tools/extension.sh roofcheck/home/lab .venv/bin
set -eu
sources=$1
bin=$(cd "$2" && pwd)

if ! command -v npm >/dev/null; then
    echo "No npm found: install Node.js, with which the extension of JupyterLab is built." >&2
    exit 1
fi
# jlpm is yarn, which doesn't read npm's settings.
export YARN_NPM_REGISTRY_SERVER="${YARN_NPM_REGISTRY_SERVER:-$(npm config get registry)}"
export PATH="$bin:$PATH"
cd "$sources"
jlpm install --immutable
jlpm build
