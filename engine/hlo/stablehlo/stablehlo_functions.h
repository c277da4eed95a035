#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/hlo/stablehlo/stablehlo_attributes.h"
#include "engine/hlo/stablehlo/stablehlo_text.h"

namespace p2::hlo {

/// Reads the functions of a module into computations: one for each function and each region.
class FunctionReader {
 public:
  explicit FunctionReader(TextReader& reader) : reader_(reader) {}

  /// Behind `func.func`, and behind `sdy.mesh`.
  void read_function();
  void read_mesh();

  Module& module() { return module_; }
  const std::optional<ParallelRun>& run() const { return run_; }
  /// Those with a body, in their order.
  const std::vector<std::string>& functions() const { return functions_; }
  /// The number of a function's computation. Throws InputError where there is none.
  std::uint32_t function(const std::string& name);
  /// Where each computation begins.
  const std::vector<SourcePosition>& positions() const { return positions_; }

 private:
  /// One result of an instruction: the instruction itself, or an element of its tuple.
  using Names = std::unordered_map<std::string, std::uint32_t>;
  /// The values of a computation that is being read, and those around it.
  struct Scope {
    Computation computation;
    Names names;
    Scope* outer = nullptr;
    std::vector<std::uint32_t> captured = {};  ///< values of `outer` that it uses
    int depth = 0;
  };
  /// An operation under way.
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
  std::map<std::string, std::uint32_t> numbers_;  ///< of functions, read or called
  std::vector<std::string> functions_;
  std::vector<SourcePosition> positions_;
  std::optional<ParallelRun> run_;
  std::unordered_map<std::string, Literal> constants_;  ///< of the function that is being read
  std::string run_results_;                             ///< the name of what runs in parallel
};

}  // namespace p2::hlo
