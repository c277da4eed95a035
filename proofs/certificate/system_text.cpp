#include "proofs/certificate/system_text.h"

#include "engine/program/json_text.h"

namespace p2 {

std::string system_text(std::uint32_t devices, const std::vector<Group>& classes, Dialect dialect,
                        const Instance* instance) {
  std::string text = fmt::format("\"devices\":{},\n\"classes\":{},\n\"dialect\":\"{}\",\n", devices,
                                 json_lists(classes), to_string(dialect));
  if (instance == nullptr) return text;
  return text + fmt::format(
                    "\"hierarchy\":{},\n\"axes\":{},\n\"reduce\":[{}],\n\"placement\":{},\n"
                    "\"synthesis_hierarchy\":\"{}\",\n",
                    json_parts(instance->grid.hierarchy().levels()),
                    json_parts(instance->grid.axes()), fmt::join(instance->reduction, ","),
                    json_lists(instance->grid.placement().factors),
                    to_string(instance->hierarchy.kind()));
}

std::string program_text(const Program& program, Dialect dialect, const Instance* instance,
                         std::optional<HierarchyKind> to) {
  std::string text =
      "{" + system_text(program.devices, program.classes, dialect, instance) + "\"steps\":[";
  for (const Step& step : program.steps) {
    text += fmt::format("{}\n{{\"collective\":\"{}\",", &step == &program.steps[0] ? "" : ",",
                        to_string(step.collective));
    if (step.shape && instance != nullptr) {
      text += fmt::format("\"slice\":\"{}\",\"form\":\"{}\",",
                          slice_to_string(*step.shape, instance->hierarchy),
                          form_to_string(*step.shape, instance->hierarchy));
    }
    text += fmt::format("\"groups\":{}}}", json_lists(step.groups));
  }
  return text + (to ? fmt::format("],\"to\":\"{}\"}}\n", to_string(*to)) : "]}\n");
}

}  // namespace p2
