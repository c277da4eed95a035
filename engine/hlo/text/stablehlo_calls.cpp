// From operations of StableHLO and Shardy to instructions of XLA: calls, custom calls and their
// conventions.

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/text/hlo_syntax.h"
#include "engine/hlo/text/stablehlo_attributes.h"
#include "engine/hlo/text/stablehlo_instructions.h"
#include "engine/hlo/text/stablehlo_lowering.h"

namespace p2::hlo {
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
