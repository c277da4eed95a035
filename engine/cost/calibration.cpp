#include "engine/cost/calibration.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "engine/base/text_cursor.h"
#include "engine/cost/nccl_model.h"
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

namespace {

const double kMaxLogFactor = std::log(64.0);
constexpr int kGrid = 256;
constexpr int kSweeps = 64;
constexpr double kNoise = 1e-12;

/// The objective: the sum of squared logarithmic errors for given factors.
class Misfit {
 public:
  Misfit(const Network& network, const std::vector<Measurement>& measurements)
      : network_(network), measurements_(measurements) {}

  double operator()(const std::vector<double>& factors) const {
    double sum = 0;
    for (const Measurement& each : measurements_) {
      const double error = std::log(predicted_seconds(each, network_, factors) / each.seconds);
      sum += error * error;
    }
    return sum;
  }

 private:
  const Network& network_;
  const std::vector<Measurement>& measurements_;
};

/// Golden-section search (Kiefer 1953): the minimum of a unimodal function between `low` and
/// `high`.
template <typename Function>
double golden_section(const Function& misfit, double low, double high) {
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  while (high - low > 1e-9) {
    const double left = high - ratio * (high - low);
    const double right = low + ratio * (high - low);
    if (misfit(left) <= misfit(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return (low + high) / 2;
}

/// Sets the best factor of one interconnect, given the others.
void improve(const Misfit& misfit, std::vector<double>& factors, std::uint32_t interconnect) {
  const auto at = [&](double logarithm) {
    std::vector<double> tried = factors;
    tried[interconnect] = std::exp(logarithm);
    return misfit(tried);
  };
  const double cell = 2 * kMaxLogFactor / kGrid;
  double best = std::log(factors[interconnect]);
  double least = at(best) - kNoise;
  const auto consider = [&](double logarithm) {
    const double value = at(logarithm);
    if (value >= least) return;
    least = value - kNoise;
    best = logarithm;
  };
  for (int i = 0; i <= kGrid; ++i) consider(-kMaxLogFactor + cell * i);
  consider(golden_section(at, best - cell, best + cell));
  factors[interconnect] = std::exp(best);
}

std::int64_t rounded(double bytes_per_second) {
  constexpr int kDigits = 4;
  const double unit = std::pow(10.0, std::floor(std::log10(bytes_per_second)) + 1 - kDigits);
  return std::max<std::int64_t>(1, std::llround(std::round(bytes_per_second / unit) * unit));
}

}  // namespace

double predicted_seconds(const Measurement& measurement, const Network& network,
                         const std::vector<double>& factors) {
  double seconds = 0;
  for (const StepCost* step : measurement.cost.steps) {
    double longest = 0;
    for (const LinkLoad& each : step->busiest) {
      longest = std::max(
          longest, to_double(each.seconds_per_byte) / factors[network.interconnect_of(each.link)]);
    }
    seconds += to_double(step->latency) + longest * measurement.bytes;
  }
  return seconds;
}

System fitted(const Network& network, const std::vector<std::uint32_t>& interconnects,
              const std::vector<Measurement>& measurements) {
  System system = network.system();
  std::vector<double> factors(system.interconnects.size(), 1);
  const Misfit misfit(network, measurements);
  double before = misfit(factors);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (const std::uint32_t interconnect : interconnects) improve(misfit, factors, interconnect);
    const double after = misfit(factors);
    if (before - after < kNoise) break;
    before = after;
  }
  for (const std::uint32_t interconnect : interconnects) {
    if (factors[interconnect] == 1) continue;
    std::int64_t& bandwidth = system.interconnects[interconnect].bytes_per_second;
    bandwidth = rounded(static_cast<double>(bandwidth) * factors[interconnect]);
  }
  return system;
}

namespace {

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0, last; first < order.size(); first = last) {
    for (last = first; last < order.size() && values[order[last]] == values[order[first]];) ++last;
    for (std::size_t i = first; i < last; ++i) {
      rank[order[i]] = static_cast<double>(first + last - 1) / 2;
    }
  }
  return rank;
}

}  // namespace

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

double median_relative_error(std::span<const double> predicted, std::span<const double> measured) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    errors.push_back(std::abs(predicted[i] / measured[i] - 1));
  }
  std::sort(errors.begin(), errors.end());
  const std::size_t middle = errors.size() / 2;
  return errors.size() % 2 == 1 ? errors[middle] : (errors[middle - 1] + errors[middle]) / 2;
}

}  // namespace p2
