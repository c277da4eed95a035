#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/hlo/equality/tensor_classes.h"

namespace p2::hlo {

/// An element that is not the same in both flows.
struct Mismatch {
  std::uint32_t device = 0;
  std::size_t output = 0;
  std::vector<std::int64_t> index;
  Value before = 0;
  Value after = 0;
};

/// Compares the outputs of the first two flows of a context, on every device, region by region.
class Comparison {
 public:
  explicit Comparison(ComparisonContext& context)
      : context_(context),
        classes_(context),
        space_(context.values.offsets()),
        before_(context, 0, space_),
        after_(context, 1, space_) {}

  /// Stops at the first element that differs for certain. Throws OutOfReach. Preconditions: both
  /// flows have the same inputs and outputs.
  void run();

  /// For certain; the first in the order of outputs, regions and devices.
  const std::optional<Mismatch>& difference() const { return difference_; }
  /// The first one of which it stays open whether it is a difference.
  const std::optional<Mismatch>& open_question() const { return open_question_; }

 private:
  struct Task {
    Region region;
    std::uint32_t device = 0;  ///< the next one to be looked at
  };
  void compare_output(std::size_t output);
  bool compare_region(std::size_t output, Task& task);
  void examine(std::size_t output, const Task& task);
  bool examine_corner(std::size_t output, const Task& task, std::size_t corner);
  bool is_certain(Value before, Value after, ElementType type);
  void split(const Task& task, const Refinement& refinement);

  ComparisonContext& context_;
  TensorClasses classes_;
  Space space_;
  Evaluation before_;
  Evaluation after_;
  std::vector<Task> open_;
  std::size_t examined_ = 0;
  std::optional<Mismatch> difference_;
  std::optional<Mismatch> open_question_;
};

}  // namespace p2::hlo
