#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/hlo/text/stablehlo_lowering.h"
#include "engine/hlo/text/stablehlo_operation.h"
#include "engine/hlo/text/stablehlo_text.h"

namespace p2::hlo {

/// Parses the functions of a module: every function and every region becomes a computation.
class FunctionReader {
 public:
  explicit FunctionReader(TextReader& reader)
      : reader_(reader), symbols_(module_), lowering_(meshes_, symbols_) {}

  /// After the keyword `func.func`, after `sdy.mesh`, and after the `#` of an alias.
  void read_function();
  void read_mesh();
  void read_alias();
  /// Adds a mesh, given as `<["d"=2, "m"=4], device_ids=[…]>`.
  void add_mesh(const std::string& name, std::string_view text, const SourcePosition& where);

  Module& module() { return module_; }
  const SymbolTable& symbols() const { return symbols_; }
  const std::optional<ParallelRun>& run() const { return run_; }
  /// The functions with a body, in the order of the text.
  const std::vector<std::string>& functions() const { return functions_; }
  /// The computation of a function. Throws InputError for a function without a body.
  std::uint32_t function(const std::string& name);

 private:
  /// The name and type of an argument of a region.
  struct Argument {
    std::string name;
    Shape shape;
  };

  MlirAttributes read_attributes_in_braces();
  void read_parameters(Scope& scope);
  std::vector<MlirAttributes> read_result_types();
  std::vector<Argument> read_arguments();
  void read_body(Scope& scope);
  void read_region(Scope& scope, MlirOperation& operation, const std::vector<Argument>& arguments);
  std::uint32_t value(Scope& scope, const std::string& name);

  void read_operation(Scope& scope);
  std::vector<std::string> read_results();
  void read_operand(Scope& scope, MlirOperation& operation);
  void read_dictionary_of(MlirOperation& operation);
  void read_signature(MlirOperation& operation);
  void read_generic(Scope& scope, MlirOperation& operation);
  void read_return(Scope& scope, MlirOperation& operation);
  void read_while(Scope& scope, MlirOperation& operation);
  void read_reduce(Scope& scope, MlirOperation& operation);
  void append_applied(const std::string& name, MlirOperation& operation);
  void read_reducer(Scope& scope, MlirOperation& operation);
  void read_pretty(Scope& scope, MlirOperation& operation);
  bool read_word(MlirOperation& operation);
  bool starts_operation();
  bool starts_region();
  void finish(Scope& scope, MlirOperation& operation);
  bool finish_run(const Scope& scope, MlirOperation& operation);

  TextReader& reader_;
  Module module_;
  Meshes meshes_;
  SymbolTable symbols_;
  OperationLowering lowering_;
  MlirAttributes aliases_;
  std::vector<std::string> functions_;
  std::optional<ParallelRun> run_;
  std::unordered_map<std::string, std::size_t> run_results_;  ///< of run_parallel, by name
};

}  // namespace p2::hlo
