#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/hlo/number.h"
#include "engine/hlo/replica_groups.h"
#include "engine/hlo/shape.h"

namespace p2::hlo {

/// An element of a constant: a number or, where it is none that Number holds, its text.
struct LiteralElement {
  Number number = {};
  std::string text = {};  ///< empty for a number

  bool operator==(const LiteralElement&) const = default;
};

/// The most elements that a constant may list.
constexpr std::size_t kMostLiteralElements = 1U << 22U;

/// A constant in row-major order. One element stands for all where there is only one.
struct Literal {
  ArrayShape shape;
  std::vector<LiteralElement> elements;
  bool elided = false;  ///< printed as `{...}`: nothing is known of it

  const LiteralElement& at(std::int64_t index) const {
    return elements[elements.size() == 1 ? 0 : static_cast<std::size_t>(index)];
  }
};

/// What the attributes of an instruction say, in whichever of the two languages.
struct Attributes {
  std::vector<std::int64_t> dimensions = {};
  std::vector<std::int64_t> starts = {};   ///< of a slice; the low padding of a pad
  std::vector<std::int64_t> limits = {};   ///< of a slice; the high padding of a pad
  std::vector<std::int64_t> strides = {};  ///< of a slice; the interior padding of a pad
  std::vector<std::int64_t> slice_sizes = {};
  ReplicaGroups groups = {};
  bool has_channel = false;
  std::optional<bool> global_ids = {};
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs = {};  ///< source, target
  std::optional<std::int64_t> concat_dimension = {};  ///< of an all-to-all; else as `dimensions`
  std::int64_t index = 0;                             ///< of a parameter, a get-tuple-element
  std::string direction = {};                         ///< of a comparison
  /// Everything else that can change what the instruction computes, in one text.
  std::string others = {};
};

struct Instruction {
  std::string name;
  std::string opcode;  ///< as in XLA
  Shape shape = {};
  std::vector<std::uint32_t> operands = {};  ///< instructions of the same computation, before it
  Attributes attributes = {};
  std::shared_ptr<const Literal> literal = {};
  std::vector<std::uint32_t> called = {};  ///< computations of the module, before this one
  SourcePosition position = {};
};

struct Computation {
  std::string name;
  std::vector<Instruction> instructions = {};
  std::uint32_t root = 0;
  std::vector<std::uint32_t> parameters = {};  ///< instructions, by number
};

/// Which of the two languages, where they differ in meaning.
enum class Language : std::uint8_t { Hlo, StableHlo };

/// A program that every device runs.
struct Module {
  std::string name = {};
  std::string file = {};
  Language language = Language::Hlo;
  std::optional<std::int64_t> replicas = {};
  std::optional<std::int64_t> partitions = {};
  std::vector<Computation> computations = {};
  std::uint32_t entry = 0;

  const Computation& entry_computation() const { return computations[entry]; }
};

/// Finds the parameters among the instructions of a computation that begins at `where`. Throws
/// InputError unless they are numbered 0, 1, … each once.
void number_parameters(Computation& computation, const SourcePosition& where);

}  // namespace p2::hlo
