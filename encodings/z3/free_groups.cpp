#include "encodings/z3/free_groups.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "encodings/z3/free_unrolling.h"
#include "engine/base/invariant.h"

namespace p2::z3_encoding {
namespace {

constexpr std::uint32_t kMostDevices = 8;

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
      const bool too_dear = charged >= limit_.below;
      clauses.add(too_dear ? otherwise : otherwise || z3::uge(steps_.back(), number(charged)));
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
  const Meter meter(context, query.budget);
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
      answer.existence = Existence::Exists;
      answer.witness = program_of(solver.get_model(), unrolling, rulebook);
      return;
    }
    ++answer.settled;
  }
  answer.existence = Existence::None;
}

}  // namespace

FreeGroupsAnswer find_one(const FreeGroupsQuery& query) {
  invariant(query.devices <= kMostDevices, "too many sets of devices");
  FreeGroupsAnswer answer;
  try {
    search(query, answer);
  } catch (const OutOfBudget&) {
    // What was settled stays settled.
  }
  return answer;
}

}  // namespace p2::z3_encoding
