#include "encodings/z3/free_groups.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "encodings/z3/clauses.h"
#include "encodings/z3/system_rows.h"
#include "engine/invariant.h"

namespace p2::z3_encoding {
namespace {

constexpr std::uint32_t kMostDevices = 8;

/// All sets of at least two devices, as masks.
std::vector<std::uint32_t> group_masks(std::uint32_t devices) {
  std::vector<std::uint32_t> masks;
  for (std::uint32_t mask = 1; mask < 1U << devices; ++mask) {
    if (std::popcount(mask) > 1) masks.push_back(mask);
  }
  return masks;
}

Group members(std::uint32_t mask) {
  Group group;
  for (std::uint32_t device = 0; mask >> device != 0; ++device) {
    if ((mask >> device & 1U) != 0) group.push_back(device);
  }
  return group;
}

/// Grown step by step. Whether a group is formed is a symbol for every set of devices, those that
/// overlap exclude each other; the collective is a symbol. The rows after a step are symbols that
/// follow from both.
class Search {
 public:
  explicit Search(const FreeGroupsQuery& query)
      : query_(query),
        meter_(context_, query.budget),
        rulebook_(query.definitions),
        masks_(group_masks(query.devices)),
        clauses_(meter_),
        solver_(context_, "QF_FD"),
        rows_(SystemRows::initial(context_, query.devices, query.devices)),
        goal_(SystemRows::goal(context_, query.devices, query.classes, query.devices)) {}

  FreeGroupsAnswer operator()();

 private:
  struct Chosen {
    std::vector<z3::expr> rules;
    std::vector<z3::expr> groups;  ///< by index into masks_
    z3::expr price;
  };

  z3::expr symbol(const std::string& name) {
    return context_.bool_const(fmt::format("step{} {}", steps_.size() + 1, name).c_str());
  }
  unsigned price_bits() const {
    return query_.limit ? static_cast<unsigned>(std::bit_width(query_.limit->below * query_.size))
                        : 1;
  }
  z3::expr price_of(std::uint64_t number) { return context_.bv_val(number, price_bits()); }

  void choose();
  void choose_groups(Chosen& step);
  void apply(const Chosen& step, std::uint32_t rule, std::size_t group, SystemRows& after);
  void demand_price(const z3::expr& acts, const z3::expr& price, std::uint32_t rule,
                    const Group& group);
  SystemRows fresh_rows();
  /// A symbol under which the last step leads to the goal by a program that is looked for.
  z3::expr end();
  std::vector<Step> read(const z3::model& model) const;

  const FreeGroupsQuery& query_;
  z3::context context_;
  Meter meter_;
  Rulebook rulebook_;
  std::vector<std::uint32_t> masks_;
  Clauses clauses_;
  z3::solver solver_;
  SystemRows rows_;
  SystemRows goal_;
  std::vector<Chosen> steps_;
};

SystemRows Search::fresh_rows() {
  SystemRows rows = rows_;
  for (std::uint32_t d = 0; d < query_.devices; ++d) {
    for (std::uint32_t r = 0; r < query_.devices; ++r) {
      const std::string name = fmt::format("step{}.device{}.chunk{}", steps_.size() + 1, d, r);
      rows.set(d, r, context_.bv_const(name.c_str(), query_.devices));
    }
  }
  return rows;
}

/// At least one group, and no device in two.
void Search::choose_groups(Chosen& step) {
  z3::expr_vector some(context_);
  for (std::size_t group = 0; group < masks_.size(); ++group) {
    step.groups.push_back(symbol(fmt::format("group{}", masks_[group])));
    some.push_back(step.groups[group]);
    for (std::size_t other = 0; other < group; ++other) {
      if ((masks_[group] & masks_[other]) == 0) continue;
      clauses_.add(!step.groups[group] || !step.groups[other]);
    }
  }
  clauses_.add(z3::mk_or(some));
}

void Search::choose() {
  Chosen step{
      {}, {}, context_.bv_const(fmt::format("price{}", steps_.size() + 1).c_str(), price_bits())};
  choose_groups(step);
  z3::expr_vector some(context_);
  for (std::uint32_t rule = 0; rule < rulebook_.rules().size(); ++rule) {
    step.rules.push_back(symbol(rulebook_.rules()[rule].definition.name));
    some.push_back(step.rules[rule]);
    for (std::uint32_t other = 0; other < rule; ++other) {
      clauses_.add(!step.rules[rule] || !step.rules[other]);
    }
  }
  clauses_.add(z3::mk_or(some));
  SystemRows after = fresh_rows();
  for (std::uint32_t rule = 0; rule < rulebook_.rules().size(); ++rule) {
    for (std::size_t group = 0; group < masks_.size(); ++group) apply(step, rule, group, after);
  }
  for (std::uint32_t d = 0; d < query_.devices; ++d) {
    z3::expr_vector busy(context_);
    for (std::size_t group = 0; group < masks_.size(); ++group) {
      if ((masks_[group] >> d & 1U) != 0) busy.push_back(step.groups[group]);
    }
    const z3::expr idle = symbol(fmt::format("idle{}", d));
    clauses_.add(idle || z3::mk_or(busy));
    for (std::uint32_t r = 0; r < query_.devices; ++r) {
      clauses_.demand_same(idle, after.row(d, r), rows_.row(d, r));
    }
  }
  steps_.push_back(std::move(step));
  rows_ = after;
}

/// What follows where this rule and this group are chosen.
void Search::apply(const Chosen& step, std::uint32_t rule, std::size_t group, SystemRows& after) {
  meter_.checkpoint();
  const z3::expr acts = symbol(fmt::format("rule{} group{}", rule, masks_[group]));
  clauses_.add(!step.rules[rule] || !step.groups[group] || acts);
  const Group devices = members(masks_[group]);
  const GroupRows before = rows_.of(devices);
  const Rule& definition = rulebook_.rules()[rule];
  Reading reading(context_, definition, before);
  clauses_.demand({acts}, !holds_nothing(before), true);
  for (std::size_t i = 0; i < definition.definition.premises.size(); ++i) {
    clauses_.demand({acts}, reading.premise(i), true);
  }
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    for (std::uint32_t r = 0; r < query_.devices; ++r) {
      clauses_.demand_same(acts, after.row(devices[i], r), reading.row_after(i, r));
    }
  }
  if (query_.limit) demand_price(acts, step.price, rule, devices);
}

void Search::demand_price(const z3::expr& acts, const z3::expr& price, std::uint32_t rule,
                          const Group& group) {
  const auto collective = collective_called(rulebook_.rules()[rule].definition.name);
  invariant(collective.has_value(), "a definition without a price");
  const GroupPrice charged = query_.limit->price(*collective, group.size());
  // The first device holds at least so many chunks, for every number of them that costs more.
  z3::expr held = price_of(0);
  for (std::uint32_t r = 0; r < query_.devices; ++r) {
    const z3::expr& row = rows_.row(group[0], r);
    held = held + z3::ite(row == context_.bv_val(0, query_.devices), price_of(0), price_of(1));
  }
  for (std::uint32_t chunks = 1; chunks <= query_.devices; ++chunks) {
    const std::uint64_t dear = charged.base + charged.per_chunk * chunks;
    const z3::expr so_many = acts && held == price_of(chunks);
    if (dear >= query_.limit->below) {
      clauses_.add(!so_many);
    } else {
      clauses_.add(!so_many || z3::uge(price, price_of(dear)));
    }
  }
}

z3::expr Search::end() {
  const z3::expr ends =
      context_.bool_const(fmt::format("ends after step{}", steps_.size()).c_str());
  for (std::uint32_t d = 0; d < query_.devices; ++d) {
    for (std::uint32_t r = 0; r < query_.devices; ++r) {
      clauses_.demand_equal({ends}, rows_.row(d, r), goal_.row(d, r));
    }
  }
  z3::expr_vector mixing(context_);
  z3::expr total = price_of(0);
  for (const Chosen& step : steps_) {
    total = total + step.price;
    for (std::size_t group = 0; group < masks_.size(); ++group) {
      const Group devices = members(masks_[group]);
      const bool inside =
          std::any_of(query_.classes.begin(), query_.classes.end(), [&](const Group& all) {
            return std::includes(all.begin(), all.end(), devices.begin(), devices.end());
          });
      if (!inside) mixing.push_back(step.groups[group]);
    }
    // Prices below the limit are summed without overflow.
    if (query_.limit) clauses_.add(z3::ult(step.price, price_of(query_.limit->below)));
  }
  if (query_.mixing) clauses_.add(!ends || z3::mk_or(mixing));
  if (query_.limit) clauses_.add(!ends || z3::ult(total, price_of(query_.limit->below)));
  return ends;
}

std::vector<Step> Search::read(const z3::model& model) const {
  std::vector<Step> program;
  const auto holds = [&](const z3::expr& symbol) { return model.eval(symbol).is_true(); };
  for (const Chosen& chosen : steps_) {
    Step step;
    const auto rule = std::find_if(chosen.rules.begin(), chosen.rules.end(), holds);
    const auto number = static_cast<std::size_t>(rule - chosen.rules.begin());
    step.collective = *collective_called(rulebook_.rules()[number].definition.name);
    for (std::size_t group = 0; group < masks_.size(); ++group) {
      if (holds(chosen.groups[group])) step.groups.push_back(members(masks_[group]));
    }
    std::sort(step.groups.begin(), step.groups.end());
    program.push_back(std::move(step));
  }
  return program;
}

FreeGroupsAnswer Search::operator()() {
  FreeGroupsAnswer answer;
  while (answer.settled < query_.size) {
    // A program ends where the goal is first reached.
    clauses_.add(!equal(rows_, goal_));
    choose();
    z3::expr_vector assumptions(context_);
    assumptions.push_back(end());
    for (const z3::expr& clause : clauses_.take()) solver_.add(clause);
    const z3::check_result result = meter_.check(solver_, assumptions);
    if (result == z3::unknown) return answer;
    if (result == z3::sat) {
      answer.existence = Existence::Exists;
      answer.witness = read(solver_.get_model());
      return answer;
    }
    ++answer.settled;
  }
  answer.existence = Existence::None;
  return answer;
}

}  // namespace

FreeGroupsAnswer find_one(const FreeGroupsQuery& query) {
  invariant(query.devices <= kMostDevices, "too many sets of devices");
  try {
    return Search(query)();
  } catch (const OutOfBudget&) {
    return {};
  }
}

}  // namespace p2::z3_encoding
