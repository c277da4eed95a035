// A recursive-descent parser of operations in MLIR text. Those in the pretty form are brought into
// the generic form; an operation that is not known is read by its punctuation.

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "engine/hlo/text/stablehlo_reader.h"

namespace p2::hlo {
namespace {

/// The name of an operation with its dialect: `func.call` of `call`.
std::string full_name(std::string_view name) {
  if (name.starts_with("mhlo.")) return fmt::format("stablehlo.{}", name.substr(5));
  return name.find('.') == std::string_view::npos ? fmt::format("func.{}", name)
                                                  : std::string(name);
}

}  // namespace

std::vector<std::string> FunctionReader::read_results() {
  std::vector<std::string> results;
  while (reader_.accept("%")) {
    const std::string name = read_mlir_name(reader_, "a result");
    results.push_back(name);
    if (reader_.accept(":")) {
      const std::int64_t count = reader_.integer("how many results", 1, 1 << 16);
      results.back() = count == 1 ? name : name + "#0";
      for (std::int64_t i = 1; i < count; ++i) results.push_back(fmt::format("{}#{}", name, i));
    }
    if (!reader_.accept(",")) break;
  }
  if (!results.empty()) reader_.expect("=", "after results");
  return results;
}

void FunctionReader::read_operation(Scope& scope) {
  MlirOperation operation;
  operation.results = read_results();
  operation.position = reader_.position();
  const bool generic = reader_.next_is("\"");
  operation.name = full_name(generic ? reader_.quoted() : reader_.word("an operation"));
  if (generic) {
    read_generic(scope, operation);
  } else if (operation.name.ends_with(".return")) {
    read_return(scope, operation);
  } else if (operation.name == "stablehlo.while") {
    read_while(scope, operation);
  } else if (operation.name == "stablehlo.reduce") {
    read_reduce(scope, operation);
  } else {
    read_pretty(scope, operation);
  }
  skip_location(reader_);
  finish(scope, operation);
}

void FunctionReader::read_operand(Scope& scope, MlirOperation& operation) {
  reader_.expect("%", "before an operand");
  std::string name = read_mlir_name(reader_, "an operand");
  if (reader_.touches('#')) {
    reader_.accept("#");
    const std::int64_t result = reader_.integer("the number of a result", 0, 1 << 16);
    const std::string whole = fmt::format("{}#{}", name, result);
    const bool only = result == 0 && scope.names.find(whole) == scope.names.end() &&
                      scope.names.find(name) != scope.names.end();
    if (!only) name = whole;
  }
  const auto run_result = run_results_.find(name);
  if (run_result != run_results_.end()) {
    operation.run_results.push_back(run_result->second);
  } else {
    operation.operands.push_back(value(scope, name));
  }
}

void FunctionReader::read_dictionary_of(MlirOperation& operation) {
  operation.attributes.merge(read_attributes_in_braces());
}

/// `"op"(%a, %b) <{…}> ({region}, …) {…} : (types) -> types`
void FunctionReader::read_generic(Scope& scope, MlirOperation& operation) {
  reader_.expect("(", "before operands");
  while (!reader_.accept(")")) {
    read_operand(scope, operation);
    if (!reader_.accept(",") && !reader_.next_is(")")) reader_.unexpected("',' or ')'");
  }
  if (reader_.accept("<")) {
    read_dictionary_of(operation);
    reader_.expect(">", "after properties");
  }
  if (reader_.accept("(")) {
    do {
      read_region(scope, operation, {});
    } while (reader_.accept(","));
    reader_.expect(")", "after regions");
  }
  if (reader_.next_is("{")) read_dictionary_of(operation);
  read_signature(operation);
}

/// `: T`, `: T, U` or `: (T, U) -> V`
void FunctionReader::read_signature(MlirOperation& operation) {
  if (!reader_.accept(":")) return;
  operation.signature = consumed(reader_, [&] {
    operation.types = {};
    const bool list = reader_.next_is("(");
    do {
      for (Shape& shape : read_mlir_types(reader_)) operation.types.push_back(std::move(shape));
    } while (!list && reader_.accept(","));
    if (!reader_.accept("->")) return;
    operation.operand_types = std::move(operation.types);
    operation.types = read_mlir_types(reader_);
  });
}

/// Operands and their types: any other token starts the next operation.
void FunctionReader::read_return(Scope& scope, MlirOperation& operation) {
  if (reader_.next_is("{")) read_dictionary_of(operation);
  while (reader_.next_is("%")) {
    read_operand(scope, operation);
    if (!reader_.accept(",")) break;
  }
  read_signature(operation);
}

/// `(%a = %x, %b = %y) : T, U cond {…} do {…}`
void FunctionReader::read_while(Scope& scope, MlirOperation& operation) {
  std::vector<Argument> arguments;
  reader_.expect("(", "before the values of a loop");
  while (!reader_.accept(")")) {
    reader_.expect("%", "before a value of a loop");
    arguments.push_back({read_mlir_name(reader_, "a value of a loop"), {}});
    reader_.expect("=", "after a value of a loop");
    read_operand(scope, operation);
    if (!reader_.accept(",") && !reader_.next_is(")")) reader_.unexpected("',' or ')'");
  }
  read_signature(operation);
  if (operation.types.size() != arguments.size()) {
    reader_.fail(fmt::format("{} types for {} values of a loop, expected one for each",
                             operation.types.size(), arguments.size()));
  }
  for (std::size_t k = 0; k < arguments.size(); ++k) arguments[k].shape = operation.types[k];
  if (reader_.accept_word("attributes")) read_dictionary_of(operation);
  for (const char* word : {"cond", "do"}) {
    if (!reader_.accept_word(word)) reader_.unexpected(fmt::format("'{}'", word));
    read_region(scope, operation, arguments);
  }
}

/// `(%a init: %b), (%c init: %d) across dimensions = [1] : types reducer(…) (…) {…}`, or with
/// `applies stablehlo.add` for the reducer.
void FunctionReader::read_reduce(Scope& scope, MlirOperation& operation) {
  do {
    reader_.expect("(", "before an operand and its initial value");
    read_operand(scope, operation);
    if (!reader_.accept_word("init")) reader_.unexpected("'init'");
    reader_.expect(":", "before an initial value");
    read_operand(scope, operation);
    reader_.expect(")", "after an initial value");
  } while (reader_.accept(","));
  std::vector<std::uint32_t> initial;
  std::vector<std::uint32_t>& operands = operation.operands;
  for (std::size_t k = 0; 2 * k + 1 < operands.size(); ++k) {
    initial.push_back(operands[2 * k + 1]);
    operands[k] = operands[2 * k];
  }
  std::copy(initial.begin(), initial.end(),
            operands.end() - static_cast<std::ptrdiff_t>(initial.size()));
  const bool applies = reader_.accept_word("applies");
  const std::string applied = applies ? full_name(reader_.word("an operation")) : std::string();
  if (reader_.accept_word("across")) {
    if (!reader_.accept_word("dimensions")) reader_.unexpected("'dimensions'");
    reader_.expect("=", "before dimensions");
    MlirAttribute& dimensions = operation.attributes["dimensions"];
    dimensions.where = reader_.position();
    dimensions.text = read_value(reader_);
  }
  if (reader_.next_is("{")) read_dictionary_of(operation);
  read_signature(operation);
  if (applies) {
    append_applied(applied, operation);
  } else {
    read_reducer(scope, operation);
  }
}

/// The reducer is one operation on two scalars.
void FunctionReader::append_applied(const std::string& name, MlirOperation& operation) {
  if (operation.types.empty()) reader_.unexpected("the types of the results");
  Shape scalar;
  scalar.array.type = operation.types[0].array.type;
  Scope& region = operation.regions.emplace_back();
  region.append_parameter("a", scalar, operation.position);
  region.append_parameter("b", scalar, operation.position);
  MlirOperation applied{name};
  applied.position = operation.position;
  applied.results = {"c"};
  applied.operands = {0, 1};
  applied.types = {scalar};
  lowering_.lower(region, applied);
  region.returned = {region.names.at("c")};
}

/// `reducer(%a: T, %b: T) (%c: U, %d: U) { … }`: the arguments of each operand.
void FunctionReader::read_reducer(Scope& scope, MlirOperation& operation) {
  if (!reader_.accept_word("reducer")) reader_.unexpected("'reducer'");
  std::vector<Argument> arguments;
  std::vector<Argument> second;
  while (reader_.next_is("(")) {
    std::vector<Argument> pair = read_arguments();
    if (pair.size() != 2) reader_.fail("expected two arguments for each operand of a reduction");
    arguments.push_back(std::move(pair[0]));
    second.push_back(std::move(pair[1]));
  }
  std::move(second.begin(), second.end(), std::back_inserter(arguments));
  read_region(scope, operation, arguments);
}

/// Whether results and `=` follow, or on a new line the name of an operation.
bool FunctionReader::starts_operation() {
  const TextReader::Mark before = reader_.mark();
  while (reader_.accept("%")) {
    read_mlir_name(reader_, "a value");
    if (reader_.accept(":") && !reader_.peek_word().empty()) reader_.word("how many results");
    if (!reader_.accept(",")) break;
  }
  const bool result = reader_.next_is("=");
  reader_.reset(before);
  return result;
}

/// Whether `{` starts a region, and not attributes.
bool FunctionReader::starts_region() {
  const TextReader::Mark before = reader_.mark();
  reader_.expect("{", "before a region");
  bool region = reader_.next_is("%") || reader_.next_is("^");
  if (reader_.next_is("\"")) {
    reader_.quoted();
    region = reader_.next_is("(");
  } else if (!region && !reader_.peek_word().empty()) {
    read_mlir_name(reader_, "an operation or attribute");
    region = !reader_.next_is("=") && !reader_.next_is(",") && !reader_.next_is("}");
  }
  reader_.reset(before);
  return region;
}

/// `dims = [0]`, or a word without a value. False, and reads nothing, before another operation.
bool FunctionReader::read_word(MlirOperation& operation) {
  const TextReader::Mark before = reader_.mark();
  const std::string word = read_mlir_name(reader_, "a part of an operation");
  if (reader_.accept("=")) {
    MlirAttribute& attribute = operation.attributes[word];
    attribute.where = reader_.position();
    attribute.text = read_value(reader_);
    const auto alias = aliases_.find(attribute.text);
    if (alias != aliases_.end()) attribute = alias->second;
    return true;
  }
  const bool next_line = before.line > operation.position.line;
  if (next_line && (word.find('.') != std::string::npos || word == "return" || word == "call" ||
                    word == "loc")) {
    reader_.reset(before);
    return false;
  }
  operation.words.push_back(word);
  return true;
}

/// Operands, attributes, symbols, regions and types in any order, up to the types or to the next
/// operation.
void FunctionReader::read_pretty(Scope& scope, MlirOperation& operation) {
  std::vector<Argument> arguments;
  const auto unnamed = [&](const char* name) {
    MlirAttribute attribute{{}, reader_.position()};
    attribute.text = read_value(reader_);
    operation.attributes[name] = attribute;
  };
  while (!reader_.next_is("}") && !reader_.at_end()) {
    if (reader_.next_is("%")) {
      if (starts_operation()) return;
      read_operand(scope, operation);
    } else if (reader_.next_is("dense")) {
      MlirAttribute& value = operation.attributes["value"];
      value.where = reader_.position();
      value.text = consumed(reader_, [&] {
        operation.literal = std::make_shared<const Literal>(read_dense(reader_));
      });
      operation.types = {{false, operation.literal->shape, {}}};
      operation.signature = value.text;
      return;
    } else if (reader_.next_is("(")) {
      const TextReader::Mark before = reader_.mark();
      reader_.expect("(", "before operands");
      bool region = false;
      if (reader_.accept("%")) {
        read_mlir_name(reader_, "a value");
        region = reader_.next_is(":");
      }
      reader_.reset(before);
      if (region) {
        arguments = read_arguments();
      } else {
        reader_.accept("(");
      }
    } else if (reader_.next_is("{")) {
      if (!arguments.empty() || starts_region()) {
        read_region(scope, operation, std::exchange(arguments, {}));
      } else {
        read_dictionary_of(operation);
      }
    } else if (reader_.next_is(":")) {
      return read_signature(operation);
    } else if (reader_.accept("@")) {
      operation.symbol = read_mlir_name(reader_, "a symbol");
    } else if (reader_.next_is("<")) {
      unnamed("sharding");
    } else if (reader_.next_is("[")) {
      unnamed(operation.name == "stablehlo.get_tuple_element" ? "index" : "ranges");
    } else if (reader_.next_is("\"")) {
      operation.words.push_back("\"" + std::string(reader_.quoted()) + "\"");
    } else if (reader_.next_is("#")) {
      unnamed("attribute");
    } else if (!reader_.accept(",") && !reader_.accept(")")) {
      if (!read_word(operation)) return;
    }
  }
}

}  // namespace p2::hlo
