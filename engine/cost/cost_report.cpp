// What `cost` answers: text, JSON and drawings.

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/base/plot.h"
#include "engine/cost/nccl_model.h"
#include "engine/cost/pricing.h"
#include "engine/program/program.h"
#include "engine/program/program_file.h"
#include "engine/program/program_picture.h"
#include "p2/bytes.h"

namespace p2 {
namespace {

constexpr std::size_t kShown = 20;  // in text, unless the request says how many

/// `17.3 ms`: four significant digits.
std::string duration_to_string(double seconds) {
  constexpr std::array<std::string_view, 4> kUnits{"s", "ms", "us", "ns"};
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && seconds < 1 && seconds != 0; ++unit) seconds *= 1000;
  return fmt::format("{:#.4g} {}", seconds, kUnits[unit]);
}

std::string speedup_to_string(std::optional<double> speedup) {
  return speedup ? fmt::format("{:.2f}x", *speedup) : "-";
}

Json speedup_json(std::optional<double> speedup) { return speedup ? Json(*speedup) : Json(); }

std::uint64_t size_of(const Rational& bytes) { return bytes.to_uint64(); }

class CostReport {
 public:
  CostReport(const Pricing& pricing, const CostQuestion& question)
      : pricing_(pricing), question_(question), bytes_(question.bytes) {
    if (question.sizes && !pricing.ranked.empty()) {
      std::vector<const ProgramCost*> costs;
      for (const CostCandidate& candidate : pricing.ranked) costs.push_back(&candidate.cost);
      ranges_ = fastest_ranges(costs, question.sizes->first, question.sizes->second);
    }
    std::uint64_t listed = 0;
    const auto count = [&](const CostCandidate& each) {
      if (!each.source->instance) return;
      listed += std::uint64_t{each.source->devices} * (each.steps.size() + 1);
    };
    for (std::size_t i = 0; i < shown(pricing.ranked.size()); ++i) count(pricing.ranked[i]);
    for (const FastestRange& range : ranges_) count(pricing.ranked[range.program]);
    lists_groups_ = listed <= kMaxListedDevices;
  }

  Document document() const {
    Document document;
    document.title = "p2-verify cost";
    add_text(document);
    if (question_.request.json) document.json = json();
    return document;
  }

 private:
  bool from_files() const { return !question_.request.files.empty(); }

  std::size_t shown(std::size_t otherwise) const {
    return std::min<std::size_t>(question_.request.top.value_or(otherwise), pricing_.ranked.size());
  }

  std::string slowest_link(const CostCandidate& candidate) const {
    const auto& steps = candidate.cost.steps;
    const auto slowest =
        std::max_element(steps.begin(), steps.end(), [&](const StepCost* a, const StepCost* b) {
          return a->seconds(bytes_) < b->seconds(bytes_);
        });
    if (slowest == steps.end()) return "none";
    const std::string way = Pricing::way(**slowest, bytes_);
    return pricing_.bottleneck(**slowest, bytes_) + (way.empty() ? "" : ", " + way);
  }

  void add_text(Document& document) const {
    document
        .line(fmt::format("{}: {}   {}, {} bytes per device", question_.system.name,
                          to_string(question_.system.hierarchy), question_.algorithm_name,
                          bytes_to_string(question_.bytes)))
        .line("");
    if (!pricing_.ranked.empty()) {
      for (const CostSource& source : pricing_.sources) document.line(baseline_line(source));
      document.line("");
      add_ranking(document);
      if (question_.nccl) add_advice(document);
      if (question_.sizes) add_ranges(document);
    }
    for (const CostRefusal& refusal : pricing_.refused) {
      document
          .line(fmt::format("{}: not priced, {}", refusal.file,
                            refusal.undecided ? "undecided" : "invalid"))
          .line(refusal.reason);
    }
    if (!pricing_.complete) document.line("stopped at a limit: there may be more programs");
  }

  std::string baseline_line(const CostSource& source) const {
    if (!source.baseline) {
      return fmt::format("no single collective, {}: no built-in one does what goal {} asks for",
                         source.name, source.goal.name);
    }
    return fmt::format("single {}, {}: {}", source.baseline->collective, source.name,
                       duration_to_string(to_double(source.baseline->cost.seconds(bytes_))));
  }

  /// The collective that the programs of all sources are compared with; empty if there are several,
  /// or if some source has none.
  std::string common_baseline() const {
    std::set<std::string> names;
    for (const CostSource& source : pricing_.sources) {
      names.insert(source.baseline ? source.baseline->collective : "");
    }
    return names.size() == 1 ? *names.begin() : "";
  }

  std::string source_heading() const { return from_files() ? "file" : "placement"; }

  void add_ranking(Document& document) const {
    Table table{
        {"rank", "time", "speedup", source_heading(), "slowest step waits for", "program"}, {}, 3};
    const std::size_t count = shown(kShown);
    for (std::size_t i = 0; i < count; ++i) {
      const CostCandidate& each = pricing_.ranked[i];
      table.rows.push_back({std::to_string(i + 1),
                            duration_to_string(to_double(each.cost.seconds(bytes_))),
                            speedup_to_string(each.speedup(bytes_)), each.source->name,
                            slowest_link(each), each.text()});
    }
    document.add(std::move(table));
    if (count < pricing_.ranked.size()) {
      document.line(fmt::format("… and {} more: --top {} shows all", pricing_.ranked.size() - count,
                                pricing_.ranked.size()));
    }
  }

  /// How many programs are faster than the baseline of their source by more than the model's error.
  std::size_t faster_beyond(double error) const {
    return static_cast<std::size_t>(std::count_if(
        pricing_.ranked.begin(), pricing_.ranked.end(),
        [&](const CostCandidate& each) { return each.speedup(bytes_).value_or(1) > 1 + error; }));
  }

  bool comparable() const {
    return std::ranges::any_of(
        pricing_.sources, [](const CostSource& source) { return source.baseline.has_value(); });
  }

  std::string advice(const ModelError& error) const {
    if (!comparable()) return "there is no single collective to compare the programs with";
    const std::size_t faster = faster_beyond(error.error);
    const std::string name = common_baseline();
    return fmt::format("{} faster than the single {} beyond the model's error of {:.0f} %",
                       faster == 0   ? "no program is"
                       : faster == 1 ? "1 program is"
                                     : fmt::format("{} programs are", faster),
                       name.empty() ? "collective of its goal" : name, 100 * error.error);
  }

  ModelError model_error() const {
    return measured_error(question_.nccl->whole(), static_cast<double>(question_.bytes));
  }

  void add_advice(Document& document) const {
    const ModelError error = model_error();
    document.line("").line(advice(error));
    if (!comparable()) return;
    document.line(fmt::format("(three of four of {} measured all-reduces were off by less: {}, {})",
                              error.rows, error.kind,
                              size_class(static_cast<double>(question_.bytes))));
  }

  void add_ranges(Document& document) const {
    document.line("").line("the fastest program by size, in bytes per device");
    Table table{{"from", "to", "time", "to", "speedup", "to", source_heading(), "program"}, {}, 6};
    for (const FastestRange& range : ranges_) {
      const CostCandidate& best = pricing_.ranked[range.program];
      const auto time = [&](const Rational& bytes) {
        return duration_to_string(to_double(best.cost.seconds(bytes)));
      };
      table.rows.push_back(
          {bytes_to_string(size_of(range.from)), bytes_to_string(size_of(range.to)),
           time(range.from), time(range.to), speedup_to_string(best.speedup(range.from)),
           speedup_to_string(best.speedup(range.to)), best.source->name, best.text()});
    }
    document.add(std::move(table));
  }

  /// `program`, `text`, and `placement` or `file`.
  void add_candidate(const CostCandidate& candidate, Json& json) const {
    const CostSource& source = *candidate.source;
    json.add("program", candidate.json(lists_groups_));
    json.add("text", candidate.text());
    if (from_files()) {
      json.add("file", source.name);
    } else {
      json.add("placement", lists_json(source.instance->grid.placement().factors));
    }
  }

  Json priced_json(const CostCandidate& candidate) const {
    Json json = Json::object();
    add_candidate(candidate, json);
    json.add("seconds", to_double(candidate.cost.seconds(bytes_)));
    add_baseline(candidate.source->baseline, json);
    json.add("speedup", speedup_json(candidate.speedup(bytes_)));
    return std::move(json).add(
        "steps", Json::array_of(candidate.cost.steps, [&](const StepCost* step) {
          Json each = Json::object({{"seconds", to_double(step->seconds(bytes_))},
                                    {"bottleneck", pricing_.bottleneck(*step, bytes_)}});
          const std::string way = Pricing::way(*step, bytes_);
          if (!way.empty()) each.add("algorithm", way);
          return each;
        }));
  }

  /// `allreduce_seconds`, or of another goal `baseline`, the name of its collective, and
  /// `baseline_seconds`; null where there is none.
  void add_baseline(const std::optional<Baseline>& baseline, Json& json) const {
    const bool allreduce = baseline && baseline->collective == to_string(Collective::AllReduce);
    const Json seconds = baseline ? Json(to_double(baseline->cost.seconds(bytes_))) : Json();
    if (!allreduce) json.add("baseline", baseline ? Json(baseline->collective) : Json());
    json.add(allreduce ? "allreduce_seconds" : "baseline_seconds", seconds);
  }

  /// The fastest baseline of the sources; null without any, and where they are of several goals.
  void add_fastest_baseline(Json& json) const {
    if (pricing_.sources.empty() && question_.given.terms.goal.is_allreduce()) {
      json.add("allreduce_seconds", Json());
    } else if (common_baseline().empty()) {
      add_baseline(std::nullopt, json);
    } else {
      add_baseline(std::ranges::min_element(pricing_.sources, {},
                                            [&](const CostSource& source) {
                                              return source.baseline->cost.seconds(bytes_);
                                            })
                       ->baseline,
                   json);
    }
  }

  Json json() const {
    Json programs = Json::array();
    const std::size_t count = shown(pricing_.ranked.size());
    for (std::size_t i = 0; i < count; ++i) programs.push_back(priced_json(pricing_.ranked[i]));
    Json json = Json::object({{"system", question_.system.name},
                              {"algorithm", question_.algorithm_name},
                              {"bytes", question_.bytes}});
    if (!lists_groups_) json.add("groups_left_out", true);
    add_fastest_baseline(json);
    json.add("programs", std::move(programs))
        .add("refused", Json::array_of(pricing_.refused, [](const CostRefusal& refusal) {
               return Json::object({{"file", refusal.file},
                                    {"step", refusal.step},
                                    {"verdict", refusal.undecided ? "unknown" : "invalid"},
                                    {"reason", refusal.reason}});
             }));
    if (question_.nccl && !pricing_.ranked.empty()) {
      const ModelError error = model_error();
      json.add("model_error",
               Json::object({{"error", error.error},
                             {"kind", error.kind},
                             {"size", size_class(static_cast<double>(question_.bytes))},
                             {"rows", error.rows}}));
      if (comparable()) json.add("faster_beyond_error", faster_beyond(error.error));
      json.add("advice", advice(error));
    }
    if (!ranges_.empty()) {
      json.add(
          "sizes", Json::array_of(ranges_, [&](const FastestRange& range) {
            const CostCandidate& best = pricing_.ranked[range.program];
            Json each = Json::object({{"from", size_of(range.from)}, {"to", size_of(range.to)}});
            add_candidate(best, each);
            each.add("seconds", Json::array({to_double(best.cost.seconds(range.from)),
                                             to_double(best.cost.seconds(range.to))}));
            return std::move(each).add("speedup",
                                       Json::array({speedup_json(best.speedup(range.from)),
                                                    speedup_json(best.speedup(range.to))}));
          }));
    }
    return std::move(json).add("complete", pricing_.complete);
  }

  const Pricing& pricing_;
  const CostQuestion& question_;
  Rational bytes_;
  std::vector<FastestRange> ranges_;
  bool lists_groups_ = true;
};

}  // namespace

Document cost_document(const Pricing& pricing, const CostQuestion& question) {
  return CostReport(pricing, question).document();
}

namespace {

constexpr double kWidth = kPlotWidth;
constexpr double kChartHeight = 420;
constexpr std::size_t kBlack = 6;  // of plot_colour

/// Dots for programs and crosses for baselines where they would stand among them.
Chart times(const Pricing& pricing, const CostQuestion& question) {
  Chart chart{fmt::format("{}, {}, {} bytes per device", question.system.name,
                          question.algorithm_name, bytes_to_string(question.bytes)),
              "programs, fastest first", "predicted seconds"};
  std::map<const CostSource*, std::size_t> series_of;
  for (const CostSource& source : pricing.sources) {
    series_of[&source] = chart.series.size();
    chart.series.push_back({source.name, chart.series.size(), Series::Mark::Dot});
  }
  std::vector<double> seconds;
  for (std::size_t i = 0; i < pricing.ranked.size(); ++i) {
    const CostCandidate& each = pricing.ranked[i];
    seconds.push_back(to_double(each.cost.seconds(question.bytes)));
    chart.series[series_of.at(each.source)].points.push_back(
        {static_cast<double>(i + 1), seconds.back()});
  }
  std::map<std::string, Series> baselines;
  for (const CostSource& source : pricing.sources) {
    if (!source.baseline) continue;
    const std::string& name = source.baseline->collective;
    Series& series =
        baselines.try_emplace(name, Series{name, kBlack, Series::Mark::Cross}).first->second;
    const double time = to_double(source.baseline->cost.seconds(question.bytes));
    const auto place = std::lower_bound(seconds.begin(), seconds.end(), time) - seconds.begin();
    series.points.push_back({static_cast<double>(place + 1), time});
  }
  for (auto& [name, series] : baselines) chart.series.push_back(std::move(series));
  return chart;
}

/// How long a link is busy in every step, per byte of a device's buffer.
using Business = std::vector<Rational>;

/// A lane of the timeline: links that are equally busy in every step.
struct Lane {
  Business business;
  LinkId first = 0;
  std::size_t links = 1;
};

/// In the order of their first links. Links of different interconnects never share a lane.
std::vector<Lane> lanes_of(const std::vector<std::vector<LinkLoad>>& loads,
                           const Network& network) {
  std::map<LinkId, Business> links;
  for (std::size_t step = 0; step < loads.size(); ++step) {
    for (const LinkLoad& load : loads[step]) {
      Business& business = links.try_emplace(load.link, loads.size()).first->second;
      business[step] = load.seconds_per_byte;
    }
  }
  std::map<std::pair<std::uint32_t, Business>, std::size_t> lane_of;
  std::vector<Lane> lanes;
  for (const auto& [link, business] : links) {
    const auto [lane, is_new] =
        lane_of.try_emplace({network.interconnect_of(link), business}, lanes.size());
    if (is_new) {
      lanes.push_back({business, link});
    } else {
      ++lanes[lane->second].links;
    }
  }
  return lanes;
}

std::string label(const Lane& lane, const Network& network) {
  const std::string name = network.name(lane.first);
  return lane.links == 1 ? name : fmt::format("{} +{}", name, lane.links - 1);
}

Timeline timeline(const CostCandidate& candidate, const Pricing& pricing,
                  const CostQuestion& question) {
  Timeline line{fmt::format("the fastest: {}", candidate.source->name), "seconds"};
  const std::vector<Lane> lanes =
      lanes_of(ProgramPricer(*pricing.pricer).loads(candidate.program(), candidate.source->dialect),
               *pricing.network);
  for (const Lane& lane : lanes) line.lanes.push_back(label(lane, *pricing.network));
  double start = 0;
  for (std::size_t i = 0; i < candidate.steps.size(); ++i) {
    const StepCost& step = *candidate.cost.steps[i];
    const double sending = start + to_double(step.latency);
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      const double busy = to_double(lanes[lane].business[i]) * static_cast<double>(question.bytes);
      if (busy > 0) line.bars.push_back({lane, sending, sending + busy, i});
    }
    start += to_double(step.seconds(question.bytes));
    line.borders.push_back(start);
    line.legend.push_back(
        fmt::format("step {}: {}", i + 1,
                    to_string(candidate.steps[i], candidate.source->instance_or_null(),
                              candidate.collectives)));
  }
  return line;
}

}  // namespace

std::string draw_loads(const Pricing& pricing) {
  const CostCandidate& fastest = pricing.ranked.front();
  const CostSource& source = *fastest.source;
  if (!source.instance || source.devices > kMaxPicturedDevices) return {};
  const Program program = fastest.program();
  HardwarePicture picture = program_picture(program, *source.instance);
  const std::vector<std::vector<LinkLoad>> loads =
      ProgramPricer(*pricing.pricer).loads(program, source.dialect);
  std::vector<LinkId> route;
  for (std::size_t step = 0; step < picture.steps.size(); ++step) {
    std::map<LinkId, double> by_link;
    double busiest = 0;
    for (const LinkLoad& load : loads[step]) {
      by_link[load.link] = to_double(load.seconds_per_byte);
      busiest = std::max(busiest, by_link[load.link]);
    }
    for (HardwarePicture::Transfer& each : picture.steps[step].transfers) {
      pricing.network->route(static_cast<std::uint32_t>(each.from),
                             static_cast<std::uint32_t>(each.to), route);
      each.load = 0;
      for (const LinkId link : route) {
        const auto found = by_link.find(link);
        if (found != by_link.end() && busiest > 0)
          each.load = std::max(each.load, found->second / busiest);
      }
    }
  }
  picture.title = fmt::format("The fastest: {} on {}", source.name, pricing.network->system().name);
  picture.legend = "Width: the load of the busiest link on the way. Orange: the step's busiest.";
  return svg_document(picture);
}

std::string draw_costs(const Pricing& pricing, const CostQuestion& question) {
  const Timeline fastest = timeline(pricing.ranked.front(), pricing, question);
  Svg svg(kWidth, kChartHeight + height_of(fastest));
  draw(svg, times(pricing, question), 0, 0, kWidth, kChartHeight);
  draw(svg, fastest, 0, kChartHeight, kWidth);
  return svg.document();
}

}  // namespace p2
