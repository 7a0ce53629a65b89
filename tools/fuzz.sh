#!/usr/bin/env bash
# Runs every fuzz target for the given number of seconds (default 60), from its committed corpus.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60} dir=build/fuzz
CC=clang cmake -G Ninja -S . -B $dir -DDIZHU_FUZZ=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
cmake --build $dir --target fuzzers | tail -1
for target in "$dir"/fuzz/fuzz_*; do
  name=$(basename "$target"); name=${name#fuzz_}
  echo "fuzzing $name for $seconds s"
  mkdir -p "$dir/found/$name"
  "$target" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$dir/found/$name-" "$dir/found/$name" tests/fuzz/corpus/"$name" 2>&1 |
    grep -E 'stat::number_of_executed_units|ERROR|SUMMARY|Test unit written' || true
  [ "${PIPESTATUS[0]}" -eq 0 ]
done
