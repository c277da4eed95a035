#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/hlo/number.h"
#include "engine/hlo/replica_groups.h"
#include "engine/hlo/shape.h"
#include "p2/error.h"

namespace p2::hlo {

/// An element of a constant: a number or, if Number cannot represent it (`inf`, `nan`), its text.
struct LiteralElement {
  Number number = {};
  std::string text = {};       ///< empty for a number
  bool negative_zero = false;  ///< `-0`, whose number is 0

  bool operator==(const LiteralElement&) const = default;
};
std::string to_string(const LiteralElement& element);

/// The largest number of elements that a constant may list.
constexpr std::size_t kMaxLiteralElements = 1U << 22U;

/// A constant in row-major order. A single element is a splat: it is the value of all elements.
struct Literal {
  ArrayShape shape;
  std::vector<LiteralElement> elements;
  bool elided = false;  ///< printed as `{...}`: the elements are unknown

  const LiteralElement& at(std::int64_t index) const {
    return elements[elements.size() == 1 ? 0 : static_cast<std::size_t>(index)];
  }
};

/// The attributes in a list as in Attributes::others, `name=value` each.
std::vector<std::string_view> attributes_in(std::string_view others);
/// The value of one of them: `{1}`; nothing without one.
std::optional<std::string_view> attribute_in(std::string_view others, std::string_view name);

/// The attributes of an instruction, in the terms of XLA whichever language it was read from.
struct Attributes {
  std::vector<std::int64_t> dimensions = {};
  std::vector<std::int64_t> starts = {};   ///< of a slice; the low padding of a pad
  std::vector<std::int64_t> limits = {};   ///< of a slice; the high padding of a pad
  std::vector<std::int64_t> strides = {};  ///< of a slice; the interior padding of a pad
  std::vector<std::int64_t> slice_sizes = {};
  ReplicaGroups groups = {};
  bool has_channel = false;
  std::int64_t channel = 0;  ///< its number
  std::optional<bool> global_ids = {};
  /// Source and target: of a permutation, and of a send or recv those of its frontend attributes.
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs = {};
  /// Of linked programs: the groups are devices, and leave out those of other programs.
  bool is_linked = false;
  std::optional<std::int64_t> concat_dimension = {};  ///< of an all-to-all; absent: as `dimensions`
  std::int64_t index = 0;                             ///< of a parameter, a get-tuple-element
  std::string direction = {};                         ///< of a comparison
  /// As XLA prints it, `{devices=[1,8]<=[8]}`, or Shardy, `#sdy.sharding<@mesh, [{}, {"x"}]>`.
  std::string sharding = {};
  /// Those of the frontend attributes `xla.sdy.…` that change the meaning: `xla.sdy.in_shardings`.
  std::map<std::string, std::string> shardy = {};
  /// All other attributes that can change the result: `lhs_contracting_dims={1};`, one after the
  /// other, without blanks, as XLA prints them.
  std::string others = {};
  /// `result_accuracy` of an elementwise function: how a result is rounded, as printed.
  std::string accuracy = {};

  std::optional<std::string_view> other(std::string_view name) const {
    return attribute_in(others, name);
  }
};

struct Instruction {
  std::string name;
  std::string opcode;  ///< as in XLA
  Shape shape = {};
  std::vector<std::uint32_t> operands = {};  ///< earlier instructions of the same computation
  Attributes attributes = {};
  std::shared_ptr<const Literal> literal = {};
  std::vector<std::uint32_t> called = {};  ///< earlier computations of the module
  /// Names of earlier instructions of the same computation that are executed before.
  std::vector<std::string> control_predecessors = {};
  SourcePosition position = {};
  /// In the entry of linked programs, the one that executes it, in Module::programs; kEveryProgram:
  /// all devices that have its operands.
  std::uint32_t program = 0;
};

constexpr std::uint32_t kEveryProgram = UINT32_MAX;

struct Computation {
  std::string name;
  std::vector<Instruction> instructions = {};
  std::uint32_t root = 0;
  std::vector<std::uint32_t> parameters = {};  ///< instructions, by parameter number
};

/// The language of a module, where XLA and StableHLO differ in meaning.
enum class Language : std::uint8_t { Hlo, StableHlo };

/// One of the programs that a module was linked from (program_communications.h), on devices of its
/// own.
struct LinkedProgram {
  std::vector<std::uint32_t> devices = {};  ///< ascending
  /// What each of them is in the program's own numbering, replica × partitions + partition.
  std::vector<std::uint32_t> ids = {};
  std::int64_t partitions = 1;
  std::uint32_t first_input = 0;  ///< in the linked module, arrays in order
  std::uint32_t inputs = 0;
  std::uint32_t first_output = 0;
  std::uint32_t outputs = 0;
};

/// The opcodes of linked programs, which no text can name: what a device receives, as it is on the
/// source of its pair; and the operand that the device's own program has computed.
constexpr std::string_view kMatchedReceive = "matched receive";
constexpr std::string_view kOfOwnProgram = "value of each program";

/// A program that every device runs (SPMD), or several that were linked.
struct Module {
  std::string name = {};
  std::string file = {};
  Language language = Language::Hlo;
  std::optional<std::int64_t> replicas = {};
  std::optional<std::int64_t> partitions = {};
  std::vector<Computation> computations = {};
  std::uint32_t entry = 0;
  /// The meshes of Shardy, by name: `<["d"=2, "m"=4]>`.
  std::map<std::string, std::string> meshes = {};
  /// From the header of a partitioned module: `spmd_parameters_shardings`, `spmd_output_sharding`.
  std::string parameter_shardings = {};
  std::string output_sharding = {};
  bool is_scheduled = false;  ///< the instructions are executed in the order of the text
  /// Empty where all devices run the module; otherwise every device is in one of them.
  std::vector<LinkedProgram> programs = {};
  std::vector<std::uint32_t> program_of = {};  ///< by device

  const Computation& entry_computation() const { return computations[entry]; }
};

/// Fills in `computation.parameters`; `where` is the position of the computation. Throws InputError
/// unless the parameters are numbered 0, 1, … without gaps or duplicates.
void number_parameters(Computation& computation, const SourcePosition& where);

/// Whether an instruction is one of a module's computations.
bool has_instruction(const Module& module, const Instruction* instruction);
/// The arrays of the root, by number from left to right, whose values depend on an instruction of
/// any computation.
std::vector<std::size_t> outputs_depending_on(const Module& module, const Instruction& instruction);

/// An operation with an attribute that is not known, or on arrays whose sizes are not fixed, is not
/// known either, whatever its opcode: a dot with `sparsity={…}` gets the opcode `dot[sparsity]`, a
/// sum of `f32[<=8]` the opcode `add[dynamic]`. Not so operations that have their meaning without
/// either, such as a tuple, and custom calls, which are known by their targets.
void set_apart_if_not_known(Instruction& instruction, bool dynamic);

/// A reduction of two scalars that is associative and commutative; Unknown for any other.
enum class Reducer : std::uint8_t { Add, Multiply, Maximum, Minimum, And, Or, Unknown };

std::string_view to_string(Reducer reducer);
/// The reducer of a binary operation.
Reducer reducer_of(std::string_view opcode, ElementType type);
/// The reducer of a computation whose root is a binary operation on its two parameters.
Reducer reducer_of(const Computation& computation);
/// Whether a comparator puts larger numbers first: `a > b`, or that of the integers which numbers
/// are in IEEE 754's total order, as XLA writes it. Other parameters do not matter.
bool orders_largest_first(const Computation& comparator);

/// Why a module has no meaning: its shapes or groups are inconsistent.
struct Fault {
  /// `shapes`, `groups`, `pairs`, `operands`, `unmatched`, `deadlock`: stable names.
  std::string rule;
  std::string reason;  ///< one sentence
  SourcePosition position;
};

/// Thrown while the data-flow graph of a module is built; caught by check_well_formed and compare.
struct IllFormed : std::runtime_error {
  explicit IllFormed(Fault why) : std::runtime_error(why.reason), fault(std::move(why)) {}
  Fault fault;
};

}  // namespace p2::hlo
