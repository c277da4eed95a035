#pragma once

#include <map>
#include <string>

#include "proofs/claims/campaign.h"

namespace p2::claims {

/// Of a result: its certificate's claim, and its folder.
struct WrittenCertificate {
  std::string claim;
  std::string folder;
};
using ResultCertificates = std::map<const Result*, WrittenCertificate>;

}  // namespace p2::claims
