#include "engine/reshard/plan_simulation.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "engine/base/invariant.h"
#include "engine/reshard/plans/plan_check.h"

namespace p2::reshard {
namespace {

constexpr double kPicosecond = 1e-12;
/// Relative to a transfer's bytes.
constexpr double kRoundingError = 1e-9;

/// A transfer in flight.
struct Flow {
  OperationPlace send;
  OperationPlace receive;
  std::vector<LinkId> route;
  double bytes = 0;
  double remaining = 0;
  double latency_left = 0;  // seconds
  double rate = 0;          // bytes per second
};

class Simulation {
 public:
  Simulation(const Plan& plan, const Network& network, const std::vector<std::uint32_t>& devices,
             std::int64_t bytes_per_element)
      : plan_(plan),
        network_(network),
        devices_(devices),
        bytes_per_element_(static_cast<double>(bytes_per_element)),
        partners_(partners_of(plan)),
        step_(plan.programs.size(), 0),
        pending_(plan.programs.size(), 0),
        busy_(network.links(), 0) {}

  SimulatedTime run() && {
    for (std::uint32_t device = 0; device < plan_.programs.size(); ++device) enter(device);
    while (!flows_.empty()) advance();
    const bool done = std::equal(
        step_.begin(), step_.end(), plan_.programs.begin(),
        [](std::size_t at, const DeviceProgram& program) { return at == program.size(); });
    invariant(done, "only a valid plan can be simulated");
    const auto most = std::max_element(busy_.begin(), busy_.end());
    return {now_, static_cast<LinkId>(most - busy_.begin()), *most};
  }

 private:
  /// The device begins its current step; transfers start once both devices are there, copies inside
  /// the device complete at once.
  void enter(std::uint32_t device) {
    for (; step_[device] < plan_.programs[device].size(); ++step_[device]) {
      const Step& step = plan_.programs[device][step_[device]];
      pending_[device] = step.size();
      for (std::size_t i = 0; i < step.size(); ++i) {
        const OperationPlace& partner = *partners_[device][step_[device]][i];
        if (partner.device == device) {
          --pending_[device];
        } else if (step_[partner.device] == partner.step && pending_[partner.device] > 0) {
          begin({device, step_[device], i}, partner);
        }
      }
      if (pending_[device] > 0) return;
    }
  }

  void begin(const OperationPlace& one, const OperationPlace& other) {
    const Operation& each = plan_.programs[one.device][one.step][one.index];
    Flow flow{each.sends ? one : other, each.sends ? other : one, {}, 0, 0, 0, 0};
    network_.route(devices_[flow.send.device], devices_[flow.receive.device], flow.route);
    flow.bytes = static_cast<double>(each.box.elements()) * bytes_per_element_;
    flow.remaining = flow.bytes;
    flow.latency_left = to_double(network_.latency(flow.route)) * kPicosecond;
    for (const LinkId link : flow.route) busy_[link] += flow.bytes * seconds_per_byte(link);
    flows_.push_back(std::move(flow));
  }

  double seconds_per_byte(LinkId link) {
    const std::uint32_t interconnect = network_.interconnect_of(link);
    const auto [known, is_new] = seconds_per_byte_.try_emplace(interconnect, 0);
    if (is_new) known->second = to_double(network_.seconds_per_byte(interconnect));
    return known->second;
  }

  /// Progressive filling (Bertsekas and Gallager, "Data Networks", section 6.5.2): fixes the rates
  /// of the flows on the most contended link, link by link.
  void share_bandwidth() {
    std::map<LinkId, std::pair<double, std::size_t>> links;  // remaining bandwidth and flows
    std::vector<Flow*> unset;
    for (Flow& flow : flows_) {
      flow.rate = 0;
      if (flow.latency_left > 0) continue;
      unset.push_back(&flow);
      for (const LinkId link : flow.route) {
        auto& [bandwidth, count] =
            links.try_emplace(link, 1 / seconds_per_byte(link), 0).first->second;
        ++count;
      }
    }
    while (!unset.empty()) {
      double least = std::numeric_limits<double>::infinity();
      LinkId narrowest = 0;
      for (const auto& [link, remaining] : links) {
        if (remaining.second == 0 ||
            remaining.first / static_cast<double>(remaining.second) >= least)
          continue;
        least = remaining.first / static_cast<double>(remaining.second);
        narrowest = link;
      }
      std::vector<Flow*> rest;
      for (Flow* flow : unset) {
        if (std::find(flow->route.begin(), flow->route.end(), narrowest) == flow->route.end()) {
          rest.push_back(flow);
          continue;
        }
        flow->rate = least;
        for (const LinkId link : flow->route) {
          links[link].first -= least;
          --links[link].second;
        }
      }
      unset = std::move(rest);
    }
  }

  /// Advances to the next event: the end of a transfer or of a latency.
  void advance() {
    share_bandwidth();
    double next = std::numeric_limits<double>::infinity();
    for (const Flow& flow : flows_) {
      next = std::min(next, flow.latency_left > 0 ? flow.latency_left : flow.remaining / flow.rate);
    }
    now_ += next;
    std::vector<Flow> done;
    std::vector<Flow> rest;
    for (Flow& flow : flows_) {
      if (flow.latency_left > 0) {
        flow.latency_left = flow.latency_left - next < kPicosecond ? 0 : flow.latency_left - next;
      } else {
        flow.remaining -= flow.rate * next;
      }
      (flow.remaining <= flow.bytes * kRoundingError ? done : rest).push_back(std::move(flow));
    }
    flows_ = std::move(rest);
    for (const Flow& flow : done) {
      for (const std::uint32_t device : {flow.send.device, flow.receive.device}) {
        if (--pending_[device] > 0) continue;
        ++step_[device];
        enter(device);
      }
    }
  }

  const Plan& plan_;
  const Network& network_;
  const std::vector<std::uint32_t>& devices_;
  double bytes_per_element_;
  Partners partners_;
  std::vector<std::size_t> step_;
  std::vector<std::size_t> pending_;  // by device: operations of the current step that are not done
  std::vector<double> busy_;
  std::vector<Flow> flows_;
  std::map<std::uint32_t, double> seconds_per_byte_;  // by interconnect
  double now_ = 0;
};

}  // namespace

std::vector<std::uint32_t> devices_on(const Network& network, const Reshard& problem,
                                      std::string_view source) {
  const std::uint32_t all = network.system().hierarchy.devices();
  std::uint32_t in_node = 1;
  while (in_node < all && network.node_of(in_node) == network.node_of(0)) ++in_node;
  std::map<std::uint32_t, std::uint32_t> seen;  // by host
  std::vector<std::uint32_t> devices;
  for (const std::uint32_t host : problem.hosts) {
    const std::uint32_t index = seen[host]++;
    if (index >= in_node || host >= all / in_node) {
      throw InputError({std::string(source)},
                       fmt::format("{} nodes of {} devices, expected as many as the plan has: it "
                                   "has device {} on host {}",
                                   all / in_node, in_node, index, host));
    }
    devices.push_back(host * in_node + index);
  }
  return devices;
}

SimulatedTime simulated_time(const Plan& plan, const Network& network,
                             const std::vector<std::uint32_t>& devices,
                             std::int64_t bytes_per_element) {
  return Simulation(plan, network, devices, bytes_per_element).run();
}

}  // namespace p2::reshard
