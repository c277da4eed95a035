#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/hlo/module.h"
#include "engine/hlo/text/mlir_syntax.h"

namespace p2::hlo {

/// A computation that is being read: a function or a region.
struct Scope {
  Computation computation = {};
  std::unordered_map<std::string, std::uint32_t> names = {};  ///< of values, without `%`
  Scope* outer = nullptr;                                     ///< of a region
  std::vector<std::uint32_t> captured = {};  ///< values of `outer`: parameters after the arguments
  std::vector<std::uint32_t> returned = {};  ///< the operands of its `return`
  int depth = 0;

  const Shape& shape(std::uint32_t instruction) const {
    return computation.instructions[instruction].shape;
  }
  std::uint32_t append(Instruction instruction);
  void append_parameter(const std::string& name, const Shape& shape, const SourcePosition& where);
};

/// A device mesh of Shardy. Without ids its devices are 0, 1, … in row-major order.
struct Mesh {
  std::vector<MeshAxis> axes;
  std::vector<std::int64_t> device_ids;
};
using Meshes = std::map<std::string, Mesh>;

/// The computations of a module, and those of them that have the symbol of a function.
class SymbolTable {
 public:
  explicit SymbolTable(Module& module) : module_(module) {}

  /// The computation of a function, which may be defined later.
  std::uint32_t function(const std::string& name, const SourcePosition& where);
  /// A computation without a symbol.
  std::uint32_t add(Computation computation, const SourcePosition& where);
  /// Throws InputError if a function is called that has no body.
  void require_bodies() const;
  /// The first mention of each computation.
  const std::vector<SourcePosition>& positions() const { return positions_; }

 private:
  Module& module_;
  std::unordered_map<std::string, std::uint32_t> functions_;
  std::vector<SourcePosition> positions_;
};

/// An operation as MLIR has it, in its generic form.
struct MlirOperation {
  std::string name;  ///< `stablehlo.add`
  SourcePosition position = {};
  std::vector<std::string> results = {};     ///< names without `%`
  std::vector<std::uint32_t> operands = {};  ///< instructions of the scope
  MlirAttributes attributes = {};
  std::optional<std::string> symbol = {};  ///< of a call, a custom_call
  std::vector<std::string> words = {};     ///< without a name: `GT` of a comparison
  std::vector<Scope> regions = {};         ///< complete, without a root
  std::shared_ptr<const Literal> literal = {};
  std::vector<Shape> operand_types = {};
  std::vector<Shape> types = {};    ///< of the results
  std::string_view signature = {};  ///< the text of both
  std::vector<std::size_t> run_results =
      {};  ///< operands that are results of a run, see ParallelRun

  /// Removes an attribute, given its names in the generic and the pretty form.
  std::optional<MlirAttribute> take(std::string_view name, std::string_view pretty = {});
};

}  // namespace p2::hlo
