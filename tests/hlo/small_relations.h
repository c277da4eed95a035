#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proofs/kernel/xla/relation.h"

/// Operations executed element by element on few devices, and facts of p2-check compared with what
/// devices have then. Nothing here calls the checker's rules or its interpreter.
namespace p2::hlo::small {

using kernel::xla::Form;
using kernel::xla::Index;

/// Elements in row-major order: real numbers, or integers and truth values of up to 32 bits.
struct Array {
  Index sizes;
  std::vector<double> cells;

  double& at(const Index& index);
  double at(const Index& index) const;
};

/// An array of this type, in row-major order.
kernel::xla::Shape shape_of(const char* type, const Index& sizes);
/// All indices of an array, in row-major order.
std::vector<Index> indices_of(const Index& sizes);
/// An integer modulo 2^bits, a truth value; a real number as it is.
double in_type(double value, const std::string& type);
/// Up to rounding; no number is one value.
bool is_same(double a, double b);
double reduced(const std::string& opcode, double a, double b, const std::string& type);

/// What an operation makes. Throws std::out_of_range where an index is beyond an array.
Array evaluate(const Form& form, const std::vector<const Array*>& operands, const Index& sizes,
               const std::string& type);

/// The same of a sort, of windows or a convolution by what is written of it; of any other an unknown
/// function of all elements: small_functions.cpp.
Array function_of(const Form& form, const std::vector<const Array*>& operands, const Index& sizes,
                  const std::string& type);

/// What is added up by a dot or reduction: the same operation of slices of its operands, at an
/// index of what it adds up over.
struct Summand {
  explicit Summand(const Form& of);

  Form slice_of(std::size_t operand, const Index& sizes, const Index& at) const;

  Form form;  ///< of the operation
};

/// The whole tensors, from those of the inputs.
class WholeTensors {
 public:
  WholeTensors(const kernel::xla::Tensors& tensors, std::map<std::size_t, Array> inputs)
      : tensors_(tensors), inputs_(std::move(inputs)) {}

  /// With what is added up over indices at this one of them, where it is a summand.
  const Array& at(std::size_t tensor, const std::optional<Index>& summand = {});

 private:
  const kernel::xla::Tensors& tensors_;
  std::map<std::size_t, Array> inputs_;  ///< by number of the input
  std::map<std::pair<std::size_t, std::optional<Index>>, Array> known_;
};

}  // namespace p2::hlo::small
