#include <string>

#include "cli/commands.h"
#include "p2/version.h"

namespace p2 {
namespace {

std::string found(const std::string& version) { return version.empty() ? "not found" : version; }

}  // namespace

std::string version_text() {
  const BuildInfo& build = build_info();
  std::string text = "p2-verify " + build.version + "\n  compiler  " + build.compiler + " (" +
                     build.build_type + ")\nsolvers:\n";
  for (const auto& [name, version] : solver_versions()) {
    text += "  " + name + std::string(10 - name.size(), ' ') + version + "\n";
  }
  return text + "found at build time:\n  CUDA      " + found(build.cuda) + "\n  NCCL      " +
         found(build.nccl) + "\n  MPI       " + found(build.mpi) + "\n";
}

}  // namespace p2
