#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/hlo/equality/equivalence.h"
#include "engine/hlo/module.h"

namespace p2::hlo {

/// An instruction, as an explanation names it.
struct NamedInstruction {
  std::string name;
  std::string opcode;
  SourcePosition position;
};

/// What an instruction is computed from, and how devices hold it of a tensor of the other module.
struct ExplainedOperand {
  NamedInstruction instruction;
  std::optional<NamedInstruction> tensor =
      {};                 ///< of the other module; nothing where none is found
  std::string held = {};  ///< `whole`, `pieces`, `multiple`, or the reduction: `add`; or empty
  std::vector<std::vector<std::uint32_t>> groups = {};  ///< of the reduction
};

/// A change that makes two modules equal, by execution.
struct ExplainedRepair {
  std::string words;        ///< `an all-reduce (add) over {0,1,2,3} after dot.52`
  bool is_missing = false;  ///< it is a collective that is missing
  NamedInstruction place;
  std::vector<std::vector<std::uint32_t>> groups = {};  ///< of the collective, if it is about one
};

/// Where two modules that differ part ways.
struct Explanation {
  /// Of the module after, or of the one before, if that one is partitioned and the other is not.
  NamedInstruction instruction;
  bool is_of_before = false;
  std::vector<ExplainedOperand> operands = {};
  std::string paragraph = {};
  std::optional<ExplainedRepair> repair = {};
  /// Of modules that are too large: on inputs that are alike in blocks of indices, on which alone
  /// the repair makes them equal.
  bool is_on_blocks = false;
};

/// Explains the difference that compare() found, under the relation of `decision`: the first
/// instruction whose values are not made of those of the other module, and what would repair it.
/// Nothing for modules that are too large for it. Takes a second or two at most.
std::optional<Explanation> explain(const Module& before, const Module& after,
                                   const ModuleDecision& decision, const Limits& limits);

/// Draws how one element of an output is made up of what devices hold: the one that differs, else
/// the first. Empty for modules that are too large for it.
std::string draw_output(const Module& before, const Module& after, const ModuleDecision& decision,
                        const Limits& limits);

/// What an element that a device holds is of a tensor of the other module.
struct HeldElement {
  std::string tensor;  ///< by the instruction that makes it; empty where none makes it as it is
  std::vector<std::int64_t> index;
  bool is_padding = false;             ///< beyond the tensor
  Reducer reducer = Reducer::Unknown;  ///< the tensor's is a reduction of what devices hold
  Number factor = {1, 1};              ///< what is held is so many times the tensor's
  /// Over which groups of devices it is reduced, if that is known.
  std::vector<std::vector<std::uint32_t>> groups = {};
};

/// Indices along a dimension of a tensor of the other module.
struct HeldRange {
  std::string tensor;
  std::vector<std::pair<std::int64_t, std::int64_t>>
      ranges;  ///< from each first to before the last
};

/// How devices hold arrays of the partitioned module, as an execution or a proof has it.
class HeldArrays {
 public:
  /// An array on a device: the result of an instruction, or one of several.
  struct Array {
    std::uint32_t number = 0;  ///< in the order of the data flow, or of execution
    const Instruction& instruction;
    std::size_t part = 0;
    const ArrayShape& shape;
    std::uint32_t device = 0;
  };

  HeldArrays() = default;
  HeldArrays(const HeldArrays&) = delete;
  HeldArrays& operator=(const HeldArrays&) = delete;
  virtual ~HeldArrays() = default;

  /// Nothing where it is not known.
  virtual std::optional<HeldElement> element(const Array& array,
                                             const std::vector<std::int64_t>& index) const = 0;
  /// Nothing where a device has all indices of a dimension, or it is not known.
  virtual std::optional<HeldRange> range(const Array& array, std::size_t dimension) const = 0;
  /// The number that a scalar is for all inputs, if it is known.
  virtual std::optional<std::int64_t> number(const Array& array) const = 0;
};

/// The same for modules of any size, which are not executed. Empty for what has no data flow.
std::string draw_output(const std::shared_ptr<const Module>& before,
                        const std::shared_ptr<const Module>& after, const ModuleDecision& decision,
                        const HeldArrays& held, const Limits& limits);

/// Explains two modules of any size of which tensors are related as far as the instruction `end` of
/// the partitioned one: what that is computed from, and which change of a collective near it makes
/// the modules equal, as `is_equal` says of the module that is changed; nothing from it ends the
/// search. Nothing where no instruction has this name.
std::optional<Explanation> explain_end(
    const std::shared_ptr<const Module>& before, const std::shared_ptr<const Module>& after,
    const ModuleDecision& decision, const std::string& end, const HeldArrays& held,
    const Limits& limits,
    const std::function<std::optional<bool>(const Module& changed)>& is_equal);

}  // namespace p2::hlo
