#include "engine/program/program_picture.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/program/instance.h"
#include "engine/program/program_file.h"
#include "p2/place.h"

namespace p2 {
namespace {

constexpr std::size_t kFaultColour = 1;
constexpr std::uint32_t kMaxMatrix = 64;
constexpr std::size_t kMaxDevicesDrawn = 16;
constexpr std::size_t kMaxStates = 12;

/// The outermost level whose instances tell two devices apart; the innermost for equal ones.
std::size_t level_between(const Hierarchy& hierarchy, std::uint32_t a, std::uint32_t b) {
  std::uint32_t devices = hierarchy.devices();
  for (std::size_t level = 0; level + 1 < hierarchy.levels().size(); ++level) {
    devices /= hierarchy.levels()[level].size;
    if (a / devices != b / devices) return level;
  }
  return hierarchy.levels().size() - 1;
}

std::string coordinates(const DeviceGrid& grid, std::uint32_t device) {
  std::string text;
  for (std::uint32_t axis = 0; axis < grid.axes().count(); ++axis) {
    text += fmt::format("{}{}", axis == 0 ? "" : "/", grid.coordinate(device, axis));
  }
  return text;
}

}  // namespace

HardwarePicture placement_picture(const DeviceGrid& grid) {
  HardwarePicture picture;
  for (const Level& level : grid.hierarchy().levels()) {
    picture.levels.push_back({level.name, level.size});
  }
  std::uint32_t coloured = 0;
  while (coloured + 1 < grid.axes().count() && grid.axes()[coloured].size == 1) ++coloured;
  std::string names;
  for (const Axis& axis : grid.axes()) names += (names.empty() ? "" : "/") + axis.name;
  picture.title = fmt::format("{} on {}", to_string(grid.axes()), to_string(grid.hierarchy()));
  picture.legend =
      fmt::format("Devices: parts of {}, coloured by {}.", names, grid.axes()[coloured].name);
  for (std::uint32_t device = 0; device < grid.devices(); ++device) {
    picture.devices.push_back({coordinates(grid, device), grid.coordinate(device, coloured)});
  }
  return picture;
}

std::vector<HardwarePicture::Transfer> transfers_of(const Step& step) {
  std::vector<HardwarePicture::Transfer> transfers;
  for (const Group& group : step.groups) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (step.collective == Collective::Reduce) {
        if (i > 0) transfers.push_back({group[i], group[0]});
      } else if (step.collective == Collective::Broadcast) {
        if (i > 0) transfers.push_back({group[0], group[i]});
      } else if (group.size() > 1) {
        transfers.push_back({group[i], group[(i + 1) % group.size()]});
      }
    }
  }
  return transfers;
}

HardwarePicture program_picture(const Program& program, const Instance& instance) {
  const Hierarchy& hierarchy = instance.grid.hierarchy();
  HardwarePicture picture = placement_picture(instance.grid);
  for (const Step& step : program.steps) {
    HardwarePicture::Step drawn{to_string(step, &instance, program.terms.collectives),
                                transfers_of(step)};
    const auto level_of = [&](const HardwarePicture::Transfer& each) {
      return level_between(hierarchy, static_cast<std::uint32_t>(each.from),
                           static_cast<std::uint32_t>(each.to));
    };
    std::size_t outermost = hierarchy.levels().size();
    for (const auto& each : drawn.transfers) outermost = std::min(outermost, level_of(each));
    for (auto& each : drawn.transfers) each.load = level_of(each) == outermost ? 1 : 0.2;
    picture.steps.push_back(std::move(drawn));
  }
  picture.legend += " Orange: across the step's outermost level.";
  return picture;
}

namespace {

/// A contribution that is marked: on a device, in a chunk.
struct Mark {
  std::uint32_t device = 0;
  std::uint32_t chunk = 0;
  std::uint32_t contributor = 0;
};

std::vector<Mark> marks_of(const Refutation& refutation) {
  const bool is_premise = refutation.rule == Refutation::Rule::Premise;
  const Refusal& refusal = refutation.refusal;
  if (is_premise && refusal.premise == Premise::Disjoint) {
    return {{refutation.group[refusal.first], refusal.chunk, refusal.contributor},
            {refutation.group[refusal.second], refusal.chunk, refusal.contributor}};
  }
  if (is_premise && refusal.premise == Premise::Contained) {
    return {{refutation.group[refusal.second], refusal.chunk, refusal.contributor}};
  }
  const bool is_goal =
      refutation.rule == Refutation::Rule::Lacks || refutation.rule == Refutation::Rule::Excess;
  if (is_goal) return {{refutation.device, refutation.chunk, refutation.contributor}};
  return {};
}

std::vector<std::uint32_t> devices_at_fault(const Refutation& refutation) {
  if (refutation.group.empty()) return {refutation.device};
  return refutation.group;
}

/// Draws the matrices of one state after the other.
class StatePanels {
 public:
  StatePanels(const Program& program, const StateTable& states, std::vector<std::uint32_t> devices)
      : states_(states), devices_(std::move(devices)), chunks_(program.chunks()) {
    contributors_ = program.devices;
    cell_ = std::clamp(std::floor(64.0 / std::max(chunks_, contributors_)), 1.0, 9.0);
    const double width = std::max(cell_ * contributors_, 22.0) + kGap;
    per_row_ = std::clamp<std::size_t>(static_cast<std::size_t>((kPlotWidth - 16) / width), 1,
                                       devices_.size());
    width_ = width;
  }

  double height() const {
    const std::size_t rows = (devices_.size() + per_row_ - 1) / per_row_;
    return kHead + static_cast<double>(rows) * (cell_ * chunks_ + kName + kGap);
  }

  void draw(Svg& svg, double y, const std::string& title, const SystemState& state,
            const Refutation* refutation) const {
    svg.text(8, y + 14, fitted(title, kPlotWidth - 16));
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const double x = 8 + width_ * static_cast<double>(i % per_row_);
      const std::size_t row = i / per_row_;
      const double top = y + kHead + static_cast<double>(row) * (cell_ * chunks_ + kName + kGap);
      draw_device(svg, x, top, devices_[i], state, refutation);
    }
  }

 private:
  static constexpr double kHead = 22;
  static constexpr double kName = 14;
  static constexpr double kGap = 8;

  void draw_device(Svg& svg, double x, double y, std::uint32_t device, const SystemState& state,
                   const Refutation* refutation) const {
    const bool at_fault =
        refutation != nullptr && std::ranges::count(devices_at_fault(*refutation), device) > 0;
    svg.text(x, y + 10, std::to_string(device), Svg::Anchor::Start, "font-size=\"11\"");
    const double top = y + kName;
    svg.rectangle(x, top, cell_ * contributors_, cell_ * chunks_, "#eeeeee");
    for (const Piece& piece : states_.pieces(state[device])) {
      for (const Run& chunks : states_.sets().runs(piece.chunks)) {
        for (const Run& run : states_.sets().runs(piece.contributors)) {
          svg.rectangle(x + cell_ * run.begin, top + cell_ * chunks.begin,
                        cell_ * (run.end - run.begin), cell_ * (chunks.end - chunks.begin),
                        plot_colour(0));
        }
      }
    }
    if (!at_fault) return;
    const std::string_view colour = plot_colour(kFaultColour);
    for (const Mark& mark : marks_of(*refutation)) {
      if (mark.device != device) continue;
      svg.rectangle(x + cell_ * mark.contributor, top + cell_ * mark.chunk, std::max(cell_, 3.0),
                    std::max(cell_, 3.0), colour);
    }
    svg.rectangle(x - 2, top - 2, cell_ * contributors_ + 4, cell_ * chunks_ + 4, "none", colour);
  }

  const StateTable& states_;
  std::vector<std::uint32_t> devices_;
  std::uint32_t chunks_ = 0;
  std::uint32_t contributors_ = 0;
  double cell_ = 1;
  double width_ = 0;
  std::size_t per_row_ = 1;
};

std::vector<std::uint32_t> devices_shown(const Program& program, const ProgramDecision& decision) {
  std::vector<std::uint32_t> devices(program.devices);
  for (std::uint32_t i = 0; i < program.devices; ++i) devices[i] = i;
  if (devices.size() <= kMaxDevicesDrawn) return devices;
  devices = decision.violation ? devices_at_fault(*decision.violation) : program.classes.front();
  if (devices.size() > kMaxDevicesDrawn) devices.resize(kMaxDevicesDrawn);
  return devices;
}

}  // namespace

std::string draw_states(const Program& program, Dialect dialect, const Instance* instance,
                        const Limits& limits) {
  if (program.chunks() > kMaxMatrix || program.devices > kMaxMatrix) return {};
  StateTable states(program.chunks());
  std::vector<SystemState> reached;
  const ProgramDecision decision =
      check(program, dialect, states, limits,
            [&](std::size_t, const SystemState& state) { reached.push_back(state); });
  const auto& refutation = decision.violation;
  const StatePanels panels(program, states, devices_shown(program, decision));
  const std::size_t count = reached.size();
  const std::size_t first = count - std::min(count, kMaxStates);
  constexpr double kTop = 30;
  Svg svg(kPlotWidth, kTop + static_cast<double>(count - first) * panels.height() + 24);
  svg.text(8, 20, "What the devices hold: rows chunks, columns contributors", Svg::Anchor::Start,
           Svg::kTitle);
  double y = kTop;
  for (std::size_t i = first; i < count; ++i) {
    const bool is_last = i + 1 == count;
    std::string title =
        i == 0 ? "at the start"
               : fmt::format("after step {}: {}", i,
                             to_string(program.steps[i - 1], instance, program.terms.collectives));
    const bool at_step = refutation && refutation->step == i + 1;
    if (is_last && at_step) {
      title += fmt::format("; step {} is refused by {}: {}", i + 1, rule_name(*refutation),
                           to_string(program.steps[i], instance, program.terms.collectives));
    } else if (is_last && refutation) {
      title += fmt::format("; {}", rule_name(*refutation));
    }
    panels.draw(svg, y, title, reached[i], is_last && refutation ? &*refutation : nullptr);
    y += panels.height();
  }
  return svg.document();
}

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
