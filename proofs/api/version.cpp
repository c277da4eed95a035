#include "p2/version.h"

#include "encodings/cnf/synthesis.h"
#include "encodings/z3/synthesis.h"

namespace p2 {

std::vector<std::pair<std::string, std::string>> solver_versions() {
  return {{"Z3", z3_encoding::solver_version()}, {"CaDiCaL", cnf::solver_version()}};
}

}  // namespace p2
