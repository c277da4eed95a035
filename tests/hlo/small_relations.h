#pragma once

#include <cstdint>
#include <map>
#include <string>
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

/// The whole tensors, from those of the inputs.
class WholeTensors {
 public:
  WholeTensors(const kernel::xla::Tensors& tensors, std::map<std::size_t, Array> inputs)
      : tensors_(tensors), inputs_(std::move(inputs)) {}

  const Array& at(std::size_t tensor);

 private:
  const kernel::xla::Tensors& tensors_;
  std::map<std::size_t, Array> inputs_;  ///< by number of the input
  std::map<std::size_t, Array> known_;
};

/// Why a fact is false of the arrays that devices have; empty where it is true.
std::string contradiction(const kernel::xla::RelatedModules& modules, const kernel::xla::Fact& fact,
                          const std::vector<Array>& devices, WholeTensors& wholes);

}  // namespace p2::hlo::small
