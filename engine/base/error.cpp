#include "p2/error.h"

#include <algorithm>

#include <fmt/format.h>

#include "p2/document.h"

namespace p2 {
namespace {

constexpr std::size_t kLongestMessage = 600;

std::string on_one_line(std::string_view text) {
  const std::string line = printable(text.substr(0, kLongestMessage));
  return text.size() > kLongestMessage ? line + " …" : line;
}

std::string located(const SourcePosition& where, std::string_view message) {
  if (where.line == 0) return on_one_line(fmt::format("{}: {}", where.source, message));
  return on_one_line(fmt::format("{}:{}:{}: {}", where.source, where.line, where.column, message));
}

}  // namespace

SourcePosition position_at(std::string_view source, std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t last_break = before.rfind('\n');
  const std::size_t line_start = last_break == std::string_view::npos ? 0 : last_break + 1;
  return {std::string(source), static_cast<std::size_t>(lines) + 1, before.size() - line_start + 1};
}

InputError::InputError(const SourcePosition& where, std::string_view message)
    : Error(located(where, message)),
      where_(std::make_shared<const SourcePosition>(where)),
      message_(std::make_shared<const std::string>(on_one_line(message))) {}

}  // namespace p2
