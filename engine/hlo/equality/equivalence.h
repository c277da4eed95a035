#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/hlo/collective.h"
#include "engine/hlo/module_relation.h"
#include "engine/hlo/program_communications.h"
#include "p2/compare.h"
#include "p2/float_equality.h"
#include "p2/limits.h"
#include "p2/result.h"

namespace p2::hlo {

namespace interpreter {
struct OutputExpressions;
}

/// Why two modules are not equal, or a module is not well-formed.
struct Difference {
  std::string rule;         ///< `contributions`, `order`, `signature`, or that of a Fault
  std::string explanation;  ///< one paragraph
  std::optional<ElementDifference> element = {};  ///< for `contributions` and `order`
  std::optional<SourcePosition> position = {};    ///< of what is ill-formed
  /// The element is infinite or not a number in one of the modules: real numbers leave that out.
  bool of_infinities = false;
  /// Rounding or overflow of doubles may have made it so: this refutes nothing, but the modules are
  /// not shown equal either. compare() makes it Undecided.
  bool may_be_rounding = false;
};

/// An operation that is not understood: a comparison gives up there, or takes it as an
/// uninterpreted function.
struct UnknownOperation {
  std::string name;
  std::string opcode;  ///< with the target of a custom call
  SourcePosition position;
  std::string why = {};                   ///< empty for an uninterpreted function
  std::vector<std::size_t> outputs = {};  ///< the outputs of its module that depend on it
};

/// The operation of an instruction: `opcode`, of a custom call with its target.
UnknownOperation unknown_operation(const Module& module, const Instruction& instruction,
                                   const std::string& why = {});

/// A collective of a module, as reports show it.
struct CollectiveLine {
  std::string name;
  std::string opcode;
  std::string shape;
  std::string groups;  ///< as devices, shortened
};

/// The decision about one module, or about two.
struct ModuleDecision : Decision<Difference> {
  Devices devices = {};
  std::size_t programs = 0;  ///< that devices run after, if not all run one
  /// Of two modules. Inputs of a global module are the same on all devices; those of partitioned
  /// modules are independent or, if the other one is global, its shards.
  Form before = Form::Partitioned;
  Form after = Form::Partitioned;
  std::vector<TensorTiling> placements = {};            ///< of the global module, if one is
  std::shared_ptr<const ModuleRelation> relation = {};  ///< of two modules
  /// Of two modules: the sense in which the decision holds; a refutation is of real numbers.
  FloatEquality equality = FloatEquality::Real;
  /// When undecided in a stricter sense: the strictest one in which the modules are shown equal.
  std::optional<FloatEquality> shown = {};
  /// Of two modules: an estimate of the operations on elements that executing them takes, where
  /// what is the same on all devices is computed once.
  double operations = 0;
  /// Of two modules: execution on numbers, which can only refute, and symbolic engines.
  std::optional<Outcome> interpreter = {};
  std::optional<Outcome> symbolic = {};
  std::optional<Outcome> solver = {};
  /// Of two modules that were executed or given to a solver: the sizes of dimensions that were
  /// reduced to 1 for that, each once, largest first (interpreter/execution.h).
  std::vector<std::int64_t> reduced = {};
  /// Constants without elements in the text that were taken as equal in both modules.
  std::vector<std::string> assumed = {};
  /// Constants that were read as what a compiler rounded to them: `0.125 as 0.5 · 0.25`.
  std::vector<std::string> read_as = {};
  /// Instructions of the module that is not partitioned, or of the one before: they are equal for
  /// inputs for which what these make is finite.
  std::vector<std::string> finite = {};
  /// Opcodes of operations that were compared as uninterpreted functions.
  std::vector<std::string> uninterpreted = {};
  /// When undecided: an element whose values may be equal or not; absent if a limit was reached.
  std::optional<ElementDifference> undecided_element = {};
  /// When undecided: the operations on which that depends.
  std::vector<UnknownOperation> unknown = {};
  std::vector<CollectiveLine> collectives = {};  ///< of a single module
};

/// Which engines compare two modules. Default: what is affordable, in the order that decides
/// soonest. Symbolic: symbolic evaluation, which proves, and of two partitioned modules refutes.
/// Interpreter: execution on numbers and by random interpretation. Solver: the solver of the
/// options on expressions of the inputs; a difference that it finds counts if execution on numbers
/// shows one. All: all of them, the solver if there is one, which must agree.
enum class ModuleEngine : std::uint8_t { Default, Symbolic, Interpreter, Solver, All };

/// What a solver says of two modules' outputs: whether all elements are equal for all inputs.
/// Refuted is no more than a candidate, as functions are uninterpreted.
struct SolverAnswer {
  Outcome outcome = Outcome::Undecided;
  std::string reason = {};  ///< of Undecided: a limit, in words; empty if an element is open
  std::size_t element = 0;  ///< the first that is not shown equal
  /// Of Refuted: numbers for which it may differ, by input of the expressions.
  std::map<std::uint32_t, double> inputs = {};
};
using ElementSolver =
    std::function<SolverAnswer(const interpreter::OutputExpressions&, const Limits&)>;

/// That the outputs of two modules are equal, as real numbers.
struct EqualityEvidence {
  std::vector<std::string> assumed = {}, read_as = {}, finite = {};  ///< as of ModuleDecision
};

struct ComparisonOptions {
  DeviceCounts devices = {};
  /// Floating-point sums must also be added in the same order.
  bool ordered = false;
  /// Of two partitioned modules: inputs are the same on several devices where the module before
  /// says so (with_replicated_inputs).
  bool replicated_inputs = false;
  ModuleEngine engine = ModuleEngine::Default;
  /// Those stricter than real numbers are shown by random interpretation, or for modules that are
  /// identical operation by operation.
  FloatEquality equality = FloatEquality::Real;
  /// How `before`, which is not partitioned, stands to `after`, as JSON (docs/partition.md); its
  /// file for messages. Absent: by the shardings of the modules.
  std::optional<std::string> relation = {};
  std::string relation_file = {};
  ElementSolver solver = {};  ///< precondition of ModuleEngine::Solver: there is one
  /// Evidence that the outputs of the modules are equal, if there is any. Asked before any other
  /// engine if evidence is wanted, and of modules that take long to be executed; else after them,
  /// if they leave it open.
  std::function<std::optional<EqualityEvidence>(const ModuleRelation&, const Devices&)> evidence =
      {};
  bool wants_evidence = false;
};

/// Decides whether all outputs of two modules are equal on every device, for all inputs, and so is
/// what they do beside them (outfeeds, messages, calls with side effects), in its order. Throws
/// InputError if the number of devices is needed and unknown, and LimitReached before it compares;
/// a limit met while it does makes it Undecided.
ModuleDecision compare(const std::shared_ptr<const Module>& before,
                       const std::shared_ptr<const Module>& after, const ComparisonOptions& options,
                       const Limits& limits);

/// Links programs that run together, as the module after of compare() with these `devices`. If they
/// are ill-formed, or communicate illegally or in a way that is not understood, the decision.
/// Throws InputError as link_programs(), and LimitReached.
std::variant<std::shared_ptr<const Module>, ModuleDecision> linked(
    const std::vector<PlacedProgram>& programs, const DeviceCounts& devices,
    const Limits& limits = {});

/// Decides whether a module is well-formed: its shapes are consistent, its groups and pairs legal.
/// Throws LimitReached.
ModuleDecision check_well_formed(std::shared_ptr<const Module> module, const DeviceCounts& devices,
                                 const Limits& limits = {});

/// The specification of a module: output k is this collective of input k.
enum class Goal : std::uint8_t { AllReduce, ReduceScatter, AllGather, Broadcast, AllToAll };

/// `allreduce`, `reducescatter`, …; nothing for any other name.
std::optional<Goal> goal_called(std::string_view name);

/// The module that is one collective for each output of `module`, over groups of devices that
/// partition all devices; the first of a group is the root of a broadcast. A dimension is split or
/// concatenated where input and output differ first. Throws InputError if the numbers of inputs and
/// outputs differ.
std::shared_ptr<const Module> goal_module(const Module& module, Goal goal,
                                          const std::vector<std::vector<std::uint32_t>>& classes);

}  // namespace p2::hlo
