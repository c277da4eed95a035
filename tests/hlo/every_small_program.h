#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/hlo/small_programs.h"

/// Every program of a few devices with one operation, of small shapes, whose operands are held in
/// every way that is listed here: bounded exhaustive testing.
namespace p2::hlo::small {

/// Makes choices in every way, depth first: after next(), below() chooses the next ones. With a
/// seed they are drawn, without end.
class Choices {
 public:
  Choices() = default;
  explicit Choices(std::uint32_t seed) : random_(std::mt19937(seed)) {}

  std::size_t below(std::size_t end);
  bool next();  ///< false after the last ones

  template <typename T>
  T of(const std::vector<T>& all) {
    return all.at(below(all.size()));
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> made_;  ///< of how many
  std::size_t at_ = 0;
  std::optional<std::mt19937> random_;
};

/// Operations of one kind: every program begins with choosing what its operands are, and has the
/// operation with all its parameters.
struct Operations {
  std::string name;
  std::vector<std::string> opcodes;  ///< that are counted
  std::function<void(SmallProgram&, Choices&)> make;
  std::size_t programs = 300;   ///< that are drawn
  std::size_t parts = 0;        ///< facts about sums that follow then, at least
  std::size_t most = SIZE_MAX;  ///< that a campaign takes: where there are more, drawn ones
};

std::vector<Operations> computing_operations();      ///< every_small_operation.cpp
std::vector<Operations> function_operations();       ///< every_small_function.cpp
std::vector<Operations> communicating_operations();  ///< every_small_collective.cpp
std::vector<Operations> indexing_operations();       ///< every_small_indexing.cpp
std::vector<Operations> lookup_operations();         ///< every_small_lookup.cpp
std::vector<Operations> expanded_operations();       ///< every_small_expansion.cpp
std::vector<Operations> halo_operations();           ///< every_small_halo.cpp

/// The types that operands have.
const std::vector<std::string> kTypes = {"f32", "s32", "pred"};
std::vector<Index> permutations(std::size_t count);
/// A step of the same type, sizes and axes as its operand.
Step step_of(const std::string& opcode, const Step& from, std::size_t operand);
/// A reduction by the operation of this name.
Step reduction(const SmallProgram& program, std::size_t x, std::size_t first, const Index& along,
               const std::string& name);

// Operands.

/// How many devices there are: 2, 3 or 4.
std::size_t chosen_devices(Choices& choices);
/// Ways to hold a dimension: not cut, free, in tiles by several orders of devices, with padding in
/// the last one, with halos, interleaved, with holes, on one device only. `few`: the main ones.
std::vector<Axis> ways_to_hold(std::int64_t size, std::size_t devices, bool few);
std::vector<Axis> chosen_axes(SmallProgram& program, Choices& choices, const Index& sizes,
                              bool few = true);
/// How parts of a reduction are on devices, and by what operation; nothing: there are none.
struct HeldParts {
  std::optional<kernel::xla::Op> reducer = {};
  std::vector<std::uint32_t> parts = {};
};
HeldParts chosen_parts(SmallProgram& program, Choices& choices, const std::string& type, bool few);
/// A parameter, with a broadcast along free dimensions.
std::size_t held(SmallProgram& program, const std::string& type, const std::vector<Axis>& axes,
                 const HeldParts& parts = {});
/// All sizes of a rank with dimensions of at most `most` indices.
Index chosen_sizes(Choices& choices, std::size_t rank, std::int64_t most);
/// All ranges [begin, end) of a dimension, as starts, limits and strides.
std::vector<Index> ranges_in(std::int64_t size, std::int64_t most_stride);
/// All partitions of devices into groups of one size, in every order of members (few: one).
std::vector<std::vector<std::vector<std::size_t>>> all_groups(std::size_t devices, bool few);

}  // namespace p2::hlo::small
