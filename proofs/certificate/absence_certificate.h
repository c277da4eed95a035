#pragma once

#include <string>
#include <vector>

#include "encodings/cnf/synthesis.h"
#include "engine/cost/latency_bandwidth.h"
#include "engine/program/program_file.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

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
