#include "proofs/certificate/onesided_certificate.h"

#include "proofs/kernel/certificate.h"
#include "proofs/kernel/claims.h"

namespace p2 {

std::variant<CertificateFiles, std::string> onesided_certificate(const std::string& plan,
                                                                 bool valid,
                                                                 const Provenance& provenance) {
  CertificateFiles files{{"plan.json", plan}};
  if (!valid) {
    try {
      files["fault.json"] = kernel::onesided_fault(files);
    } catch (const kernel::CheckFailure& failure) {
      return failure.what();
    }
    if (files["fault.json"].empty()) return "p2-check finds no fault that is one in any case";
  }
  add_manifest(valid ? "onesided-valid" : "onesided-invalid", provenance, files);
  const kernel::Result result = check_certificate(files);
  if (result.verdict == kernel::Verdict::Accepted) return files;
  return result.reason;
}

}  // namespace p2
