#!/bin/sh
# clang-tidy over all sources of the product and the headers that they include, by .clang-tidy.
#   tools/tidy.sh [PATTERN]   PATTERN selects sources, e.g. engine/hlo
set -eu
cd "$(dirname "$0")/.."
build=build/tidy
# A command for every source, and no precompiled header, which clang does not read from GCC.
cmake --preset release -B "$build" -DCMAKE_UNITY_BUILD=OFF -DP2_PRECOMPILED_HEADERS=OFF -DP2_BUILD_TESTS=OFF
generated=$(ninja -C "$build" -t targets all | sed -n 's/^\(engine.*\.\(cpp\|h\)\): CUSTOM_COMMAND$/\1/p')
# shellcheck disable=SC2086
ninja -C "$build" $generated
git ls-files 'engine/*.cpp' 'encodings/*.cpp' 'proofs/*.cpp' 'cli/*.cpp' | grep "${1:-}" |
  xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p "$build"
