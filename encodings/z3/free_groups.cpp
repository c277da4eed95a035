#include "encodings/z3/synthesis.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "encodings/z3/system_rows.h"
#include "encodings/z3/unrolling.h"
#include "engine/base/invariant.h"

namespace p2::z3_encoding {
namespace {

/// Steps of symbolic choice on any disjoint groups. In every step the collective is a symbol, and
/// so is, for every set of at least two devices, whether it forms a group; sets that overlap
/// exclude each other. The rows after a step are symbols that follow from both. Grown step by step;
/// all arguments must outlive it; `choose` throws LimitReached where `meter` says so.
class FreeUnrolling {
 public:
  struct Chosen {
    SystemRows before;
    std::vector<z3::expr> rules;   ///< as in the rulebook
    std::vector<z3::expr> groups;  ///< as in groups()
    /// By rule, then group: implied where both are chosen.
    std::vector<std::vector<z3::expr>> acts = {};
  };

  FreeUnrolling(z3::context& context, std::uint32_t devices, const std::vector<Group>& classes,
                const Rulebook& rulebook, const Meter& meter);

  /// All sets of at least two devices.
  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<Chosen>& steps() const { return steps_; }
  Clauses& clauses() { return clauses_; }

  /// One more step, from a state that is not the goal: a program ends where it is first reached.
  void choose();
  /// A symbol under which the last step leads to the goal.
  z3::expr end();

 private:
  z3::expr symbol(const std::string& name);
  SystemRows fresh_rows();
  std::vector<z3::expr> choose_groups();
  std::vector<z3::expr> choose_rule();
  void apply(std::uint32_t rule, std::size_t group, Chosen& step, const SystemRows& after);
  void keep(std::uint32_t device, const Chosen& step, const SystemRows& after);

  z3::context* context_;
  std::uint32_t devices_;
  const Rulebook& rulebook_;
  const Meter& meter_;
  std::vector<Group> groups_;
  Clauses clauses_;
  SystemRows rows_;
  SystemRows goal_;
  std::vector<Chosen> steps_;
};

std::vector<Group> all_groups(std::uint32_t devices) {
  std::vector<Group> groups;
  for (std::uint32_t mask = 1; mask < 1U << devices; ++mask) {
    if (std::popcount(mask) == 1) continue;
    Group& group = groups.emplace_back();
    for (std::uint32_t device = 0; device < devices; ++device) {
      if ((mask >> device & 1U) != 0) group.push_back(device);
    }
  }
  return groups;
}

bool has(const Group& group, std::uint32_t device) {
  return std::binary_search(group.begin(), group.end(), device);
}

bool overlap(const Group& a, const Group& b) {
  return std::any_of(a.begin(), a.end(), [&](std::uint32_t device) { return has(b, device); });
}

FreeUnrolling::FreeUnrolling(z3::context& context, std::uint32_t devices,
                             const std::vector<Group>& classes, const Rulebook& rulebook,
                             const Meter& meter)
    : context_(&context),
      devices_(devices),
      rulebook_(rulebook),
      meter_(meter),
      groups_(all_groups(devices)),
      clauses_(meter),
      rows_(SystemRows::initial(context, devices, devices, devices, meter)),
      goal_(rows_.with_sums(classes)) {}

z3::expr FreeUnrolling::symbol(const std::string& name) {
  return context_->bool_const(fmt::format("step{} {}", steps_.size() + 1, name).c_str());
}

SystemRows FreeUnrolling::fresh_rows() {
  SystemRows rows = rows_;
  for (std::uint32_t d = 0; d < devices_; ++d) {
    for (std::uint32_t r = 0; r < devices_; ++r) {
      const std::string name = fmt::format("step{}.device{}.chunk{}", steps_.size() + 1, d, r);
      rows.set(d, r, context_->bv_const(name.c_str(), devices_));
    }
  }
  return rows;
}

/// At least one group, and no device in two.
std::vector<z3::expr> FreeUnrolling::choose_groups() {
  std::vector<z3::expr> formed;
  z3::expr_vector some(*context_);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    formed.push_back(symbol(fmt::format("group{}", group)));
    some.push_back(formed.back());
    for (std::size_t other = 0; other < group; ++other) {
      if (overlap(groups_[group], groups_[other])) clauses_.add(!formed[group] || !formed[other]);
    }
  }
  clauses_.add(z3::mk_or(some));
  return formed;
}

std::vector<z3::expr> FreeUnrolling::choose_rule() {
  std::vector<z3::expr> chosen;
  z3::expr_vector some(*context_);
  for (const Rule& rule : rulebook_.rules()) {
    const z3::expr next = symbol(rule.definition.name);
    for (const z3::expr& other : chosen) clauses_.add(!next || !other);
    chosen.push_back(next);
    some.push_back(next);
  }
  clauses_.add(z3::mk_or(some));
  return chosen;
}

void FreeUnrolling::choose() {
  clauses_.add(!equal(rows_, goal_));
  Chosen step{rows_, choose_rule(), choose_groups()};
  const SystemRows after = fresh_rows();
  for (std::uint32_t rule = 0; rule < step.rules.size(); ++rule) {
    step.acts.emplace_back();
    for (std::size_t group = 0; group < groups_.size(); ++group) apply(rule, group, step, after);
  }
  for (std::uint32_t device = 0; device < devices_; ++device) keep(device, step, after);
  steps_.push_back(std::move(step));
  rows_ = after;
}

/// What follows where this rule and this group are chosen.
void FreeUnrolling::apply(std::uint32_t rule, std::size_t group, Chosen& step,
                          const SystemRows& after) {
  meter_.checkpoint();
  const z3::expr acts = symbol(fmt::format("rule{} group{}", rule, group));
  clauses_.add(!step.rules[rule] || !step.groups[group] || acts);
  step.acts[rule].push_back(acts);
  const Group& devices = groups_[group];
  const GroupRows before = rows_.of(devices);
  const Rule& definition = rulebook_.rules()[rule];
  Reading reading(*context_, definition, before, &meter_);
  clauses_.demand({acts}, !holds_nothing(before), true);
  for (std::size_t i = 0; i < definition.definition.premises.size(); ++i) {
    clauses_.demand({acts}, reading.premise(i), true);
  }
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    for (std::uint32_t r = 0; r < devices_; ++r) {
      clauses_.demand_same(acts, after.row(devices[i], r), reading.row_after(i, r));
    }
  }
}

/// A device in no group keeps its rows.
void FreeUnrolling::keep(std::uint32_t device, const Chosen& step, const SystemRows& after) {
  const z3::expr idle = symbol(fmt::format("idle{}", device));
  z3::expr_vector either(*context_);
  either.push_back(idle);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (has(groups_[group], device)) either.push_back(step.groups[group]);
  }
  clauses_.add(z3::mk_or(either));
  for (std::uint32_t r = 0; r < devices_; ++r) {
    clauses_.demand_same(idle, after.row(device, r), rows_.row(device, r));
  }
}

z3::expr FreeUnrolling::end() {
  const std::string name = fmt::format("ends after step{}", steps_.size());
  z3::expr ends = context_->bool_const(name.c_str());
  for (std::uint32_t d = 0; d < devices_; ++d) {
    for (std::uint32_t r = 0; r < devices_; ++r) {
      clauses_.demand_equal({ends}, rows_.row(d, r), goal_.row(d, r));
    }
  }
  return ends;
}

constexpr std::uint32_t kMaxDevices = 8;

/// Under which prices a program is looked for: a symbol for every step, at least what each of its
/// groups costs.
class Prices {
 public:
  Prices(z3::context& context, const PriceLimit& limit, std::uint32_t size, std::uint32_t devices)
      : context_(&context),
        limit_(limit),
        bits_(static_cast<unsigned>(
            std::bit_width(std::max<std::uint64_t>(limit.below * size, devices)))) {}

  /// The price of the last step.
  void add(FreeUnrolling& unrolling, const Rulebook& rulebook) {
    const std::string name = fmt::format("price{}", steps_.size() + 1);
    steps_.push_back(context_->bv_const(name.c_str(), bits_));
    // Prices below the limit are summed without overflow.
    unrolling.clauses().add(z3::ult(steps_.back(), number(limit_.below)));
    const FreeUnrolling::Chosen& step = unrolling.steps().back();
    for (std::size_t rule = 0; rule < step.rules.size(); ++rule) {
      const auto collective = CollectiveSet().called(rulebook.rules()[rule].definition.name);
      invariant(collective.has_value(), "a definition without a price");
      for (std::size_t group = 0; group < unrolling.groups().size(); ++group) {
        const Group& devices = unrolling.groups()[group];
        demand(step.acts[rule][group], limit_.price(*collective, devices.size()),
               held(step.before, devices[0]), step.before.chunks(), unrolling.clauses());
      }
    }
  }

  z3::expr below_limit() const {
    z3::expr total = number(0);
    for (const z3::expr& price : steps_) total = total + price;
    return z3::ult(total, number(limit_.below));
  }

 private:
  z3::expr number(std::uint64_t value) const { return context_->bv_val(value, bits_); }

  /// How many chunks the device holds.
  z3::expr held(const SystemRows& rows, std::uint32_t device) const {
    z3::expr count = number(0);
    for (std::uint32_t r = 0; r < rows.chunks(); ++r) {
      const z3::expr& row = rows.row(device, r);
      count = count + z3::ite(row == context_->bv_val(0, rows.devices()), number(0), number(1));
    }
    return count;
  }

  void demand(const z3::expr& acts, const GroupPrice& price, const z3::expr& held,
              std::uint32_t chunks, Clauses& clauses) {
    for (std::uint32_t count = 1; count <= chunks; ++count) {
      const std::uint64_t charged = price.base + price.per_chunk * count;
      const z3::expr otherwise = !acts || held != number(count);
      const bool exceeds_limit = charged >= limit_.below;
      clauses.add(exceeds_limit ? otherwise : otherwise || z3::uge(steps_.back(), number(charged)));
    }
  }

  z3::context* context_;
  const PriceLimit& limit_;
  unsigned bits_;
  std::vector<z3::expr> steps_;
};

/// That some step has a group with devices of several classes.
z3::expr mixes(z3::context& context, const FreeUnrolling& unrolling,
               const std::vector<Group>& classes) {
  z3::expr_vector mixing(context);
  for (std::size_t group = 0; group < unrolling.groups().size(); ++group) {
    const Group& devices = unrolling.groups()[group];
    const bool inside = std::any_of(classes.begin(), classes.end(), [&](const Group& all) {
      return std::includes(all.begin(), all.end(), devices.begin(), devices.end());
    });
    if (inside) continue;
    for (const FreeUnrolling::Chosen& step : unrolling.steps()) {
      mixing.push_back(step.groups[group]);
    }
  }
  return z3::mk_or(mixing);
}

std::vector<Step> program_of(const z3::model& model, const FreeUnrolling& unrolling,
                             const Rulebook& rulebook) {
  std::vector<Step> program;
  const auto holds = [&](const z3::expr& symbol) { return model.eval(symbol).is_true(); };
  for (const FreeUnrolling::Chosen& chosen : unrolling.steps()) {
    Step step;
    const auto rule = std::find_if(chosen.rules.begin(), chosen.rules.end(), holds);
    const auto number = static_cast<std::size_t>(rule - chosen.rules.begin());
    step.collective = *CollectiveSet().called(rulebook.rules()[number].definition.name);
    for (std::size_t group = 0; group < chosen.groups.size(); ++group) {
      if (holds(chosen.groups[group])) step.groups.push_back(unrolling.groups()[group]);
    }
    std::sort(step.groups.begin(), step.groups.end());
    program.push_back(std::move(step));
  }
  return program;
}

/// Looks for programs of one length after the other; fills `answer` as far as it gets.
void search(const FreeGroupsQuery& query, FreeGroupsAnswer& answer) {
  z3::context context;
  const Meter meter(context, query.limits);
  const Rulebook rulebook(query.definitions);
  FreeUnrolling unrolling(context, query.devices, query.classes, rulebook, meter);
  std::optional<Prices> prices;
  if (query.limit) prices.emplace(context, *query.limit, query.size, query.devices);
  z3::solver solver(context, "QF_FD");
  while (answer.settled < query.size) {
    unrolling.choose();
    if (prices) prices->add(unrolling, rulebook);
    const z3::expr ends = unrolling.end();
    Clauses& clauses = unrolling.clauses();
    if (prices) clauses.add(!ends || prices->below_limit());
    if (query.mixing) clauses.add(!ends || mixes(context, unrolling, query.classes));
    for (const z3::expr& clause : clauses.take()) solver.add(clause);
    z3::expr_vector assumptions(context);
    assumptions.push_back(ends);
    const z3::check_result result = meter.check(solver, assumptions);
    if (result == z3::unknown) return;
    if (result == z3::sat) {
      answer.outcome = Outcome::Established;
      answer.witness = program_of(solver.get_model(), unrolling, rulebook);
      return;
    }
    ++answer.settled;
  }
  answer.outcome = Outcome::Refuted;
}

}  // namespace

FreeGroupsAnswer find_one(const FreeGroupsQuery& query) {
  invariant(query.devices <= kMaxDevices, "too many sets of devices");
  FreeGroupsAnswer answer;
  try {
    guarded([&] { search(query, answer); });
  } catch (const LimitReached&) {
    // What was settled stays settled.
  }
  return answer;
}

}  // namespace p2::z3_encoding
