#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/hlo/related_pairs.h"
#include "tests/hlo/small_relations.h"

/// Small programs of few devices, drawn at random, whose operations p2-check's rules are about.
namespace p2::hlo::small {

using kernel::xla::Segments;

/// A computation of two scalars, `add_f32`; `ge` compares them.
std::string reducer_text(const std::string& opcode, const std::string& type);
/// `{1,2}`.
std::string listed(const Index& list);

/// How a dimension is held; without devices it is free (relation.h).
struct Axis {
  std::int64_t size = 1, whole = 1;
  std::vector<Segments> devices;
  bool is_free() const { return devices.empty(); }
};

struct Step {
  std::string opcode, type;
  Form form;  ///< the operation, as tensors have it
  Index sizes;
  std::vector<std::size_t> operands;
  std::string attributes;
  std::vector<Axis> axes;  ///< what a fact may say; a guess but for parameters
  std::vector<Index> hints = {{}};
  std::vector<Index> seen = {};  ///< for facts that follow from others about the same array
  std::vector<std::vector<std::size_t>> groups = {};  ///< of a collective
  std::size_t along = 0;
  std::optional<kernel::xla::Op> reducer = {};  ///< of a parameter
  std::vector<std::uint32_t> parts = {};        ///< by device, then
};

bool contains_number(const Index& list, std::size_t number);
Index sizes_of(const std::vector<Axis>& axes);

/// Of one dimension; `size=… stride=… pad=…_… lhs_dilate=… rhs_dilate=… rhs_reversal=…`.
struct Window {
  std::int64_t size = 1, stride = 1, low = 0, high = 0, base = 1, dilation = 1;
  bool is_reversed = false;

  std::int64_t positions(std::int64_t elements) const {
    const std::int64_t all = (elements - 1) * base + 1 + low + high;
    const std::int64_t extent = (size - 1) * dilation + 1;
    return all < extent ? 0 : (all - extent) / stride + 1;
  }
  /// Nothing: −1.
  std::int64_t element(std::int64_t position, std::int64_t offset, std::int64_t elements) const {
    const std::int64_t from = is_reversed ? size - 1 - offset : offset;
    const std::int64_t at = position * stride + from * dilation - low;
    return at < 0 || at % base != 0 || at / base >= elements ? -1 : at / base;
  }
};

std::string window_text(const std::vector<Window>& windows);
/// What stands in a text between these two, empty if the first does not.
std::string text_between(const std::string& text, const std::string& begin, char end);

class SmallProgram {
 public:
  SmallProgram(std::uint32_t seed, std::size_t devices);

  // small_programs.cpp
  std::size_t below(std::size_t end);
  std::int64_t from_to(std::int64_t first, std::int64_t last);
  bool once_in(std::size_t times) { return below(times) == 0; }
  template <typename T>
  T one_of(const std::vector<T>& all) {
    return all[below(all.size())];
  }
  Axis axis(std::int64_t size);
  Axis uncut(std::int64_t size) const;
  Axis tied(const Axis& other);    ///< most often the same
  Index any_of(std::size_t rank);  ///< some dimensions
  Index order_of(std::size_t rank);
  std::size_t add(Step step);
  std::size_t constant(const std::string& type, const std::string& text);
  /// A scalar by a table of the devices.
  std::size_t by_device(const std::string& type, const Index& numbers);
  std::size_t parameter(const std::string& type, const std::vector<Axis>& axes, bool may_be_parts);
  std::size_t parameter(const std::string& type, const std::vector<Axis>& axes,
                        std::optional<kernel::xla::Op> reducer, std::vector<std::uint32_t> parts);
  /// Its free dimensions by a broadcast.
  std::size_t operand(const std::string& type, const std::vector<Axis>& axes,
                      bool may_be_parts = true);
  std::size_t splat(const std::string& type, const std::string& text,
                    const std::vector<Axis>& axes);
  /// The last step, or a new operand.
  std::size_t some(const std::string& type = "");
  std::size_t broadcast(std::size_t operand, const Index& dimensions,
                        const std::vector<Axis>& axes);
  std::size_t apply(const std::string& opcode, std::vector<std::size_t> operands,
                    const std::string& type = "", const std::string& direction = "");
  /// A collective-permute; those of a program have the same pairs.
  std::size_t permute(std::size_t operand,
                      const std::vector<std::pair<std::size_t, std::size_t>>& pairs);
  /// More hints for a fact about a step.
  void hint(std::size_t step, const std::vector<Index>& hints) {
    steps_.at(step).hints.insert(steps_[step].hints.end(), hints.begin(), hints.end());
  }
  const Step& at(std::size_t step) const { return steps_.at(step); }
  std::size_t count() const { return steps_.size(); }
  std::size_t devices() const { return devices_; }
  std::vector<std::vector<std::size_t>> groups();

  /// Adds operations; small_operations.cpp, small_indexing.cpp, small_functions.cpp.
  void make(const std::string& what);

  /// Every fact that follows about a step, with why it is false; empty where it is true.
  using Found = std::function<void(const Step& step, const kernel::xla::Fact& fact,
                                   const std::string& contradiction)>;
  void for_each_fact(const Found& found);
  /// What devices have after every step, for inputs drawn anew.
  std::vector<std::vector<Array>> executed();
  std::map<std::size_t, Array> inputs() const;  ///< the whole ones of that execution
  const std::vector<kernel::xla::Relation>& relations() const { return relations_; }
  std::string local_text() const;
  std::string whole_text() const;

 private:
  void make_elementwise();
  void make_movement(const std::string& opcode);
  void make_slice();
  void make_reshape();
  void make_dot();
  void make_reduce();
  void make_dynamic(bool is_update);
  void make_sort();
  void make_windows();
  void make_convolution();
  void make_gather();
  void make_scatter();
  void make_masked(bool is_scatter);
  void make_choice();
  void make_number();
  void make_collective(const std::string& opcode);
  double drawn(const std::string& type);
  std::vector<Array> result(const Step& step, const std::vector<std::vector<Array>>& before);

  std::mt19937 random_;
  std::size_t devices_;
  std::vector<Step> steps_;
  std::vector<Axis> pool_;
  std::vector<std::uint32_t> parts_;  ///< how sums are split over devices
  std::string reducer_;
  bool is_of_parts_ = false;  ///< whether most operands are sums of parts
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;  ///< of permutations
  std::vector<Array> wholes_;                               ///< of parameters
  std::vector<kernel::xla::Relation> relations_;
};

/// Every fact that follows about the steps of a program, one after the other.
struct DerivedFacts {
  explicit DerivedFacts(const SmallProgram& program);
  /// Of modules that go on from those of the program.
  DerivedFacts(const SmallProgram& program, const std::string& whole, const std::string& local);

  kernel::Budget budget;
  kernel::xla::Module whole, local;
  RelatedOnDevices modules;
  std::vector<std::pair<std::size_t, kernel::xla::Fact>> all;  ///< with the step
};

}  // namespace p2::hlo::small
