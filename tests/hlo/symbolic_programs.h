#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/hlo/interpreter/expressions.h"
#include "tests/hlo/small_claims.h"
#include "tests/hlo/small_programs.h"

/// What facts of p2-check say, for Z3: elements of devices' arrays and of whole tensors as
/// expressions of the inputs. Both are executed by the engine's interpreter, which is not the
/// checker's, and become terms by the encoding of `--engine z3` (encodings/z3/queries.h).
namespace p2::hlo::small {

/// The instructions of a module, executed on expressions.
using Cells = std::vector<interpreter::Expression>;
/// By the name of an instruction of the entry, then by device.
using SymbolicArrays = std::map<std::string, std::vector<Cells>>;

/// Whole tensors as a module that is not partitioned.
class TensorText {
 public:
  explicit TensorText(const kernel::xla::Tensors& tensors) : tensors_(tensors) {}

  /// The name of the instruction that makes a tensor, with what is added up over indices at this
  /// one of them. Throws std::out_of_range where a tensor has no such form.
  std::string name_of(std::size_t tensor, const std::optional<Index>& summand = {});
  std::string module_text() const;

 private:
  bool has_summand(std::size_t tensor) const;
  std::string add(const Form& form, const std::string& kind, const Index& sizes,
                  const std::string& operands);

  const kernel::xla::Tensors& tensors_;
  std::map<std::pair<std::size_t, std::optional<Index>>, std::string> names_;
  std::set<std::pair<std::string, std::string>> reducers_;
  std::string lines_;
  std::string last_;
  std::size_t count_ = 0;
};

/// The engine does not execute an operation on symbols.
struct NotExecuted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Facts about one program, as pairs of elements that have to be equal.
class SymbolicProgram {
 public:
  /// Throws std::out_of_range where a tensor has no form as an instruction, and NotExecuted.
  SymbolicProgram(const SmallProgram& program, DerivedFacts& derived,
                  const std::vector<kernel::xla::Fact>& facts,
                  interpreter::Expressions& expressions);

  /// The pairs of a fact about a step, and why it cannot be true otherwise.
  std::string add(std::size_t step, const kernel::xla::Fact& fact,
                  std::vector<interpreter::OutputElement>& elements);

 private:
  interpreter::Expression reduced(kernel::xla::Op op, const Cells& parts, ElementType type);
  interpreter::Expression whole_element(std::size_t tensor, const Index& index,
                                        const std::optional<Index>& summand = {});
  interpreter::Expression seen(const kernel::xla::Fact& fact, std::size_t device,
                               const Index& index, const interpreter::Expression& found);
  SymbolicArrays executed(const std::string& text, std::size_t devices,
                          const std::vector<std::vector<Cells>>& parameters);

  const SmallProgram& program_;
  DerivedFacts& derived_;
  interpreter::Expressions& expressions_;
  TensorText text_;
  SymbolicArrays local_, whole_;
};

}  // namespace p2::hlo::small
