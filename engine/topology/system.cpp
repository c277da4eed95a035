#include "engine/topology/system.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/base/json_document.h"

namespace p2 {
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
  value.fail(fmt::format("{} is \"{}\", expected one of {}", what, text, fmt::join(names, ", ")));
}

Hierarchy read_hierarchy(const JsonValue& value) {
  std::vector<Level> levels;
  for (const JsonValue& level : value.array("the hierarchy")) {
    level.only_keys({"name", "size"}, "a level");
    const auto size =
        level.member("size", "a level").integer("the size of a level", 1, Hierarchy::kMostDevices);
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

Interconnect read_interconnect(const JsonValue& value, const Hierarchy& hierarchy) {
  constexpr std::string_view kWhat = "an interconnect";
  constexpr std::array kKinds{InterconnectKind::Switch, InterconnectKind::Ring,
                              InterconnectKind::SharedNic, InterconnectKind::SharedMedium};
  constexpr std::array kDuplexes{Duplex::Full, Duplex::Half};
  value.only_keys({"name", "kind", "level", "span", "bandwidth", "latency", "duplex"}, kWhat);
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
  return {{"name", link.name},
          {"kind", to_string(link.kind)},
          {"level", link.level},
          {"span", link.span},
          {"bandwidth", bandwidth_to_string(link.bytes_per_second)},
          {"latency", latency_to_string(link.latency_ps)},
          {"duplex", to_string(link.duplex)}};
}

}  // namespace

System parse_system(const std::string& source, const std::string& text) {
  constexpr std::string_view kWhat = "a system";
  const JsonDocument document(source, text);
  const JsonValue root = document.root();
  root.only_keys({"$schema", "name", "description", "hierarchy", "interconnects"}, kWhat);
  if (const auto schema = root.find("$schema")) schema->string("the $schema of a system");
  if (const auto prose = root.find("description")) prose->string("the description of a system");
  System system;
  system.name = non_empty_string(root, "name", kWhat);
  system.hierarchy = read_hierarchy(root.member("hierarchy", kWhat));
  if (const auto links = root.find("interconnects")) {
    system.interconnects = read_interconnects(*links, system.hierarchy);
  }
  return system;
}

std::string to_json(const System& system) {
  auto levels = nlohmann::ordered_json::array();
  for (const Level& level : system.hierarchy.levels()) {
    levels.push_back({{"name", level.name}, {"size", level.size}});
  }
  auto links = nlohmann::ordered_json::array();
  for (const Interconnect& link : system.interconnects) links.push_back(to_tree(link));
  constexpr int kIndent = 2;
  return nlohmann::ordered_json{{"name", system.name},
                                {"hierarchy", std::move(levels)},
                                {"interconnects", std::move(links)}}
             .dump(kIndent) +
         "\n";
}

}  // namespace p2
