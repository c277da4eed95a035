#include "engine/cost/measured_runs.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "engine/base/csv_table.h"
#include "engine/cost/communicator.h"
#include "p2/error.h"

namespace p2 {
namespace {

char lower(char ch) { return static_cast<char>(std::tolower(static_cast<unsigned char>(ch))); }

/// Whether a text has a word, given in lower case, in any case.
bool mentions(std::string_view text, std::string_view word) {
  return std::search(text.begin(), text.end(), word.begin(), word.end(),
                     [](char a, char b) { return lower(a) == b; }) != text.end();
}

/// A finite number of at least 0 at the start of a text, otherwise nothing.
std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

NcclCollective collective_of(std::string_view name) {
  std::string letters;
  for (const char ch : name) {
    if (std::isalpha(static_cast<unsigned char>(ch)) != 0) letters += lower(ch);
  }
  const auto has = [&](std::string_view part) { return letters.find(part) != std::string::npos; };
  if (has("gather")) return NcclCollective::AllGather;
  if (has("scatter")) return NcclCollective::ReduceScatter;
  if (has("alltoall")) return NcclCollective::AllToAll;
  if (has("sendrecv") || has("sendreceive")) return NcclCollective::SendReceive;
  if (has("broadcast")) return NcclCollective::Broadcast;
  if (has("allreduce")) return NcclCollective::AllReduce;
  return has("reduce") ? NcclCollective::Reduce : NcclCollective::AllReduce;
}

/// The values of a row, empty where the table has no such column.
class RowReader {
 public:
  RowReader(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  std::string text(std::string_view column) const {
    return table_.has(column) ? table_.text(row_, column) : std::string();
  }
  double number(std::string_view column, double otherwise) const {
    return number_of(text(column)).value_or(otherwise);
  }
  std::uint32_t count(std::string_view column, double most) const {
    return static_cast<std::uint32_t>(std::clamp(number(column, 1), 1.0, most));
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
};

MeasuredRun read_row(const CsvTable& table, std::size_t number) {
  const RowReader row(table, number);
  RunDescription run;
  run.gpu = row.text("gpu");
  run.nodes = row.count("nodes", 1 << 20);
  run.gpus_per_node = row.count("gpus_per_node", 1 << 10);
  run.link = row.text("intra");
  run.link_gbytes = row.number("intra_gbytes_per_s_per_direction", 0);
  run.nics_per_node = row.number("nics_per_node", 0);
  run.nic_gbits = row.number("nic_gbit_per_s", 0);
  run.fabric = row.text("fabric");
  const std::string algorithm = row.text("algo");
  run.sharp = mentions(algorithm, "sharp") || mentions(run.fabric, "sharp");
  MeasuredRun measured;
  measured.id = row.text("id");
  if (measured.id.empty()) measured.id = std::to_string(number + 1);
  measured.source = row.text("source");
  measured.system = fmt::format("{} x {} {}", run.nodes, run.gpus_per_node, run.gpu);
  if (run.nodes > 1) {
    measured.system +=
        fmt::format(", {} x {} Gbit/s {}", run.nics_per_node, run.nic_gbits, run.fabric);
  }
  measured.communicator = communicator_of(run);
  measured.collective = collective_of(row.text("collective"));
  measured.choice = {find_nccl_algorithm(algorithm), find_nccl_protocol(row.text("proto"))};
  measured.bytes = std::min(row.number("bytes", 0), 0x1p60);
  const double time = row.number("time_us", 0);
  if (time > 0) measured.time_us = time;
  measured.excluded = mentions(row.text("note"), "exclude");
  return measured;
}

/// The words of a line.
std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Lines such as `1048576 262144 float sum -1 45.2 23.2 40.6 0 44.9 23.3 40.9 0`: size, count,
/// type, operation, root, then time (out of place) in microseconds, algbw and busbw.
std::vector<MeasuredRun> read_nccl_tests(const std::string& source, const std::string& text,
                                         const Communicator& communicator) {
  std::vector<MeasuredRun> runs;
  NcclCollective collective = NcclCollective::AllReduce;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (mentions(line, "_perf")) collective = collective_of(line);
    const std::vector<std::string> words = words_of(line);
    constexpr std::size_t kTime = 5;
    if (words.size() < kTime + 3 || words[0].starts_with('#')) continue;
    const auto bytes = number_of(words[0]);
    const auto time = number_of(words[kTime]);
    if (!bytes || !number_of(words[1]) || !time || number_of(words[2])) continue;
    MeasuredRun run;
    run.id = fmt::format("line {}", number);
    run.source = source;
    run.system = source;
    run.communicator = communicator;
    run.collective = collective;
    run.bytes = *bytes;
    if (*time > 0) run.time_us = time;
    runs.push_back(std::move(run));
  }
  if (runs.empty()) {
    throw InputError({source}, "no line with a size and a time, expected output of nccl-tests");
  }
  return runs;
}

}  // namespace

std::vector<MeasuredRun> read_measured_runs(const std::string& source, const std::string& text,
                                            const std::optional<Communicator>& system) {
  if (text.find("out-of-place") != std::string::npos) {
    if (!system) {
      throw InputError({source},
                       "output of nccl-tests does not name its hardware, expected --system");
    }
    return read_nccl_tests(source, text, *system);
  }
  const CsvTable table(source, text);
  for (const std::string_view column : {"gpu", "bytes"}) {
    if (!table.has(column)) {
      throw InputError({source},
                       fmt::format("no column \"{}\", expected a table of measured runs or output "
                                   "of nccl-tests",
                                   column));
    }
  }
  std::vector<MeasuredRun> runs;
  runs.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) runs.push_back(read_row(table, row));
  return runs;
}

}  // namespace p2
