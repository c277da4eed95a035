#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace p2::transfer {

/// A first-in first-out connection from one rank to another: its k-th send matches its k-th
/// receive. `Operation` identifies an operation in the format that is checked.
template <typename Operation>
struct Connection {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t channel = 0;  ///< several connections may join two ranks
  std::vector<Operation> sends;
  std::vector<Operation> receives;

  /// How many transfers have both halves.
  std::size_t matched() const { return std::min(sends.size(), receives.size()); }
};

/// Collects the sends and receives of all ranks by connection. The halves of a connection have to
/// be added in the order in which their rank issues them; that of different ranks does not matter.
template <typename Operation>
class ConnectionTable {
 public:
  void add_send(std::uint32_t source, std::uint32_t destination, std::uint32_t channel,
                Operation operation) {
    at(source, destination, channel).sends.push_back(std::move(operation));
  }
  void add_receive(std::uint32_t source, std::uint32_t destination, std::uint32_t channel,
                   Operation operation) {
    at(source, destination, channel).receives.push_back(std::move(operation));
  }

  /// By source, destination and channel.
  std::vector<Connection<Operation>> take() && {
    std::vector<Connection<Operation>> all;
    all.reserve(connections_.size());
    for (auto& [key, connection] : connections_) all.push_back(std::move(connection));
    return all;
  }

 private:
  Connection<Operation>& at(std::uint32_t source, std::uint32_t destination,
                            std::uint32_t channel) {
    const auto [found, is_new] = connections_.try_emplace({source, destination, channel});
    if (is_new) {
      found->second.source = source;
      found->second.destination = destination;
      found->second.channel = channel;
    }
    return found->second;
  }

  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Connection<Operation>>
      connections_;
};

}  // namespace p2::transfer
