#pragma once

#include <functional>
#include <initializer_list>
#include <string>

#include "proofs/kernel/stage.h"

namespace p2::kernel {

/// A clause: variables, or their negations as negative numbers.
using Clause = std::vector<std::int32_t>;

/// The clauses of docs/certificates.md whose models are the valid programs of at most `size` steps
/// over the stage's steps, which are the choices: those of one set of groups stand together, with
/// AllReduce first. Clauses are handed out one by one and not kept.
class Encoder {
 public:
  using Sink = std::function<void(const Clause&)>;

  Encoder(const Stage& stage, std::uint32_t chunks, std::uint32_t size, Sink sink);

  void encode();
  /// That the program, as numbers of choices, is not picked.
  void exclude(const Numbers& program);
  /// The text of `varmap`.
  const std::string& varmap() const { return varmap_; }
  std::int32_t variables() const { return last_; }

 private:
  struct Moment {
    std::int32_t cells = 0, rows = 0, done = 0;
    std::vector<std::vector<Clause>> at_least;  ///< by device, first chunks, number
    std::vector<Clause> exactly;                ///< by device and number − 1
  };

  std::int32_t fresh(std::size_t count = 1);
  std::int32_t any_of(const Clause& literals);
  std::int32_t all_of(Clause literals);
  void equal_if(std::int32_t guard, std::int32_t a, std::int32_t b);
  void at_most_one_if(std::int32_t guard, const Clause& literals);
  void for_each_cell(const std::function<void(std::uint32_t, std::uint32_t)>& visit) const;

  std::int32_t cell(const Moment& at, std::uint32_t d, std::uint32_t r, std::uint32_t c) const;
  std::int32_t row(const Moment& at, std::uint32_t d, std::uint32_t r) const;
  void add_moment(std::size_t t);
  void count_chunks(Moment& at);
  void take_step(std::size_t t);
  void use_groups(std::size_t t, std::size_t first, std::size_t end);
  void add_premises(const Moment& at, const Numbers& group, std::int32_t adds);
  void scatter(const Moment& at, const Moment& next, const Numbers& group, const Clause& united,
               std::int32_t guard);
  void gather_premises(const Moment& at, const Numbers& group, std::int32_t guard);
  void broadcast(const Moment& at, const Moment& next, const Numbers& group, std::int32_t guard);

  const Stage& stage_;
  std::uint32_t chunks_;
  std::uint32_t size_;
  Sink sink_;
  std::int32_t last_ = 0;
  std::vector<std::int32_t> picked_;  ///< by step: choice 0
  std::vector<Moment> moments_;
  std::string varmap_;
};

}  // namespace p2::kernel
