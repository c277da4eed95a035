#pragma once

#include <functional>
#include <string>

#include "proofs/kernel/problem.h"

namespace p2::kernel {

/// Variables, or their negations as negative numbers.
using Clause = std::vector<std::int32_t>;

/// The clauses of docs/certificates.md whose models are the valid programs of at most `size` steps
/// over the stage's steps, the choices: those with the same groups stand together, AllReduce first.
/// Clauses are handed out one by one and not kept.
class Encoder {
 public:
  using Sink = std::function<void(const Clause&)>;

  Encoder(const Stage& stage, std::uint32_t chunks, std::uint32_t size, Sink sink)
      : stage_(stage), chunks_(chunks), size_(size), sink_(std::move(sink)) {}

  void encode();
  /// That the program, as numbers of choices, is not picked.
  void exclude(const Numbers& program);
  /// The text of `varmap`.
  const std::string& varmap() const { return varmap_; }
  std::int32_t variables() const { return last_; }

 private:
  struct Moment {
    std::int32_t cells = 0, rows = 0, done = 0;
    std::vector<std::vector<Clause>> at_least;  ///< by device, number of first chunks, count
    std::vector<Clause> exactly;                ///< by device, count from 1
  };

  std::int32_t fresh(std::size_t count = 1);
  std::int32_t any_of(const Clause& literals);
  std::int32_t all_of(const Clause& literals);
  void equal_if(std::int32_t guard, std::int32_t a, std::int32_t b);
  void at_most_one_if(std::int32_t guard, const Clause& literals);
  void for_each_cell(const std::function<void(std::uint32_t, std::uint32_t)>& visit) const;

  std::int32_t cell(const Moment& at, std::uint32_t d, std::uint32_t r, std::uint32_t c) const {
    return at.cells + static_cast<std::int32_t>((d * chunks_ + r) * stage_.devices + c);
  }
  std::int32_t row(const Moment& at, std::uint32_t d, std::uint32_t r) const {
    return at.rows + static_cast<std::int32_t>(d * chunks_ + r);
  }
  void add_moment(std::size_t t);
  void count_chunks(Moment& at);
  void pick_one(std::size_t t);
  void use_groups(std::size_t t, std::size_t first, std::size_t end);
  void add(const Moment& at, const Numbers& group, std::int32_t guard);
  void scatter(const Moment& at, const Moment& next, const Numbers& group, const Clause& united,
               std::int32_t guard);
  void gather(const Moment& at, const Numbers& group, std::int32_t guard);
  void broadcast(const Moment& at, const Moment& next, const Numbers& group, std::int32_t guard);

  const Stage& stage_;
  std::uint32_t chunks_;
  std::uint32_t size_;
  Sink sink_;
  std::int32_t last_ = 0;
  std::vector<std::int32_t> picked_;  ///< by step: its first choice
  std::vector<Moment> moments_;
  std::string varmap_;
};

}  // namespace p2::kernel
