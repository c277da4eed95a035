#include "p2/place.h"

#include <fmt/format.h>

#include "engine/program/instance.h"
#include "engine/program/program_file.h"
#include "engine/program/program_picture.h"

namespace p2 {

PlaceAnswer place(const PlaceRequest& request, const Options&) {
  const GivenInstance given = given_instance(request.instance);
  require_system(given, false);
  const std::vector<Placement> placements = placements_of(given, request.max_placements);
  PlaceAnswer answer;
  answer.devices = given.hierarchy->devices();
  const bool drawable = answer.devices <= kMaxPicturedDevices;
  Document& document = answer.document;
  document.title = "p2-verify place";
  document.line(fmt::format("{} devices: {}   axes {}", answer.devices, to_string(*given.hierarchy),
                            to_string(*given.axes)));
  for (const Placement& placement : placements) {
    const std::size_t index = answer.placements.size();
    const DeviceGrid grid(*given.hierarchy, *given.axes, placement);
    document.line("");
    document.line(
        fmt::format("placement {} of {}   {}", index + 1, placements.size(), to_string(placement)));
    document.add(Preformatted{draw_matrix(grid)});
    if (drawable && index < request.max_drawn) {
      document.line("");
      if (request.plot) {
        document.add(Drawing{fmt::format("Placement {}", to_string(placement)),
                             svg_document(placement_picture(grid))});
      } else {
        document.add(Preformatted{draw_placement(grid, kMaxPicturedDevices)});
      }
    }
    answer.placements.push_back(placement.factors);
  }
  if (!drawable) {
    document.line("");
    document.line(fmt::format("drawing left out: {} devices, drawn are at most {}", answer.devices,
                              kMaxPicturedDevices));
  } else if (placements.size() > request.max_drawn) {
    document.line("");
    document.line(fmt::format("drawings left out: {} placements, drawn are the first {}",
                              placements.size(), request.max_drawn));
  }
  document.json = Json::object({{"hierarchy", parts_json(given.hierarchy->levels())},
                                {"axes", parts_json(*given.axes)},
                                {"count", placements.size()},
                                {"placements", Json::array_of(answer.placements, lists_json)}});
  return answer;
}

}  // namespace p2
