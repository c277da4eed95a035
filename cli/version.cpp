#include <string>

#include <fmt/format.h>

#include "cli/commands.h"
#include "encodings/cnf/synthesis.h"
#include "encodings/z3/synthesis.h"
#include "p2/version.h"

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
      build_info().version, build_info().compiler, build_info().build_type, z3_encoding::solver_version(), cnf::solver_version(),
      found(build_info().cuda), found(build_info().nccl), found(build_info().mpi));
}

}  // namespace p2
