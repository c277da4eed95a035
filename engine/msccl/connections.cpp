#include "engine/msccl/connections.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace p2::msccl {
namespace {

std::optional<Fault> without_peer(const Algorithm& algorithm) {
  for (const StepPlace place : algorithm.steps()) {
    const ThreadBlock& block = algorithm.block(place);
    const StepType type = algorithm.step(place).type;
    const bool no_send = sends(type) && !block.send_peer;
    if (!no_send && !(receives(type) && !block.receive_peer)) continue;
    return Fault{
        Fault::Kind::NoPeer,
        fmt::format("{} {}, but its thread block has no peer to {}.", describe(algorithm, place),
                    no_send ? "sends" : "receives", no_send ? "send to" : "receive from"),
        {place}};
  }
  return std::nullopt;
}

/// `steps` are one end of a connection.
std::optional<Fault> shared(const Algorithm& algorithm, const std::vector<StepPlace>& steps) {
  const auto other = std::find_if(steps.begin(), steps.end(), [&](StepPlace place) {
    return place.block != steps.front().block;
  });
  if (other == steps.end()) return std::nullopt;
  return Fault{Fault::Kind::SharedConnection,
               fmt::format("{} and {} use one end of one connection from different thread blocks: "
                           "nothing orders them.",
                           describe(algorithm, steps.front()), describe(algorithm, *other)),
               {steps.front(), *other}};
}

std::optional<Fault> unmatched(const Algorithm& algorithm, const Connection& connection) {
  const std::size_t met = std::min(connection.sends.size(), connection.receives.size());
  for (std::size_t k = 0; k < met; ++k) {
    const StepPlace send = connection.sends[k];
    const StepPlace receive = connection.receives[k];
    const std::uint32_t sent = algorithm.step(send).count;
    const std::uint32_t received = algorithm.step(receive).count;
    if (sent == received) continue;
    return Fault{Fault::Kind::CountMismatch,
                 fmt::format("{} sends {} chunks and {} receives {}.", describe(algorithm, send),
                             sent, describe(algorithm, receive), received),
                 {receive, send}};
  }
  if (connection.sends.size() == connection.receives.size()) return std::nullopt;
  const bool send = connection.sends.size() > met;
  const StepPlace place = send ? connection.sends[met] : connection.receives[met];
  return Fault{send ? Fault::Kind::UnmatchedSend : Fault::Kind::UnmatchedReceive,
               fmt::format("{} is {} {} from gpu {} to gpu {} on channel {}, which has {} of {}.",
                           describe(algorithm, place), send ? "send" : "receive", met + 1,
                           connection.source, connection.destination, connection.channel, met,
                           send ? "the receives" : "the sends"),
               {place}};
}

}  // namespace

std::vector<Connection> connections(const Algorithm& algorithm) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Connection> found;
  const auto at = [&](std::uint32_t source, std::uint32_t destination,
                      std::uint32_t channel) -> Connection& {
    Connection& connection = found[{source, destination, channel}];
    connection.source = source;
    connection.destination = destination;
    connection.channel = channel;
    return connection;
  };
  for (const StepPlace place : algorithm.steps()) {
    const ThreadBlock& block = algorithm.block(place);
    const StepType type = algorithm.step(place).type;
    if (sends(type) && block.send_peer) {
      at(place.gpu, *block.send_peer, block.channel).sends.push_back(place);
    }
    if (receives(type) && block.receive_peer) {
      at(*block.receive_peer, place.gpu, block.channel).receives.push_back(place);
    }
  }
  std::vector<Connection> all;
  for (auto& [key, connection] : found) all.push_back(std::move(connection));
  return all;
}

std::optional<Fault> mismatch(const Algorithm& algorithm, const std::vector<Connection>& all) {
  if (auto fault = without_peer(algorithm)) return fault;
  for (const Connection& connection : all) {
    for (const auto* end : {&connection.sends, &connection.receives}) {
      if (auto fault = shared(algorithm, *end)) return fault;
    }
  }
  for (const Connection& connection : all) {
    if (auto fault = unmatched(algorithm, connection)) return fault;
  }
  return std::nullopt;
}

std::optional<StepPlace> awaited(const Algorithm& algorithm, StepPlace waiting) {
  const Dependency& dependency = *algorithm.step(waiting).waits_for;
  const std::vector<ThreadBlock>& blocks = algorithm.gpus[waiting.gpu].blocks;
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    if (blocks[block].id != dependency.block) continue;
    const std::vector<Step>& steps = blocks[block].steps;
    const auto named = std::lower_bound(
        steps.begin(), steps.end(), dependency.number,
        [](const Step& step, std::uint32_t number) { return step.number < number; });
    const auto ends = std::find_if(named, steps.end(), [](const Step& s) { return s.publishes; });
    if (ends != steps.end()) {
      return StepPlace{waiting.gpu, block, static_cast<std::uint32_t>(ends - steps.begin())};
    }
  }
  return std::nullopt;
}

}  // namespace p2::msccl
