#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/hlo/text/mlir_syntax.h"
#include "engine/hlo/text/stablehlo_text.h"

namespace p2::hlo {

/// Parses the functions of a module: every function and every region becomes a computation.
class FunctionReader {
 public:
  explicit FunctionReader(TextReader& reader) : reader_(reader) {}

  /// After the keyword `func.func`, and after `sdy.mesh`.
  void read_function();
  void read_mesh();

  Module& module() { return module_; }
  const std::optional<ParallelRun>& run() const { return run_; }
  /// The functions with a body, in the order of the text.
  const std::vector<std::string>& functions() const { return functions_; }
  /// The computation of a function. Throws InputError for a function without a body.
  std::uint32_t function(const std::string& name);
  /// The position of each computation.
  const std::vector<SourcePosition>& positions() const { return positions_; }

 private:
  /// Results of operations: an instruction, or an element of its tuple.
  using Names = std::unordered_map<std::string, std::uint32_t>;
  /// A computation that is being read, its names, and the enclosing scope.
  struct Scope {
    Computation computation;
    Names names;
    Scope* outer = nullptr;
    std::vector<std::uint32_t> captured = {};  ///< used values of `outer`
    int depth = 0;
  };
  /// An operation that is being read.
  struct Operation {
    Instruction instruction;
    std::vector<std::string> results;
    std::vector<Shape> operand_types;
    std::vector<Shape> types;
    std::vector<std::string> symbols;
  };

  std::uint32_t reserve(const std::string& name);
  void read_body(Scope& scope);
  void read_parameters(Scope& scope, const char* close);
  void add_parameter(Scope& scope, const std::string& name, const Shape& shape);
  std::uint32_t value(Scope& scope, const std::string& name);
  void read_operation(Scope& scope);
  std::vector<std::string> read_results();
  void read_generic(Scope& scope, Operation& operation);
  void read_pretty(Scope& scope, Operation& operation);
  bool read_pretty_part(Scope& scope, Operation& operation);
  void read_ranges(Operation& operation);
  void read_applied(Operation& operation);
  void read_operand(Scope& scope, Operation& operation);
  void read_region(Scope& scope, Operation& operation);
  void read_dictionary(Operation& operation);
  void read_attribute_value(Operation& operation, const std::string& name);
  void read_signature(Operation& operation);
  void finish(Scope& scope, Operation& operation);
  void finish_return(Scope& scope, const Operation& operation);
  bool finish_run(const Operation& operation, const std::string& text);
  void add_results(Scope& scope, Operation& operation);

  TextReader& reader_;
  Module module_;
  Meshes meshes_;
  std::map<std::string, std::uint32_t> numbers_;  ///< of functions, defined or called
  std::vector<std::string> functions_;
  std::vector<SourcePosition> positions_;
  std::optional<ParallelRun> run_;
  std::unordered_map<std::string, Literal> constants_;  ///< of the current function
  std::string run_results_;                             ///< the name of the results of run_parallel
};

}  // namespace p2::hlo
