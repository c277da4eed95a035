#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "engine/program/derivation.h"
#include "engine/program/program_file.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// What a certificate of a given program claims.
enum class ProgramClaim : std::uint8_t { Valid, Invalid, NotExpressible };

/// `program-valid`, `program-invalid`, `not-expressible`.
std::string_view to_string(ProgramClaim claim);

/// The certificate of a verdict: the claim, and as evidence the states after every legal step and,
/// for an invalid program, the refutation. `verdict` must be what check() found of the same file,
/// and not Unknown. With `to` the claim is that the program, which is valid and of an instance, has
/// a step that is no instruction over that hierarchy. Throws std::length_error when a file would be
/// larger than p2-check reads.
CertificateFiles program_certificate(const ProgramFile& file, const Verdict& verdict,
                                     const Provenance& provenance,
                                     std::optional<HierarchyKind> to = std::nullopt);

/// Writes it to `folder` (see write_folder), returning what it claims.
ProgramClaim write_program_certificate(const std::filesystem::path& folder, const ProgramFile& file,
                                       const Verdict& verdict, const Provenance& provenance,
                                       std::optional<HierarchyKind> to = std::nullopt);

}  // namespace p2
