#pragma once

#include <string>
#include <variant>

#include "engine/hlo/equality/equivalence.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// Two modules as their files have them, and what was decided about them.
struct DecidedModules {
  const std::string& before;
  const std::string& after;
  const hlo::ModuleDecision& decision;
};

/// The certificate of the claim `modules-equal` or `modules-different`, for modules in XLA's text
/// form; or why there is none that p2-check accepts. The checker is asked before it is returned:
/// it executes both modules by itself, and understands less than the engines. Not where that would
/// take more time than is left.
std::variant<CertificateFiles, std::string> module_certificate(const DecidedModules& modules,
                                                               const Provenance& provenance,
                                                               const Limits& limits = {});

}  // namespace p2
