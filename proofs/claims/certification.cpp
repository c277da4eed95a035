#include "proofs/claims/campaign.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "encodings/cnf/synthesis.h"
#include "p2/version.h"
#include "proofs/certificate/certificate_folder.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/claims/absent_programs.h"
#include "proofs/claims/costs.h"
#include "proofs/claims/statements.h"
#include "proofs/kernel/certificate.h"

namespace p2::claims {
namespace {

using WriteFiles = std::function<CertificateFiles(const Provenance& provenance)>;

/// The refutation of a counterexample, or of a cheaper program.
struct Refutation {
  std::string claim;  ///< of the certificate
  /// Of a claim about costs the answer. Of others what the SAT solver, or the machine of theorem
  /// T7, says of the claim: refuted if it contradicts the result.
  Settlement answer;
  WriteFiles files;  ///< if the claim holds, for programs of at most answer.settled steps
  /// Of a refuted claim about costs: no program over the hierarchies, here by name, is as cheap.
  std::vector<std::pair<std::string, WriteFiles>> others = {};
  std::pair<std::string, std::string> tool = {"CaDiCaL", cnf::solver_version()};
  bool empty = false;  ///< there is no choice that the claim forbids
};

bool compares_hierarchies(const Question& question) {
  return question.claim->find_forbidden == not_expressible;
}

/// No program is cheaper than those that the answer rests on.
std::optional<Refutation> refute_cheaper_programs(const Question& question, const Subject& subject,
                                                  const Bounds& bounds) {
  const CostSettlement costs = question.claim->settle_costs(subject, bounds);
  if (!costs.any_length) return std::nullopt;
  CheapestClaim claim{
      subject.from.grid.devices(), subject.from.classes(), question.dialect, std::nullopt,
      costs.network.uplinks(),     "hierarchies",          costs.programs};
  if (question.from == HierarchyKind::Lattice) claim.over = subject.from;
  for (const ProgramFile& file : claim.programs) {
    if (!file.instance) claim.among = "all";
  }
  const auto files = [](const CheapestClaim& what) {
    return [=](const Provenance& provenance) { return cheapest_certificate(what, provenance); };
  };
  Refutation refutation{"cheapest", costs.answer, files(claim)};
  if (costs.answer.outcome != Outcome::Refuted) return refutation;
  claim.among = "hierarchies";
  claim.programs = costs.over_hierarchies;
  for (const Instance& instance : costs.hierarchies) {
    claim.over = instance;
    refutation.others.emplace_back(fmt::format("over-{}-{}", refutation.others.size() + 1,
                                               to_string(instance.hierarchy.kind())),
                                   files(claim));
  }
  return refutation;
}

/// No valid program uses a move that the claim forbids, in dialect published: p2-check runs the
/// machine.
Refutation refute_by_machine(const Question& question, const Subject& subject,
                             const Bounds& bounds) {
  const std::vector<bool> forbidden = question.claim->find_forbidden(subject);
  std::vector<Step> uses;
  for (std::size_t move = 0; move < forbidden.size(); ++move) {
    if (forbidden[move]) uses.push_back({subject.moves[move].collective, {}, subject.shape(move)});
  }
  const bool compares = compares_hierarchies(question);
  const auto files = [=, from = subject.from](const Provenance& provenance) {
    return compares ? all_sizes_certificate(from, *question.to, bounds.size, provenance)
                    : all_sizes_certificate(from, uses, bounds.size, provenance);
  };
  const kernel::Result judged = check_certificate(files({}));
  Settlement answer = undecided(0, judged.reason);
  if (judged.verdict == kernel::Verdict::Accepted) answer = established(bounds);
  if (judged.verdict == kernel::Verdict::Rejected) {
    answer = {Outcome::Refuted, bounds.size, judged.reason, 0, {}};
  }
  return {compares ? "expressible-all-sizes" : "unused-all-sizes",
          answer,
          files,
          {},
          {"machine", "theorem T7"},
          uses.empty()};
}

/// The same by clauses.
Refutation refute_forbidden_moves(const Question& question, const Subject& subject,
                                  const Bounds& bounds) {
  CertifiedSettlement settled =
      settle_by_sat(subject, question.claim->find_forbidden(subject), bounds);
  const bool compares = compares_hierarchies(question);
  const auto files = [=, from = subject.from,
                      proof = std::move(settled.proof)](const Provenance& provenance) {
    return compares ? expressible_certificate(from, *question.to, question.dialect, bounds.size,
                                              proof, provenance)
                    : unused_certificate(from, question.dialect, bounds.size, proof, provenance);
  };
  return {compares ? "expressible" : "unused", settled.answer, files};
}

/// The enumerator lists every valid program.
Refutation refute_unlisted_programs(const Question& question, const Subject& subject,
                                    const Bounds& bounds) {
  CertifiedSettlement listed = list_and_refute_others(subject, bounds);
  return {"synthesis-complete", listed.answer,
          [=, from = subject.from, proof = std::move(listed.proof)](const Provenance& provenance) {
            return synthesis_certificate(from, question.dialect, bounds.size, proof, provenance);
          }};
}

/// No valid program over any disjoint groups mixes classes.
Refutation refute_mixing_programs(const Question& question, const Subject& subject,
                                  const Bounds& bounds) {
  CertifiedSettlement settled = no_mixing_program_by_sat(subject, bounds);
  return {"unmixed", settled.answer,
          [=, from = subject.from, steps = settled.answer.settled,
           proof = std::move(settled.proof)](const Provenance& provenance) {
            return unmixed_certificate(from.grid.devices(), from.classes(), question.dialect, steps,
                                       proof, provenance);
          }};
}

/// Nothing if there is no kind of certificate for the claim.
std::optional<Refutation> refute_counterexample(const Question& question, const Bounds& bounds,
                                                const Certificates& certificates) {
  const Claim& claim = *question.claim;
  const bool mixing = claim.settle == mixing_takes_four_steps ||
                      claim.settle == mixing_takes_four_steps_by_z3 ||
                      claim.settle == groups_stay_in_classes;
  const bool lists = claim.settle == synthesis_complete;
  if (claim.settle != nullptr && claim.settle_costs == nullptr && !mixing && !lists) {
    return std::nullopt;
  }
  const Subject subject(*question.system, question.from, question.to, question.dialect);
  if (claim.settle_costs != nullptr) return refute_cheaper_programs(question, subject, bounds);
  if (lists) return refute_unlisted_programs(question, subject, bounds);
  if (mixing) return refute_mixing_programs(question, subject, bounds);
  if (!certified_by_clauses(question, certificates)) {
    return refute_by_machine(question, subject, bounds);
  }
  return refute_forbidden_moves(question, subject, bounds);
}

/// Whether problem.cnf consists of the empty clause: no choice is of the kind that is excluded.
bool refutes_nothing(const CertificateFiles& files) {
  const auto cnf = files.find("problem.cnf");
  return cnf != files.end() && cnf->second.ends_with(" 1\n0\n");
}

/// `expressiveness-b-to-c-published`.
std::string name_of(const Question& question) {
  const std::string to = question.to ? fmt::format("-to-{}", to_string(*question.to)) : "";
  return fmt::format("{}-{}{}-{}", question.claim->name, to_string(question.from), to,
                     to_string(question.dialect));
}

std::string name_of(const Summary& row, const char* which) {
  return fmt::format("{}-{}-{}", name_of(row.question),
                     row.several_axes ? "several-axes" : "one-axis", which);
}

/// The counterexample with its instance; without one if it is of bare groups.
ProgramFile file_of(const SettledQuestion& result) {
  ProgramFile file{counterexample(result), {}, result.question.dialect};
  const bool instructions = std::all_of(file.program.steps.begin(), file.program.steps.end(),
                                        [](const Step& step) { return step.shape.has_value(); });
  if (instructions) file.instance = result.question.system->over(result.question.from);
  return file;
}

Provenance provenance_of(const Question& question, const Bounds& bounds,
                         const Certificates& certificates,
                         const std::pair<std::string, std::string>& tool) {
  return {{{"p2-verify", build_info().version}, tool},
          {{"size", std::to_string(bounds.size)}, {"statement", name_of(question)}},
          certificates.seed};
}

void report_disagreement(const Refutation& refutation, SettledQuestion& result) {
  const Question& question = result.question;
  result.diagnostics.push_back(
      {Diagnostic::Kind::ToolFailure,
       fmt::format("{} on {} holds by {}, and is refuted by {}: {}", name_of(question),
                   to_string(*question.system), question.claim->engine, refutation.tool.first,
                   refutation.answer.program)});
  result.disagreement = true;
}

/// The certificate of a refutation, then those of the others, whose trouble is that of all.
Evidence write_all(const Refutation& refutation, const std::string& folder,
                   const Provenance& provenance, std::vector<Diagnostic>& diagnostics) {
  const auto write = [&](const std::string& where, const WriteFiles& files) {
    return written_evidence(
        where, [&] { return files(provenance); }, diagnostics);
  };
  Evidence evidence = write(folder, refutation.files);
  for (const auto& [name, files] : refutation.others) {
    if (evidence.kind != Evidence::Kind::Certificate) break;
    Evidence other = write(folder + "-" + name, files);
    if (other.kind != Evidence::Kind::Certificate) evidence = std::move(other);
  }
  return evidence;
}

void certify_counterexample(const Summary& row, const char* which, SettledQuestion& result,
                            const Bounds& bounds, const Certificates& certificates) {
  const Question& question = result.question;
  const Provenance from = provenance_of(question, bounds, certificates, {"engine", "explicit"});
  const std::string folder = certificates.folder + "/" + name_of(row, which);
  if (question.claim->settle_costs != nullptr) {
    const std::optional<Refutation> refutation =
        refute_counterexample(question, bounds, certificates);
    if (!refutation) return;
    result.evidence = write_all(*refutation, folder, from, result.diagnostics);
    if (result.evidence.kind == Evidence::Kind::Certificate) result.certificate = refutation->claim;
    return;
  }
  const ProgramFile file = file_of(result);
  StateTable states(file.program.devices);
  const ProgramDecision verdict = check(file.program, file.dialect, states);
  if (verdict.outcome != Outcome::Established) return;
  const bool compares = compares_hierarchies(question) && file.instance;
  const auto make = [&] {
    return program_certificate(file, verdict, from, compares ? question.to : std::nullopt);
  };
  result.evidence = written_evidence(folder, make, result.diagnostics);
  if (result.evidence.kind != Evidence::Kind::Certificate) return;
  result.certificate = to_string(compares ? ProgramClaim::NotExpressible : ProgramClaim::Valid);
}

}  // namespace

bool certified_by_clauses(const Question& question, const Certificates& certificates) {
  return certificates.clauses || question.dialect != Dialect::Published;
}

void certify(SettledQuestion& result, const Bounds& bounds, const Certificates& certificates) {
  result.evidence = {Evidence::Kind::SolverOnly};
  if (result.answer.outcome != Outcome::Established) return;
  const Question& question = result.question;
  const std::string named = certificates.folder + "/" + name_of(question);
  std::optional<Refutation> refutation;
  bool is_empty = false;
  const auto make = [&]() -> std::optional<CertificateFiles> {
    refutation = refute_counterexample(question, bounds, certificates);
    if (!refutation || refutation->answer.outcome != Outcome::Established) return std::nullopt;
    CertificateFiles files =
        refutation->files(provenance_of(question, bounds, certificates, refutation->tool));
    is_empty = refutation->empty || refutes_nothing(files);
    return files;
  };
  const Evidence written = addressed_evidence(named, make, result.diagnostics);
  if (written.kind != Evidence::Kind::None) result.evidence = written;
  if (written.kind == Evidence::Kind::Certificate) {
    result.certificate = refutation->claim;
    result.empty_question = is_empty;
  } else if (refutation && refutation->answer.outcome == Outcome::Refuted) {
    report_disagreement(*refutation, result);
  }
}

void certify_counterexamples(std::vector<SettledQuestion>& results, const Bounds& bounds,
                             const Certificates& certificates) {
  const auto certify_one = [&](const Summary& row, const SettledQuestion* which, const char* name) {
    const auto number = static_cast<std::size_t>(which - results.data());
    certify_counterexample(row, name, results[number], bounds, certificates);
  };
  for (const Summary& row : summarize(results)) {
    if (row.smallest == nullptr) continue;
    certify_one(row, row.smallest, "smallest");
    if (row.shortest != row.smallest) certify_one(row, row.shortest, "shortest");
  }
}

}  // namespace p2::claims
