#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/program/notation.h"
#include "engine/program/program_file.h"

namespace p2 {
namespace {

template <typename Parts>
std::string named_sizes(const Parts& parts) {
  std::string text;
  for (const auto& part : parts) {
    text += fmt::format("{}{{\"name\":\"{}\",\"size\":{}}}", text.empty() ? "" : ",", part.name,
                        part.size);
  }
  return "[" + text + "]";
}

std::string lists(const std::vector<std::vector<std::uint32_t>>& rows) {
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{}[{}]", text.empty() ? "" : ",", fmt::join(row, ","));
  }
  return "[" + text + "]";
}

}  // namespace

std::string to_json(const Program& program, const Instance* instance, Dialect dialect) {
  std::string json =
      fmt::format("{{\"devices\":{},\"classes\":{}", program.devices, lists(program.classes));
  if (instance != nullptr) {
    json += fmt::format(
        ",\"hierarchy\":{},\"axes\":{},\"reduce\":[{}],\"placement\":{},"
        "\"synthesis_hierarchy\":\"{}\"",
        named_sizes(instance->grid.hierarchy().levels()), named_sizes(instance->grid.axes()),
        fmt::join(instance->reduction, ","), lists(instance->grid.placement().factors),
        to_string(instance->hierarchy.kind()));
  }
  json += fmt::format(",\"dialect\":\"{}\",\"steps\":[", to_string(dialect));
  for (const Step& step : program.steps) {
    if (&step != &program.steps.front()) json += ",";
    json += fmt::format("{{\"collective\":\"{}\"", to_string(step.collective));
    if (step.shape && instance != nullptr) {
      json += fmt::format(",\"slice\":\"{}\",\"form\":\"{}\"",
                          slice_to_string(*step.shape, instance->hierarchy),
                          form_to_string(*step.shape, instance->hierarchy));
    }
    json += fmt::format(",\"groups\":{}}}", lists(step.groups));
  }
  json += fmt::format("],\"text\":\"{}\"}}", to_string(program.steps, instance));
  return json;
}

}  // namespace p2
