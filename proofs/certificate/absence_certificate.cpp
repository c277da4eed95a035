#include "proofs/certificate/absence_certificate.h"

#include <fmt/format.h>

#include "engine/program/json_text.h"
#include "proofs/certificate/program_certificate.h"

namespace p2 {
namespace {

CertificateFiles folder_of(const std::string& claim, std::string problem, cnf::AbsenceProof proof,
                           const Provenance& provenance) {
  CertificateFiles files;
  files["problem.json"] = std::move(problem);
  files["problem.cnf"] = std::move(proof.cnf);
  files["varmap"] = std::move(proof.varmap);
  files["proof.lrat"] = std::move(proof.lrat);
  add_manifest(claim, provenance, files);
  return files;
}

/// `key`: what problem.json says last, and its value.
CertificateFiles absence_certificate(const std::string& claim, const Instance& instance,
                                     Dialect dialect, std::uint32_t size, cnf::AbsenceProof proof,
                                     const std::string& key, const Provenance& provenance) {
  std::string text = "{" +
                     system_text(instance.grid.devices(), instance.classes(), dialect, &instance) +
                     fmt::format("\"size\":{},\n\"choices\":[", size);
  for (const Step& choice : proof.choices) {
    text += fmt::format(
        "{}\n{{\"slice\":\"{}\",\"form\":\"{}\",\"collective\":\"{}\"}}",
        &choice == &proof.choices[0] ? "" : ",", slice_to_string(*choice.shape, instance.hierarchy),
        form_to_string(*choice.shape, instance.hierarchy), to_string(choice.collective));
  }
  return folder_of(claim, text + "],\n" + key + "}\n", std::move(proof), provenance);
}

}  // namespace

CertificateFiles synthesis_certificate(const Instance& instance, Dialect dialect,
                                       std::uint32_t size, cnf::AbsenceProof proof,
                                       const Provenance& provenance) {
  const std::string programs = "\"programs\":" + lists_json(proof.programs).dump();
  return absence_certificate("synthesis-complete", instance, dialect, size, std::move(proof),
                             programs, provenance);
}

CertificateFiles expressible_certificate(const Instance& instance, HierarchyKind to,
                                         Dialect dialect, std::uint32_t size,
                                         cnf::AbsenceProof proof, const Provenance& provenance) {
  return absence_certificate("expressible", instance, dialect, size, std::move(proof),
                             fmt::format("\"to\":\"{}\"", to_string(to)), provenance);
}

CertificateFiles unused_certificate(const Instance& instance, Dialect dialect, std::uint32_t size,
                                    cnf::AbsenceProof proof, const Provenance& provenance) {
  const std::string uses = fmt::format("\"uses\":[{}]", fmt::join(proof.uses, ","));
  return absence_certificate("unused", instance, dialect, size, std::move(proof), uses, provenance);
}

CertificateFiles unmixed_certificate(std::uint32_t devices, const std::vector<Group>& classes,
                                     Dialect dialect, std::uint32_t size, cnf::AbsenceProof proof,
                                     const Provenance& provenance) {
  const std::string system = system_text(devices, classes, dialect, nullptr);
  return folder_of("unmixed", "{" + system + fmt::format("\"size\":{}}}\n", size), std::move(proof),
                   provenance);
}

}  // namespace p2
