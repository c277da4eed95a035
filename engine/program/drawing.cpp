#include "engine/program/drawing.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/program/explanation.h"
#include "engine/program/notation.h"

namespace p2 {
namespace {

constexpr std::uint32_t kMostMatrices = 8;
constexpr std::size_t kMostLines = 16;
constexpr std::size_t kMostMembers = 16;

bool contains(const IndexSetTable& sets, IndexSetId set, std::uint32_t index) {
  const auto runs = sets.runs(set);
  return std::any_of(runs.begin(), runs.end(),
                     [&](const Run& run) { return run.begin <= index && index < run.end; });
}

std::string draw_matrices(const SystemState& state, const StateTable& states) {
  const auto devices = static_cast<std::uint32_t>(state.size());
  const std::size_t width = std::max<std::size_t>(devices, 2) + 2;
  std::string drawing = "   ";
  for (std::uint32_t d = 0; d < devices; ++d) {
    drawing += fmt::format("{:<{}}", fmt::format("d{}", d), d + 1 < devices ? width : 0);
  }
  for (std::uint32_t chunk = 0; chunk < states.chunks(); ++chunk) {
    drawing += "\n   ";
    for (std::uint32_t d = 0; d < devices; ++d) {
      const IndexSetId row = states.row(state[d], chunk);
      for (std::uint32_t c = 0; c < devices; ++c) {
        drawing += contains(states.sets(), row, c) ? "█" : "·";
      }
      if (d + 1 < devices) drawing += std::string(width - devices, ' ');
    }
  }
  return drawing + "\n";
}

std::string draw_runs(const IndexSetTable& sets, IndexSetId set) {
  std::string text;
  std::size_t shown = 0;
  for (const Run& run : sets.runs(set)) {
    if (shown++ == kMostMembers) return text + ",…";
    if (!text.empty()) text += ",";
    text += run.end - run.begin == 1 ? fmt::format("{}", run.begin)
                                     : fmt::format("{}–{}", run.begin, run.end - 1);
  }
  return text;
}

std::string draw_device(std::uint32_t device, StateId state, const StateTable& states) {
  if (state == kHoldsNothing) return fmt::format("   d{:<5} nothing\n", device);
  std::string drawing;
  for (const Piece& piece : states.pieces(state)) {
    drawing += fmt::format("   d{:<5} chunks {:<12} from {}\n", device,
                           draw_runs(states.sets(), piece.chunks),
                           draw_runs(states.sets(), piece.contributors));
  }
  return drawing;
}

}  // namespace

std::string draw_state(const SystemState& state, const StateTable& states,
                       const std::vector<Group>& classes) {
  if (state.size() <= kMostMatrices) return draw_matrices(state, states);
  std::string drawing;
  const Group& shown = classes.front();
  for (std::size_t i = 0; i < std::min(shown.size(), kMostLines); ++i) {
    drawing += draw_device(shown[i], state[shown[i]], states);
  }
  const std::size_t hidden = state.size() - std::min(shown.size(), kMostLines);
  if (hidden > 0) drawing += fmt::format("   … and {} more devices\n", hidden);
  return drawing;
}

std::string draw_derivation(const Program& program, Dialect dialect, const Instance* instance,
                            const Limits& limits) {
  StateTable states(program.chunks());
  std::string drawing;
  SystemState last;
  const auto draw = [&](std::size_t step, const SystemState& state) {
    drawing +=
        step == 0
            ? std::string("start\n")
            : fmt::format("after step {}: {}\n", step,
                          to_string(program.steps[step - 1], instance, program.terms.collectives));
    drawing += draw_state(state, states, program.classes);
    last = state;
  };
  const Verdict verdict = check(program, dialect, states, limits, draw);
  if (verdict.kind == Verdict::Kind::Unknown) return drawing + "stopped at a limit\n";
  if (!verdict.refutation) return drawing;
  if (program.devices > kMostMatrices) {
    const Refutation& refutation = *verdict.refutation;
    const Group shown = refutation.group.empty() ? Group{refutation.device} : refutation.group;
    drawing += "where it breaks\n";
    for (std::size_t i = 0; i < std::min(shown.size(), kMostLines); ++i) {
      drawing += draw_device(shown[i], last[shown[i]], states);
    }
  }
  return drawing + explain(*verdict.refutation, program, instance) + "\n";
}

}  // namespace p2
