#pragma once

#include "tests/proofs/certificates.h"

namespace p2::proofs {

/// Synthesises the programs of an instance and certifies that there are no others.
CertificateFiles certify_complete(const Instance& instance, Dialect dialect, std::uint32_t size);

/// Small certificates of completeness that between them use every kind of synthesis hierarchy, both
/// dialects and every form of instruction.
std::vector<CertificateFiles> small_completeness_certificates();

/// Whether the programs that problem.json lists are all the valid ones, each once, by the brute
/// force of tests/synthesis on the instance and the instructions as the engine reads them: no part
/// of the kernel and of the encodings has a say.
bool is_complete(const std::string& problem);

}  // namespace p2::proofs
