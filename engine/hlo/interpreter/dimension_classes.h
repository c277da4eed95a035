#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "engine/hlo/interpreter/dimension_numbers.h"
#include "engine/hlo/module.h"

namespace p2::hlo::interpreter {

/// Dimensions of arrays, by number, in classes of equal size.
class DimensionClasses {
 public:
  std::uint32_t add(std::int64_t size) {
    parents_.push_back(static_cast<std::uint32_t>(parents_.size()));
    sizes_.push_back(size);
    fixed_.push_back(false);
    return parents_.back();
  }
  void fix(std::uint32_t dimension) { fixed_[root(dimension)] = true; }
  /// Puts two dimensions into one class; they are fixed if their sizes differ.
  void tie(std::uint32_t a, std::uint32_t b) {
    if (sizes_[a] != sizes_[b]) {
      fix(a);
      fix(b);
      return;
    }
    a = root(a);
    b = root(b);
    fixed_[b] = fixed_[b] || fixed_[a];
    parents_[a] = b;
  }
  std::uint32_t root(std::uint32_t dimension) {
    while (parents_[dimension] != dimension) {
      dimension = parents_[dimension] = parents_[parents_[dimension]];
    }
    return dimension;
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(sizes_.size()); }
  std::int64_t size(std::uint32_t dimension) const { return sizes_[dimension]; }
  bool is_fixed(std::uint32_t dimension) { return fixed_[root(dimension)]; }
  /// Whether an independent dimension is reduced to size 1.
  bool is_reduced(std::uint32_t dimension) {
    return sizes_[dimension] > 1 && !fixed_[root(dimension)];
  }
  /// The sizes of the classes that are reduced, each once, largest first.
  std::vector<std::int64_t> reduced_sizes() {
    std::set<std::int64_t, std::greater<>> all;
    for (std::uint32_t each = 0; each < parents_.size(); ++each) {
      if (is_reduced(each)) all.insert(sizes_[each]);
    }
    return {all.begin(), all.end()};
  }

 private:
  std::vector<std::uint32_t> parents_;
  std::vector<std::int64_t> sizes_;
  std::vector<bool> fixed_;
};

/// The dimensions of an array, or of those of a tuple.
struct ValueDimensions {
  const ArrayShape* shape = nullptr;  ///< null: a tuple
  std::vector<std::uint32_t> numbers = {};
  std::vector<ValueDimensions> parts = {};
};

void append_arrays(const ValueDimensions& value, std::vector<const ValueDimensions*>& all);

/// The dimensions of all values of a module. Those that an operation passes on index by index are
/// in one class, through calls, branches and loops, too; all others are fixed, and so are all of an
/// operation without a rule (passed_dimensions.cpp) and of what it calls.
class ModuleDimensions {
 public:
  ModuleDimensions(const Module& module, DimensionClasses& classes, bool rounded)
      : module_(module), classes_(classes), rounded_(rounded) {}
  ModuleDimensions(const ModuleDimensions&) = delete;
  ModuleDimensions& operator=(const ModuleDimensions&) = delete;
  virtual ~ModuleDimensions() = default;

  /// Goes through the instructions; once, before all else.
  void classify();
  std::vector<const ValueDimensions*> inputs() const;
  std::vector<const ValueDimensions*> outputs() const;

 protected:
  using Values = std::vector<ValueDimensions>;
  using Arrays = std::vector<const ValueDimensions*>;

  /// Ties the dimensions that an operation on arrays passes on, and fixes all others.
  virtual void pass_on(const Instruction& instruction, const Arrays& operands,
                       const ValueDimensions& result);
  /// What is known of dimensions that are not passed on, of operands and results in this order:
  /// marks those that need not be fixed.
  virtual void relate(const Instruction& /*instruction*/, const Arrays& /*arrays*/,
                      std::vector<std::vector<bool>>& /*marked*/) {}

  ValueDimensions of(const Shape& shape);
  void fix(const ValueDimensions& value);

  const Module& module_;
  DimensionClasses& classes_;
  bool rounded_;
  std::vector<Values> values_;

 private:
  void add(const Instruction& instruction, Values& values);
  bool tie_control(const Instruction& instruction, const ValueDimensions& result,
                   const Arrays& operands);
  std::optional<ValueDimensions> started(const Instruction& instruction, const Arrays& operands);
  std::set<std::uint32_t> called_from(std::uint32_t computation) const;
  void fix_called(const Instruction& instruction);
  void tie(const ValueDimensions& a, const ValueDimensions& b);
  bool pass(std::uint32_t computation, const Arrays& arguments);
  const ValueDimensions* root_of(std::uint32_t computation) const {
    return &values_[computation][module_.computations[computation].root];
  }

  std::set<std::uint32_t> fixed_;
};

}  // namespace p2::hlo::interpreter
