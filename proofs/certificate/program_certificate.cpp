#include "proofs/certificate/program_certificate.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/invariant.h"
#include "engine/program/explanation.h"
#include "engine/program/json_text.h"
#include "proofs/certificate/derivation_text.h"
#include "proofs/certificate/system_text.h"

namespace p2 {
namespace {

/// refutation.json: the step that is refused, the rule that it breaks, and in which group.
std::string refutation_text(const Refutation& refutation) {
  const bool at_goal = refutation.group.empty() && refutation.rule != Refutation::Rule::Master;
  std::string text = fmt::format("{{\"step\":{},\"rule\":\"{}\"", refutation.step,
                                 at_goal ? "goal" : rule_name(refutation));
  if (!refutation.group.empty()) {
    text += fmt::format(",\"group\":[{}]", fmt::join(refutation.group, ","));
  }
  return text + "}\n";
}

ProgramClaim claim_of(const Verdict& verdict, std::optional<HierarchyKind> to) {
  if (verdict.kind != Verdict::Kind::Valid) return ProgramClaim::Invalid;
  return to ? ProgramClaim::NotExpressible : ProgramClaim::Valid;
}

}  // namespace

std::string_view to_string(ProgramClaim claim) {
  constexpr std::string_view kNames[] = {"program-valid", "program-invalid", "not-expressible"};
  return kNames[static_cast<std::size_t>(claim)];
}

CertificateFiles program_certificate(const ProgramFile& file, const Verdict& verdict,
                                     const Provenance& provenance,
                                     std::optional<HierarchyKind> to) {
  invariant(verdict.kind != Verdict::Kind::Unknown, "a certificate needs a verdict");
  const ProgramClaim claim = claim_of(verdict, to);
  Program program = file.program;
  std::sort(program.classes.begin(), program.classes.end());
  CertificateFiles files;
  files["problem.json"] =
      program_text(program, file.dialect, file.instance ? &*file.instance : nullptr, to);
  program.steps.resize(verdict.legal_steps);
  files["derivation.json"] = derivation_text(program, file.dialect);
  if (claim == ProgramClaim::Invalid) {
    files["refutation.json"] = refutation_text(*verdict.refutation);
  }
  add_manifest(std::string(to_string(claim)), provenance, files);
  return files;
}

ProgramClaim write_program_certificate(const std::filesystem::path& folder, const ProgramFile& file,
                                       const Verdict& verdict, const Provenance& provenance,
                                       std::optional<HierarchyKind> to) {
  write_folder(folder, program_certificate(file, verdict, provenance, to));
  return claim_of(verdict, to);
}

}  // namespace p2
