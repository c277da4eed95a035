#include <string>

#include <fmt/format.h>

#include "build_facts.h"
#include "cli/commands.h"
#include "encodings/cnf/synthesis.h"
#include "encodings/z3/synthesis.h"

namespace p2 {
namespace {

std::string found(const char* version) { return *version == '\0' ? "not found" : version; }

}  // namespace

std::string version_text() {
  return fmt::format(
      "p2-verify {}\n"
      "  compiler  {} ({})\n"
      "solvers:\n"
      "  Z3        {}\n"
      "  CaDiCaL   {}\n"
      "found at build time:\n"
      "  CUDA      {}\n"
      "  NCCL      {}\n"
      "  MPI       {}\n",
      P2_VERSION, P2_COMPILER, P2_BUILD_TYPE, z3_encoding::solver_version(), cnf::solver_version(),
      found(P2_CUDA_VERSION), found(P2_NCCL_VERSION), found(P2_MPI_VERSION));
}

}  // namespace p2
