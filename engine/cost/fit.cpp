#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/base/files.h"
#include "engine/base/text_cursor.h"
#include "engine/cost/calibration.h"
#include "engine/cost/pricing.h"
#include "engine/program/derivation.h"
#include "engine/program/program.h"
#include "p2/bytes.h"

namespace p2 {
namespace {

/// The priced measurements of one system, by use.
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

Instance instance_of(const CsvTable& table, std::size_t row, const CostQuestion& question) {
  const std::string& axes = table.text(row, "axes");
  const std::string& reduce = table.text(row, "reduce");
  const std::string& placement = table.text(row, "placement");
  GivenInstance given = question.given;
  return in_row(table, row, [&] {
    given.axes = parse_axes("axes", axes);
    given.reduction = parse_reduction("reduce", reduce, *given.axes);
    given.placement = parse_placement("placement", placement, *given.hierarchy, *given.axes);
    return *given.resolve({"placement"});
  });
}

ProgramCost price_row(const CsvTable& table, std::size_t row, const CostQuestion& question,
                      const Options& options, StepPricer& pricer) {
  const Instance instance = instance_of(table, row, question);
  const std::uint32_t devices = instance.grid.devices();
  const std::string& text = table.text(row, "program");
  if (text == "AllReduce") return price_allreduce(instance.classes(), devices, pricer);
  Program program{devices, instance.classes(), {}};
  program.steps = in_row(table, row, [&] {
    TextCursor cursor("program", text);
    return parse_steps(cursor, devices, &instance);
  });
  PricedProgram priced =
      ProgramPricer(pricer).price(program, question.given.dialect, options.limits);
  if (priced.decision.outcome == Outcome::Established) return std::move(priced.cost);
  throw InputError(
      table.position(row),
      priced.decision.violation
          ? "an invalid program: " + explain(*priced.decision.violation, program, &instance)
          : "a limit was reached before the program was decided, expected a higher one");
}

void add_row(const CsvTable& table, std::size_t row, const CostQuestion& question,
             const Options& options, Priced& all) {
  const auto algorithm = find_algorithm(table.text(row, "algorithm"));
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
  Measurement measured{price_row(table, row, question, options, pricer), static_cast<double>(bytes),
                       table.positive(row, "seconds")};
  if (measured.cost.latency == 0 && measured.cost.seconds_per_byte == 0) {
    throw InputError(table.position(row), "nothing is sent, expected a reduction that takes time");
  }
  (use == "fit" ? all.fitted_to : all.held_out).push_back(std::move(measured));
}

std::vector<std::uint32_t> find_links(const CostQuestion& question) {
  std::vector<std::uint32_t> found;
  const auto& links = question.system.interconnects;
  for (const std::string& name : question.request.fit_links) {
    const auto link = std::find_if(links.begin(), links.end(),
                                   [&](const Interconnect& each) { return each.name == name; });
    const auto index = static_cast<std::uint32_t>(link - links.begin());
    if (link == links.end() || std::find(found.begin(), found.end(), index) != found.end()) {
      throw InputError({"--fit-links"},
                       fmt::format("no other interconnect of {} is named \"{}\", expected names of "
                                   "its interconnects, each once",
                                   question.system.name, name));
    }
    found.push_back(index);
  }
  return found;
}

/// How well a system predicts measurements.
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

Document fit_document(const Priced& all, const std::vector<std::uint32_t>& links,
                      const System& after) {
  Document document;
  document.title = "p2-verify cost";
  const System& before = all.network.system();
  Json fitted = Json::array();
  for (const std::uint32_t link : links) {
    const std::string old = bandwidth_to_string(before.interconnects[link].bytes_per_second);
    const std::string now = bandwidth_to_string(after.interconnects[link].bytes_per_second);
    const std::string& name = before.interconnects[link].name;
    document.line(fmt::format("{}: {} -> {}", name, old, now));
    fitted.push_back(Json::object({{"name", name}, {"before", old}, {"after", now}}));
  }
  document.json = Json::object({{"links", std::move(fitted)}});
  const auto add = [&](const char* name, const char* key, const std::vector<Measurement>& rows) {
    const Fit old = fit_of(rows, all.network, before);
    const Fit now = fit_of(rows, all.network, after);
    document.json.add(
        key, Json::object({{"rows", now.rows},
                           {"median_error", Json::array({old.error, now.error})},
                           {"rank_correlation", Json::array({old.correlation, now.correlation})}}));
    if (now.rows == 0) return;
    document.line(fmt::format(
        "{:<10} {:>4} rows   median error {:.1f} % -> {:.1f} %   rank correlation "
        "{:.4f} -> {:.4f}",
        name, now.rows, 100 * old.error, 100 * now.error, old.correlation, now.correlation));
  };
  add("fitted to", "fitted_to", all.fitted_to);
  add("held out", "held_out", all.held_out);
  return document;
}

}  // namespace

CostAnswer fit_system(const CostQuestion& question, const Options& options) {
  const std::vector<std::uint32_t> links = find_links(question);
  const std::string& file = *question.request.fit;
  const CsvTable table(file, read_file(file));
  table.only_columns(
      {"system", "axes", "reduce", "placement", "algorithm", "program", "bytes", "seconds", "use"});
  Priced all(question.system);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.has("system") && table.text(row, "system") != question.system.name) continue;
    add_row(table, row, question, options, all);
  }
  if (all.fitted_to.empty()) {
    throw InputError(
        {file}, fmt::format("no row to fit to, expected some of system {}", question.system.name));
  }
  const System after = fitted(all.network, links, all.fitted_to);
  CostAnswer answer;
  answer.fitted_system = to_json(after);
  answer.document = fit_document(all, links, after);
  return answer;
}

}  // namespace p2
