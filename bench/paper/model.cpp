#include "bench/paper/model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/text_cursor.h"
#include "engine/cost/calibration.h"
#include "engine/program/program.h"
#include "engine/program/synthesis.h"

namespace p2::paper {
namespace {

CsvTable read_csv(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError({path}, "cannot be read, expected a table of the paper");
  return {path, std::string(std::istreambuf_iterator<char>(file), {})};
}

Reduction read_reduction(const CsvTable& table, std::size_t row) {
  return {table.text(row, "system"), table.text(row, "axes"), table.text(row, "reduce")};
}

MeasuredRow read_measured(const CsvTable& table, std::size_t row) {
  const auto algorithm = find_algorithm(table.text(row, "algorithm"));
  if (!algorithm) throw InputError(table.position(row), "no algorithm, expected ring or tree");
  return {{read_reduction(table, row), table.text(row, "placement"), *algorithm},
          table.positive(row, "allreduce"),
          table.positive(row, "best"),
          table.text(row, "speedup")};
}

unsigned count(const CsvTable& table, std::size_t row, const char* column) {
  return static_cast<unsigned>(table.positive(row, column));
}

void read_appendix(const std::string& path, Tables& tables) {
  const CsvTable table = read_csv(path);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    tables.appendix.push_back(read_measured(table, row));
  }
}

}  // namespace

Tables read_tables(const std::string& folder) {
  Tables tables;
  read_appendix(folder + "/measured.csv", tables);
  const std::string more = folder + "/measured-more.csv";
  if (std::filesystem::exists(more)) read_appendix(more, tables);
  const CsvTable axes = read_csv(folder + "/axes.csv");
  for (std::size_t row = 0; row < axes.rows(); ++row) {
    tables.axes.push_back({read_reduction(axes, row),
                           {axes.text(row, "simulation_ring"), axes.text(row, "simulation_tree")},
                           {axes.text(row, "outperform_ring"), axes.text(row, "outperform_tree")},
                           count(axes, row, "programs")});
  }
  const CsvTable third = read_csv(folder + "/table3.csv");
  for (std::size_t row = 0; row < third.rows(); ++row) {
    tables.table3.push_back({third.text(row, "label"),
                             third.text(row, "system"),
                             third.text(row, "axes"),
                             third.text(row, "placement"),
                             {{third.positive(row, "ring0"), third.positive(row, "tree0")},
                              {third.positive(row, "ring1"), third.positive(row, "tree1")}}});
  }
  const CsvTable fourth = read_csv(folder + "/table4.csv");
  for (std::size_t row = 0; row < fourth.rows(); ++row) {
    tables.table4.push_back({fourth.text(row, "label"), read_measured(fourth, row),
                             count(fourth, row, "outperform"), count(fourth, row, "programs")});
  }
  const CsvTable fifth = read_csv(folder + "/table5.csv");
  for (std::size_t row = 0; row < fifth.rows(); ++row) {
    Table5Row& line = tables.table5.emplace_back(Table5Row{fifth.text(row, "machine"), {}});
    for (const char* column : {"top1", "top2", "top3", "top5", "top6", "top10"}) {
      line.percent.push_back(fifth.text(row, column));
    }
  }
  return tables;
}

const MeasuredRow* find(const Tables& tables, const Case& where) {
  for (const MeasuredRow& row : tables.appendix) {
    if (row.where == where) return &row;
  }
  return nullptr;
}

const AxesRow* find(const Tables& tables, const Reduction& reduction) {
  for (const AxesRow& row : tables.axes) {
    if (row.reduction == reduction) return &row;
  }
  return nullptr;
}

namespace {

const System& system_of(const Reduction& reduction, const Systems& systems) {
  const auto found = systems.find(reduction.system);
  if (found != systems.end()) return found->second;
  throw InputError({"tables"},
                   "no system is called " + reduction.system + ", expected one of the paper's");
}

Instance instance_of(const Case& where, const System& system) {
  const Axes axes = parse_axes("axes", where.reduction.axes);
  return {DeviceGrid(system.hierarchy, axes,
                     parse_placement("placement", where.placement, system.hierarchy, axes)),
          parse_reduction("reduce", where.reduction.reduce, axes), HierarchyKind::Collapsed};
}

/// Fits the named bandwidths of a system to the rows that it may be fitted to.
System fit(const System& system, const std::vector<std::string>& names, const Tables& tables) {
  const Network network(system, {system.name});
  StepPricer pricer(network, Algorithm::Ring);
  std::vector<Measurement> measurements;
  for (const MeasuredRow& row : tables.appendix) {
    if (row.where.reduction.system != system.name || !fitted_to(row.where)) continue;
    const Instance instance = instance_of(row.where, system);
    measurements.push_back({price_allreduce(instance.classes(), instance.grid.devices(), pricer),
                            static_cast<double>(kBytes), row.allreduce / kRuns});
  }
  std::vector<std::uint32_t> links;
  for (std::uint32_t i = 0; i < system.interconnects.size(); ++i) {
    if (std::find(names.begin(), names.end(), system.interconnects[i].name) != names.end()) {
      links.push_back(i);
    }
  }
  return fitted(network, links, measurements);
}

}  // namespace

Systems read_systems(const std::string& folder) {
  Systems systems;
  for (const char* name : {"a100-2nodes", "a100-4nodes", "v100-2nodes", "v100-4nodes"}) {
    const std::string path = folder + "/" + name + ".json";
    std::ifstream file(path, std::ios::binary);
    if (!file) throw InputError({path}, "cannot be read, expected a system of the paper");
    systems.emplace(name,
                    parse_system(path, std::string(std::istreambuf_iterator<char>(file), {})));
  }
  return systems;
}

Systems calibrated(const Systems& systems, const Tables& tables) {
  Systems after = systems;
  after["a100-2nodes"] = fit(systems.at("a100-2nodes"), {"NIC"}, tables);
  after["v100-2nodes"] = fit(systems.at("v100-2nodes"), {"NIC", "CPU memory"}, tables);
  for (const std::string machine : {"a100", "v100"}) {
    // The same interconnects in the same order; only their spans are of two nodes or of four.
    const auto& small = after[machine + "-2nodes"].interconnects;
    auto& large = after[machine + "-4nodes"].interconnects;
    for (std::size_t i = 0; i < large.size(); ++i) {
      large[i].bytes_per_second = small[i].bytes_per_second;
    }
  }
  return after;
}

bool fitted_to(const Case& where) {
  return where.algorithm == Algorithm::Ring && where.reduction.system.ends_with("-2nodes");
}

Prediction predict(const Case& where, const Systems& systems) {
  const System& system = system_of(where.reduction, systems);
  const Instance instance = instance_of(where, system);
  const Network network(system, {system.name});
  StepPricer pricer(network, where.algorithm);
  const auto seconds = [](const ProgramCost& cost) {
    return kRuns * to_double(cost.seconds(Rational(kBytes)));
  };
  const ProgramCost allreduce =
      price_allreduce(instance.classes(), instance.grid.devices(), pricer);
  Prediction prediction;
  prediction.allreduce = seconds(allreduce);
  for (const Group& group : instance.classes()) {
    prediction.cross_node =
        prediction.cross_node || network.node_of(group.front()) != network.node_of(group.back());
  }
  ProgramPricer programs(pricer);
  std::vector<ProgramCost> costs;
  std::vector<std::string> names;
  const PlacementPrograms found = find_programs({instance}, {}).front();
  found.for_each([&](const auto& steps) { names.push_back(to_string(steps, &instance)); });
  found.for_each_lowered([&](const Program& program) {
    costs.push_back(programs.price(program, Dialect::Published).cost);
  });
  std::vector<const ProgramCost*> order;
  for (const ProgramCost& cost : costs) {
    order.push_back(&cost);
    prediction.programs.push_back(seconds(cost));
    if (cost.seconds_per_byte < allreduce.seconds_per_byte) ++prediction.faster;
  }
  const std::size_t best = ranking(order, Rational(kBytes)).front();
  prediction.best = prediction.programs[best];
  prediction.best_program = names[best];
  return prediction;
}

std::vector<std::string> placements(const Reduction& reduction, const Systems& systems) {
  std::vector<std::string> all;
  for (const Placement& each : enumerate_placements(system_of(reduction, systems).hierarchy,
                                                    parse_axes("axes", reduction.axes), {"axes"})) {
    all.push_back(to_string(each));
  }
  return all;
}

std::vector<Compared> compare(const Tables& tables, const Systems& paper, const Systems& fitted) {
  std::vector<Compared> rows;
  for (const MeasuredRow& row : tables.appendix) {
    rows.push_back({&row, predict(row.where, paper), predict(row.where, fitted)});
  }
  return rows;
}

Accuracy accuracy(const std::vector<Compared>& rows, Prediction Compared::*prediction,
                  const std::function<bool(const Case&)>& wanted) {
  constexpr double kNear = 0.2;
  Accuracy result;
  std::vector<double> predicted[2];
  std::vector<double> measured[2];
  for (const Compared& row : rows) {
    if (!wanted(row.measured->where)) continue;
    const Prediction& said = row.*prediction;
    predicted[0].push_back(said.allreduce);
    measured[0].push_back(row.measured->allreduce);
    predicted[1].push_back(said.best);
    measured[1].push_back(row.measured->best);
    ++result.rows;
    if (!said.cross_node) continue;
    ++result.cross_node;
    const double speedup = row.measured->allreduce / row.measured->best;
    if (std::abs(said.allreduce / said.best / speedup - 1) <= kNear) ++result.speedups;
  }
  if (result.rows == 0) return result;
  result.allreduce_correlation = rank_correlation(predicted[0], measured[0]);
  result.allreduce_error = median_relative_error(predicted[0], measured[0]);
  result.best_correlation = rank_correlation(predicted[1], measured[1]);
  result.best_error = median_relative_error(predicted[1], measured[1]);
  return result;
}

}  // namespace p2::paper
