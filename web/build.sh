#!/usr/bin/env bash
# Builds the page: build.sh ENGINE_WASM OUT. Installs the npm packages of package-lock.json first, if they
# are not there; where node is older than Vite needs, npm's own package of node is used for the build.
set -euo pipefail
engine=$1 out=$2
cd "$(dirname "$0")"
export NO_UPDATE_NOTIFIER=1 ENGINE_WASM=$engine

new_enough() { node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || a === 22 && b >= 12 || a === 20 && b >= 19 ? 0 : 1)' 2>/dev/null; }
if ! new_enough; then
  [ -x "$out-node/node_modules/node/bin/node" ] || npm install --silent --no-save --prefix "$out-node" node@20 >&2
  PATH=$out-node/node_modules/node/bin:$PATH
  new_enough || { echo "web: needs node 20.19 or newer" >&2; exit 1; }
fi
if ! cmp -s package-lock.json node_modules/.installed; then
  npm ci --silent >&2
  cp package-lock.json node_modules/.installed
fi
node node_modules/typescript/bin/tsc --noEmit
node node_modules/vite/bin/vite.js build --outDir "$out" --emptyOutDir --logLevel warn
node size.mjs "$out"
