#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "encodings/cnf/drat_to_lrat.h"
#include "encodings/cnf/queries.h"
#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/explanation/explanation.h"
#include "engine/pipeline/schedule.h"
#include "engine/reshard/plans/plan.h"
#include "engine/reshard/scheduling.h"
#include "engine/reshard/sharding.h"
#include "engine/strategy/strategy.h"
#include "proofs/certificate/certificate_folder.h"

namespace p2 {

/// A constant that a compiler computed of two others, and rounded.
struct FoldedConstant {
  std::string type, text;
  std::string opcode;  ///< `multiply` or `divide`
  std::string operands[2];

  /// `0.125 as 0.5 · 0.25`
  std::string words() const;
};

/// Two modules in XLA's text form, as a certificate has them.
struct CertifiedModules {
  std::string before;
  std::string after;
  /// Of `before` and `after`, the files that have another form, from which the texts were written.
  std::map<std::string, std::string> written_from = {};
  /// What the claim reads constants as.
  std::vector<FoldedConstant> folds = {};
  /// What the claim takes to be finite, by the names of instructions.
  std::vector<std::string> finite = {};
};

/// Scalar constants of the module after that the one before does not have, and is no simple
/// fraction, but the rounded product, quotient or inverse of constants that it has.
std::vector<FoldedConstant> folded_constants(const std::string& before, const std::string& after);

/// Of the module of problem.json that is not partitioned, the names of what may not be finite and
/// is multiplied by masks, or the kernel of a convolution with padding: a compiler makes a choice
/// of it, or 0, of the former, and pads what is multiplied with the latter, which is the same where
/// it is finite. Nothing where p2-check does not read the modules.
std::vector<std::string> finite_candidates(const CertificateFiles& problem);

/// Evidence for the claim `modules-equal` of problem.json: relation.json, a relation at every node
/// of the partitioned module, which p2-check replays; or, as the second, where it ends. Throws
/// LimitReached.
std::variant<std::string, std::string> relation_evidence(const CertificateFiles& files,
                                                         const Limits& limits = {});

/// The same for the claim `programs-equal`.
std::variant<std::string, std::string> programs_evidence(const CertificateFiles& files,
                                                         const Limits& limits = {});

/// Calls `use` with how devices hold the arrays of the partitioned module, or of programs, of
/// problem.json of the other module's tensors: as far as facts about them are found that follow by
/// the rules of p2-check, whether or not the modules are equal.
void with_held_arrays(const CertificateFiles& problem, bool is_of_programs, const Limits& limits,
                      const std::function<void(const hlo::HeldArrays& held)>& use);

/// The names of constants that both modules have without their elements.
std::vector<std::string> common_elided_constants(const std::string& before,
                                                 const std::string& after);

/// problem.json of two modules, or nothing for a relation that p2-check does not know. `constants`
/// are printed without their elements and taken as equal.
std::optional<CertificateFiles> problem_of(const CertifiedModules& modules,
                                           const hlo::ModuleRelation& relation,
                                           const hlo::Devices& devices,
                                           const std::vector<std::string>& constants);

/// The certificate of the claim `modules-equal` of a partitioned module and one that is not, by a
/// relation at every node; or why there is none that p2-check accepts. It
/// is its own proof: nothing has to be decided before. `constants` are printed without their
/// elements and taken as equal. Throws LimitReached.
std::variant<CertificateFiles, std::string> related_certificate(
    const CertifiedModules& modules, const hlo::ModuleRelation& relation,
    const hlo::Devices& devices, const std::vector<std::string>& constants,
    const Provenance& provenance, const Limits& limits = {});

/// A module that is not partitioned, and programs on devices of their own, in XLA's text form.
struct CertifiedPrograms {
  std::string before;
  std::vector<std::string> programs;  ///< in the order of Module::programs
};

/// problem.json of programs that are linked to `linked`; as that of two modules.
std::optional<CertificateFiles> problem_of(const CertifiedPrograms& programs,
                                           const hlo::Module& linked,
                                           const hlo::ModuleRelation& relation);

/// The certificate of the claim `programs-equal`, by a relation at every node of the programs,
/// which are linked to `linked`; or why there is none that p2-check accepts. As
/// related_certificate().
std::variant<CertificateFiles, std::string> programs_certificate(
    const CertifiedPrograms& programs, const hlo::Module& linked,
    const hlo::ModuleRelation& relation, const Provenance& provenance, const Limits& limits = {});

/// The certificate of the claim `modules-equal` or `modules-different`, for modules in XLA's text
/// form; or why there is none that p2-check accepts. The checker is asked before it is returned:
/// it executes both modules by itself, and understands less than the engines. Not where that would
/// take more time than is left.
std::variant<CertificateFiles, std::string> module_certificate(const CertifiedModules& modules,
                                                               const hlo::ModuleDecision& decision,
                                                               const Provenance& provenance,
                                                               const Limits& limits = {});

/// The certificate of the claim `onesided-valid` or `onesided-invalid`, for an execution plan of
/// MSCCL++ as its file has it; or why there is none that p2-check accepts. The checker is asked
/// before it is returned: it reads and orders the plan by itself, and decides fewer plans than the
/// engines.
std::variant<CertificateFiles, std::string> onesided_certificate(const std::string& plan,
                                                                 bool valid,
                                                                 const Provenance& provenance);

/// The same of the claims `algorithm-valid` and `algorithm-invalid`, for MSCCL XML.
std::variant<CertificateFiles, std::string> algorithm_certificate(const std::string& xml,
                                                                  bool valid,
                                                                  const Provenance& provenance);

/// The certificate of the claim `reshard-plan`, for a plan that is `right`, or
/// `reshard-plan-wrong`. Throws LimitReached for tensors and plans that are too large for p2-check.
CertificateFiles plan_certificate(const reshard::Plan& plan, bool right,
                                  const Provenance& provenance);

// All throw LimitReached where p2-check would not read the certificate.

/// A certificate of the claim `reshard-schedule`: no schedule of the tasks is shorter than this
/// one, whose makespan is `bound`. Where it is longer, of the claim `reshard-schedule-gap`: this is
/// a schedule, and none is shorter than `bound`.
CertificateFiles schedule_certificate(const UnitTasks& tasks, const SchedulingProblem& problem,
                                      const TaskSchedule& schedule, const LowerBound& bound,
                                      const Provenance& provenance);

/// A certificate of the claim `reshard-schedule-clauses`: the same, by a refutation of clauses.
CertificateFiles schedule_certificate(const UnitTasks& tasks, const TaskSchedule& schedule,
                                      cnf::ClauseProof proof, const Provenance& provenance);

/// A certificate of the claim `pipeline-memory`: no pipeline with this makespan holds fewer
/// activations on any stage, whatever it holds on the others. Requires that the stages' minima are
/// compatible (`each` equals `peaks`).
CertificateFiles pipeline_certificate(PipelineSize size, const PipelineTimes& times,
                                      const LeastMemory& least, const Provenance& provenance);

// Those of strategies throw LimitReached where a file would be larger, or checking it would take
// more work, than p2-check allows.

/// A certificate of the claim `strategy-optimal`: no strategy of the graph costs less than the one
/// of `answer`, which is optimal.
CertificateFiles strategy_certificate(const strategy::Graph& graph,
                                      const strategy::Solution& answer,
                                      const Provenance& provenance);

/// A certificate of the claim `strategy-optimal-clauses`: the same, by a refutation of clauses.
CertificateFiles strategy_certificate(const strategy::Graph& graph, const strategy::Found& found,
                                      const cnf::StrategyRefutation& refutation,
                                      const Provenance& provenance);

}  // namespace p2
