#pragma once

#include <string>
#include <vector>

#include "proofs/kernel/verdict.h"

namespace p2::kernel {

/// A claim that is not about programs of collectives.
struct OtherClaim {
  std::vector<std::string> files;  ///< of its certificate, beside the manifest
  std::string (*judge)(const Files& files) = nullptr;
};

/// Nothing if there is no such claim.
const OtherClaim* other_claim(const std::string& name);

}  // namespace p2::kernel
