#!/bin/sh
# clang-tidy over all sources of the product and the headers that they include, by .clang-tidy.
#   tools/tidy.sh BUILD [PATTERN]   BUILD has compile_commands.json; PATTERN selects sources, e.g. engine/hlo
set -eu
build=${1:?expected a build folder with compile_commands.json}
pattern=${2:-}
cd "$(dirname "$0")/.."
git ls-files 'engine/*.cpp' 'encodings/*.cpp' 'proofs/*.cpp' 'cli/*.cpp' | grep "$pattern" |
  xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p "$build"
