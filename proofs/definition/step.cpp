#include "proofs/definition/step.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

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

namespace {

using language::Definition;
using language::Expression;
using language::Kind;

/// The largest sizes that are probed: a row is 32 bits, and states stay small.
constexpr std::uint32_t kMaxDevices = 24;
constexpr std::uint32_t kMaxContributors = 31;
constexpr std::uint32_t kMaxChunks = 300;
constexpr std::uint32_t kMaxProbedBits = 2048;
/// How many combinations of the conditions on sizes are probed.
constexpr std::size_t kMaxCases = 16;

/// Whether the expression depends on n and k alone.
bool of_sizes(const Definition& definition, const Expression& expression) {
  switch (expression.kind) {
    case Kind::Variable:
    case Kind::Holds:
    case Kind::ForAll:
    case Kind::Exists:
    case Kind::Count:
    case Kind::Sum:
      return false;
    case Kind::Call:
      return expression.operands.empty() &&
             of_sizes(definition, definition.lets[expression.index].body);
    default:
      return std::ranges::all_of(expression.operands, [&](const Expression& operand) {
        return of_sizes(definition, operand);
      });
  }
}

/// The conditions on n and k alone, and the constants, of a definition.
class SizeConditions {
 public:
  explicit SizeConditions(const Definition& definition) : definition_(definition) {
    for (const language::Let& let : definition.lets) collect(let.body);
    for (const language::Premise& premise : definition.premises) collect(premise.formula);
    collect(definition.post_state.formula);
    collect(definition.measure);
  }

  /// Which of the conditions hold.
  std::vector<bool> values(std::uint32_t devices, std::uint32_t chunks) const {
    std::vector<bool> all;
    for (const Expression* condition : conditions_) {
      all.push_back(language::value_for_sizes(definition_, *condition, devices, chunks) == 1);
    }
    return all;
  }
  bool empty() const { return conditions_.empty(); }
  const std::set<std::uint64_t>& constants() const { return constants_; }

 private:
  void collect(const Expression& expression) {
    if (expression.kind == Kind::Number) constants_.insert(expression.number);
    const bool comparison = expression.kind == Kind::Equal || expression.kind == Kind::Less ||
                            expression.kind == Kind::LessEqual;
    if (comparison && of_sizes(definition_, expression)) conditions_.push_back(&expression);
    for (const Expression& operand : expression.operands) collect(operand);
  }

  const Definition& definition_;
  std::vector<const Expression*> conditions_;
  std::set<std::uint64_t> constants_;
};

/// Shapes without repetition, in the order in which they are added.
class ShapeList {
 public:
  /// As many contributors as two sums need to overlap without one being part of the other, and one
  /// for each device.
  void add(std::uint32_t devices, std::uint32_t chunks) {
    add({devices, chunks, 3});
    if (devices != 3) add({devices, chunks, devices});
  }
  void add(const Shape& shape) {
    const bool fits = shape.devices <= kMaxDevices && shape.contributors <= kMaxContributors &&
                      shape.bits() <= kMaxProbedBits;
    if (fits && std::ranges::find(shapes_, shape) == shapes_.end()) shapes_.push_back(shape);
  }
  std::vector<Shape> take() { return std::move(shapes_); }

 private:
  std::vector<Shape> shapes_;
};

bool examined(std::uint32_t devices, std::uint32_t chunks, std::uint32_t max_group) {
  return devices <= max_group && chunks <= max_chunks(devices);
}

/// The smallest size of each combination that no examined size shows.
void add_cases(const SizeConditions& conditions, std::uint32_t max_group, ShapeList& shapes) {
  using Size = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<Size> sizes;
  for (std::uint32_t n = kMinGroup; n <= kMaxDevices; ++n) {
    for (std::uint32_t k = 1; k <= kMaxChunks && n * k * 3 <= kMaxProbedBits; ++k)
      sizes.push_back({n, k});
  }
  std::ranges::stable_sort(sizes, [&](const Size& a, const Size& b) {
    const bool a_examined = examined(a.first, a.second, max_group);
    const bool b_examined = examined(b.first, b.second, max_group);
    if (a_examined != b_examined) return a_examined;
    return a.first * a.second < b.first * b.second;
  });
  std::set<std::vector<bool>> seen;
  std::size_t added = 0;
  for (const auto& [n, k] : sizes) {
    if (!seen.insert(conditions.values(n, k)).second || examined(n, k, max_group)) continue;
    shapes.add(n, k);
    if (++added == kMaxCases) return;
  }
}

/// Sizes at which a number that is compared with a constant may be on its other side.
void add_around_constants(const SizeConditions& conditions, std::uint32_t max_group,
                          ShapeList& shapes) {
  for (const std::uint64_t constant : conditions.constants()) {
    if (constant < 2 || constant > kMaxChunks) continue;
    for (auto size = static_cast<std::uint32_t>(constant); size <= constant + 2; ++size) {
      if (size > max_group) shapes.add(size, 1);
      if (!examined(kMinGroup, size, max_group)) shapes.add(kMinGroup, size);
      if (size > max_group) shapes.add({kMinGroup, 1, size});
    }
  }
}

}  // namespace

bool admits(const Definition& definition, std::uint32_t devices, std::uint32_t chunks) {
  return std::ranges::all_of(definition.premises, [&](const language::Premise& premise) {
    return !of_sizes(definition, premise.formula) ||
           language::value_for_sizes(definition, premise.formula, devices, chunks) == 1;
  });
}

std::vector<Shape> probe_shapes(const Definition& definition, std::uint32_t max_group) {
  const SizeConditions conditions(definition);
  ShapeList shapes;
  if (!conditions.empty()) add_cases(conditions, max_group, shapes);
  add_around_constants(conditions, max_group, shapes);
  for (const auto& [n, k] : {std::pair(9U, 1U), {9U, 9U}, {2U, 17U}, {2U, 18U}, {16U, 1U}}) {
    shapes.add(n, k);
  }
  std::vector<Shape> all = shapes.take();
  std::erase_if(
      all, [&](const Shape& shape) { return !admits(definition, shape.devices, shape.chunks); });
  return all;
}

}  // namespace p2::definition
