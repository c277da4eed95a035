#pragma once

#include <string>
#include <variant>

#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// Evidence for the claim `modules-equal` of problem.json: relation.json, a relation at every node
/// of the partitioned module, which p2-check replays; or, as the second, where it ends.
std::variant<std::string, std::string> relation_evidence(const CertificateFiles& files);

}  // namespace p2
