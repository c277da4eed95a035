#include "proofs/claims/campaign.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "encodings/cnf/synthesis.h"
#include "p2/version.h"
#include "proofs/certificate/absence_certificate.h"
#include "proofs/certificate/certificate_folder.h"
#include "proofs/certificate/program_certificate.h"
#include "proofs/claims/absent_programs.h"
#include "proofs/claims/arbitrary_groups.h"
#include "proofs/claims/costs.h"
#include "proofs/claims/statements.h"

namespace p2::claims {
namespace {

using WriteFiles = std::function<CertificateFiles(const Provenance& provenance)>;

/// The refutation of a counterexample, or of a cheaper program.
struct Refutation {
  std::string claim;  ///< of the certificate
  /// Of the SAT solver: refuted if it contradicts the result. Of a claim about costs: the answer.
  Settlement answer;
  WriteFiles files;  ///< if the claim holds, for programs of at most answer.settled steps
  /// Of a refuted claim about costs: no program over the hierarchies, here by name, is as cheap.
  std::vector<std::pair<std::string, WriteFiles>> others = {};
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

/// No valid program uses a move that the claim forbids.
Refutation refute_forbidden_moves(const Question& question, const Subject& subject,
                                  const Bounds& bounds) {
  auto [answer, proof] = settle_by_sat(subject, question.claim->find_forbidden(subject), bounds);
  const bool compares = compares_hierarchies(question);
  const auto files = [=, from = subject.from](const Provenance& provenance) {
    return compares ? expressible_certificate(from, *question.to, question.dialect, bounds.size,
                                              proof, provenance)
                    : unused_certificate(from, question.dialect, bounds.size, proof, provenance);
  };
  return {compares ? "expressible" : "unused", answer, files};
}

/// The enumerator lists every valid program.
Refutation refute_unlisted_programs(const Question& question, const Subject& subject,
                                    const Bounds& bounds) {
  auto [answer, proof] = list_and_refute_others(subject, bounds);
  return {"synthesis-complete", answer, [=, from = subject.from](const Provenance& provenance) {
            return synthesis_certificate(from, question.dialect, bounds.size, proof, provenance);
          }};
}

/// No valid program over any disjoint groups mixes classes.
Refutation refute_mixing_programs(const Question& question, const Subject& subject,
                                  const Bounds& bounds) {
  auto [answer, proof] = no_mixing_program_by_sat(subject, bounds);
  return {"unmixed", answer, [=, from = subject.from](const Provenance& provenance) {
            return unmixed_certificate(from.grid.devices(), from.classes(), question.dialect,
                                       answer.settled, proof, provenance);
          }};
}

/// Nothing if there is no kind of certificate for the claim.
std::optional<Refutation> refute_counterexample(const Question& question, const Bounds& bounds) {
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

class Certifier {
 public:
  Certifier(std::vector<SettledQuestion>& results, const Bounds& bounds,
            const CertificationOptions& options)
      : results_(results), bounds_(bounds), options_(options) {}

  Certification run() {
    const std::size_t threads =
        options_.jobs == 0 ? std::max(1U, std::thread::hardware_concurrency()) : options_.jobs;
    const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism, threads);
    tbb::parallel_for(
        std::size_t{0}, results_.size(),
        [&](std::size_t i) {
          results_[i].evidence.kind = Evidence::Kind::SolverOnly;
          if (results_[i].answer.outcome == Outcome::Established) certify_established(i);
          if (options_.done != nullptr) ++*options_.done;
        },
        tbb::simple_partitioner());
    for (const Summary& row : summarize(results_)) {
      if (row.smallest == nullptr) continue;
      certify_counterexample(row, *row.smallest, "smallest");
      if (row.shortest != row.smallest) certify_counterexample(row, *row.shortest, "shortest");
    }
    Certification certification{{}, disagreement_};
    for (auto& [number, diagnostics] : diagnostics_) {
      for (Diagnostic& each : diagnostics) certification.diagnostics.push_back(std::move(each));
    }
    return certification;
  }

 private:
  Provenance provenance(const Question& question, const char* tool,
                        const std::string& version) const {
    return {{{"p2-verify", build_info().version}, {tool, version}},
            {{"size", std::to_string(bounds_.size)}, {"statement", name_of(question)}},
            options_.seed};
  }

  /// Calls `write(folder)`, which returns the claim of the certificate, or nothing if it has not
  /// written one. Failure to write leaves the result as it is.
  template <typename Write>
  void certify(std::size_t number, const std::string& name, Write write) {
    const std::string folder = options_.folder + "/" + name;
    std::string claim;
    std::vector<Diagnostic> diagnostics;
    const Evidence evidence = written_evidence(
        folder, [&] { claim = write(folder); }, diagnostics);
    const std::scoped_lock lock(mutex_);
    if (evidence.kind != Evidence::Kind::Certificate || !claim.empty()) {
      results_[number].evidence = evidence;
    }
    if (evidence.kind == Evidence::Kind::Certificate) results_[number].certificate = claim;
    std::vector<Diagnostic>& all = diagnostics_[number];
    all.insert(all.end(), diagnostics.begin(), diagnostics.end());
  }

  void certify_established(std::size_t number) {
    const Question& question = results_[number].question;
    const std::string name = fmt::format("{}-{}", number + 1, name_of(question));
    certify(number, name, [&](const std::string& folder) -> std::string {
      const std::optional<Refutation> refutation = refute_counterexample(question, bounds_);
      if (!refutation) return {};
      if (refutation->answer.outcome == Outcome::Refuted) report_disagreement(number, *refutation);
      if (refutation->answer.outcome != Outcome::Established) return {};
      const CertificateFiles files =
          refutation->files(provenance(question, "CaDiCaL", cnf::solver_version()));
      write_folder(folder, files);
      results_[number].empty_question = refutes_nothing(files);
      return refutation->claim;
    });
  }

  void report_disagreement(std::size_t number, const Refutation& refutation) {
    const Question& question = results_[number].question;
    const std::scoped_lock lock(mutex_);
    diagnostics_[number].push_back(
        {Diagnostic::Kind::ToolFailure,
         fmt::format("{} on {} holds by {}, and is refuted by SAT: {}", name_of(question),
                     to_string(*question.system), question.claim->engine,
                     refutation.answer.program)});
    disagreement_ = true;
  }

  void certify_counterexample(const Summary& row, const SettledQuestion& result,
                              const char* which) {
    const Question& question = result.question;
    const auto number = static_cast<std::size_t>(&result - results_.data());
    const Provenance from = provenance(question, "engine", "explicit");
    if (question.claim->settle_costs != nullptr) {
      return certify(number, name_of(row, which), [&](const std::string& folder) -> std::string {
        const std::optional<Refutation> refutation = refute_counterexample(question, bounds_);
        if (!refutation) return {};
        write_folder(folder, refutation->files(from));
        for (const auto& [name, files] : refutation->others) {
          write_folder(folder + "-" + name, files(from));
        }
        return refutation->claim;
      });
    }
    const ProgramFile file = file_of(result);
    StateTable states(file.program.devices);
    const ProgramDecision verdict = check(file.program, file.dialect, states);
    if (verdict.outcome != Outcome::Established) return;
    const bool compares = compares_hierarchies(question) && file.instance;
    certify(number, name_of(row, which), [&](const std::string& folder) {
      return std::string(to_string(write_program_certificate(
          folder, file, verdict, from, compares ? question.to : std::nullopt)));
    });
  }

  std::vector<SettledQuestion>& results_;
  Bounds bounds_;
  const CertificationOptions& options_;
  std::mutex mutex_;  // of what follows, and of the evidence of results
  std::map<std::size_t, std::vector<Diagnostic>> diagnostics_;  ///< by result
  bool disagreement_ = false;
};

}  // namespace

Certification certify_results(std::vector<SettledQuestion>& results, const Bounds& bounds,
                              const CertificationOptions& options) {
  return Certifier(results, bounds, options).run();
}

}  // namespace p2::claims
