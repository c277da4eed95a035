#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/base/plot.h"
#include "engine/cost/pricing.h"
#include "engine/program/program.h"
#include "engine/program/program_picture.h"
#include "p2/bytes.h"

namespace p2 {
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
