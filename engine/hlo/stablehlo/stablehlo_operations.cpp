#include <fmt/format.h>

#include "engine/hlo/stablehlo/stablehlo_functions.h"
#include "engine/hlo/stablehlo/stablehlo_types.h"

namespace p2::hlo {

void FunctionReader::read_operand(Scope& scope, Operation& operation) {
  reader_.expect("%", "before an operand");
  std::string name = read_mlir_name(reader_, "an operand");
  if (reader_.touches('#')) {
    reader_.accept("#");
    name += fmt::format("#{}", reader_.integer("the number of a result", 0, 1 << 16));
  }
  if (!run_results_.empty() && name.rfind(run_results_, 0) == 0) {
    operation.symbols.push_back(name);
    return;
  }
  const auto constant = constants_.find(name);
  if (constant != constants_.end()) operation.symbols.push_back(name);
  operation.instruction.operands.push_back(value(scope, name));
}

void FunctionReader::read_attribute_value(Operation& operation, const std::string& name) {
  const SourcePosition where = reader_.position();
  const std::string_view text = reader_.raw(",}", false, true);
  if (name == "programs") {
    operation.instruction.attributes.others = text;
    return;
  }
  if (name == "callee") {
    TextReader symbol(text, where);
    symbol.expect("@", "before the name of a function");
    operation.symbols.push_back(read_mlir_name(symbol, "a function"));
    return;
  }
  read_mlir_attribute(name, text, where, meshes_, operation.instruction);
}

void FunctionReader::read_dictionary(Operation& operation) {
  reader_.expect("{", "before attributes");
  while (!reader_.accept("}")) {
    const std::string name = read_mlir_name(reader_, "an attribute");
    if (reader_.accept("=")) {
      read_attribute_value(operation, name);
    } else {
      read_mlir_attribute(name, {}, reader_.position(), meshes_, operation.instruction);
    }
    if (!reader_.accept(",") && !reader_.next_is("}")) reader_.unexpected("',' or '}'");
  }
}

/// `"op"(%a, %b) <{…}> ({region}, …) {…} : (types) -> types`
void FunctionReader::read_generic(Scope& scope, Operation& operation) {
  reader_.expect("(", "before operands");
  while (!reader_.accept(")")) {
    read_operand(scope, operation);
    if (!reader_.accept(",") && !reader_.next_is(")")) reader_.unexpected("',' or ')'");
  }
  if (reader_.accept("<")) {
    read_dictionary(operation);
    reader_.expect(">", "after properties");
  }
  if (reader_.accept("(")) {
    do {
      read_region(scope, operation);
    } while (reader_.accept(","));
    reader_.expect(")", "after regions");
  }
  if (reader_.next_is("{")) read_dictionary(operation);
  read_signature(operation);
}

void FunctionReader::read_signature(Operation& operation) {
  if (!reader_.accept(":")) return;
  operation.types = {};
  const bool list = reader_.next_is("(");
  do {
    for (Shape& shape : read_mlir_types(reader_)) operation.types.push_back(std::move(shape));
  } while (!list && reader_.accept(","));
  if (!reader_.accept("->")) return;
  operation.operand_types = std::move(operation.types);
  operation.types = read_mlir_types(reader_);
}

/// `[0:2, 1:3:2]` of a slice, or `[0]` of a tuple.
void FunctionReader::read_ranges(Operation& operation) {
  Attributes& attributes = operation.instruction.attributes;
  reader_.expect("[", "before ranges");
  while (!reader_.accept("]")) {
    const std::int64_t start = reader_.integer("where a range starts", 0, kMostElements);
    if (operation.instruction.opcode == "get-tuple-element") {
      attributes.index = start;
    } else {
      attributes.starts.push_back(start);
      reader_.expect(":", "inside a range");
      attributes.limits.push_back(reader_.integer("where a range ends", 0, kMostElements));
      const bool strided = reader_.accept(":");
      attributes.strides.push_back(strided ? reader_.integer("a stride", 1, kMostElements) : 1);
    }
    if (!reader_.accept(",") && !reader_.next_is("]")) reader_.unexpected("',' or ']'");
  }
}

/// `applies stablehlo.add across dimensions = [0]`: the reducer is one operation.
void FunctionReader::read_applied(Operation& operation) {
  const std::string opcode = xla_opcode(reader_.word("an operation"));
  const std::uint32_t number = reserve(fmt::format("reducer {}", module_.computations.size()));
  operation.instruction.called.push_back(number);
  Computation& reducer = module_.computations[number];
  reducer.instructions = {{"a", "parameter"}, {"b", "parameter"}, {"c", opcode}};
  reducer.instructions[1].attributes.index = 1;
  reducer.instructions[2].operands = {0, 1};
  reducer.parameters = {0, 1};
  reducer.root = 2;  // the types follow with the signature
}

/// One part of an operation in pretty form. False at its end.
bool FunctionReader::read_pretty_part(Scope& scope, Operation& operation) {
  const std::string& opcode = operation.instruction.opcode;
  if (reader_.next_is("%")) {
    read_operand(scope, operation);
  } else if (reader_.next_is("[") && (opcode == "slice" || opcode == "get-tuple-element")) {
    read_ranges(operation);
  } else if (reader_.next_is("dense")) {
    const Literal literal = read_dense(reader_);
    operation.instruction.literal = std::make_shared<const Literal>(literal);
    operation.types = {{false, literal.shape, {}}};
    return false;
  } else if (reader_.accept("@")) {
    operation.symbols.push_back(read_mlir_name(reader_, "a symbol"));
  } else if (reader_.next_is("{")) {
    read_dictionary(operation);
  } else if (reader_.next_is(":")) {
    read_signature(operation);
    return false;
  } else if (!reader_.accept(",") && !reader_.accept("(") && !reader_.accept(")")) {
    if (reader_.next_is("}") || reader_.at_end()) return false;
    const std::string word(reader_.word("a part of an operation"));
    if (word == "applies") {
      read_applied(operation);
    } else if (reader_.accept("=")) {
      const SourcePosition where = reader_.position();
      read_mlir_attribute(word, reader_.raw(",:\n", false, true), where, meshes_,
                          operation.instruction);
    } else if (opcode == "compare" && operation.instruction.attributes.direction.empty()) {
      operation.instruction.attributes.direction = word;
    } else if (word != "across" && word != "init" && opcode != "compare") {
      reader_.fail(
          fmt::format("'{}' in {}, expected an operand, an attribute or a type", word, opcode));
    } else {
      reader_.accept(":");  // of `init:`
    }
  }
  return true;
}

void FunctionReader::read_pretty(Scope& scope, Operation& operation) {
  if (operation.instruction.opcode == "return") {
    // Nothing but a type tells what follows from the next operation.
    while (reader_.next_is("%")) {
      read_operand(scope, operation);
      reader_.accept(",");
    }
    return read_signature(operation);
  }
  while (read_pretty_part(scope, operation)) {
  }
  if (!reader_.accept_word("reducer")) return;
  // `reducer(%a: T, %b: T) { … }`: the region of a reduction in pretty form.
  const std::uint32_t number = reserve(fmt::format("region {}", module_.computations.size()));
  Scope region{{module_.computations[number].name}, {}, &scope, {}, scope.depth + 1};
  reader_.expect("(", "before the parameters of a reducer");
  read_parameters(region, ")");
  reader_.expect("{", "before a reducer");
  read_body(region);
  module_.computations[number] = std::move(region.computation);
  operation.instruction.called.push_back(number);
}

}  // namespace p2::hlo
