#include "proofs/api/open_sizes.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/text_cursor.h"

namespace p2 {
namespace {

/// Stands for an open size while the instance is read.
constexpr std::uint32_t kStandIn = 2;

/// A size in a text.
struct SizeSlot {
  std::size_t at = 0;
  std::size_t length = 0;
  bool open = false;
  std::uint32_t value = 1;
};

/// The sizes of a text, by rows of a placement; one row for levels and axes. What is no size is
/// left to the parser of the text.
class SizeSlots {
 public:
  explicit SizeSlots(std::string& text) : text_(text) {
    const std::size_t end = std::min(text.find('#'), text.size());
    for (std::size_t at = 0; at < end; ++at) {
      const char c = text[at];
      if (c == '[') rows_.emplace_back();
      if (c == '*') {
        add({at, 1, true, kStandIn});
      } else if (c >= '0' && c <= '9' && !continues_name(at)) {
        SizeSlot slot{at};
        const auto read = std::from_chars(text.data() + at, text.data() + end, slot.value);
        slot.length = static_cast<std::size_t>(read.ptr - text.data()) - at;
        add(slot);
        at += slot.length - 1;
      }
    }
    // `[[…] […]]` opens a bracket of its own.
    if (rows_.size() > 1 && rows_[0].empty()) rows_.erase(rows_.begin());
  }

  std::vector<std::vector<SizeSlot>>& rows() { return rows_; }
  std::vector<SizeSlot> first_row() const {
    return rows_.empty() ? std::vector<SizeSlot>{} : rows_[0];
  }
  bool has_open() const {
    return std::ranges::any_of(
        rows_, [](const auto& row) { return std::ranges::any_of(row, &SizeSlot::open); });
  }
  /// Writes these values in place of the open sizes of the first row.
  void close(const std::vector<std::uint64_t>& values) {
    std::string closed = text_;
    for (std::size_t i = rows_.empty() ? 0 : rows_[0].size(); i-- > 0;) {
      const SizeSlot& slot = rows_[0][i];
      if (slot.open) closed.replace(slot.at, slot.length, std::to_string(values[i]));
    }
    text_ = std::move(closed);
  }
  void close_all() { std::ranges::replace(text_, '*', static_cast<char>('0' + kStandIn)); }

 private:
  void add(const SizeSlot& slot) {
    if (rows_.empty()) rows_.emplace_back();
    rows_.back().push_back(slot);
  }
  bool continues_name(std::size_t at) const {
    if (at == 0) return false;
    const char before = text_[at - 1];
    return (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') ||
           (before >= '0' && before <= '9') || before == '_' || before == '-';
  }

  std::string& text_;
  std::vector<std::vector<SizeSlot>> rows_;
};

/// The texts that may have open sizes, and what messages call their places.
struct SizeTexts {
  std::string* hierarchy = nullptr;
  std::string* axes = nullptr;
  std::string* placement = nullptr;
  SourcePosition hierarchy_at;
  SourcePosition axes_at;
  SourcePosition placement_at;
};

void require_open(bool open, bool has_open_factor, std::string_view what, std::size_t index,
                  const SourcePosition& where) {
  if (open == has_open_factor) return;
  throw InputError(
      where, fmt::format("the size of {} {} is {}, and {} of its factors in the "
                         "placement is *, expected both or neither",
                         what, index, open ? "*" : "a number", has_open_factor ? "one" : "none"));
}

std::optional<OpenSizes> close_texts(const SizeTexts& texts) {
  std::string none;
  SizeSlots levels(texts.hierarchy != nullptr ? *texts.hierarchy : none);
  SizeSlots axes(texts.axes != nullptr ? *texts.axes : none);
  SizeSlots factors(texts.placement != nullptr ? *texts.placement : none);
  if (!levels.has_open() && !axes.has_open() && !factors.has_open()) return std::nullopt;
  const std::size_t columns = levels.first_row().size();
  const std::size_t rows = axes.first_row().size();
  std::vector<std::vector<SizeSlot>> matrix = factors.rows();
  if (texts.placement == nullptr) {
    if (rows != 1) {
      throw InputError(texts.axes_at,
                       "sizes are left open and there are several axes, expected a placement "
                       "whose open factors are *");
    }
    matrix = {levels.first_row()};
  }
  const bool fits = matrix.size() == rows && std::ranges::all_of(matrix, [&](const auto& row) {
                      return row.size() == columns;
                    });
  if (!fits) {
    throw InputError(texts.placement_at,
                     fmt::format("the placement has another shape, expected {} row{} of {} "
                                 "factors: sizes are left open",
                                 rows, rows == 1 ? "" : "s", columns));
  }
  OpenSizes open{std::vector<bool>(columns), std::vector<bool>(rows),
                 std::vector<std::vector<bool>>(rows, std::vector<bool>(columns))};
  std::vector<std::uint64_t> level_sizes(columns, 1);
  std::vector<std::uint64_t> axis_sizes(rows, 1);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32U;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const SizeSlot& slot = matrix[i][j];
      open.factors[i][j] = slot.open;
      open.axes[i] = open.axes[i] || slot.open;
      open.levels[j] = open.levels[j] || slot.open;
      axis_sizes[i] = std::min(axis_sizes[i] * slot.value, kMost);
      level_sizes[j] = std::min(level_sizes[j] * slot.value, kMost);
    }
  }
  for (std::size_t i = 0; i < rows; ++i) {
    require_open(axes.first_row()[i].open, open.axes[i], "axis", i, texts.axes_at);
  }
  for (std::size_t j = 0; j < columns; ++j) {
    require_open(levels.first_row()[j].open, open.levels[j], "level", j, texts.hierarchy_at);
  }
  levels.close(level_sizes);
  axes.close(axis_sizes);
  factors.close_all();
  return open;
}

template <typename Part>
std::string text_of(const std::vector<bool>& open, const std::vector<Part>& parts) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    texts.push_back(
        fmt::format("{}={}", parts[i].name, open[i] ? "*" : std::to_string(parts[i].size)));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

template <typename Part>
Json parts_with_open(const std::vector<bool>& open, const std::vector<Part>& parts) {
  Json json = Json::array();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    json.push_back(Json::object(
        {{"name", parts[i].name}, {"size", open[i] ? Json("*") : Json(parts[i].size)}}));
  }
  return json;
}

/// The names of the open factors, `node.data`.
std::vector<std::string> names_of(const Instance& instance, const OpenSizes& open) {
  std::vector<std::string> names;
  const DeviceGrid& grid = instance.grid;
  for (const Factor& factor : grid.factors()) {
    if (!open.factors[factor.axis][factor.level]) continue;
    names.push_back(fmt::format("{}.{}", grid.hierarchy().levels()[factor.level].name,
                                grid.axes()[factor.axis].name));
  }
  return names;
}

std::string reason_of(const SizesAnswer& answer) {
  if (answer.engine == SearchEngine::Machine) {
    return "theorem T7, size_independence, proved in proofs/theory";
  }
  return "chunk tables for 2, 3 and 4 values and for all beyond";
}

/// `node.data 2, gpu.data 3`.
std::string sizes_text(const SizesAnswer& answer, const Instance& instance) {
  std::vector<std::string> texts;
  const FactorSet kept = simulated_factors(instance);
  const DeviceGrid& grid = instance.grid;
  for (std::size_t f = 0, digit = 0; f < grid.factors().size(); ++f) {
    if ((kept >> f & 1U) == 0) continue;
    const Factor& factor = grid.factors()[f];
    texts.push_back(fmt::format("{}.{} {}", grid.hierarchy().levels()[factor.level].name,
                                grid.axes()[factor.axis].name, answer.sizes[digit++]));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

OpenSizes OpenSizes::all(const DeviceGrid& grid) {
  const std::size_t columns = grid.hierarchy().levels().size();
  OpenSizes open{std::vector<bool>(columns), std::vector<bool>(grid.axes().count()),
                 std::vector<std::vector<bool>>(grid.axes().count(), std::vector<bool>(columns))};
  for (const Factor& factor : grid.factors()) open.factors[factor.axis][factor.level] = true;
  return open;
}

FactorSet OpenSizes::of(const DeviceGrid& grid) const {
  FactorSet set = 0;
  for (const Factor& factor : grid.factors()) {
    if (factors[factor.axis][factor.level]) set |= grid.factor_at(factor.axis, factor.level);
  }
  return set;
}

std::string OpenSizes::hierarchy_text(const Hierarchy& hierarchy) const {
  return text_of(levels, hierarchy.levels());
}

std::string OpenSizes::axes_text(const Axes& named) const {
  return text_of(axes, std::vector<Axis>(named.begin(), named.end()));
}

std::string OpenSizes::placement_text(const Placement& placement) const {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    std::vector<std::string> row;
    for (std::size_t j = 0; j < factors[i].size(); ++j) {
      row.push_back(factors[i][j] ? "*" : std::to_string(placement.factors[i][j]));
    }
    rows.push_back(fmt::format("[{}]", fmt::join(row, " ")));
  }
  return fmt::format("[{}]", fmt::join(rows, " "));
}

Json OpenSizes::hierarchy_json(const Hierarchy& hierarchy) const {
  return parts_with_open(levels, hierarchy.levels());
}

Json OpenSizes::axes_json(const Axes& named) const {
  return parts_with_open(axes, std::vector<Axis>(named.begin(), named.end()));
}

Json OpenSizes::placement_json(const Placement& placement) const {
  Json rows = Json::array();
  for (std::size_t i = 0; i < factors.size(); ++i) {
    Json row = Json::array();
    for (std::size_t j = 0; j < factors[i].size(); ++j) {
      row.push_back(factors[i][j] ? Json("*") : Json(placement.factors[i][j]));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<OpenSizes> close_sizes(InstanceSpec& spec) {
  const auto text = [](std::optional<std::string>& given) { return given ? &*given : nullptr; };
  return close_texts({text(spec.hierarchy),
                      text(spec.axes),
                      text(spec.placement),
                      {"--hierarchy"},
                      {"--axes"},
                      {"--placement"}});
}

std::optional<OpenSizes> close_sizes(const std::string& file, std::string& program) {
  // Header lines precede the program; each has its key first.
  std::string values[3];
  std::size_t begins[3] = {};
  bool present[3] = {};
  constexpr std::string_view keys[3] = {"hierarchy", "axes", "placement"};
  for (std::size_t line = 0; line < program.size();) {
    const std::size_t end = std::min(program.find('\n', line), program.size());
    const std::size_t word = program.find_first_not_of(" \t\r", line);
    for (std::size_t i = 0; i < 3 && word < end; ++i) {
      if (present[i] || program.compare(word, keys[i].size(), keys[i]) != 0) continue;
      const std::size_t after = word + keys[i].size();
      if (after >= end || (program[after] != ' ' && program[after] != '\t')) continue;
      present[i] = true;
      begins[i] = after;
      values[i] = program.substr(after, end - after);
    }
    line = end + 1;
  }
  const auto text = [&](std::size_t i) { return present[i] ? &values[i] : nullptr; };
  const auto where = [&](std::size_t i) { return position_at(file, program, begins[i]); };
  const std::string before[3] = {values[0], values[1], values[2]};
  auto open = close_texts({text(0), text(1), text(2), where(0), where(1), where(2)});
  if (!open) return open;
  std::size_t order[3] = {0, 1, 2};
  std::ranges::sort(order, {}, [&](std::size_t i) { return begins[i]; });
  for (std::size_t i = 3; i-- > 0;) {
    const std::size_t key = order[i];
    if (present[key]) program.replace(begins[key], before[key].size(), values[key]);
  }
  return open;
}

void require_known_for_all_sizes(const Terms& terms) {
  if (terms.of_paper()) return;
  throw InputError({"--all-sizes"},
                   "knows the five collectives and the goal allreduce only, "
                   "expected no other collectives and no other goal");
}

std::string to_string(const SizesAnswer& answer, const std::string& what, const Instance& instance,
                      const OpenSizes& open) {
  const std::vector<std::string> names = names_of(instance, open);
  const std::string all = names.empty()
                              ? "no size is open"
                              : fmt::format("every size ≥ 2 of {}", fmt::join(names, ", "));
  switch (answer.outcome) {
    case Outcome::Established:
      return fmt::format("{} for {}: {}", what, all, reason_of(answer));
    case Outcome::Refuted:
      return fmt::format("not {} for {}: not for {}", what, all, sizes_text(answer, instance));
    default:
      return fmt::format("undecided whether {} for {}", what, all);
  }
}

Json json_of(const SizesAnswer& answer, const Instance& instance, const OpenSizes& open) {
  const bool established = answer.outcome == Outcome::Established;
  return Json::object(
      {{"outcome", to_string(answer.outcome)},
       {"of", Json::array_of(names_of(instance, open))},
       {"reason", established ? Json(reason_of(answer)) : Json()},
       {"sizes",
        answer.outcome == Outcome::Refuted ? Json(sizes_text(answer, instance)) : Json()}});
}

}  // namespace p2
