#include "cli/check/fault_json.h"

#include <nlohmann/json.hpp>

namespace p2 {
namespace {

using nlohmann::json;

json json_of(msccl::StepPlace place) { return {place.gpu, place.block, place.step}; }

msccl::StepPlace place_of(const json& value) {
  return {value.at(0).get<std::uint32_t>(), value.at(1).get<std::uint32_t>(),
          value.at(2).get<std::uint32_t>()};
}

json json_of(const std::vector<msccl::StepPlace>& places) {
  json list = json::array();
  for (const msccl::StepPlace place : places) list.push_back(json_of(place));
  return list;
}

std::vector<msccl::StepPlace> places_of(const json& list) {
  std::vector<msccl::StepPlace> places;
  for (const json& value : list) places.push_back(place_of(value));
  return places;
}

}  // namespace

std::string to_cache_json(const msccl::Fault& fault) {
  json cycle = json::array();
  for (const msccl::Wait& wait : fault.cycle) {
    cycle.push_back({json_of(wait.step), static_cast<int>(wait.before)});
  }
  json value = {{"kind", static_cast<int>(fault.kind)},
                {"reason", fault.reason},
                {"steps", json_of(fault.steps)},
                {"schedule", json_of(fault.schedule)},
                {"cycle", cycle},
                {"in_place", fault.in_place}};
  if (fault.cell) {
    value["cell"] = {fault.cell->gpu, static_cast<int>(fault.cell->buffer), fault.cell->index};
  }
  return value.dump();
}

std::optional<msccl::Fault> parse_cached_fault(const std::string& text) {
  const json value = json::parse(text, nullptr, false);
  try {
    msccl::Fault fault{static_cast<msccl::Fault::Kind>(value.at("kind").get<std::uint8_t>()),
                       value.at("reason"),
                       places_of(value.at("steps")),
                       {},
                       places_of(value.at("schedule")),
                       {},
                       value.at("in_place")};
    for (const json& wait : value.at("cycle")) {
      fault.cycle.push_back(
          {place_of(wait.at(0)), static_cast<msccl::Before>(wait.at(1).get<std::uint8_t>())});
    }
    if (value.contains("cell")) {
      const json& cell = value.at("cell");
      fault.cell = {cell.at(0), static_cast<msccl::Buffer>(cell.at(1).get<std::uint8_t>()),
                    cell.at(2)};
    }
    return fault;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace p2
