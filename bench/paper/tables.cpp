#include "bench/paper/tables.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/csv_table.h"

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
  const auto algorithm = algorithm_called(table.text(row, "algorithm"));
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

}  // namespace p2::paper
