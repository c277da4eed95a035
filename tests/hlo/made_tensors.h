#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/small_relations.h"

namespace p2::hlo::small {

/// Tensors, each made by an operation of others that is drawn, with what the operation makes of
/// their elements.
class MadeTensors {
 public:
  explicit MadeTensors(std::uint32_t seed) : random_(seed), tensors_({}) {}

  /// What was made in another form than it was asked for, by operation.
  const std::map<std::string, int>& simplified() const { return simplified_; }

 protected:
  struct Known {
    std::size_t tensor = 0;
    Array elements;
    std::string type;
  };

  std::size_t below(std::size_t end) { return random_() % end; }
  template <typename T>
  T one_of(const std::vector<T>& all) {
    return all[below(all.size())];
  }

  std::size_t add_input(Array elements, const std::string& type) {
    const std::size_t number = inputs_.size();
    inputs_[number] = elements;
    all_.push_back({tensors_.input(number, shape_of(type.c_str(), elements.sizes)),
                    std::move(elements), type});
    return all_.size() - 1;
  }
  std::size_t add_scalar(const std::string& literal, const std::string& type) {
    all_.push_back({tensors_.scalar(literal, kernel::xla::type_called(type)),
                    evaluate({"constant", literal, {}}, {}, {}, type), type});
    return all_.size() - 1;
  }
  /// The number in `all_`.
  std::size_t apply(const Form& form, const std::vector<std::size_t>& operands,
                    const std::string& type) {
    std::vector<std::size_t> numbers;
    std::vector<const Array*> arrays;
    for (const std::size_t each : operands) {
      numbers.push_back(all_[each].tensor);
      arrays.push_back(&all_[each].elements);
    }
    const auto made =
        tensors_.make(form, numbers, kernel::xla::kind_of(kernel::xla::type_called(type)));
    REQUIRE(made);
    Array array = evaluate(form, arrays, tensors_.at(*made).sizes, type);
    if (has_other_form(form, numbers, tensors_.at(*made))) ++simplified_[form.opcode];
    steps_ += fmt::format("{} = {} {} {} {} of {}; ", *made, type, form.opcode, form.text,
                          form.numbers, numbers);
    all_.push_back({*made, std::move(array), type});
    return all_.size() - 1;
  }

  /// Checks that all tensors are what was made, element by element.
  void check_elements() {
    WholeTensors wholes(tensors_, inputs_);
    for (const Known& each : all_) {
      const Array& made = wholes.at(each.tensor);
      REQUIRE(made.sizes == each.elements.sizes);
      for (std::size_t k = 0; k < made.cells.size(); ++k) {
        if (!is_same(made.cells[k], each.elements.cells[k]))
          FAIL("tensor ", each.tensor, ", element ", k, ": ", made.cells[k], " is not ",
               each.elements.cells[k], "; ", steps_);
      }
    }
  }

  virtual bool has_other_form(const Form& form, const std::vector<std::size_t>& /*operands*/,
                              const kernel::xla::Tensors::Tensor& made) const {
    return made.form != form;
  }
  virtual ~MadeTensors() = default;

  std::mt19937 random_;
  kernel::xla::Tensors tensors_;
  std::map<std::size_t, Array> inputs_;
  std::vector<Known> all_;
  std::string steps_;
  std::map<std::string, int> simplified_;
};

}  // namespace p2::hlo::small
