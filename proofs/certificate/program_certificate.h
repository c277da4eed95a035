#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encodings/cnf/synthesis.h"
#include "engine/cost/latency_bandwidth.h"
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

/// The certificate of the claim `program-valid-all-sizes`: that a program of instructions is valid
/// for all sizes of at least 2 of the factors of the instance. Dialect published only; the size of
/// the certificate does not depend on the number of devices.
CertificateFiles all_sizes_certificate(const Instance& instance, const std::vector<Step>& steps,
                                       const Provenance& provenance);
/// The certificate of the claim `program-valid-large-sizes`: that it is valid for the sizes of the
/// instance, and whatever the large ones of these are. Dialect printed.
CertificateFiles large_sizes_certificate(const Instance& instance, const std::vector<Step>& steps,
                                         const Provenance& provenance);
/// The same of the claim `synthesis-complete-all-sizes`: that `programs`, lists of `choices`, are
/// all the valid ones of at most `size` steps.
CertificateFiles all_sizes_certificate(const Instance& instance, const std::vector<Step>& choices,
                                       std::vector<std::vector<std::uint32_t>> programs,
                                       std::uint32_t size, const Provenance& provenance);
/// The same of the claim `synthesis-complete-large-sizes`, for the sizes of the instance and
/// whatever the large ones of these are. Dialect printed.
CertificateFiles large_sizes_certificate(const Instance& instance, const std::vector<Step>& choices,
                                         std::vector<std::vector<std::uint32_t>> programs,
                                         std::uint32_t size, const Provenance& provenance);
/// The same of the claim `expressible-all-sizes`: that every step of every valid program of at most
/// `size` steps is an instruction over the hierarchy of kind `to`; and of `unused-all-sizes`: that
/// none is one of `uses`.
CertificateFiles all_sizes_certificate(const Instance& instance, HierarchyKind to,
                                       std::uint32_t size, const Provenance& provenance);
CertificateFiles all_sizes_certificate(const Instance& instance, const std::vector<Step>& uses,
                                       std::uint32_t size, const Provenance& provenance);

/// All throw LimitReached when a file would be larger than p2-check reads.

/// The certificate of the claim `synthesis-complete`: that the programs of `proof` are all the
/// valid programs of at most `size` steps of the instance.
CertificateFiles synthesis_certificate(const Instance& instance, Dialect dialect,
                                       std::uint32_t size, cnf::AbsenceProof proof,
                                       const Provenance& provenance);

/// The certificate of the claim `expressible`: that every step of every valid program of at most
/// `size` steps of the instance is an instruction over its hierarchy of kind `to`.
CertificateFiles expressible_certificate(const Instance& instance, HierarchyKind to,
                                         Dialect dialect, std::uint32_t size,
                                         cnf::AbsenceProof proof, const Provenance& provenance);

/// The certificate of the claim `unused`: that no valid program of at most `size` steps of the
/// instance makes one of the choices that `proof` was searched for.
CertificateFiles unused_certificate(const Instance& instance, Dialect dialect, std::uint32_t size,
                                    cnf::AbsenceProof proof, const Provenance& provenance);

/// The certificate of the claim `unmixed`: that no valid program of at most `size` steps over any
/// disjoint groups, in every one of which somebody holds something, has a group with devices of
/// several classes. Classes ascend, each and by first device.
CertificateFiles unmixed_certificate(std::uint32_t devices, const std::vector<Group>& classes,
                                     Dialect dialect, std::uint32_t size, cnf::AbsenceProof proof,
                                     const Provenance& provenance);

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

/// potential.json of the claim `cheapest` that problem.json makes. Where the claim is false it is
/// no evidence. Throws LimitReached where it would take more work than the checker allows itself.
std::string potential_text(const std::string& problem);

/// The certificate of the claim `cheapest`. Throws LimitReached when a file would be larger
/// than p2-check reads.
CertificateFiles cheapest_certificate(const CheapestClaim& claim, const Provenance& provenance);

}  // namespace p2
