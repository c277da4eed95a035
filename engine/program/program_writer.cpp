#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/program/json_text.h"
#include "engine/program/notation.h"
#include "engine/program/program_file.h"

namespace p2 {

std::string to_json(const Program& program, const Instance* instance, Dialect dialect) {
  const CollectiveSet& collectives = program.terms.collectives;
  std::string json =
      fmt::format("{{\"devices\":{},\"classes\":{}", program.devices, json_lists(program.classes));
  if (instance != nullptr) {
    json += fmt::format(
        ",\"hierarchy\":{},\"axes\":{},\"reduce\":[{}],\"placement\":{},"
        "\"synthesis_hierarchy\":\"{}\"",
        json_parts(instance->grid.hierarchy().levels()), json_parts(instance->grid.axes()),
        fmt::join(instance->reduction, ","), json_lists(instance->grid.placement().factors),
        to_string(instance->hierarchy.kind()));
  }
  json += fmt::format(",\"dialect\":\"{}\",\"goal\":\"{}\",\"steps\":[", to_string(dialect),
                      program.terms.goal.name);
  for (const Step& step : program.steps) {
    if (&step != &program.steps.front()) json += ",";
    json += fmt::format("{{\"collective\":\"{}\"", collectives.name_of(step.collective));
    if (step.shape && instance != nullptr) {
      json += fmt::format(",\"slice\":\"{}\",\"form\":\"{}\"",
                          slice_to_string(*step.shape, instance->hierarchy),
                          form_to_string(*step.shape, instance->hierarchy));
    }
    json += fmt::format(",\"groups\":{}}}", json_lists(step.groups));
  }
  json += fmt::format("],\"text\":\"{}\"}}", to_string(program.steps, instance, collectives));
  return json;
}

}  // namespace p2
