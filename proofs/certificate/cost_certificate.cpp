#include "proofs/certificate/cost_certificate.h"

#include <fmt/format.h>

#include "proofs/certificate/system_text.h"

namespace p2 {

CertificateFiles cheapest_certificate(const CheapestClaim& claim, const Provenance& provenance) {
  std::string uplinks;
  for (const Uplink& uplink : claim.uplinks) {
    uplinks += fmt::format("{}[{},{}]", uplinks.empty() ? "" : ",", uplink.span, uplink.slowdown);
  }
  std::string programs;
  for (const ProgramFile& file : claim.programs) {
    programs += (programs.empty() ? "\n" : ",\n") +
                program_text(file.program, file.dialect, file.instance ? &*file.instance : nullptr);
  }
  CertificateFiles files;
  files["problem.json"] = "{" +
                          system_text(claim.devices, claim.classes, claim.dialect,
                                      claim.over ? &*claim.over : nullptr) +
                          fmt::format("\"uplinks\":[{}],\n\"among\":\"{}\",\n\"programs\":[{}]}}\n",
                                      uplinks, claim.among, programs);
  add_manifest("cheapest", provenance, files);
  return files;
}

}  // namespace p2
