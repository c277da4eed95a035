#include "cli/check/certificate.h"

#include <filesystem>

#include <fmt/format.h>

#include "proofs/certificate/program_certificate.h"
#include "p2/version.h"

namespace p2 {

std::string certificate_folder(const CheckRequest& request, std::size_t index) {
  const std::string stem = std::filesystem::path(request.files[index]).stem().string();
  return request.files.size() == 1
             ? *request.certificates
             : fmt::format("{}/{}-{}", *request.certificates, index + 1, stem);
}

std::optional<WritingTrouble> certify(CheckResult& result, const CheckRequest& request,
                                      std::size_t index) {
  if (result.verdict.kind == Verdict::Kind::Unknown || disagree(result.findings)) return {};
  const std::string folder = certificate_folder(request, index);
  return trouble_of_writing(folder, [&] {
    write_program_certificate(
        folder, result.read, result.verdict,
        {{{"p2-verify", build_info().version}}, {{"engine", "explicit"}}, request.common.seed});
    result.certificate = folder;
  });
}

}  // namespace p2
