#include "proofs/api/engines.h"

#include <fmt/format.h>

#include "proofs/api/reference_run.h"
#include "encodings/cnf/validity.h"
#include "encodings/z3/validity.h"

namespace p2 {
namespace {

Finding finding_of(const Judgement& judgement) {
  switch (judgement.kind) {
    case Judgement::Kind::Valid:
      return {"valid", 0, {}};
    case Judgement::Kind::Invalid:
      return {"invalid", judgement.step, judgement.rule};
    case Judgement::Kind::Unknown:
      return {"unknown", judgement.legal_steps, judgement.rule};
  }
  return {};
}

Finding by_z3(const Engines& engines, const ProgramFile& file, const Limits& limits) {
  z3_encoding::ValidityQuery query;
  query.program = &file.program;
  query.instance = file.instance ? &*file.instance : nullptr;
  query.dialect = file.dialect;
  query.definitions = engines.z3_definitions;
  query.budget = z3_encoding::budget_of(limits);
  return finding_of(z3_encoding::judge(query));
}

Finding by_cnf(const ProgramFile& file, const Limits& limits) {
  return finding_of(
      cnf::judge({&file.program, file.instance ? &*file.instance : nullptr, file.dialect, limits}));
}

}  // namespace

Engines engines_called(const std::string& name) {
  Engines engines;
  engines.z3 = name == "z3" || name == "all";
  engines.cnf = name == "cnf" || name == "all";
  engines.reference = name == "all";
  if (!engines.z3 && !engines.cnf && name != "explicit") {
    throw InputError({"--engine"},
                     fmt::format("unknown '{}', expected explicit, z3, cnf or all", name));
  }
  return engines;
}

std::string not_asked_text() {
  return "cnf: not asked, it knows the five collectives and the goal allreduce only";
}

Engines on_terms(Engines engines, const Terms& terms) {
  const auto defined = terms.collectives.definitions().subspan(kCollectives.size());
  engines.z3_definitions.insert(engines.z3_definitions.end(), defined.begin(), defined.end());
  if (!engines.cnf || terms.of_paper()) return engines;
  if (!engines.z3) {
    throw InputError({"--engine"},
                     "cnf knows the five collectives and the goal allreduce only, expected z3, all "
                     "or explicit");
  }
  engines.cnf = false;
  engines.cnf_left_out = true;
  return engines;
}

Findings ask(const Engines& engines, const ProgramFile& file, const Verdict& verdict,
             const Limits& limits) {
  Findings findings;
  findings["explicit"] = finding_of(verdict);
  if (engines.z3) findings["z3"] = by_z3(engines, file, limits);
  if (engines.cnf) findings["cnf"] = by_cnf(file, limits);
  if (engines.reference) {
    findings["reference"] = reference_finding(file.program, file.dialect, verdict, limits);
  }
  return findings;
}

}  // namespace p2
