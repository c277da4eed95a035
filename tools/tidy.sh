#!/bin/sh
# clang-tidy over the product, by .clang-tidy: its sources in the batches that the build compiles, and the
# headers that they include.
#   tools/tidy.sh [PATTERN]   PATTERN selects batches by their path, e.g. p2_hlo
set -eu
cd "$(dirname "$0")/.."
build=build/tidy
# clang reads no precompiled header of another compiler.
cmake --preset release -B "$build" -DP2_PRECOMPILED_HEADERS=OFF -DP2_BUILD_TESTS=OFF
generated=$(ninja -C "$build" -t targets all | sed -n 's/^\(engine.*\.\(cpp\|h\)\): CUSTOM_COMMAND$/\1/p')
# shellcheck disable=SC2086
ninja -C "$build" $generated
find "$build" -name '*_cxx.cxx' | sort | grep "${1:-}" |
  xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p "$build" \
    --header-filter="$PWD/(engine|encodings|proofs|cli)/.*\\.(h|cpp)$"
