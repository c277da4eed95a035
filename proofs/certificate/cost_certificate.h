#pragma once

#include <string>
#include <vector>

#include "engine/cost/latency_bandwidth.h"
#include "engine/program/program_file.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// That no valid program costs less than the least of some, on a network and for any α : β.
struct CheapestClaim {
  std::uint32_t devices = 0;
  std::vector<Group> classes;  ///< ascending, each and by first device
  Dialect dialect = Dialect::Published;
  std::optional<Instance> over;  ///< no program over this; without it over any disjoint groups
  std::vector<Uplink> uplinks;
  std::string among;  ///< what the programs are: `hierarchies`, `unmixed` or `all`
  std::vector<ProgramFile> programs;
};

/// The certificate of the claim `cheapest`. Throws std::length_error when a file would be larger
/// than p2-check reads.
CertificateFiles cheapest_certificate(const CheapestClaim& claim, const Provenance& provenance);

}  // namespace p2
