#!/bin/sh
# Fuzzes every parser for SECONDS each: tests/fuzz/run.sh SECONDS
# Builds the preset `fuzz` (clang) first. Fails if any target finds anything; the inputs that show
# it are kept in build/fuzz/findings. A finding that was fixed belongs in tests/fuzz/corpus, where
# the ordinary tests replay it.
set -eu

case "${1:-}" in
  '' | *[!0-9]*)
    echo "usage: tests/fuzz/run.sh SECONDS" >&2
    exit 2
    ;;
esac
seconds=$1
cd "$(dirname "$0")/../.."

cmake --preset fuzz
targets="system program definition msccl onesided hlo records"
if grep -q "^Protobuf_INCLUDE_DIR:PATH=/" build/fuzz/CMakeCache.txt; then targets="$targets hlo_binary"; fi
# shellcheck disable=SC2046
cmake --build --preset fuzz --target $(printf 'fuzz_%s ' $targets)

findings=build/fuzz/findings
mkdir -p "$findings"
# The corpus grows in here: only seeds chosen by hand are kept with the sources.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failed=""
for target in $targets; do
  mkdir "$work/$target"
  cp tests/fuzz/corpus/"$target"/* "$work/$target"
  case $target in
    system) cp examples/systems/*.json "$work/$target" ;;
    definition) cp engine/collective/*.p2c "$work/$target" ;;
    onesided) cp examples/onesided/*.plan "$work/$target" ;;
    msccl) cp examples/msccl/*.xml "$work/$target" ;;
  esac
  echo "fuzz_$target: $seconds seconds"
  words=""
  if [ -f "tests/fuzz/$target.dict" ]; then words="-dict=tests/fuzz/$target.dict"; fi
  # shellcheck disable=SC2086
  build/fuzz/bin/fuzz_"$target" "$work/$target" $words \
    -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=2048 -timeout=10 \
    -artifact_prefix="$findings/$target-" -print_final_stats=1 ||
    failed="$failed $target"
done

if [ -n "$failed" ]; then
  echo "findings:$failed (see $findings)" >&2
  exit 1
fi
