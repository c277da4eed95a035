#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/base/files.h"
#include "engine/base/plot.h"
#include "engine/cost/calibration.h"
#include "engine/cost/nccl_model.h"
#include "engine/cost/pricing.h"
#include "p2/bytes.h"

namespace p2 {
namespace {

constexpr double kLargeCall = 512.0 * (1 << 20);  // from here on the bandwidth counts

/// A measured run and its prediction.
struct Comparison {
  const MeasuredRun* run = nullptr;
  NcclLine line;
  double predicted_us = 0;

  bool counts() const { return run->time_us && !run->excluded; }
  /// max(predicted / measured, measured / predicted) − 1.
  double error() const {
    return std::max(predicted_us / *run->time_us, *run->time_us / predicted_us) - 1;
  }
};

Comparison compare(const MeasuredRun& run, const NcclParameters& parameters) {
  const std::vector<NcclLine> lines =
      nccl_lines(run.communicator, run.collective, run.choice, parameters);
  const NcclLine& line = fastest_at(lines, run.bytes);
  return {&run, line, line.at(run.bytes)};
}

std::vector<Comparison> compare_all(const std::vector<MeasuredRun>& runs,
                                    const NcclParameters& parameters) {
  std::vector<Comparison> all;
  all.reserve(runs.size());
  for (const MeasuredRun& run : runs) all.push_back(compare(run, parameters));
  return all;
}

/// Errors of a set of rows.
struct Errors {
  std::size_t rows = 0;
  double median = 0;
  double percentile90 = 0;
  double worst = 0;
  std::string worst_id;
  double percentile75 = 0;
  double rank_correlation = 1;  ///< of the times
};

double percentile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// There must be at least one row.
Errors errors_of(const std::vector<const Comparison*>& rows) {
  Errors errors{rows.size(), 0, 0, -1, {}, 0, 1};
  std::vector<double> sorted;
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const Comparison* each : rows) {
    sorted.push_back(each->error());
    predicted.push_back(each->predicted_us);
    measured.push_back(*each->run->time_us);
    if (sorted.back() > errors.worst) {
      errors.worst = sorted.back();
      errors.worst_id = each->run->id;
    }
  }
  std::sort(sorted.begin(), sorted.end());
  errors.median = percentile(sorted, 0.5);
  errors.percentile75 = percentile(sorted, 0.75);
  errors.percentile90 = percentile(sorted, 0.9);
  if (rows.size() > 1) errors.rank_correlation = rank_correlation(predicted, measured);
  return errors;
}

std::string choice_name(const NcclChoice& choice) {
  return choice.algorithm ? std::string(to_string(*choice.algorithm)) : "auto";
}

using Groups = std::vector<std::pair<std::string, std::vector<const Comparison*>>>;

/// The rows that count, by a key, in the order in which the keys come first.
Groups grouped(const std::vector<Comparison>& all,
               const std::function<std::string(const Comparison&)>& key) {
  Groups groups;
  std::map<std::string, std::size_t> index;
  for (const Comparison& each : all) {
    if (!each.counts()) continue;
    const auto [found, is_new] = index.try_emplace(key(each), groups.size());
    if (is_new) groups.push_back({found->first, {}});
    groups[found->second].second.push_back(&each);
  }
  return groups;
}

/// Spearman's correlation, over systems, of the median bus bandwidths of large all-reduces.
std::optional<double> correlation_over_systems(const std::vector<Comparison>& all) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const auto& [system, rows] : grouped(all, [](const Comparison& each) {
         return each.run->collective == NcclCollective::AllReduce && each.run->bytes >= kLargeCall
                    ? each.run->source + each.run->system
                    : std::string();
       })) {
    if (system.empty()) continue;
    std::vector<double> model;
    std::vector<double> truth;
    for (const Comparison* each : rows) {
      const double bus = bus_factor(each->run->collective, each->run->communicator.ranks()) *
                         each->run->bytes / 1e3;
      model.push_back(bus / each->predicted_us);
      truth.push_back(bus / *each->run->time_us);
    }
    std::sort(model.begin(), model.end());
    std::sort(truth.begin(), truth.end());
    predicted.push_back(percentile(model, 0.5));
    measured.push_back(percentile(truth, 0.5));
  }
  if (measured.size() < 3) return std::nullopt;
  return rank_correlation(predicted, measured);
}

// Fitting.

/// The sum over systems of the root of their rows times the mean of |log(predicted / measured)|,
/// so that long tables do not outweigh short ones, nor single rows anything.
double misfit(const std::vector<const MeasuredRun*>& runs, const NcclParameters& parameters) {
  constexpr double kMaxErrorPerRow = 1.2;
  std::map<std::string, std::pair<double, double>> by_system;
  for (const MeasuredRun* run : runs) {
    const double error = std::abs(std::log(compare(*run, parameters).predicted_us / *run->time_us));
    auto& [sum, rows] =
        by_system[run->source + run->system + std::string(to_string(run->collective))];
    sum += std::min(error, kMaxErrorPerRow);
    rows += 1;
  }
  double total = 0;
  for (const auto& [system, of] : by_system) total += of.first / std::sqrt(of.second);
  return total;
}

struct Fitted {
  NcclParameters parameters;
  std::vector<std::string> changes;  ///< `NIC efficiency: 0.94 -> 0.91`
};

/// Coordinate descent over all parameters that some run depends on, in steps that shrink from 30 %.
/// Efficiencies stay at most 1. Deterministic.
Fitted fit(const std::vector<const MeasuredRun*>& runs, const NcclParameters& start) {
  constexpr int kFitSweeps = 6;
  constexpr double kFirstStep = 1.3;
  Fitted fitted{start, {}};
  std::map<double*, std::string> values;
  for (const MeasuredRun* run : runs) {
    for (const NcclParameters::Named& each : fitted.parameters.fittable(run->communicator)) {
      std::string name = each.name;
      if (name.starts_with("NIC") || name.starts_with("network")) {
        name = fmt::format("{} {}", to_string(run->communicator.fabric), name);
      } else if (name.starts_with("GPU link")) {
        name = fmt::format("{} {}", to_string(run->communicator.generation), name);
      }
      values.try_emplace(each.value, std::move(name));
    }
  }
  std::map<double*, double> before;
  for (const auto& [value, name] : values) before[value] = *value;
  double best = misfit(runs, fitted.parameters);
  double step = kFirstStep;
  for (int sweep = 0; sweep < kFitSweeps; ++sweep, step = std::sqrt(step)) {
    for (const auto& [value, name] : values) {
      const bool is_part = name.find("efficiency") != std::string::npos;
      for (const double factor : {step, 1 / step}) {
        const double old = *value;
        *value = is_part ? std::min(1.0, old * factor) : old * factor;
        const double now = misfit(runs, fitted.parameters);
        if (now < best) {
          best = now;
          break;
        }
        *value = old;
      }
    }
  }
  for (const auto& [value, name] : values) {
    if (*value == before[value]) continue;
    fitted.changes.push_back(fmt::format("{}: {:.3g} -> {:.3g}", name, before[value], *value));
  }
  std::sort(fitted.changes.begin(), fitted.changes.end());
  return fitted;
}

std::vector<const MeasuredRun*> usable(const std::vector<MeasuredRun>& runs) {
  std::vector<const MeasuredRun*> found;
  for (const MeasuredRun& run : runs) {
    if (run.time_us && !run.excluded) found.push_back(&run);
  }
  return found;
}

/// Every row predicted by a model fitted to the rows of all other sources and systems.
std::vector<Comparison> cross_validated(const std::vector<MeasuredRun>& runs) {
  std::map<std::string, std::vector<const MeasuredRun*>> by_source;
  const auto key = [](const MeasuredRun& run) {
    return run.source.empty() ? run.system : run.source;
  };
  for (const MeasuredRun& run : runs) by_source[key(run)];
  std::map<std::string, NcclParameters> models;
  for (const auto& each : by_source) {
    const auto& source = each.first;
    std::vector<const MeasuredRun*> others = usable(runs);
    std::erase_if(others, [&](const MeasuredRun* run) { return key(*run) == source; });
    models[source] = others.empty() ? NcclParameters() : fit(others, {}).parameters;
  }
  std::vector<Comparison> all;
  for (const MeasuredRun& run : runs) all.push_back(compare(run, models[key(run)]));
  return all;
}

// The report.

Json errors_json(const std::string& name, const Errors& errors) {
  return Json::object({{"name", name},
                       {"rows", errors.rows},
                       {"median_error", errors.median},
                       {"percentile_75", errors.percentile75},
                       {"percentile_90", errors.percentile90},
                       {"rank_correlation", errors.rank_correlation},
                       {"worst_error", errors.worst},
                       {"worst_id", errors.worst_id}});
}

class ComparisonReport {
 public:
  explicit ComparisonReport(const std::vector<Comparison>& all) : all_(all) {}

  Document document() const {
    Document document;
    document.title = "p2-verify cost --compare";
    Json summary = Json::object();
    add(document, summary, "sizes", "collective and size", all_, [](const Comparison& each) {
      return fmt::format("{}, {}", to_string(each.run->collective), size_class(each.run->bytes));
    });
    add(document, summary, "systems", "system", all_,
        [](const Comparison& each) { return each.run->system; });
    add(document, summary, "algorithms", "algorithm of the row", all_,
        [](const Comparison& each) { return choice_name(each.run->choice); });
    if (const auto correlation = correlation_over_systems(all_)) {
      document.line("").line(fmt::format(
          "rank correlation over systems, AllReduce from 512 MiB: {:.3f}", *correlation));
      summary.add("rank_correlation_over_systems", *correlation);
    }
    document.json = Json::object({{"rows", Json::array_of(all_, row_json)}});
    document.json.add("summary", std::move(summary));
    return document;
  }

  /// The rows, for the text.
  Table rows() const {
    Table table{{"id", "bytes", "measured us", "predicted us", "error", "collective",
                 "predicted by", "system"},
                {},
                5};
    for (const Comparison& each : all_) {
      table.rows.push_back(
          {each.run->id, fmt::format("{:.0f}", each.run->bytes),
           each.run->time_us ? fmt::format("{:.4g}", *each.run->time_us) : "",
           fmt::format("{:.4g}", each.predicted_us),
           each.run->excluded  ? "excluded"
           : each.run->time_us ? fmt::format("{:.1f} %", 100 * each.error())
                               : "",
           std::string(to_string(each.run->collective)),
           fmt::format("{} {}", to_string(each.line.algorithm), to_string(each.line.protocol)),
           each.run->system});
    }
    return table;
  }

  static void add(Document& document, Json& summary, const char* key, const char* heading,
                  const std::vector<Comparison>& all,
                  const std::function<std::string(const Comparison&)>& by) {
    Table table{{"rows", "median error", "90 %", "worst", "rank correlation", heading}, {}, 5};
    Json groups = Json::array();
    for (const auto& [name, rows] : grouped(all, by)) {
      const Errors errors = errors_of(rows);
      table.rows.push_back({std::to_string(errors.rows),
                            fmt::format("{:.1f} %", 100 * errors.median),
                            fmt::format("{:.1f} %", 100 * errors.percentile90),
                            fmt::format("{:.0f} % ({})", 100 * errors.worst, errors.worst_id),
                            fmt::format("{:.3f}", errors.rank_correlation), name});
      groups.push_back(errors_json(name, errors));
    }
    if (!table.rows.empty()) {
      if (!document.blocks.empty()) document.line("");
      document.add(std::move(table));
    }
    summary.add(key, std::move(groups));
  }

 private:
  static Json row_json(const Comparison& each) {
    Json row = Json::object({{"id", each.run->id}, {"predicted_us", each.predicted_us}});
    if (each.run->time_us) {
      row.add("measured_us", *each.run->time_us);
      row.add("error", each.error());
    }
    row.add("system", each.run->system);
    row.add("collective", to_string(each.run->collective));
    row.add("bytes", each.run->bytes);
    row.add("algorithm", to_string(each.line.algorithm));
    row.add("protocol", to_string(each.line.protocol));
    row.add("excluded", each.run->excluded);
    return row;
  }

  const std::vector<Comparison>& all_;
};

/// Bus bandwidth over size, measured and predicted: a chart for every collective and system with at
/// least two sizes, two in a row.
std::string draw_comparison(const std::vector<Comparison>& all) {
  constexpr double kChartWidth = 680;
  constexpr double kHeight = 300;
  constexpr std::size_t kColumns = 1;
  std::vector<Chart> charts;
  for (const auto& [title, rows] : grouped(all, [](const Comparison& each) {
         return fmt::format("{}, {}", to_string(each.run->collective), each.run->system);
       })) {
    Series measured{"measured", 0, Series::Mark::Dot};
    Series predicted{"predicted", 1, Series::Mark::Cross};
    std::set<double> sizes;
    for (const Comparison* each : rows) {
      const double bus = bus_factor(each->run->collective, each->run->communicator.ranks()) *
                         each->run->bytes / 1e3;
      if (bus <= 0) continue;
      sizes.insert(each->run->bytes);
      measured.points.push_back({each->run->bytes, bus / *each->run->time_us});
      predicted.points.push_back({each->run->bytes, bus / each->predicted_us});
    }
    if (sizes.size() < 2) continue;
    Chart chart{title, "bytes", "bus bandwidth, GB/s", true, true};
    chart.series = {std::move(measured), std::move(predicted)};
    charts.push_back(std::move(chart));
  }
  const std::size_t lines = std::max<std::size_t>((charts.size() + kColumns - 1) / kColumns, 1);
  Svg svg(kChartWidth * kColumns, kHeight * static_cast<double>(lines));
  for (std::size_t i = 0; i < charts.size(); ++i) {
    const std::size_t row = i / kColumns;
    draw(svg, charts[i], kChartWidth * static_cast<double>(i % kColumns),
         kHeight * static_cast<double>(row), kChartWidth, kHeight);
  }
  return svg.document();
}

}  // namespace

CostAnswer compare_with_measurements(const CostRequest& request,
                                     const std::optional<Communicator>& system) {
  const auto read = [&](const std::string& file) {
    return read_measured_runs(file, read_file(file), system);
  };
  const std::vector<MeasuredRun> runs = read(*request.compare);
  Fitted fitted;
  std::vector<MeasuredRun> fit_runs;
  if (request.fit) {
    fit_runs = read(*request.fit);
    const std::vector<const MeasuredRun*> rows = usable(fit_runs);
    if (rows.empty()) {
      throw InputError({*request.fit}, "no row with a time to fit to, expected at least one");
    }
    fitted = fit(rows, {});
  }
  const std::vector<Comparison> all = compare_all(runs, fitted.parameters);
  const ComparisonReport report(all);
  CostAnswer answer;
  Document& document = answer.document;
  document = report.document();
  if (request.fit) {
    document.line("");
    for (const std::string& change : fitted.changes) document.line("fitted " + change);
    document.json.add("fitted", Json::array_of(fitted.changes));
    const std::vector<Comparison> before = compare_all(runs, {});
    Json unfitted = Json::object();
    Document table;
    ComparisonReport::add(table, unfitted, "sizes", "before the fit", before,
                          [](const Comparison& each) {
                            return fmt::format("{}, {}", to_string(each.run->collective),
                                               size_class(each.run->bytes));
                          });
    document.line("").append(table);
    document.json.add("before_fit", std::move(unfitted));
  }
  if (request.cross_validate) {
    const std::vector<Comparison> held_out = cross_validated(runs);
    Json left_out = Json::object();
    Document table;
    ComparisonReport::add(table, left_out, "sizes", "each system left out of the fit", held_out,
                          [](const Comparison& each) {
                            return fmt::format("{}, {}", to_string(each.run->collective),
                                               size_class(each.run->bytes));
                          });
    ComparisonReport::add(table, left_out, "kinds", "each system left out, by kind", held_out,
                          [](const Comparison& each) {
                            return fmt::format("{}, {}, {}", to_string(each.run->collective),
                                               kind_of(each.run->communicator),
                                               size_class(each.run->bytes));
                          });
    document.line("").append(table);
    document.json.add("cross_validation", std::move(left_out));
  }
  document.line("").add(report.rows());
  if (request.plot) {
    answer.plot = draw_comparison(all);
    answer.document.add(Drawing{"Bus bandwidths, measured and predicted", answer.plot});
  }
  for (const Comparison& each : all) {
    answer.compared.push_back({each.run->id, each.predicted_us, each.run->time_us,
                               std::string(to_string(each.line.algorithm)),
                               std::string(to_string(each.line.protocol)), each.run->excluded});
  }
  return answer;
}

}  // namespace p2
