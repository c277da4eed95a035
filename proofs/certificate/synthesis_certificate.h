#pragma once

#include "encodings/cnf/completeness.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// The certificate of the claim `synthesis-complete`: that the programs of `proof` are all the
/// valid programs of at most `size` steps of the instance. Throws std::length_error when a file
/// would be larger than p2-check reads.
CertificateFiles synthesis_certificate(const Instance& instance, Dialect dialect,
                                       std::uint32_t size, cnf::CompletenessProof proof,
                                       const Provenance& provenance);

}  // namespace p2
