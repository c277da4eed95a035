// From operations of StableHLO and Shardy to instructions of XLA: loops, branches, and manual
// computations, whose computations see no values of their callers; calls, custom calls and their
// conventions; and the results of functions.

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/text/hlo_text.h"
#include "engine/hlo/text/stablehlo_reader.h"

namespace p2::hlo {
namespace {

std::size_t arguments_of(const Scope& region) {
  return region.computation.parameters.size() - region.captured.size();
}

void require_form(const MlirOperation& operation, bool holds, std::string_view expected) {
  if (holds) return;
  throw InputError(operation.position,
                   fmt::format("{} of another form, expected {}", operation.name, expected));
}

/// A copy of `region` with a tuple of shape `shape` as its only parameter. Parameter k becomes
/// element `elements[k]`.
Scope with_tuple_parameter(const Scope& region, const Shape& shape,
                           const std::vector<std::size_t>& elements) {
  Scope result;
  result.computation.name = region.computation.name;
  result.append_parameter("arguments", shape, {});
  for (Instruction instruction : region.computation.instructions) {
    for (std::uint32_t& operand : instruction.operands) ++operand;
    if (instruction.opcode == "parameter") {
      const std::size_t element = elements[static_cast<std::size_t>(instruction.attributes.index)];
      instruction.opcode = "get-tuple-element";
      instruction.operands = {0};
      instruction.attributes.index = static_cast<std::int64_t>(element);
      instruction.shape = shape.parts[element];
    }
    result.append(std::move(instruction));
  }
  for (const std::uint32_t value : region.returned) result.returned.push_back(value + 1);
  return result;
}

/// The place of `value` in `all`, where it is appended if it is missing.
std::size_t place_of(std::vector<std::uint32_t>& all, std::uint32_t value) {
  const auto found = std::find(all.begin(), all.end(), value);
  const auto place = static_cast<std::size_t>(found - all.begin());
  if (found == all.end()) all.push_back(value);
  return place;
}

Instruction shardy_call(const MlirOperation& operation, std::string_view target) {
  Instruction call = instruction_for(operation, "custom-call");
  call.attributes.others =
      fmt::format("custom_call_target=\"{}\";custom_call_has_side_effect=true;", target);
  return call;
}

/// The attribute in the form of an attribute of its own: `#sdy.sharding_per_value<[…]>`.
std::string shardy_text(const std::optional<MlirAttribute>& attribute, std::string_view prefix) {
  if (!attribute) return {};
  const bool complete = attribute->text.starts_with('#');
  return complete ? std::string(attribute->text) : fmt::format("{}{}>", prefix, attribute->text);
}

/// Appends `instruction` and, of a tuple of several, its elements. Returns the arrays.
std::vector<std::uint32_t> append_values(Scope& scope, const MlirOperation& operation,
                                         Instruction instruction, const std::vector<Shape>& types) {
  instruction.shape = shape_of(types);
  const std::uint32_t whole = scope.append(std::move(instruction));
  if (types.size() == 1) return {whole};
  std::vector<std::uint32_t> values;
  for (std::size_t k = 0; k < types.size(); ++k) {
    values.push_back(append_element(scope, operation, whole, k));
  }
  return values;
}

}  // namespace

/// The captured values of both regions are further elements of the tuple, which the body returns
/// unchanged.
void OperationLowering::lower_while(Scope& scope, MlirOperation& operation) {
  const std::size_t count = operation.operands.size();
  const auto has_form = [&](const Scope& region, std::size_t returned) {
    return arguments_of(region) == count && region.returned.size() == returned;
  };
  const bool well_formed = operation.regions.size() == 2 && operation.results.size() <= count &&
                           has_form(operation.regions[0], 1) &&
                           has_form(operation.regions[1], count);
  require_form(operation, well_formed, "a condition and a body on the same values");
  std::vector<std::uint32_t> captured;
  std::vector<std::vector<std::size_t>> elements;
  for (const Scope& region : operation.regions) {
    std::vector<std::size_t>& places = elements.emplace_back();
    for (std::size_t k = 0; k < count; ++k) places.push_back(k);
    for (const std::uint32_t value : region.captured) {
      places.push_back(count + place_of(captured, value));
    }
  }
  std::vector<std::uint32_t> initial = operation.operands;
  initial.insert(initial.end(), captured.begin(), captured.end());
  Instruction loop = instruction_for(operation, "while");
  loop.operands = {append_tuple(scope, operation, initial)};
  loop.shape = scope.shape(loop.operands[0]);
  for (std::size_t i = 0; i < 2; ++i) {
    Scope region = with_tuple_parameter(operation.regions[i], loop.shape, elements[i]);
    for (std::size_t k = 0; k < captured.size() && i == 1; ++k) {
      region.returned.push_back(append_element(region, operation, 0, count + k));
    }
    if (i == 1) region.returned = {append_tuple(region, operation, region.returned)};
    loop.called.push_back(symbols_.add(computation_of(std::move(region)), operation.position));
  }
  read_sharding(operation.attributes, loop.attributes);
  const std::uint32_t whole = scope.append(std::move(loop));
  for (std::size_t k = 0; k < operation.results.size(); ++k) {
    const std::uint32_t element = append_element(scope, operation, whole, k);
    scope.computation.instructions[element].name = "%" + operation.results[k];
    scope.names[operation.results[k]] = element;
  }
}

/// Every branch has a tuple of its captured values as its operand.
void OperationLowering::lower_conditional(Scope& scope, MlirOperation& operation) {
  const auto has_form = [&](const Scope& region) {
    return arguments_of(region) == 0 && region.returned.size() == operation.results.size();
  };
  const bool well_formed =
      operation.operands.size() == 1 && !operation.regions.empty() &&
      (operation.name != "stablehlo.if" || operation.regions.size() == 2) &&
      std::all_of(operation.regions.begin(), operation.regions.end(), has_form);
  require_form(operation, well_formed, "one operand and branches without arguments");
  Instruction conditional = instruction_for(operation, "conditional");
  for (const Scope& branch : operation.regions) {
    const std::uint32_t arguments = append_tuple(scope, operation, branch.captured);
    conditional.operands.push_back(arguments);
    std::vector<std::size_t> elements;
    for (std::size_t k = 0; k < branch.captured.size(); ++k) elements.push_back(k);
    Scope region = with_tuple_parameter(branch, scope.shape(arguments), elements);
    conditional.called.push_back(
        symbols_.add(computation_of(std::move(region)), operation.position));
  }
  read_sharding(operation.attributes, conditional.attributes);
  append_results(scope, operation, std::move(conditional));
}

void OperationLowering::lower_manual_computation(Scope& scope, MlirOperation& operation) {
  const std::size_t results = operation.types.size();
  const bool well_formed = operation.regions.size() == 1 && operation.regions[0].captured.empty() &&
                           arguments_of(operation.regions[0]) == operation.operands.size() &&
                           operation.regions[0].returned.size() == results;
  require_form(operation, well_formed, "a body whose arguments are its operands");
  Scope& body = operation.regions[0];
  const std::string axes = shardy_text(operation.take("manual_axes"), "#sdy<manual_axes");
  const auto shard = [&](Instruction& call, const char* name) {
    call.attributes.shardy[fmt::format("xla.sdy.{}", name)] =
        shardy_text(operation.take(name), "#sdy.sharding_per_value<");
    call.attributes.shardy["xla.sdy.manual_axes"] = axes;
  };
  Instruction call = instruction_for(operation, "call");
  if (!operation.operands.empty()) {
    Instruction local = shardy_call(operation, "xla.sdy.GlobalToLocalShape");
    shard(local, "in_shardings");
    std::vector<Shape> types;
    for (std::size_t k = 0; k < operation.operands.size(); ++k) {
      types.push_back(body.shape(body.computation.parameters[k]));
    }
    call.operands = append_values(scope, operation, std::move(local), types);
  }
  std::vector<Shape> types;
  for (const std::uint32_t value : body.returned) types.push_back(body.shape(value));
  call.called = {symbols_.add(computation_of(std::move(body)), operation.position)};
  const std::vector<std::uint32_t> values = append_values(scope, operation, std::move(call), types);
  if (results == 0) return;
  Instruction global = shardy_call(operation, "xla.sdy.LocalToGlobalShape");
  global.operands = values;
  shard(global, "out_shardings");
  append_results(scope, operation, std::move(global));
}

Computation OperationLowering::function_of(Scope scope, std::vector<MlirAttributes> attributes) {
  attributes.resize(scope.returned.size());
  std::vector<std::string> tiled(scope.returned.size());  // as XLA prints them
  for (std::size_t k = 0; k < attributes.size(); ++k) {
    Attributes found;
    read_sharding(attributes[k], found);
    if (!found.sharding.starts_with('#')) {
      tiled[k] = found.sharding;
      continue;
    }
    Instruction sharding{"return", "custom-call"};
    sharding.attributes.others = "custom_call_target=\"xla.sdy.FuncResultSharding\";";
    sharding.attributes.sharding = found.sharding;
    sharding.operands = {scope.returned[k]};
    sharding.shape = scope.shape(scope.returned[k]);
    sharding.position = scope.computation.instructions[scope.returned[k]].position;
    scope.returned[k] = scope.append(std::move(sharding));
  }
  std::string whole;
  const bool any = std::any_of(tiled.begin(), tiled.end(),
                               [](const std::string& text) { return !text.empty(); });
  for (const std::string& text : tiled) {
    whole += (whole.empty() ? "" : ", ") + (text.empty() ? "{replicated}" : text);
  }
  const bool single = scope.returned.size() == 1;
  if (any && single) {
    // The value may have a sharding of its own.
    Instruction copy{"return", "copy"};
    copy.operands = scope.returned;
    copy.shape = scope.shape(scope.returned[0]);
    copy.position = scope.computation.instructions[scope.returned[0]].position;
    const Instruction& value = scope.computation.instructions[scope.returned[0]];
    const bool keeps = value.opcode != "parameter" && value.attributes.sharding.empty();
    if (!keeps) scope.returned = {scope.append(std::move(copy))};
  }
  Computation computation = computation_of(std::move(scope));
  if (any) {
    computation.instructions[computation.root].attributes.sharding =
        single ? whole : "{" + whole + "}";
  }
  return computation;
}

namespace {

/// The number of an attribute of an entry: `operand_index = 0`.
std::string numbers_of(const MlirAttributes& entries, std::string_view name) {
  const auto found = entries.find(name);
  if (found == entries.end()) return {};
  return fmt::format("{}", fmt::join(integers_of(found->second), ","));
}

/// `{{0}:(0,{})}` of `[#stablehlo.output_operand_alias<output_tuple_indices = [0], …>]`.
std::string aliasing_text(const MlirAttribute& aliases) {
  TextReader reader(aliases.text, aliases.where);
  std::string text;
  reader.expect("[", "before aliases");
  while (!reader.accept("]")) {
    const SourcePosition where = reader.position();
    const MlirAttributes entries = entries_of({read_value(reader), where});
    text += fmt::format("{}{{{}}}:({},{{{}}})", text.empty() ? "" : ",",
                        numbers_of(entries, "output_tuple_indices"),
                        numbers_of(entries, "operand_index"),
                        numbers_of(entries, "operand_tuple_indices"));
    if (!reader.accept(",") && !reader.next_is("]")) reader.unexpected("',' or ']'");
  }
  return fmt::format("{{{}}}", text);
}

/// The version, configuration and aliases of a custom call: `api_version=…;backend_config=…;`.
std::string call_convention(MlirOperation& operation) {
  constexpr auto kVersions = std::to_array<std::string_view>(
      {"UNSPECIFIED", "ORIGINAL", "STATUS_RETURNING", "STATUS_RETURNING_UNIFIED", "TYPED_FFI"});
  constexpr std::int64_t kOriginal = 1;
  constexpr std::int64_t kTyped = 4;
  std::string text;
  const auto typed_config = operation.take("mhlo.backend_config");
  const std::int64_t usual = typed_config ? kTyped : kOriginal;
  for (const std::int64_t version : integers_of(operation.take("api_version"), {usual})) {
    const bool known = version >= 0 && version < static_cast<std::int64_t>(kVersions.size());
    const std::string name = known ? std::string(kVersions[static_cast<std::size_t>(version)])
                                   : fmt::format("{}", version);
    if (version != kOriginal) text += fmt::format("api_version=API_VERSION_{};", name);
  }
  const auto config = operation.take("backend_config");
  for (const auto& each : {config, typed_config}) {
    if (!each || each->text == "\"\"") continue;
    text += fmt::format("backend_config={};", without_blanks(each->text));
  }
  if (const auto aliases = operation.take("output_operand_aliases")) {
    if (aliases->text != "[]") {
      text += fmt::format("output_to_operand_aliasing={};", aliasing_text(*aliases));
    }
  }
  return text;
}

}  // namespace

/// A composite is a call of its decomposition.
void OperationLowering::lower_call(Scope& scope, MlirOperation& operation) {
  auto callee = operation.take("callee", "decomposition");
  if (callee) {
    TextReader reader(callee->text, callee->where);
    reader.expect("@", "before the name of a function");
    operation.symbol = read_mlir_name(reader, "a function");
  }
  if (!operation.symbol) {
    throw InputError(operation.position,
                     fmt::format("{} without a function, expected its name", operation.name));
  }
  Instruction call = instruction_for(operation, "call");
  call.called = {symbols_.function(*operation.symbol, operation.position)};
  read_sharding(operation.attributes, call.attributes);
  append_results(scope, operation, std::move(call));
}

void OperationLowering::lower_custom_call(Scope& scope, MlirOperation& operation) {
  Instruction call = instruction_for(operation, "custom-call");
  std::string target = operation.symbol.value_or("");
  if (const auto name = operation.take("call_target_name")) target = unquoted(name->text);
  if (target == "mhlo.topk") {
    if (const auto attributes = operation.take("mhlo.attributes")) {
      for (const auto& [name, value] : entries_of(*attributes)) operation.attributes[name] = value;
    }
    operation.take("mhlo.version");
    operation.take("backend_config");
    operation.take("api_version");
    return lower_direct(scope, operation, "topk");
  }
  Attributes& attributes = call.attributes;
  attributes.others = fmt::format("custom_call_target=\"{}\";", target);
  read_sharding(operation.attributes, attributes);
  const auto effect = operation.take("has_side_effect");
  if (effect && effect->text != "false") attributes.others += "custom_call_has_side_effect=true;";
  attributes.others += call_convention(operation);
  if (has_foreign_type(scope, operation)) {
    attributes.others += fmt::format("types={};", without_blanks(operation.signature));
  }
  if (const auto called = operation.take("called_computations")) {
    TextReader reader(called->text, called->where);
    reader.expect("[", "before functions");
    while (!reader.accept("]")) {
      reader.expect("@", "before the name of a function");
      const std::string name = read_mlir_name(reader, "a function");
      call.called.push_back(symbols_.function(name, operation.position));
      if (!reader.accept(",") && !reader.next_is("]")) reader.unexpected("',' or ']'");
    }
  }
  append_rest(operation, attributes);
  call_regions(operation, call);
  append_results(scope, operation, std::move(call));
}

void OperationLowering::lower_sharding(Scope& scope, MlirOperation& operation) {
  Instruction sharding = instruction_for(operation, "custom-call");
  sharding.attributes.others = "custom_call_target=\"Sharding\";";
  if (const auto given = operation.take("sharding")) {
    const bool complete = given->text.starts_with('#');
    sharding.attributes.sharding =
        complete ? std::string(given->text) : fmt::format("#sdy.sharding{}", given->text);
  }
  append_results(scope, operation, std::move(sharding));
}

}  // namespace p2::hlo
