#include "proofs/definition/step.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "engine/collective/language/interpreter.h"

namespace p2::definition {

using language::GroupState;

std::vector<Shape> shapes_of(std::uint32_t devices) {
  const std::uint32_t n = devices;
  invariant(n >= kMinGroup && n <= kMaxGroup, "a group of a size that is not looked at");
  std::vector<Shape> shapes = {{n, 1, n + 1}, {n, n, n + 1}};
  for (std::uint32_t chunks = 1; chunks <= max_chunks(n); ++chunks) {
    shapes.push_back({n, chunks, 1});
    shapes.push_back({n, chunks, n});
  }
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const Shape& a, const Shape& b) { return a.bits() < b.bits(); });
  return shapes;
}

Shape shape_of(const GroupState& state) {
  return {state.devices(), state.chunks(), state.contributors()};
}

std::string to_string(const Shape& shape) {
  const auto counted = [](std::uint32_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return fmt::format("{}, {}, {}", counted(shape.devices, "device"), counted(shape.chunks, "chunk"),
                     counted(shape.contributors, "contributor"));
}

Row row(const GroupState& state, std::uint32_t position, std::uint32_t chunk) {
  invariant(state.contributors() <= std::numeric_limits<Row>::digits, "a row of too many bits");
  Row held = 0;
  for (std::uint32_t c = 0; c < state.contributors(); ++c) {
    held |= Row{state.holds(position, chunk, c)} << c;
  }
  return held;
}

std::uint32_t amount(const GroupState& state) {
  std::uint32_t held = 0;
  for (std::uint32_t i = 0; i < state.devices(); ++i) {
    for (std::uint32_t r = 0; r < state.chunks(); ++r) {
      for (std::uint32_t c = 0; c < state.contributors(); ++c) held += state.holds(i, r, c) ? 1 : 0;
    }
  }
  return held;
}

GroupState numbered(const Shape& shape, std::uint64_t number) {
  GroupState state(shape.devices, shape.chunks, shape.contributors);
  for (std::uint32_t i = 0; i < shape.devices; ++i) {
    for (std::uint32_t r = 0; r < shape.chunks; ++r) {
      for (std::uint32_t c = 0; c < shape.contributors; ++c) {
        state.set(i, r, c, (number & 1U) == 1);
        number >>= 1U;
      }
    }
  }
  return state;
}

using language::GroupState;

bool legal(const language::Definition& definition, const GroupState& before) {
  return amount(before) > 0 && !language::first_failed_premise(definition, before);
}

std::optional<Step> take(const language::Definition& definition, const GroupState& before) {
  if (!legal(definition, before)) return std::nullopt;
  return Step{definition, before, language::post_state(definition, before)};
}

GroupState contributors_exchanged(const GroupState& state, std::uint32_t a, std::uint32_t b) {
  GroupState exchanged = state;
  for (std::uint32_t i = 0; i < state.devices(); ++i) {
    for (std::uint32_t r = 0; r < state.chunks(); ++r) {
      exchanged.set(i, r, a, state.holds(i, r, b));
      exchanged.set(i, r, b, state.holds(i, r, a));
    }
  }
  return exchanged;
}

GroupState positions_exchanged(const GroupState& state, std::uint32_t a, std::uint32_t b) {
  GroupState exchanged = state;
  for (std::uint32_t r = 0; r < state.chunks(); ++r) {
    for (std::uint32_t c = 0; c < state.contributors(); ++c) {
      exchanged.set(a, r, c, state.holds(b, r, c));
      exchanged.set(b, r, c, state.holds(a, r, c));
    }
  }
  return exchanged;
}

}  // namespace p2::definition
