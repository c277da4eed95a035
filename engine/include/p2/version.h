#pragma once

#include <string>
#include <utility>
#include <vector>

namespace p2 {

/// What this build is and what CMake found when it was configured; empty where a library is absent.
struct BuildInfo {
  std::string version;     ///< of p2-verify, `major.minor.patch`
  std::string compiler;    ///< name and version
  std::string build_type;  ///< CMake's
  std::string cuda;        ///< version of the CUDA toolkit
  std::string nccl;        ///< version of NCCL
  std::string mpi;         ///< version of the MPI standard
  std::string coq;         ///< version of Coq, which checks proofs/theory in the tests
  std::string python;      ///< version of Python for which the package p2_verify is built
  std::string protobuf;    ///< reads binary modules of XLA
};

const BuildInfo& build_info();

/// The solvers that are linked: name and version.
std::vector<std::pair<std::string, std::string>> solver_versions();

}  // namespace p2
