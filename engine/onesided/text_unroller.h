#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/onesided/text_plan.h"
#include "p2/error.h"

/// Unrolls plans in the text format.
namespace p2::onesided::text {

std::string_view word_of(TextStatement::Kind kind);

class TextUnroller {
 public:
  TextUnroller(const TextPlan& plan, const std::string& source, std::uint32_t launches)
      : plan_(plan), source_(source) {
    out_.launches = out_.judged = launches;
  }

  Unrolling run();

 private:
  using Kind = TextStatement::Kind;
  /// Names that expressions may use, and the block that runs.
  struct Scope {
    std::uint32_t rank = 0;
    std::uint32_t block = 0;
    std::uint32_t launch = 0;
    std::uint32_t lane = 0;
    bool in_loop = false;  ///< over threads: `lane` runs the statement
    std::map<std::string, std::int64_t, std::less<>> names = {};
    Block* out = nullptr;
  };
  /// A buffer as it is laid out.
  struct Buffer {
    std::uint32_t cells = 0;
    bool packets = false;
    bool doubled = false;
    std::vector<Cell> first = {};  ///< by rank
  };

  [[noreturn]] void fail(std::size_t line, std::size_t column, const std::string& reason) const {
    throw InputError({source_, line, column}, reason);
  }
  [[noreturn]] void refuse(Rule rule, const TextStatement& statement, const Scope& scope,
                           const std::string& reason) const;
  std::int64_t value(const Expression& expression, const Scope& scope) const;
  /// How often `launch` may be a factor: 0 or 1. Refuses what is not linear.
  int launch_degree(const Expression& expression) const;
  std::vector<std::int64_t> values(const NumberSet& set, std::uint32_t bound,
                                   const Scope& scope) const;
  std::uint32_t rank_of(const Expression& expression, const Scope& scope,
                        const TextStatement& statement) const;

  void for_each_block(const std::function<void(const TextBlock&, Scope&)>& visit);
  void size_user_buffers();
  void measure(const std::vector<TextStatement>& body, Scope& scope);
  void lay_out();
  void run_body(const std::vector<TextStatement>& body, Scope& scope);
  void run_statement(const TextStatement& statement, Scope& scope);
  void run_counter(const TextStatement& statement, Scope& scope);
  void run_data(const TextStatement& statement, Scope& scope);
  void run_barrier(const TextStatement& statement, Scope& scope);
  void check_barriers() const;
  void check_expectations() const;
  std::vector<Operand> operands(const Reference& reference, const TextStatement& statement,
                                const Scope& scope) const;
  Operation& add(const TextStatement& statement, Scope& scope, Operation::Kind kind,
                 bool transfer = false);
  std::uint32_t counter(const std::string& name, std::uint32_t from, std::uint32_t to);
  std::uint32_t queue(std::uint32_t from, std::uint32_t to);
  const TextCounter& declared(const TextStatement& statement) const;
  void expand_fences();

  const TextPlan& plan_;
  const std::string& source_;
  Unrolling out_;
  std::map<std::string, Buffer, std::less<>> buffers_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::uint32_t> counters_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> queues_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> blocks_;  // by rank and number
  std::map<std::tuple<std::size_t, std::uint32_t, std::uint32_t, bool>, std::uint32_t> origins_;
  struct BarrierUse {
    std::set<std::uint32_t> blocks;
    std::uint32_t id = 0;
    std::map<std::uint32_t, std::uint64_t> times = {};
    const TextStatement* statement = nullptr;
    Scope scope = {};
  };
  std::map<std::pair<std::uint32_t, std::set<std::uint32_t>>, BarrierUse> barriers_;
  std::map<std::uint32_t, std::int64_t> slopes_;  ///< by counter: of its absolute expectations
  std::uint64_t operations_ = 0;
  std::uint64_t input_cells_ = 0;
  std::uint64_t output_cells_ = 0;
};

}  // namespace p2::onesided::text
