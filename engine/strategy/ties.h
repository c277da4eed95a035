#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace p2::strategy {

/// Which of several least ones `argmin` returns. The paper leaves that open, and what its algorithm
/// returns depends on it.
class Ties {
 public:
  Ties() = default;
  virtual ~Ties() = default;
  Ties(const Ties&) = delete;
  Ties& operator=(const Ties&) = delete;

  /// The position in `tied` of the one that is picked. `tied` are vertices or configurations,
  /// ascending, and more than one.
  virtual std::size_t pick(const std::vector<std::uint32_t>& tied) = 0;
};

class FirstOfTies final : public Ties {
 public:
  std::size_t pick(const std::vector<std::uint32_t>& tied) override;
};

class LastOfTies final : public Ties {
 public:
  std::size_t pick(const std::vector<std::uint32_t>& tied) override;
};

/// Any of them, another one every time: what a set without an order may do.
class AnyOfTies final : public Ties {
 public:
  explicit AnyOfTies(std::uint32_t seed) : random_(seed) {}
  std::size_t pick(const std::vector<std::uint32_t>& tied) override;

 private:
  std::mt19937 random_;
};

/// The picks of one run after the other, until all that are possible were made: a run makes the
/// same picks as the one before it up to some point, and there the next one.
class EveryTie final : public Ties {
 public:
  std::size_t pick(const std::vector<std::uint32_t>& tied) override;
  /// Ends a run; false when there is no other one.
  bool next();

 private:
  struct Pick {
    std::size_t taken = 0;
    std::size_t count = 0;
  };
  std::vector<Pick> picks_;
  std::size_t made_ = 0;  ///< in the current run
};

}  // namespace p2::strategy
