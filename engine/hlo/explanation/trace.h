#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/hlo/interpreter/random_interpretation.h"

namespace p2::hlo {

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
};

/// All arrays that a module computes, in the order of execution.
struct Trace {
  std::vector<TracedArray> arrays = {};
  std::vector<std::uint32_t> outputs = {};  ///< the arrays of the root, from left to right
};

/// Executes a module. Throws as RandomInterpretation, and LimitReached for more than a few million
/// elements.
Trace trace(RandomInterpretation& interpretation, const Module& module, Form form, bool is_before);

}  // namespace p2::hlo
