#include "engine/topology/system.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/files.h"
#include "engine/base/invariant.h"
#include "engine/base/json_reader.h"
#include "engine/base/text_cursor.h"
#include "p2/error.h"

namespace p2 {
namespace {

void check_names(const std::vector<Level>& levels, const SourcePosition& where) {
  std::set<std::string_view> seen;
  for (const Level& level : levels) {
    if (!is_plain_name(level.name)) {
      throw InputError(where, fmt::format("\"{}\" cannot name a level, expected letters, digits, "
                                          "'_' and '-', starting with a letter or '_'",
                                          level.name));
    }
    if (level.name == "root") {
      throw InputError(where, "a level is named root, expected another name: root is reserved");
    }
    if (!seen.insert(level.name).second) {
      throw InputError(
          where, fmt::format("two levels are named {}, expected different names", level.name));
    }
  }
}

std::uint32_t count_devices(const std::vector<Level>& levels, const SourcePosition& where) {
  std::uint64_t devices = 1;
  for (const Level& level : levels) {
    if (level.size == 0) {
      throw InputError(where, fmt::format("level {} has size 0, expected at least 1", level.name));
    }
    // Both factors are below 2^32 here, so the product cannot overflow.
    devices *= level.size;
    if (devices > Hierarchy::kMaxDevices) {
      throw InputError(
          where, fmt::format("too many devices, expected at most {}", Hierarchy::kMaxDevices));
    }
  }
  return static_cast<std::uint32_t>(devices);
}

}  // namespace

Hierarchy::Hierarchy(std::vector<Level> levels, const SourcePosition& where)
    : levels_(std::move(levels)) {
  if (levels_.empty()) throw InputError(where, "a hierarchy without levels, expected at least one");
  if (levels_.size() > kMaxLevels) {
    throw InputError(where,
                     fmt::format("{} levels, expected at most {}", levels_.size(), kMaxLevels));
  }
  check_names(levels_, where);
  devices_ = count_devices(levels_, where);
}

Hierarchy parse_hierarchy(std::string_view source, std::string_view text) {
  TextCursor cursor(source, text);
  const SourcePosition start = cursor.position();
  const bool named = !cursor.peek_name().empty();
  std::vector<Level> levels;
  do {
    std::string name = fmt::format("l{}", levels.size());
    if (named) {
      name = cursor.name("the name of a level");
      cursor.expect("=", "after the name of a level");
    }
    const auto size = cursor.integer("the size of a level", 1, Hierarchy::kMaxDevices);
    levels.push_back({std::move(name), static_cast<std::uint32_t>(size)});
  } while (cursor.accept(","));
  expect_end(cursor, "the hierarchy");
  return {std::move(levels), start};
}

std::string to_string(const Hierarchy& hierarchy) {
  std::string text;
  for (const Level& level : hierarchy.levels()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", level.name, level.size);
  }
  return text;
}

namespace {

/// A unit is 10^exponent / divisor of the base unit.
struct Unit {
  std::string_view name;
  unsigned exponent;
  std::uint64_t divisor;
};

// Of two equally short notations the first is written.
constexpr std::array<Unit, 10> kBandwidths{{{"B/s", 0, 1},
                                            {"KB/s", 3, 1},
                                            {"MB/s", 6, 1},
                                            {"GB/s", 9, 1},
                                            {"TB/s", 12, 1},
                                            {"bit/s", 0, 8},
                                            {"Kbit/s", 3, 8},
                                            {"Mbit/s", 6, 8},
                                            {"Gbit/s", 9, 8},
                                            {"Tbit/s", 12, 8}}};
constexpr std::array<Unit, 5> kLatencies{
    {{"ps", 0, 1}, {"ns", 3, 1}, {"us", 6, 1}, {"ms", 9, 1}, {"s", 12, 1}}};

constexpr std::uint64_t kMaxValue = std::numeric_limits<std::int64_t>::max();

/// A kind of quantity: its units and its texts in messages.
struct Quantity {
  std::span<const Unit> units;
  std::string_view name;
  std::string_view example;
  std::string_view counted_in;
};

constexpr Quantity kBandwidth{kBandwidths, "bandwidth", "270 GB/s or 100 Gbit/s",
                              "bytes per second"};
constexpr Quantity kLatency{kLatencies, "latency", "700 ns or 1.5 us", "picoseconds"};

/// `whole`.`fraction`, without zeros at the end of the fraction.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;
};

std::string_view take_digits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal number{take_digits(text), {}};
  if (number.whole.empty()) return std::nullopt;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    number.fraction = take_digits(text);
    if (number.fraction.empty()) return std::nullopt;
  }
  while (number.fraction.ends_with('0')) number.fraction.remove_suffix(1);
  return number;
}

/// number * 10^exponent, for a fraction of at most `exponent` digits; nothing beyond 64 bits.
std::optional<std::uint64_t> scaled(const Decimal& number, std::size_t exponent) {
  const std::string zeros(exponent - number.fraction.size(), '0');
  std::uint64_t value = 0;
  for (const std::string_view digits : {number.whole, number.fraction, std::string_view(zeros)}) {
    for (const char ch : digits) {
      const auto digit = static_cast<std::uint64_t>(ch - '0');
      if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
      value = value * 10 + digit;
    }
  }
  return value;
}

std::int64_t parse(const Quantity& quantity, std::string_view text, const SourcePosition& where) {
  std::string_view rest = text;
  const auto number = take_decimal(rest);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const auto unit = std::find_if(quantity.units.begin(), quantity.units.end(),
                                 [rest](const Unit& each) { return each.name == rest; });
  if (!number || unit == quantity.units.end()) {
    throw InputError(where, fmt::format("\"{}\" is not a {}, expected one such as {}", text,
                                        quantity.name, quantity.example));
  }
  const bool too_fine = number->fraction.size() > unit->exponent;
  const auto value = too_fine ? std::nullopt : scaled(*number, unit->exponent);
  if (too_fine || (value && *value % unit->divisor != 0)) {
    throw InputError(where, fmt::format("the {} \"{}\" is not exact, expected a whole number of {}",
                                        quantity.name, text, quantity.counted_in));
  }
  if (!value || *value / unit->divisor > kMaxValue) {
    throw InputError(where, fmt::format("the {} \"{}\" is too large, expected less than 2^63 {}",
                                        quantity.name, text, quantity.counted_in));
  }
  return static_cast<std::int64_t>(*value / unit->divisor);
}

std::string in_unit(std::uint64_t numerator, const Unit& unit) {
  std::string digits = fmt::format("{:0{}}", numerator, unit.exponent + 1);
  std::string fraction = digits.substr(digits.size() - unit.exponent);
  digits.resize(digits.size() - unit.exponent);
  fraction.resize(fraction.find_last_not_of('0') + 1);
  return fmt::format("{}{}{} {}", digits, fraction.empty() ? "" : ".", fraction, unit.name);
}

std::string shortest(const Quantity& quantity, std::int64_t amount) {
  invariant(amount >= 0, "a quantity is negative");
  const auto value = static_cast<std::uint64_t>(amount);
  std::string best;
  for (const Unit& unit : quantity.units) {
    if (value > std::numeric_limits<std::uint64_t>::max() / unit.divisor) continue;
    std::string text = in_unit(value * unit.divisor, unit);
    if (best.empty() || text.size() < best.size()) best = std::move(text);
  }
  return best;
}

}  // namespace

std::int64_t parse_bandwidth(std::string_view text, const SourcePosition& where) {
  const std::int64_t bytes_per_second = parse(kBandwidth, text, where);
  if (bytes_per_second == 0) {
    throw InputError(where, fmt::format("the bandwidth \"{}\" is zero, expected more", text));
  }
  return bytes_per_second;
}

std::int64_t parse_latency(std::string_view text, const SourcePosition& where) {
  return parse(kLatency, text, where);
}

std::string bandwidth_to_string(std::int64_t bytes_per_second) {
  return shortest(kBandwidth, bytes_per_second);
}

std::string latency_to_string(std::int64_t picoseconds) { return shortest(kLatency, picoseconds); }

std::string_view to_string(InterconnectKind kind) {
  switch (kind) {
    case InterconnectKind::Switch:
      return "switch";
    case InterconnectKind::Ring:
      return "ring";
    case InterconnectKind::SharedNic:
      return "shared-nic";
    case InterconnectKind::SharedMedium:
      return "shared-medium";
  }
  return {};
}

std::string_view to_string(Duplex duplex) { return duplex == Duplex::Full ? "full" : "half"; }

namespace {

const std::string& non_empty_string(const JsonValue& object, std::string_view key,
                                    std::string_view what) {
  const JsonValue value = object.member(key, what);
  const std::string& text = value.string(fmt::format("the {} of {}", key, what));
  if (text.empty()) value.fail(fmt::format("the {} of {} is empty, expected text", key, what));
  return text;
}

/// The one of `choices` that the string `value` names.
template <typename Choice, std::size_t count>
Choice choose(const JsonValue& value, std::string_view what,
              const std::array<Choice, count>& choices) {
  const std::string& text = value.string(what);
  for (const Choice choice : choices) {
    if (to_string(choice) == text) return choice;
  }
  std::vector<std::string_view> names;
  names.reserve(count);
  for (const Choice choice : choices) names.push_back(to_string(choice));
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  value.fail(
      fmt::format("{} is \"{}\", expected one of {}{}", what, text, list, suggestion(text, list)));
}

Hierarchy read_hierarchy(const JsonValue& value) {
  std::vector<Level> levels;
  for (const JsonValue& level : value.array("the hierarchy")) {
    level.only_keys({"name", "size"}, "a level");
    const auto size =
        level.member("size", "a level").integer("the size of a level", 1, Hierarchy::kMaxDevices);
    levels.push_back(
        {non_empty_string(level, "name", "a level"), static_cast<std::uint32_t>(size)});
  }
  return {std::move(levels), value.position()};
}

const Level& read_level(const JsonValue& value, const Hierarchy& hierarchy) {
  const std::string& name = value.string("the level of an interconnect");
  const auto& levels = hierarchy.levels();
  const auto level = std::find_if(levels.begin(), levels.end(),
                                  [&](const Level& each) { return each.name == name; });
  if (level == levels.end()) {
    value.fail(fmt::format("no level is named \"{}\", expected a level of the hierarchy {}", name,
                           to_string(hierarchy)));
  }
  return *level;
}

std::uint32_t read_span(const JsonValue& value, const Level& level) {
  const auto span = static_cast<std::uint32_t>(
      value.integer("the span of an interconnect", 1, std::int64_t{level.size}));
  if (level.size % span != 0) {
    value.fail(
        fmt::format("the span of an interconnect is {}, expected a divisor of {}, the size "
                    "of level {}",
                    span, level.size, level.name));
  }
  return span;
}

std::string ratio_to_string(const Oversubscription& ratio) {
  return fmt::format("{}:{}", ratio.down, ratio.up);
}

/// `2:1`, `3:2`.
Oversubscription read_oversubscription(const JsonValue& value) {
  const std::string& text = value.string("the oversubscription of an interconnect");
  Oversubscription read;
  const char* const end = text.data() + text.size();
  const auto [colon, down] = std::from_chars(text.data(), end, read.down);
  if (down == std::errc() && colon != end && *colon == ':') {
    const auto [rest, up] = std::from_chars(colon + 1, end, read.up);
    constexpr std::uint32_t kMost = 1'000'000;
    const bool fits = read.up >= 1 && read.up <= read.down && read.down <= kMost;
    if (fits && up == std::errc() && rest == end && ratio_to_string(read) == text) return read;
  }
  value.fail(
      fmt::format("\"{}\" is not an oversubscription, expected down:up of at least 1:1, such "
                  "as 2:1",
                  text));
}

bool has_leaves(const Interconnect& link) {
  return link.rails || link.oversubscription != Oversubscription{};
}

Interconnect read_interconnect(const JsonValue& value, const Hierarchy& hierarchy) {
  constexpr std::string_view kWhat = "an interconnect";
  constexpr std::array kKinds{InterconnectKind::Switch, InterconnectKind::Ring,
                              InterconnectKind::SharedNic, InterconnectKind::SharedMedium};
  constexpr std::array kDuplexes{Duplex::Full, Duplex::Half};
  value.only_keys({"name", "kind", "level", "span", "bandwidth", "latency", "duplex", "reduces",
                   "rails", "oversubscription"},
                  kWhat);
  const Level& level = read_level(value.member("level", kWhat), hierarchy);
  const JsonValue bandwidth = value.member("bandwidth", kWhat);
  Interconnect link;
  link.name = non_empty_string(value, "name", kWhat);
  link.kind = choose(value.member("kind", kWhat), "the kind of an interconnect", kKinds);
  link.level = level.name;
  link.span = level.size;
  if (const auto span = value.find("span")) link.span = read_span(*span, level);
  link.bytes_per_second =
      parse_bandwidth(bandwidth.string("the bandwidth of an interconnect"), bandwidth.position());
  if (const auto latency = value.find("latency")) {
    link.latency_ps =
        parse_latency(latency->string("the latency of an interconnect"), latency->position());
  }
  if (const auto duplex = value.find("duplex")) {
    link.duplex = choose(*duplex, "the duplex of an interconnect", kDuplexes);
  }
  if (const auto reduces = value.find("reduces")) {
    link.reduces = reduces->boolean("whether an interconnect reduces");
    if (link.reduces && link.kind != InterconnectKind::Switch) {
      reduces->fail("only a switch reduces, expected the kind switch");
    }
  }
  if (const auto rails = value.find("rails")) {
    link.rails = rails->boolean("whether an interconnect has rails");
  }
  if (const auto ratio = value.find("oversubscription")) {
    link.oversubscription = read_oversubscription(*ratio);
  }
  if (has_leaves(link) && link.kind != InterconnectKind::Switch) {
    value.fail("only a switch has leaves, expected the kind switch with rails or oversubscription");
  }
  return link;
}

std::vector<Interconnect> read_interconnects(const JsonValue& value, const Hierarchy& hierarchy) {
  std::vector<Interconnect> links;
  std::set<std::string> names;
  for (const JsonValue& element : value.array("the interconnects")) {
    links.push_back(read_interconnect(element, hierarchy));
    if (!names.insert(links.back().name).second) {
      element.fail(fmt::format("two interconnects are named \"{}\", expected different names",
                               links.back().name));
    }
  }
  return links;
}

nlohmann::ordered_json to_tree(const Interconnect& link) {
  nlohmann::ordered_json tree{{"name", link.name},
                              {"kind", to_string(link.kind)},
                              {"level", link.level},
                              {"span", link.span},
                              {"bandwidth", bandwidth_to_string(link.bytes_per_second)},
                              {"latency", latency_to_string(link.latency_ps)},
                              {"duplex", to_string(link.duplex)}};
  if (link.reduces) tree["reduces"] = true;
  if (link.rails) tree["rails"] = true;
  if (link.oversubscription != Oversubscription{}) {
    tree["oversubscription"] = ratio_to_string(link.oversubscription);
  }
  return tree;
}

System read_system(const std::string& source, const std::string& text) {
  constexpr std::string_view kWhat = "a system";
  const JsonDocument document(source, text);
  const JsonValue root = document.root();
  root.only_keys({"$schema", "name", "description", "hierarchy", "interconnects", "gpu", "fabric"},
                 kWhat);
  if (const auto schema = root.find("$schema")) schema->string("the $schema of a system");
  if (const auto prose = root.find("description")) prose->string("the description of a system");
  System system;
  system.name = non_empty_string(root, "name", kWhat);
  system.hierarchy = read_hierarchy(root.member("hierarchy", kWhat));
  if (const auto links = root.find("interconnects")) {
    system.interconnects = read_interconnects(*links, system.hierarchy);
  }
  if (root.find("gpu")) system.gpu = non_empty_string(root, "gpu", kWhat);
  if (const auto fabric = root.find("fabric")) {
    system.fabric = non_empty_string(root, "fabric", kWhat);
    if (system.gpu.empty()) fabric->fail("a fabric without a gpu, expected both or neither");
  } else if (const auto gpu = root.find("gpu")) {
    gpu->fail("a gpu without a fabric, expected both; \"none\" for one node");
  }
  bool leaves = false;
  for (std::size_t i = 0; i < system.interconnects.size(); ++i) {
    if (!has_leaves(system.interconnects[i])) continue;
    const JsonValue link = root.member("interconnects", kWhat).array("the interconnects")[i];
    if (system.gpu.empty()) {
      link.fail("rails and oversubscription without a gpu, expected a system with gpu and fabric");
    }
    if (leaves) link.fail("a second switch with rails or oversubscription, expected at most one");
    leaves = true;
  }
  return system;
}

}  // namespace

System parse_system(const std::string& source, const std::string& text) {
  return read_as({FileKind::System}, source, text, [&] { return read_system(source, text); });
}

std::string to_json(const System& system) {
  auto levels = nlohmann::ordered_json::array();
  for (const Level& level : system.hierarchy.levels()) {
    levels.push_back({{"name", level.name}, {"size", level.size}});
  }
  auto links = nlohmann::ordered_json::array();
  for (const Interconnect& link : system.interconnects) links.push_back(to_tree(link));
  constexpr int kIndent = 2;
  nlohmann::ordered_json tree{
      {"name", system.name}, {"hierarchy", std::move(levels)}, {"interconnects", std::move(links)}};
  if (!system.gpu.empty()) tree["gpu"] = system.gpu;
  if (!system.fabric.empty()) tree["fabric"] = system.fabric;
  return tree.dump(kIndent) + "\n";
}

}  // namespace p2
