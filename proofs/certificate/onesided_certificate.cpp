#include "proofs/certificate/onesided_certificate.h"

#include <nlohmann/json.hpp>

#include "proofs/kernel/certificate.h"
#include "proofs/kernel/input.h"
#include "proofs/kernel/onesided/claims.h"

namespace p2 {
namespace {

/// Adds the manifest, and `fault`, what p2-check finds wrong, if it is to be wrong.
template <typename FindFault>
std::variant<CertificateFiles, std::string> completed(CertificateFiles files,
                                                      const std::string& claim, bool valid,
                                                      const FindFault& find_fault,
                                                      const Provenance& provenance) {
  if (!valid) {
    try {
      files["fault.json"] = find_fault(files);
    } catch (const kernel::CheckFailure& failure) {
      return failure.what();
    }
    if (files["fault.json"].empty()) return "p2-check finds no fault that is one in any case";
  }
  add_manifest(claim + (valid ? "-valid" : "-invalid"), provenance, files);
  const kernel::Result result = check_certificate(files);
  if (result.verdict == kernel::Verdict::Accepted) return files;
  return result.reason;
}

}  // namespace

std::variant<CertificateFiles, std::string> onesided_certificate(const std::string& plan,
                                                                 bool valid,
                                                                 const Provenance& provenance) {
  return completed({{"plan.json", plan}}, "onesided", valid, kernel::onesided_fault, provenance);
}

std::variant<CertificateFiles, std::string> algorithm_certificate(const std::string& xml,
                                                                  bool valid,
                                                                  const Provenance& provenance) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  const std::string problem = nlohmann::json({{"xml", xml}}).dump(-1, ' ', false, kReplace);
  return completed({{"problem.json", problem + "\n"}}, "algorithm", valid, kernel::algorithm_fault,
                   provenance);
}

}  // namespace p2
