#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <z3++.h>

#include "encodings/z3/queries.h"
#include "p2/error.h"

/// Private to this folder and to proofs/definition: the header that includes Z3. What a query may
/// consume, and the terms that definitions of collectives are compiled to.
namespace p2::z3_encoding {

/// Holds a context to limits: counts the work since it was made, and interrupts Z3 from a thread of
/// its own while the time, the memory or the cancellation flag exceeds them. An interrupted context
/// stays so: every call that can be interrupted fails. The context and the limits must outlive it.
class Meter {
 public:
  Meter(z3::context& context, const Limits& limits);
  ~Meter();
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  bool exhausted() const;
  /// Throws LimitReached if exhausted, and where terms take half of the memory limit: solving takes
  /// as much again, and Z3 doubles its tables. For the building of large formulas, which no solver
  /// stops.
  void checkpoint() const;
  /// Before one more small term: once in a few hundred calls checkpoint(), without the work.
  void step() const {
    if (++steps_ % kInterval == 0) require_building();
  }
  /// Throws LimitReached if the memory limit leaves no room for so many bytes.
  void require_room(double bytes) const { limits_.require_room(bytes, kActivity); }
  /// The assertions as SMT-LIB. Z3 cannot be interrupted there: throws LimitReached where the
  /// limits leave too little time or memory, by an estimate.
  std::string smt_lib(z3::solver& solver) const;
  /// Checks with what is left; unknown if that does not suffice, or would not.
  z3::check_result check(z3::solver& solver, const z3::expr_vector& assumptions) const;
  /// Units of work so far, as `rlimit` counts them.
  std::uint64_t work() const;

 private:
  static constexpr std::size_t kInterval = 256;
  static constexpr std::string_view kActivity = "building a query for Z3";

  /// How many terms there are, about.
  double terms() const;
  void require_building() const;
  bool has_room_to_solve() const;
  void interrupt_when_exceeded();

  z3::context* context_;
  const Limits& limits_;
  std::uint64_t work_at_start_ = 0;
  mutable std::size_t steps_ = 0;
  bool stop_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread interrupter_;
};

/// Throws the error of the library that an exception of Z3 stands for: LimitReached if it ran out
/// of memory, time or work, else ToolError.
[[noreturn]] void throw_as_p2_error(const z3::exception& error);

/// The result of `query()`, where no z3::exception leaves it.
template <typename Query>
auto guarded(Query query) {
  try {
    return query();
  } catch (const z3::exception& error) {
    throw_as_p2_error(error);
  }
}

/// A small integer in the unary (order) encoding: `step` times the number of thresholds that hold,
/// where a threshold holds only if all before it do. Comparing counts of chunks this way takes a
/// clause per threshold; comparing them in binary takes adders, multipliers and comparators.
struct UnaryNumber {
  /// Longer ones are not worth it: they are quadratic in what they count.
  static constexpr std::size_t kMaxThresholds = 64;

  std::vector<z3::expr> thresholds;  ///< at least one
  std::uint64_t step = 1;

  z3::context& context() const { return thresholds[0].ctx(); }
  std::uint64_t most() const { return step * thresholds.size(); }
  /// That the value is at least so much, or at most.
  z3::expr at_least(std::uint64_t value) const;
  z3::expr at_most(std::uint64_t value) const { return !at_least(value + 1); }
};

/// The sum of a count and a unary number with one threshold; both in steps of 1.
UnaryNumber one_more(const UnaryNumber& count, const UnaryNumber& more);
UnaryNumber remainder(const UnaryNumber& of, std::uint64_t divisor);
z3::expr equal(const UnaryNumber& a, const UnaryNumber& b);
z3::expr less_equal(const UnaryNumber& a, const UnaryNumber& b);

}  // namespace p2::z3_encoding

/// The bit-vector reading of the semantics: what engine/collective/language says of one state,
/// written as terms over the rows of a symbolic state.
namespace p2::z3_encoding {

/// What an expression of a definition is worth in a symbolic state. Either it is known already
/// (Booleans are 0 and 1), or it is a term: a Boolean, a bit-vector with one bit for each
/// contributor ("lanes": the value of a Boolean for all contributors at once), or an integer that
/// never exceeds `most`, in exactly as many bits as `most` needs.
struct Value {
  std::uint64_t known = 0;
  std::optional<z3::expr> term;
  std::uint64_t most = 0;
  std::shared_ptr<const UnaryNumber> unary =
      {};  ///< the same integer once more, where it is a count

  static Value of(std::uint64_t number) { return {number, std::nullopt, number, {}}; }
  /// A Boolean or lanes.
  static Value truth(z3::expr term) { return {0, std::move(term), 1, {}}; }
  static Value integer(z3::expr term, std::uint64_t most,
                       std::shared_ptr<const UnaryNumber> unary = {}) {
    return {0, std::move(term), most, std::move(unary)};
  }

  bool is(std::uint64_t number) const { return !term && known == number; }
};

/// The integers of the definition language: 0 to 2^64 − 1, every operation total, as
/// engine/collective/language/definition.h says. A term has as many bits as its greatest value
/// needs, so that counting 16 chunks takes 5 bits and not 64; only where a result may pass 2^64 is
/// it computed in 64 bits, which then wrap as the language wants.
class Arithmetic {
 public:
  explicit Arithmetic(z3::context& context) : context_(&context) {}

  Value add(const Value& a, const Value& b) const;
  /// 0 where b > a.
  Value subtract(const Value& a, const Value& b) const;
  Value multiply(const Value& a, const Value& b) const;
  /// 0 where b is 0.
  Value divide(const Value& a, const Value& b) const;
  /// a where b is 0.
  Value modulo(const Value& a, const Value& b) const;

  Value equal(const Value& a, const Value& b) const;
  Value less(const Value& a, const Value& b) const;
  Value less_equal(const Value& a, const Value& b) const;

  /// The sum from the first to the last, so that the counts up to each chunk, which ReduceScatter
  /// compares, are the same terms as the beginnings of longer counts.
  Value sum(const std::vector<Value>& all) const;
  /// 1 if the Boolean holds, else 0.
  Value from_boolean(const Value& a) const;
  /// How many lanes are set.
  Value count_lanes(const z3::expr& lanes) const;

  /// As a bit-vector of `width` bits; `a` must fit.
  z3::expr bits(const Value& a, unsigned width) const;

 private:
  z3::expr at_most(const Value& a, const Value& b) const;

  z3::context* context_;
};

/// Connectives on Booleans and lanes. A Boolean among lanes counts for every contributor alike.
/// Known operands are folded away; nothing else is simplified.
class Truth {
 public:
  /// `lanes` is the number of contributors, at least 1.
  Truth(z3::context& context, unsigned lanes);

  Value negation(const Value& a) const;
  Value conjunction(const std::vector<Value>& all) const;
  Value disjunction(const std::vector<Value>& all) const;
  Value equivalence(const Value& a, const Value& b) const;

  /// Whether lanes are all set; a Boolean stays as it is.
  Value all_lanes(const Value& a) const;
  /// Whether any lane is set.
  Value any_lane(const Value& a) const;

  /// As a Boolean term; not for lanes.
  z3::expr boolean(const Value& a) const;
  /// As a bit-vector of all lanes.
  z3::expr lanes(const Value& a) const;

 private:
  Value join(const std::vector<Value>& all, bool conjunction) const;

  z3::context* context_;
  z3::expr none_;
  z3::expr every_;
};

}  // namespace p2::z3_encoding
