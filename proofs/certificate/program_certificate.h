#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/program/derivation.h"
#include "engine/program/instance.h"
#include "engine/program/program.h"
#include "engine/program/program_file.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// The keys of problem.json that say which system is spoken of, each followed by a comma; those of
/// the instance only where there is one. `classes` are ordered by first device.
std::string system_text(std::uint32_t devices, const std::vector<Group>& classes, Dialect dialect,
                        const Instance* instance);

/// problem.json of a program; with the hierarchy `to` that its steps are compared with, if any.
std::string program_text(const Program& program, Dialect dialect, const Instance* instance,
                         std::optional<HierarchyKind> to = std::nullopt);

/// What a certificate of a given program claims.
enum class ProgramClaim : std::uint8_t { Valid, Invalid, NotExpressible };

/// `program-valid`, `program-invalid`, `not-expressible`.
std::string_view to_string(ProgramClaim claim);

/// The certificate of a verdict: the claim, and as evidence the states after every legal step and,
/// for an invalid program, the refutation. `verdict` must be what check() found of the same file,
/// and not Unknown. With `to` the claim is that the program, which is valid and of an instance, has
/// a step that is no instruction over that hierarchy. Throws LimitReached when a file would be
/// larger than p2-check reads.
CertificateFiles program_certificate(const ProgramFile& file, const ProgramDecision& verdict,
                                     const Provenance& provenance,
                                     std::optional<HierarchyKind> to = std::nullopt);

/// Writes it to `folder` (see write_folder), returning what it claims.
ProgramClaim write_program_certificate(const std::filesystem::path& folder, const ProgramFile& file,
                                       const ProgramDecision& verdict, const Provenance& provenance,
                                       std::optional<HierarchyKind> to = std::nullopt);

/// The certificate of the claim `program-valid-all-sizes`: that a program of instructions is valid
/// for all sizes of at least 2 of the factors of the instance. Dialect published only; the size of
/// the certificate does not depend on the number of devices.
CertificateFiles all_sizes_certificate(const Instance& instance, const std::vector<Step>& steps,
                                       const Provenance& provenance);
/// The same of the claim `synthesis-complete-all-sizes`: that `programs`, lists of `choices`, are
/// all the valid ones of at most `size` steps.
CertificateFiles all_sizes_certificate(const Instance& instance, const std::vector<Step>& choices,
                                       std::vector<std::vector<std::uint32_t>> programs,
                                       std::uint32_t size, const Provenance& provenance);

}  // namespace p2
