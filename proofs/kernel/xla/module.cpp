// Parts of modules: types, shapes, instructions and what is written of them; and texts.

#include "proofs/kernel/xla/module.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "proofs/kernel/input.h"

namespace p2::kernel::xla {

Type type_called(std::string_view name) {
  using Kind = Type::Kind;
  static const auto kTypes = [] {
    std::unordered_map<std::string, Type> types;
    const auto add = [&](const std::string& one, Kind kind, int bits, int digits) {
      const auto added = types.emplace(one, Type()).first;
      added->second = {added->first, kind, bits, digits};
    };
    add("pred", Kind::Boolean, 1, 0);
    for (const int bits : {2, 4, 8, 16, 32, 64}) {
      add("s" + std::to_string(bits), Kind::Signed, bits, 0);
      add("u" + std::to_string(bits), Kind::Unsigned, bits, 0);
    }
    for (const char* other :
         {"c64", "c128", "token", "opaque", "s1", "u1", "f4e2m1fn", "f8e3m4", "f8e4m3",
          "f8e4m3b11fnuz", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"})
      add(other, Kind::Other, 0, 0);
    add("f64", Kind::Float, 64, 53);
    add("f32", Kind::Float, 32, 24);
    add("f16", Kind::Float, 16, 11);
    add("bf16", Kind::Float, 16, 8);
    return types;
  }();
  const auto found = kTypes.find(std::string(name));
  if (found == kTypes.end()) malformed("a type that does not exist: " + printable(name));
  return found->second;
}

const std::vector<Attributes::Entry>& Attributes::entries() const {
  static const std::vector<Entry> kNone;
  return entries_ ? *entries_ : kNone;
}

std::vector<Attributes::Entry>& Attributes::own_entries() {
  if (!entries_ || entries_.use_count() > 1)
    entries_ = std::make_shared<std::vector<Entry>>(entries());
  return *entries_;
}

std::vector<Attributes::Entry>::const_iterator Attributes::find(std::string_view name) const {
  return std::find_if(begin(), end(), [&](const Entry& each) { return each.first == name; });
}

bool Attributes::emplace(std::string_view name, std::string_view value) {
  const auto place = std::lower_bound(
      begin(), end(), name,
      [](const Entry& each, std::string_view other) { return each.first < other; });
  if (place != end() && place->first == name) return false;
  const auto at = place - begin();
  std::vector<Entry>& own = own_entries();
  own.emplace(own.begin() + at, name, value);
  return true;
}

void Attributes::set(std::string_view name, std::string_view value) {
  erase(name);
  emplace(name, value);
}

void Attributes::erase(std::string_view name) {
  if (contains(name))
    std::erase_if(own_entries(), [&](const Entry& each) { return each.first == name; });
}

std::int64_t Shape::elements() const {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) {
    if (size != 0 && all > INT64_MAX / size) not_covered("tensors of more than 2^63 elements");
    all *= size;
  }
  return all;
}

bool Instruction::promises(std::string_view what) const {
  const auto found = attributes.find(what);
  return found != attributes.end() && found->second == "true";
}

const std::string& Instruction::attribute(const std::string& key) const {
  const auto found = attributes.find(key);
  if (found == attributes.end()) malformed(opcode + " " + printable(name) + " has no " + key);
  return found->second;
}

Index Instruction::numbers(const std::string& key) const {
  const auto found = attributes.find(key);
  Index list;
  if (found == attributes.end()) return list;
  std::string_view listed = found->second;
  if (listed.starts_with('{')) listed = stripped(listed, '{', '}');
  for (std::size_t begin = 0; begin < listed.size();) {
    const std::size_t end = std::min(listed.find(',', begin), listed.size());
    const std::string_view each = trimmed(listed.substr(begin, end - begin));
    if (!each.empty()) list.push_back(integer(each));
    begin = end + 1;
  }
  return list;
}

std::int64_t Instruction::number(const std::string& key, std::int64_t otherwise) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? otherwise : integer(found->second);
}

bool Instruction::allocates_memory() const {
  return opcode == "custom-call" && has("custom_call_target") &&
         attribute("custom_call_target") == "\"AllocateBuffer\"";
}

std::int64_t integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    malformed("not a number in a module: " + printable(text));
  }
  return value;
}

Index integers_in(std::string_view text) {
  Index result;
  result.reserve(1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), ',')));
  for (std::size_t at = 0; at < text.size();) {
    const bool negative = text[at] == '-';
    const std::size_t begin = at + (negative ? 1 : 0);
    std::size_t end = begin;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end > begin) result.push_back(integer(text.substr(at, end - at)));
    at = end > begin ? end : at + 1;
  }
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\') {
      ++at;  // with what it stands before
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
    if (c != separator || depth != 0) continue;
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  if (quoted) malformed("a string without end");
  parts.push_back(text.substr(begin));
  return parts;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view stripped(std::string_view text, char open, char close) {
  text = trimmed(text);
  if (text.size() < 2 || text.front() != open || text.back() != close)
    malformed("expected brackets: " + shortened(printable(text)));
  return text.substr(1, text.size() - 2);
}

std::vector<Shape> arrays_of(const Shape& shape) {
  if (!shape.is_tuple) return {shape};
  std::vector<Shape> all;
  for (const Shape& part : shape.parts) {
    for (Shape& each : arrays_of(part)) all.push_back(std::move(each));
  }
  return all;
}

}  // namespace p2::kernel::xla
