#include "cli/cost/cost_fit.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <map>

#include "cli/byte_size.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "engine/cost/accuracy.h"
#include "engine/cost/calibration.h"
#include "engine/base/csv_table.h"
#include "engine/base/text_cursor.h"
#include "engine/program/explanation.h"
#include "engine/program/notation.h"

namespace p2 {
namespace {

/// The measurements of one system, priced, by what they are used for.
struct Priced {
  explicit Priced(const System& system) : network(system, {"--fit"}) {}

  Network network;
  std::map<Algorithm, StepPricer> pricers;
  std::vector<Measurement> fitted_to;
  std::vector<Measurement> held_out;
};

/// What `read` returns; where a value of the row is malformed, the complaint names the row too.
template <typename Read>
auto in_row(const CsvTable& table, std::size_t row, Read read) {
  try {
    return read();
  } catch (const InputError& error) {
    throw InputError(table.position(row), error.what());
  }
}

Instance instance_of(const CsvTable& table, std::size_t row, const CostRequest& request) {
  const std::string& axes = table.text(row, "axes");
  const std::string& reduce = table.text(row, "reduce");
  const std::string& placement = table.text(row, "placement");
  GivenInstance given = request.given;
  return in_row(table, row, [&] {
    given.axes = parse_axes("axes", axes);
    given.reduction = parse_reduction("reduce", reduce, *given.axes);
    given.placement = parse_placement("placement", placement, *given.hierarchy, *given.axes);
    return *given.resolve({"placement"});
  });
}

ProgramCost price_row(const CsvTable& table, std::size_t row, const CostRequest& request,
                      StepPricer& pricer) {
  const Instance instance = instance_of(table, row, request);
  const std::uint32_t devices = instance.grid.devices();
  const std::string& text = table.text(row, "program");
  if (text == "AllReduce") return price_allreduce(instance.classes(), devices, pricer);
  Program program{devices, instance.classes(), {}};
  program.steps = in_row(table, row, [&] {
    TextCursor cursor("program", text);
    return parse_steps(cursor, devices, &instance);
  });
  PricedProgram priced =
      ProgramPricer(pricer).price(program, request.given.dialect, request.common.limits);
  if (priced.verdict.kind == Verdict::Kind::Valid) return std::move(priced.cost);
  throw InputError(
      table.position(row),
      priced.verdict.refutation
          ? "an invalid program: " + explain(*priced.verdict.refutation, program, &instance)
          : "a limit was met before the program was judged, expected a higher one");
}

void add_row(const CsvTable& table, std::size_t row, const CostRequest& request, Priced& all) {
  const auto algorithm = algorithm_called(table.text(row, "algorithm"));
  if (!algorithm) {
    throw InputError(table.position(row),
                     fmt::format("unknown algorithm \"{}\", expected ring or tree",
                                 table.text(row, "algorithm")));
  }
  const std::string use = table.has("use") ? table.text(row, "use") : "fit";
  if (use != "fit" && use != "hold-out") {
    throw InputError(table.position(row),
                     fmt::format("unknown use \"{}\", expected fit or hold-out", use));
  }
  StepPricer& pricer = all.pricers.try_emplace(*algorithm, all.network, *algorithm).first->second;
  const std::string& size = table.text(row, "bytes");
  const std::uint64_t bytes = in_row(table, row, [&] { return parse_bytes("bytes", size); });
  Measurement measured{price_row(table, row, request, pricer), static_cast<double>(bytes),
                       table.positive(row, "seconds")};
  if (measured.cost.latency == 0 && measured.cost.seconds_per_byte == 0) {
    throw InputError(table.position(row), "nothing is sent, expected a reduction that takes time");
  }
  (use == "fit" ? all.fitted_to : all.held_out).push_back(std::move(measured));
}

std::vector<std::uint32_t> links_called(const CostRequest& request) {
  std::vector<std::uint32_t> found;
  const auto& links = request.system.interconnects;
  for (const std::string& name : request.fitted_links) {
    const auto link = std::find_if(links.begin(), links.end(),
                                   [&](const Interconnect& each) { return each.name == name; });
    const auto index = static_cast<std::uint32_t>(link - links.begin());
    if (link == links.end() || std::find(found.begin(), found.end(), index) != found.end()) {
      throw InputError({"--fit-links"},
                       fmt::format("no other interconnect of {} is named \"{}\", expected names of "
                                   "its interconnects, each once",
                                   request.system.name, name));
    }
    found.push_back(index);
  }
  return found;
}

/// How well a system predicts some rows.
struct Fit {
  std::size_t rows = 0;
  double error = 0;        ///< median of |predicted / measured − 1|
  double correlation = 0;  ///< Spearman's
};

Fit fit_of(const std::vector<Measurement>& measurements, const Network& network,
           const System& system) {
  std::vector<double> factors;
  for (std::size_t i = 0; i < system.interconnects.size(); ++i) {
    factors.push_back(static_cast<double>(system.interconnects[i].bytes_per_second) /
                      static_cast<double>(network.system().interconnects[i].bytes_per_second));
  }
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const Measurement& each : measurements) {
    predicted.push_back(predicted_seconds(each, network, factors));
    measured.push_back(each.seconds);
  }
  if (measured.empty()) return {};
  return {measured.size(), median_relative_error(predicted, measured),
          measured.size() > 1 ? rank_correlation(predicted, measured) : 1};
}

void print_report(const Priced& all, const std::vector<std::uint32_t>& links, const System& after,
                  const CostRequest& request, std::ostream& out) {
  const bool json = request.common.format == Format::Json;
  const System& before = all.network.system();
  if (json) out << "{\"links\":[";
  for (const std::uint32_t link : links) {
    const std::string old = bandwidth_to_string(before.interconnects[link].bytes_per_second);
    const std::string now = bandwidth_to_string(after.interconnects[link].bytes_per_second);
    const std::string& name = before.interconnects[link].name;
    if (json) {
      fmt::print(out, "{}{{\"name\":{},\"before\":\"{}\",\"after\":\"{}\"}}",
                 link == links.front() ? "" : ",", json_string(name), old, now);
    } else {
      fmt::print(out, "{}: {} -> {}\n", name, old, now);
    }
  }
  if (json) out << "]";
  const auto print = [&](const char* name, const char* key, const std::vector<Measurement>& rows) {
    const Fit old = fit_of(rows, all.network, before);
    const Fit now = fit_of(rows, all.network, after);
    if (json) {
      fmt::print(out,
                 ",\"{}\":{{\"rows\":{},\"median_error\":[{},{}],\"rank_correlation\":[{},{}]}}",
                 key, now.rows, old.error, now.error, old.correlation, now.correlation);
    } else if (now.rows > 0) {
      fmt::print(out,
                 "{:<10} {:>4} rows   median error {:.1f} % -> {:.1f} %   rank correlation {:.4f} "
                 "-> {:.4f}\n",
                 name, now.rows, 100 * old.error, 100 * now.error, old.correlation,
                 now.correlation);
    }
  };
  print("fitted to", "fitted_to", all.fitted_to);
  print("held out", "held_out", all.held_out);
  if (json) out << "}\n";
}

}  // namespace

int run_cost_fit(const CostRequest& request, std::ostream& out) {
  const std::vector<std::uint32_t> links = links_called(request);
  const CsvTable table(*request.measurements, read_file(*request.measurements));
  table.only_columns(
      {"system", "axes", "reduce", "placement", "algorithm", "program", "bytes", "seconds", "use"});
  Priced all(request.system);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.has("system") && table.text(row, "system") != request.system.name) continue;
    add_row(table, row, request, all);
  }
  if (all.fitted_to.empty()) {
    throw InputError(
        {*request.measurements},
        fmt::format("no row to fit to, expected some of system {}", request.system.name));
  }
  const System after = fitted(all.network, links, all.fitted_to);
  Output file(request.common.output, out);
  file.stream() << to_json(after);
  file.finish();
  print_report(all, links, after, request, out);
  return kEstablished;
}

}  // namespace p2
