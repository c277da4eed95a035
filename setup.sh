#!/bin/sh
# p2-verify from a fresh Debian 12 or Ubuntu 24.04:
#   ./setup.sh demo   installs what is missing, builds, and runs the main job
#   ./setup.sh test   installs what is missing, builds, and runs all tests
#   ./setup.sh install PREFIX   installs what is missing, builds, and puts programs and library there
#   ./setup.sh packages         installs what is missing
#   ./setup.sh python           a Python environment in build/env with the package and what its tests need
# Installing needs root, or sudo. Nothing is installed when everything is there.
set -eu
cd "$(dirname "$0")"

# What the build and its tests need; protobuf reads binary modules. Optional, and found by CMake: MPI (libopenmpi-dev, openmpi-bin),
# CUDA and NCCL (libnccl-dev), Coq (coq) and OCaml (ocaml-nox, ocaml-findlib), for the Python package
# nanobind (pip), python3-dev and python3-venv.
packages="g++ cmake ninja-build libboost-program-options-dev libfmt-dev nlohmann-json3-dev libtbb-dev
          libprotobuf-dev protobuf-compiler libz3-dev libcadical-dev libexpat1-dev doctest-dev librapidcheck-dev python3 python3-jsonschema"

missing=""
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
  if [ "$(id -u)" -eq 0 ]; then as_root=""; else as_root="sudo"; fi
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get update
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
fi

# The Python package is tested where pip reaches nanobind; the build without it is complete.
python_environment() {
  if [ ! -x build/env/bin/pytest ]; then
    python3 -m venv build/env &&
      build/env/bin/pip install --quiet nanobind scikit-build-core pytest mypy numpy 'jax[cpu]'
  fi && python="-DPython_EXECUTABLE=$PWD/build/env/bin/python"
}

# Warnings are errors where CI=true, not for users.
strict=OFF
if [ "${CI:-}" = true ]; then strict=ON; fi
configure="cmake --preset release -DP2_WARNINGS_AS_ERRORS=$strict"

case "${1:-}" in
  packages) ;;
  demo)
    $configure -DP2_BUILD_TESTS=OFF
    cmake --build --preset release --target p2-verify p2-check
    cd build/release/bin
    system="--system ../../../examples/systems/a100-4nodes.json --axes data=8,shard=8 --reduce data"
    # shellcheck disable=SC2086
    {
      ./p2-verify synth $system --certify demo-certificates                   # placed, synthesised, proved
      ./p2-check demo-certificates/*                                           # verified by the independent checker
      ./p2-verify cost $system --top 10                                        # ranked
      ./p2-verify run $system --placement '[[2,4],[2,4]]' --bytes 64K --top 3  # on real data
    }
    ;;
  python)
    python_environment
    build/env/bin/pip install '.[jax]'
    ;;
  test)
    python=""
    python_environment || echo "the Python package is not tested: nanobind, pytest or JAX was not found"
    # shellcheck disable=SC2086
    $configure -DP2_BUILD_TESTS=ON $python
    cmake --build --preset release
    ctest --preset release
    ;;
  install)
    $configure -DP2_BUILD_TESTS=OFF
    cmake --build --preset release --target all p2
    cmake --install build/release --prefix "${2:?expected a folder: ./setup.sh install PREFIX}"
    ;;
  *)
    echo "usage: ./setup.sh demo|test|packages|python|install PREFIX" >&2
    exit 2
    ;;
esac
