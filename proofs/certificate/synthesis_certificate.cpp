#include "proofs/certificate/synthesis_certificate.h"

#include "engine/program/json_text.h"
#include "proofs/certificate/system_text.h"

namespace p2 {

CertificateFiles synthesis_certificate(const Instance& instance, Dialect dialect,
                                       std::uint32_t size, cnf::CompletenessProof proof,
                                       const Provenance& provenance) {
  std::string text = "{" +
                     system_text(instance.grid.devices(), instance.classes(), dialect, &instance) +
                     fmt::format("\"size\":{},\n\"choices\":[", size);
  for (const Step& choice : proof.choices) {
    text += fmt::format(
        "{}\n{{\"slice\":\"{}\",\"form\":\"{}\",\"collective\":\"{}\"}}",
        &choice == &proof.choices[0] ? "" : ",", slice_to_string(*choice.shape, instance.hierarchy),
        form_to_string(*choice.shape, instance.hierarchy), to_string(choice.collective));
  }
  text += "],\n\"programs\":" + json_lists(proof.programs) + "}\n";
  CertificateFiles files;
  files["problem.json"] = std::move(text);
  files["problem.cnf"] = std::move(proof.cnf);
  files["varmap"] = std::move(proof.varmap);
  files["proof.lrat"] = std::move(proof.lrat);
  add_manifest("synthesis-complete", provenance, files);
  return files;
}

}  // namespace p2
