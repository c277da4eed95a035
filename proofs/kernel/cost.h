#pragma once

#include <compare>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proofs/kernel/problem.h"

namespace p2::kernel {

using Amount = std::int64_t;

/// A time: rounds·α + bytes·β.
struct Charge {
  Amount rounds = 0, bytes = 0;

  auto operator<=>(const Charge&) const = default;
};

/// α : β in lowest terms.
struct Ratio {
  Amount alpha = 0, beta = 0;

  auto operator<=>(const Ratio&) const = default;
  /// At most 2^61, so that no sum of two overflows; a larger one ends the check as incomplete.
  Amount price(const Charge& charge) const;
};

/// What all k devices hold: at d·k + r the contributions that device d holds in chunk r, as bits.
using Holdings = std::u16string;

/// A small system whose steps have a price: the rules of figure 8 and the latency-bandwidth model,
/// as docs/certificates.md has both. Bytes are counted in parts of a chunk.
class PricedSystem {
 public:
  PricedSystem(const Problem& problem, const Json& uplinks);

  /// Takes the step and says what its groups are charged; nothing, with `state` unspecified, where
  /// a premise fails or nobody in a group holds anything.
  std::optional<std::vector<Charge>> take(const Step& step, Holdings& state) const;
  /// What the groups of a step are charged whose first devices hold so many chunks.
  std::vector<Charge> charges(const Step& step, const Numbers& held) const;
  /// No program goes from `state` to the goal for less, from the goal it is 0; nothing where no
  /// program gets there. docs/certificates.md says why.
  std::optional<Amount> least(const Holdings& state, const Ratio& ratio) const;
  std::uint32_t devices() const { return devices_; }
  /// How many runs of devices share a link.
  std::uint64_t links() const { return links_.size(); }
  /// How many bytes all k chunks are.
  Amount buffer() const { return chunk_ * devices_; }

  Holdings initial, goal;

 private:
  /// What the devices from `first` to before `end` share.
  struct Link {
    std::uint32_t first, end;
    Amount slowdown;
    bool operator()(std::uint32_t device) const { return first <= device && device < end; }
  };

  /// What is left to do at least: rounds; contributions to unite and chunks to finish, over all
  /// devices; and how often a chunk has to cross every link.
  struct Left {
    Amount rounds, volume;
    std::vector<Amount> flows;
  };

  std::uint32_t held(const Holdings& state, std::uint32_t device) const;
  bool run(const Step& step, const Numbers& group, Holdings& state) const;

  /// Adds what is left to do for a class in chunk r; false where it cannot be done.
  bool add_what_is_left(const Holdings& state, std::uint32_t r, unsigned all, Left& left) const;

  std::uint32_t devices_;
  Amount chunk_ = 1;        ///< its parts
  std::u16string classes_;  ///< as bits
  std::vector<Link> links_;
};

/// What problem.json of `cheapest` says: over the choices nothing costs less than the least known.
struct CostQuestion {
  CostQuestion(const Json& root, Budget& budget);

  Amount least_listed(const Ratio& ratio) const;
  /// Takes the step and says what it costs; nothing where it is not legal.
  std::optional<Amount> take(const Step& choice, const Ratio& ratio, Holdings& state,
                             Budget& budget) const;
  /// As PricedSystem::least.
  std::optional<Amount> bound(const Holdings& state, const Ratio& ratio, Budget& budget) const;

  Problem problem;
  PricedSystem system;
  std::vector<Charge> known;  ///< what listed programs cost
  std::vector<Step> choices;
  std::set<Ratio> ratios;  ///< every step, and the least listed cost, is linear between neighbours
};

}  // namespace p2::kernel
