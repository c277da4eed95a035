#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proofs/certificate/program_certificate.h"
#include "proofs/kernel/certificate.h"

namespace p2::proofs {

using json = nlohmann::json;

/// Reads and judges a program in any notation and certifies the verdict.
CertificateFiles certify(const std::string& text);
CertificateFiles certify(const ProgramFile& file);

/// Gives the files, whatever was done to them, a manifest with right hashes and seal that claims
/// `claim`.
void reseal(const std::string& claim, CertificateFiles& files);
std::string claim_of(const CertificateFiles& files);
/// Judges the same folder after one key of problem.json was changed, with right hashes.
kernel::Result check_changed(CertificateFiles files, const std::string& key, const json& value);

/// Whether problem.json says what `claim` claims of it, by the brute-force evaluation of
/// tests/synthesis on the program as the engine reads it: no part of the kernel has a say.
bool is_true(const std::string& claim, const std::string& problem);

/// Small certificates that between them use every collective, form, premise and rule.
std::vector<CertificateFiles> small_certificates();

inline std::string word(kernel::Verdict verdict) {
  constexpr std::string_view words[] = {"accepted", "rejected", "not-a-certificate", "incomplete"};
  return std::string(words[static_cast<std::size_t>(verdict)]);
}

}  // namespace p2::proofs
