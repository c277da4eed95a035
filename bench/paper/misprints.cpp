#include "bench/paper/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace p2::paper {
namespace {

/// Times are printed with two digits behind the point, zeros at the end left out.
constexpr double kRounding = 0.005;

/// Half of the last digit that is printed of a speedup; `1` stands for 1.00.
double rounding_of(const std::string& printed) {
  const std::size_t point = printed.find('.');
  if (point == std::string::npos) return kRounding;
  return 0.5 * std::pow(10.0, -static_cast<double>(printed.size() - point - 1));
}

/// Whether the printed speedup is the quotient of the two times, all of them rounded.
bool speedup_fits(const MeasuredRow& row) {
  const double printed = std::atof(row.speedup_text.c_str());
  const double half = rounding_of(row.speedup_text) * (1 + 1e-9);
  const double low = (row.allreduce - kRounding) / (row.best + kRounding);
  const double high = (row.allreduce + kRounding) / (row.best - kRounding);
  return printed >= low - half && printed <= high + half;
}

void check_speedups(const Tables& tables, std::vector<Misprint>& found) {
  const auto check = [&](const std::string& where, const MeasuredRow& row) {
    if (speedup_fits(row)) return;
    found.push_back(
        {where, fmt::format("speedup {}", row.speedup_text),
         fmt::format("{} / {} = {:.4f}", row.allreduce, row.best, row.allreduce / row.best)});
  };
  for (const MeasuredRow& row : tables.appendix) check("appendix, " + name_of(row.where), row);
  for (const Table4Row& row : tables.table4) check("table 4, " + row.label, row.printed);
}

void check_tables_3_and_4(const Tables& tables, std::vector<Misprint>& found) {
  const auto differs = [&](const std::string& where, const char* what, double here, double there) {
    if (here == there) return;
    found.push_back({where, fmt::format("{} {}", what, here), fmt::format("appendix: {}", there)});
  };
  for (const Table3Row& row : tables.table3) {
    for (const std::size_t axis : {0U, 1U}) {
      for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree}) {
        const MeasuredRow* const there =
            find(tables, {{row.system, row.axes, std::to_string(axis)}, row.placement, algorithm});
        if (there == nullptr) continue;
        differs(fmt::format("table 3, {}, axis {}, {}", row.label, axis, to_string(algorithm)),
                "AllReduce", row.seconds[axis][static_cast<std::size_t>(algorithm)],
                there->allreduce);
      }
    }
  }
  for (const Table4Row& row : tables.table4) {
    const MeasuredRow* const there = find(tables, row.printed.where);
    if (there == nullptr) continue;
    differs("table 4, " + row.label, "AllReduce", row.printed.allreduce, there->allreduce);
    differs("table 4, " + row.label, "optimal", row.printed.best, there->best);
    if (row.printed.speedup_text != there->speedup_text) {
      found.push_back({"table 4, " + row.label, "speedup " + row.printed.speedup_text,
                       "appendix: " + there->speedup_text});
    }
  }
}

void check_counts(const Tables& tables, const Systems& systems, std::vector<Misprint>& found) {
  for (const AxesRow& row : tables.axes) {
    std::size_t programs = 0;
    for (const std::string& placement : placements(row.reduction, systems)) {
      programs += predict({row.reduction, placement, Algorithm::Ring}, systems).programs.size();
    }
    if (programs == row.programs) continue;
    found.push_back({"appendix, " + name_of(row.reduction),
                     fmt::format("{} programs", row.programs),
                     fmt::format("{} programs", programs)});
  }
  for (const Table4Row& row : tables.table4) {
    const AxesRow* const there = find(tables, row.printed.where.reduction);
    if (there == nullptr) continue;
    const std::string& outperform =
        there->outperform[static_cast<std::size_t>(row.printed.where.algorithm)];
    if (row.programs == there->programs && std::to_string(row.outperform) == outperform) continue;
    found.push_back({"table 4, " + row.label,
                     fmt::format("{} of {} programs", row.outperform, row.programs),
                     fmt::format("appendix: {} of {}", outperform, there->programs)});
  }
}

/// A reduction in which no program is said to be faster and yet a speedup is printed, or the other
/// way round.
void check_outperforming(const Tables& tables, std::vector<Misprint>& found) {
  for (const AxesRow& row : tables.axes) {
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree}) {
      const std::string& count = row.outperform[static_cast<std::size_t>(algorithm)];
      const MeasuredRow* fastest = nullptr;
      for (const MeasuredRow& each : tables.appendix) {
        if (each.where.reduction != row.reduction || each.where.algorithm != algorithm) continue;
        if (fastest == nullptr ||
            std::atof(each.speedup_text.c_str()) > std::atof(fastest->speedup_text.c_str())) {
          fastest = &each;
        }
      }
      if (fastest == nullptr || count.empty()) continue;
      if ((count == "0") == (fastest->speedup_text == "1")) continue;
      found.push_back(
          {fmt::format("appendix, {}, {}", name_of(row.reduction), to_string(algorithm)),
           count + " programs faster than AllReduce",
           fmt::format("largest speedup printed: {}, with {}", fastest->speedup_text,
                       fastest->where.placement)});
    }
  }
}

/// `4,8` reduced over 0 for `8,4` reduced over 1: the same groups, renamed; empty otherwise.
Reduction mirrored(const Reduction& reduction) {
  const std::size_t comma = reduction.axes.find(',');
  if (comma == std::string::npos || reduction.axes.find(',', comma + 1) != std::string::npos) {
    return {};
  }
  return {reduction.system,
          reduction.axes.substr(comma + 1) + "," + reduction.axes.substr(0, comma),
          reduction.reduce == "0" ? "1" : "0"};
}

void check_simulation_times(const Tables& tables, std::vector<Misprint>& found) {
  constexpr double kFar = 3;
  for (const AxesRow& row : tables.axes) {
    const AxesRow* const other = find(tables, mirrored(row.reduction));
    if (other == nullptr) continue;
    for (const std::size_t algorithm : {0U, 1U}) {
      const double here = std::atof(row.simulation[algorithm].c_str());
      const double there = std::atof(other->simulation[algorithm].c_str());
      const double sibling = std::atof(row.simulation[1 - algorithm].c_str());
      if (here == 0 || there == 0 || sibling == 0) continue;
      const auto far = [&](double from) { return here > kFar * from || from > kFar * here; };
      if (!far(there) || !far(sibling)) continue;
      found.push_back(
          {fmt::format("appendix, {}", name_of(row.reduction)),
           fmt::format("simulation time, {}: {}", algorithm == 0 ? "ring" : "tree",
                       row.simulation[algorithm]),
           fmt::format("mirrored axes: {}; {}: {}", other->simulation[algorithm],
                       algorithm == 0 ? "tree" : "ring", row.simulation[1 - algorithm])});
    }
  }
}

/// Everywhere else the simulation of tree took longer than that of ring.
void check_simulation_order(const Tables& tables, std::vector<Misprint>& found) {
  for (const AxesRow& row : tables.axes) {
    const double ring = std::atof(row.simulation[0].c_str());
    const double tree = std::atof(row.simulation[1].c_str());
    if (tree == 0 || ring <= tree) continue;
    found.push_back(
        {"appendix, " + name_of(row.reduction),
         fmt::format("simulation times, ring: {}, tree: {}", row.simulation[0], row.simulation[1]),
         "everywhere else tree took longer"});
  }
}

/// The percentages are of 124, 76 and 200 cases.
void check_percentages(const Tables& tables, std::vector<Misprint>& found) {
  for (const Table5Row& row : tables.table5) {
    const int cases = row.machine == "A100" ? 124 : row.machine == "V100" ? 76 : 200;
    for (const std::string& percent : row.percent) {
      const double printed = std::atof(percent.c_str());
      const double nearest = std::round(printed * cases / 100);
      if (std::abs(100 * nearest / cases - printed) <= 0.05 + 1e-9) continue;
      found.push_back(
          {"table 5, " + row.machine, percent + " %",
           fmt::format("{} of {} are {:.2f} %", nearest, cases, 100 * nearest / cases)});
    }
  }
}

}  // namespace

std::string name_of(const Reduction& reduction) {
  std::string axes = reduction.axes;
  std::replace(axes.begin(), axes.end(), ',', ' ');
  return fmt::format("{} [{}] reduce {}", reduction.system, axes, reduction.reduce);
}

std::string name_of(const Case& where) {
  return fmt::format("{} {} {}", name_of(where.reduction), where.placement,
                     to_string(where.algorithm));
}

std::vector<Misprint> misprints(const Tables& tables, const Systems& systems) {
  std::vector<Misprint> found;
  check_speedups(tables, found);
  check_tables_3_and_4(tables, found);
  check_counts(tables, systems, found);
  check_outperforming(tables, found);
  check_simulation_times(tables, found);
  check_simulation_order(tables, found);
  check_percentages(tables, found);
  return found;
}

}  // namespace p2::paper
