#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/explanation/explanation.h"
#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/interpreter.h"
#include "engine/hlo/module.h"
#include "engine/hlo/module_relation.h"

namespace p2::hlo {

struct Flow;

/// One random interpretation of the modules of a comparison: all are executed at the same random
/// point. Throws NotUnderstood, IllFormed, LimitReached.
class RandomInterpretation {
 public:
  using Run = interpreter::Interpreter<interpreter::Algebra>;
  using PerDevice = Run::PerDevice;

  /// At most `most` operations on elements in all runs. `relation` must outlive this.
  RandomInterpretation(const Devices& devices, const ModuleRelation& relation, std::uint64_t most,
                       const Limits& limits);

  PerDevice run(const Module& module, Form form, bool is_before,
                const Run::Observer& observer = {});
  interpreter::Term combine(Reducer reducer, ElementType type, const interpreter::Term& a,
                            const interpreter::Term& b);
  /// `a` times a number.
  interpreter::Term scaled(const interpreter::Term& a, Number factor, ElementType type);

 private:
  Devices devices_;
  const ModuleRelation& relation_;
  interpreter::Algebra algebra_;
  interpreter::Work work_;
};

/// An element of an array at one random point of all inputs.
using Cell = interpreter::Term;
/// The elements of an array on one device.
using Cells = std::shared_ptr<const std::vector<Cell>>;

/// An array that a module computes. What only moves arrays as they are, such as tuples, calls and
/// copies, makes no new ones.
struct TracedArray {
  const Instruction* instruction = nullptr;  ///< that computes it
  ArrayShape shape = {};
  std::vector<Cells> cells = {};             ///< by device; null where a device does not execute it
  std::vector<std::uint32_t> operands = {};  ///< earlier arrays
  bool depends_on_inputs = false;
  bool is_unknown = false;  ///< what the interpreter knows no meaning of
  std::uint32_t part = 0;   ///< which of several results
};

/// All arrays that a module computes, in the order of execution.
struct Trace {
  std::vector<TracedArray> arrays = {};
  std::vector<std::uint32_t> outputs = {};  ///< the arrays of the root, from left to right
};

/// Executes a module. Throws as RandomInterpretation, and LimitReached for more than a few million
/// elements.
Trace trace(RandomInterpretation& interpretation, const Module& module, Form form, bool is_before);

/// The arrays of a data flow, without their elements.
Trace trace_of(const Flow& flow);

HeldArrays::Array array_on(const Trace& trace, std::uint32_t number, std::uint32_t device);

/// The array of an output, as its number is in a decision, on a device that holds some of it.
std::uint32_t output_on(const Trace& trace, const ModuleRelation& relation, std::size_t number,
                        std::uint32_t device);

/// Groups of devices, each device in one.
using Groups = std::vector<std::vector<std::uint32_t>>;

/// How an array of one module is made of an array of another: what devices hold are boxes of it
/// that cover it; or, over groups of devices, the reductions of what they hold are; or multiples.
struct Holding {
  std::uint32_t array = 0;             ///< of the other module
  Reducer reducer = Reducer::Unknown;  ///< Unknown: the boxes themselves
  Groups groups = {};                  ///< whose reductions are the boxes
  Number factor = {1, 1};              ///< what is held is so many times the boxes
  /// By device: the first index of its box; empty where the arrays have other ranks, or the device
  /// holds none of it.
  std::vector<std::vector<std::int64_t>> starts = {};

  bool is_plain() const { return reducer == Reducer::Unknown && factor == Number{1, 1}; }
  /// Every device holds the whole.
  bool is_whole = false;
};

/// Finds the arrays of one module in those of another, by the values of their elements at a random
/// point: what is found is equal for all inputs, but for a probability of about 2^-60 per pair.
class HoldingSearch {
 public:
  /// `is_global`: devices hold boxes of arrays that are the same on all devices, and together all
  /// of it; else a device holds boxes of what the same device has in the other module. `groups`:
  /// those over which reductions are tried.
  HoldingSearch(const Trace& other, bool is_global, RandomInterpretation& interpretation,
                std::vector<Groups> groups);

  std::optional<Holding> find(const TracedArray& array);
  /// Whether every element is an element of some array of the other module.
  bool occurs(const TracedArray& array) const;

 private:
  /// An element of the other module, and where it is.
  struct Entry {
    std::uint64_t value = 0;
    std::uint32_t block = 0;
    std::uint32_t position = 0;
  };

  std::optional<Holding> find_boxes(const TracedArray& array, const std::vector<Cells>& cells,
                                    bool is_exact);
  std::optional<Holding> reduced(const TracedArray& array);
  std::optional<Holding> scaled(const TracedArray& array);
  bool verify(const TracedArray& array, const std::vector<Cells>& cells, std::uint32_t other,
              Holding& holding) const;
  bool covers(const std::vector<Cells>& cells, std::uint32_t other) const;
  std::optional<std::vector<std::int64_t>> box_start(const ArrayShape& shape,
                                                     const std::vector<Cell>& cells,
                                                     const ArrayShape& whole,
                                                     std::uint32_t block) const;
  std::size_t probe(const std::vector<Cell>& cells) const;
  std::pair<const Entry*, const Entry*> range(std::uint64_t value) const;

  const Trace& other_;
  bool is_global_;
  RandomInterpretation& interpretation_;
  std::vector<Groups> groups_;
  std::vector<Number> factors_;  ///< of multiples: sizes of groups, constants of the other module
  std::vector<Entry> entries_;   ///< sorted
  std::vector<const std::vector<Cell>*> blocks_;
  std::unordered_map<const void*, std::uint32_t> numbers_;  ///< of blocks
  std::vector<std::vector<std::uint32_t>> arrays_of_;  ///< by block: arrays of the first device
};

NamedInstruction named(const Instruction& instruction);
/// `dot.52 (line 11)`
std::string with_line(const NamedInstruction& instruction);
/// How many operands an explanation lists.
constexpr std::size_t kMaxOperandsShown = 4;
/// Groups of equal size over which a module may reduce: of its own collectives, along the axes of
/// the mesh, and of devices that are equally far apart.
std::vector<Groups> likely_groups(const Module& module, const Devices& devices,
                                  const std::vector<MeshAxis>& mesh);
/// `axis model`, `axes data, model`; where the groups are not those along axes, `{0,1} {2,3}`,
/// shortened.
std::string groups_text(const Groups& groups, const std::vector<MeshAxis>& mesh);
/// `partial sums of y before (line 9) over axis model`, `pieces of y before (line 9)`. `over`: the
/// groups of the reduction in words, or empty.
std::string held_words(const NamedInstruction& tensor, const char* other_word, Reducer reducer,
                       bool is_whole, const std::string& over);

/// Operations on elements, of all executions of one explanation: what is said does not depend on
/// the time that they take.
constexpr std::uint64_t kMaxExplanationWork = 12'000'000;

/// For slow machines.
constexpr std::chrono::milliseconds kMaxExplanationTime{5000};

/// Two modules of a comparison, executed at one random point, and how the arrays of the one are
/// made of those of the other.
class RelatedModules {
 public:
  /// All must outlive this. Throws as RandomInterpretation, and LimitReached for large modules.
  RelatedModules(const Module& before, const Module& after, const ModuleDecision& decision,
                 const Limits& limits);

  /// The module that is explained, and the one that it is related to: the one before, unless that
  /// one alone is partitioned.
  const Module& subject() const { return subject_; }
  const Module& other() const { return other_; }
  bool is_of_before() const { return is_of_before_; }
  const char* other_word() const { return is_of_before_ ? "after" : "before"; }

  const Trace& trace() const { return trace_; }
  const TracedArray& array(std::uint32_t number) const { return trace_.arrays[number]; }
  const Trace& other_trace() const { return other_trace_; }
  const Devices& devices() const { return decision_.devices; }
  /// That executing both modules takes.
  double operations() const { return decision_.operations; }
  const ModuleRelation& relation() const { return relation_; }
  const std::vector<Groups>& groups() const { return groups_; }
  /// The arrays of a data flow, without their elements.
  Trace trace_of(const Flow& flow);

  HeldArrays::Array array_on(const Trace& trace, std::uint32_t number, std::uint32_t device);

  /// The array of an output, as its number is in a decision, on a device that holds some of it.
  std::uint32_t output(std::size_t number, std::uint32_t device) const {
    return output_on(trace_, relation_, number, device);
  }

  /// Constants are related to anything.
  bool is_related(std::uint32_t array);
  const std::optional<Holding>& holding(std::uint32_t array);
  bool occurs(std::uint32_t array);

  /// Whether the outputs are equal for all inputs with `changed` in place of the subject.
  bool is_valid(const Module& changed) const;

  std::string over(const Groups& groups) const { return groups_text(groups, relation_.mesh); }
  /// `pieces of down before (line 9)`.
  std::string held_text(const Holding& holding) const;

 private:
  Form subject_form() const { return is_of_before_ ? relation_.before : relation_.after; }

  const ModuleDecision& decision_;
  const ModuleRelation& relation_;
  bool is_of_before_;
  const Module& subject_;
  const Module& other_;
  const Limits& limits_;
  RandomInterpretation interpretation_;
  Trace other_trace_;
  Trace trace_;
  std::vector<Groups> groups_;
  HoldingSearch search_;
  std::map<std::uint32_t, std::optional<Holding>> holdings_;
  std::map<std::uint32_t, bool> occurs_;
};

/// The operations on elements of modules that are explained as they are.
constexpr double kMaxExplainedOperations = static_cast<double>(kMaxExplanationWork) / 3;
inline bool is_too_large_for_explanation(const ModuleDecision& decision) {
  return decision.operations > kMaxExplainedOperations;
}

/// `explain(limits)`; nothing where the modules are too large or not understood.
template <typename Explain>
auto explain_within(const ModuleDecision& decision, const Limits& limits, const Explain& explain)
    -> decltype(explain(limits)) {
  if (!decision.relation || is_too_large_for_explanation(decision)) return {};
  try {
    return explain(limits.within(kMaxExplanationTime));
  } catch (const interpreter::NotUnderstood&) {
  } catch (const IllFormed&) {
  } catch (const LimitReached&) {
  }
  return {};
}

/// A change of one module.
struct Repair {
  const Instruction* place =
      nullptr;              ///< the instruction that is changed, or after which another is put
  std::string words;        ///< `an all-reduce (add) over {0,1,2,3} after dot.52`
  bool is_missing = false;  ///< it puts in a collective that is missing
  Groups groups = {};       ///< of the collective that is put in
  Module module;
};

/// Calls `visit` with changes of the subject that people forget or make too often, the likeliest
/// first, until it returns false: a collective that is missing, superfluous, or over other groups;
/// a scaling; another reducer, order of operands, comparison, constant or slice. `region`: the
/// arrays that are not related to the other module, from a wrong output back.
void for_each_repair(RelatedModules& modules, const std::vector<std::uint32_t>& region,
                     const std::function<bool(Repair&&)>& visit);

}  // namespace p2::hlo
