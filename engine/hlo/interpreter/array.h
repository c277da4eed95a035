#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/hlo/module.h"

namespace p2::hlo::interpreter {

/// Thrown where a module does what the interpreter does not understand.
struct NotUnderstood : std::runtime_error {
  NotUnderstood(const Instruction& which, std::string what)
      : std::runtime_error(which.opcode + " " + which.name + ": " + what),
        instruction(&which),
        why(std::move(what)) {}
  const Instruction* instruction;
  std::string why;
};

/// Throws NotUnderstood, with the instruction named.
[[noreturn]] inline void give_up(const Instruction& instruction, const std::string& why) {
  throw NotUnderstood(instruction, why);
}

/// Gives up unless `holds`: `what` is not as an instruction of its kind must have it.
inline void require(bool holds, const Instruction& instruction, const char* what) {
  if (!holds) give_up(instruction, what);
}

/// All elements of a tensor in row-major order, whatever its layout. Devices that hold the same
/// tensor share `cells`.
template <typename Cell>
struct Array {
  ArrayShape shape = {};
  std::shared_ptr<const std::vector<Cell>> cells = {};
  /// Some element is the result of an operation without a meaning here: all are arbitrary.
  bool unknown = false;

  const Cell& at(std::int64_t index) const { return (*cells)[static_cast<std::size_t>(index)]; }
};

/// An array, or a tuple of values.
template <typename Cell>
struct ArrayTree {
  bool is_tuple = false;
  Array<Cell> array = {};
  std::vector<ArrayTree> parts = {};
};

/// Whether a list of dimensions has one.
inline bool contains(const std::vector<std::int64_t>& list, std::size_t dimension) {
  return std::find(list.begin(), list.end(), static_cast<std::int64_t>(dimension)) != list.end();
}

/// Row-major strides.
inline std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

/// Advances a row-major index by one; false after the last.
inline bool advance(std::vector<std::int64_t>& index, const std::vector<std::int64_t>& sizes) {
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

/// Calls `visit(index)` for every index of a tensor in row-major order.
template <typename Visit>
void for_each_index(const std::vector<std::int64_t>& sizes, const Visit& visit) {
  for (const std::int64_t size : sizes) {
    if (size == 0) return;
  }
  std::vector<std::int64_t> index(sizes.size(), 0);
  do {
    visit(index);
  } while (advance(index, sizes));
}

/// The index of the element with a row-major number; no size is 0.
inline std::vector<std::int64_t> index_of(std::int64_t element,
                                          const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> index(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    index[i] = element % sizes[i];
    element /= sizes[i];
  }
  return index;
}

inline std::int64_t offset_of(const std::vector<std::int64_t>& index,
                              const std::vector<std::int64_t>& strides) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

}  // namespace p2::hlo::interpreter
