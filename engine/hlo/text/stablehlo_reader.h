#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/hlo/module.h"
#include "engine/hlo/text/hlo_text.h"
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

/// The attributes of StableHLO operations as XLA has them. All remove from the operation what they
/// read.

/// Slices, paddings, dimensions, groups and channels go into the members of `Attributes`; the rest
/// as `append_rest` says. Throws InputError for groups that cannot be read.
void read_attributes(MlirOperation& operation, const Meshes& meshes, Instruction& instruction);

/// Appends all remaining attributes to `others`, as `name=value;`.
void append_rest(MlirOperation& operation, Attributes& attributes);

/// `sdy.sharding`, `mhlo.sharding`, and those of the frontend attributes that are Shardy's.
void read_sharding(MlirAttributes& from, Attributes& attributes);

/// The text of a string attribute without quotes and escapes.
std::string unquoted(std::string_view text);

/// The integers of an attribute; without one, `fallback`.
std::vector<std::int64_t> integers_of(const std::optional<MlirAttribute>& attribute,
                                      std::vector<std::int64_t> fallback = {});

/// `lhs_contracting_dims={1};rhs_contracting_dims={0};`
std::string dot_dimensions(MlirOperation& operation);
/// `operand_precision={highest,highest};`; nothing for the default.
std::string operand_precision(MlirOperation& operation);
/// `algorithm=dot_bf16_bf16_f32_x3;`
std::string dot_algorithm(MlirOperation& operation);
/// `offset_dims={1};collapsed_slice_dims={0};start_index_map={0};index_vector_dim=1;…`
std::string gather_dimensions(MlirOperation& operation);
std::string scatter_dimensions(MlirOperation& operation);
/// `window={size=3x3 pad=1_1x1_1};dim_labels=b01f_01io->b01f;`; nothing if the operation has
/// another form, and then it keeps its attributes.
std::optional<std::string> convolution_window(MlirOperation& operation, const Shape& kernel);
/// `window={size=2x2 stride=2x2};` of a reduce_window or select_and_scatter.
std::string reduction_window(MlirOperation& operation);

/// An instruction with the name, position and operands of an operation.
Instruction instruction_for(const MlirOperation& operation, std::string opcode);

/// Appends the instruction and names the results; of several results, elements of its tuple.
void append_results(Scope& scope, const MlirOperation& operation, Instruction instruction);

/// Appends a tuple of `parts`.
std::uint32_t append_tuple(Scope& scope, const MlirOperation& operation,
                           const std::vector<std::uint32_t>& parts);
/// Appends an element of the tuple `whole`.
std::uint32_t append_element(Scope& scope, const MlirOperation& operation, std::uint32_t whole,
                             std::size_t index);

/// The computation of a scope: its root is what it returns, of several values as a tuple.
Computation computation_of(Scope scope);

/// Whether an operand or result has elements of a type that XLA does not have.
bool has_foreign_type(const Scope& scope, const MlirOperation& operation);

/// A tuple of these types, or the only one.
Shape shape_of(const std::vector<Shape>& types);

/// Translates the operations of StableHLO, CHLO and Shardy into instructions of XLA, as XLA's
/// exporter does (xla/hlo/translate/mhlo_to_hlo, xla/service/spmd/shardy). An operation that it
/// does not know, or of types that XLA does not have, becomes an instruction whose opcode is the
/// name of the operation.
class OperationLowering {
 public:
  OperationLowering(const Meshes& meshes, SymbolTable& symbols)
      : meshes_(meshes), symbols_(symbols) {}

  /// Appends the instructions of an operation, and names its results. Throws InputError.
  void lower(Scope& scope, MlirOperation& operation);

  /// The computation of a function; `attributes` has those of its results, or is empty. Wraps the
  /// results in their shardings.
  static Computation function_of(Scope scope, std::vector<MlirAttributes> attributes);

 private:
  void lower_direct(Scope& scope, MlirOperation& operation, std::string opcode);
  void lower_opaque(Scope& scope, MlirOperation& operation);
  void lower_constant(Scope& scope, MlirOperation& operation);
  void lower_broadcast(Scope& scope, MlirOperation& operation);
  void lower_convert(Scope& scope, MlirOperation& operation);
  void lower_select(Scope& scope, MlirOperation& operation);
  void lower_compare(Scope& scope, MlirOperation& operation);
  void lower_slice(Scope& scope, MlirOperation& operation);
  void lower_dot(Scope& scope, MlirOperation& operation);
  void lower_convolution(Scope& scope, MlirOperation& operation);
  void lower_windowed(Scope& scope, MlirOperation& operation);
  void lower_gather(Scope& scope, MlirOperation& operation);
  void lower_scatter(Scope& scope, MlirOperation& operation);
  void lower_sort(Scope& scope, MlirOperation& operation);
  void lower_fft(Scope& scope, MlirOperation& operation);
  void lower_reduce_precision(Scope& scope, MlirOperation& operation);
  void lower_random(Scope& scope, MlirOperation& operation);
  void lower_barrier(Scope& scope, MlirOperation& operation);
  void lower_call(Scope& scope, MlirOperation& operation);
  void lower_custom_call(Scope& scope, MlirOperation& operation);
  void lower_while(Scope& scope, MlirOperation& operation);
  void lower_conditional(Scope& scope, MlirOperation& operation);
  void lower_square(Scope& scope, MlirOperation& operation);
  void lower_arc_tangent(Scope& scope, MlirOperation& operation);
  void lower_top_k(Scope& scope, MlirOperation& operation);
  void lower_sharding(Scope& scope, MlirOperation& operation);
  void lower_manual_computation(Scope& scope, MlirOperation& operation);

  /// Adds the regions as computations that `instruction` calls. Their captured values become
  /// operands.
  void call_regions(MlirOperation& operation, Instruction& instruction);
  /// Reads the remaining attributes and appends the instruction.
  void complete(Scope& scope, MlirOperation& operation, Instruction instruction);

  using Rule = void (OperationLowering::*)(Scope&, MlirOperation&);
  static Rule rule_of(std::string_view name);

  const Meshes& meshes_;
  SymbolTable& symbols_;
};

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
