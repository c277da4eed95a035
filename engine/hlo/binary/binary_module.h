#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hlo.pb.h"
#include "p2/limits.h"

/// Parts of binary modules as XLA prints them. All throw InputError, of whose position `where` is
/// the source, for what has no text.
namespace p2::hlo::binary {

[[noreturn]] void fail_unknown_fields(const std::string& where);

/// Throws LimitReached if a message has fields of a later version of XLA, which may change what it
/// means.
template <typename Message>
void require_known(const Message& message, const std::string& where) {
  if (!message.unknown_fields().empty()) fail_unknown_fields(where);
}

/// `1,0`
template <typename Numbers>
std::string joined_text(const Numbers& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// `{1,0}`, `{}`
template <typename Numbers>
std::string list_text(const Numbers& numbers) {
  return "{" + joined_text(numbers) + "}";
}

/// `[8]`, `[2,4]T(1,0)`: the devices in row-major order of these sizes, then transposed.
template <typename Sizes, typename Order>
std::string iota_text(const Sizes& sizes, const Order& transpose) {
  const std::string text = "[" + joined_text(sizes) + "]";
  return transpose.size() > 1 ? text + "T(" + joined_text(transpose) + ")" : text;
}

/// In quotes, with the escapes of C.
std::string in_quotes(std::string_view text);

/// As it is where it is a dictionary of JSON or MLIR, else quoted.
std::string dictionary_or_quoted(const std::string& text);

/// `f32[2,3]{1,0}`, `(s32[], token[])`. Tiles and memory spaces are left out.
std::string shape_text(const Shape& shape, const std::string& where);

/// What stands between the parentheses of `constant(…)`.
std::string literal_text(const Literal& literal, const std::string& where);

/// `{devices=[2,4]<=[8]}`, `{replicated}`, …
std::string sharding_text(const Sharding& sharding, const std::string& where);

/// `{name="value",…}`
std::string frontend_attributes_text(const FrontendAttributes& attributes);

/// What follows the operands of an instruction, each after `, `, but for computations.
/// `operand_type` is the element type of the first operand, 0 without operands. Throws
/// LimitReached, too.
std::string attributes_text(const Instruction& instruction, std::int32_t operand_type,
                            const std::string& where);

}  // namespace p2::hlo::binary

namespace p2::hlo {

/// The text, as XLA prints it, of a binary module: HloProto, HloModuleProto or
/// HloModuleProtoWithConfig (xla/service/hlo.proto, xla/xla.proto). Positions in `source` are then
/// those of this text. The numbers of replicas and partitions are in it where the file has them.
/// Throws InputError for what XLA does not read either, and LimitReached.
std::string text_of_binary_module(const std::string& source, std::string_view bytes,
                                  const Limits& limits = {});

}  // namespace p2::hlo
