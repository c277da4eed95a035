#!/bin/sh
# The library as its users get it: installed to a prefix, found by CMake, used by examples/library.
#   build_example.sh BUILD SOURCE CXX
set -eu
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" --component library > /dev/null
cmake -S "$source/examples/library" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$3" \
      > /dev/null
cmake --build "$work/build"
"$work/build/p2-library-example"
