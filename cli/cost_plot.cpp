#include "cli/cost_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/byte_size.h"
#include "engine/plot/chart.h"
#include "engine/plot/timeline.h"
#include "engine/program/notation.h"

namespace p2 {
namespace {

constexpr double kWidth = 1000;
constexpr double kChartHeight = 420;
constexpr std::size_t kBlack = 6;  // of plot_colour

/// Dots for programs and crosses for AllReduce where it would stand among them.
Chart times(const CostAnswer& answer, const CostRequest& request) {
  Chart chart{fmt::format("{}, {}, {} bytes per device", request.system.name,
                          to_string(request.algorithm), bytes_to_string(request.bytes)),
              "programs, fastest first", "predicted seconds"};
  std::map<const CostSource*, std::size_t> series_of;
  for (const CostSource& source : answer.sources) {
    series_of[&source] = chart.series.size();
    chart.series.push_back({source.name, chart.series.size(), Series::Mark::Dot});
  }
  std::vector<double> seconds;
  for (std::size_t i = 0; i < answer.ranked.size(); ++i) {
    const CostCandidate& each = answer.ranked[i];
    seconds.push_back(to_double(each.cost.seconds(request.bytes)));
    chart.series[series_of.at(each.source)].points.push_back(
        {static_cast<double>(i + 1), seconds.back()});
  }
  Series allreduce{"AllReduce", kBlack, Series::Mark::Cross};
  for (const CostSource& source : answer.sources) {
    const double time = to_double(source.allreduce.seconds(request.bytes));
    const auto place = std::lower_bound(seconds.begin(), seconds.end(), time) - seconds.begin();
    allreduce.points.push_back({static_cast<double>(place + 1), time});
  }
  chart.series.push_back(std::move(allreduce));
  return chart;
}

Timeline timeline(const CostCandidate& candidate, const CostAnswer& answer,
                  const CostRequest& request) {
  Timeline line{fmt::format("the fastest: {}", candidate.source->name), "seconds"};
  std::map<std::uint32_t, std::size_t> lane_of;
  double start = 0;
  for (std::size_t i = 0; i < candidate.steps.size(); ++i) {
    const StepCost& step = *candidate.cost.steps[i];
    const double sending = start + to_double(step.latency);
    for (const BusiestLink& each : step.busiest) {
      const std::uint32_t interconnect = answer.network->interconnect_of(each.link);
      const auto [lane, is_new] = lane_of.emplace(interconnect, line.lanes.size());
      if (is_new) line.lanes.push_back(answer.network->name(each.link));
      line.bars.push_back(
          {lane->second, sending,
           sending + to_double(each.seconds_per_byte) * static_cast<double>(request.bytes), i});
    }
    start += to_double(step.seconds(request.bytes));
    line.borders.push_back(start);
    line.legend.push_back(fmt::format(
        "step {}: {}", i + 1,
        to_string(candidate.steps[i],
                  candidate.source->instance ? &*candidate.source->instance : nullptr)));
  }
  return line;
}

}  // namespace

std::string cost_plot(const CostAnswer& answer, const CostRequest& request) {
  const Timeline fastest = timeline(answer.ranked.front(), answer, request);
  Svg svg(kWidth, kChartHeight + height_of(fastest));
  draw(svg, times(answer, request), 0, 0, kWidth, kChartHeight);
  draw(svg, fastest, 0, kChartHeight, kWidth);
  return svg.document();
}

}  // namespace p2
