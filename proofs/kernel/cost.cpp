#include <algorithm>
#include <bit>
#include <compare>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "proofs/kernel/cost.h"
#include "proofs/kernel/input.h"
#include "proofs/kernel/problem.h"

namespace p2::kernel {

namespace {

/// Of how many of the sets, disjoint, `all` is the union at least; very many where it is none.
std::size_t fewest(unsigned all, const std::u16string& sets) {
  std::size_t best = all == 0 ? 0 : 99;
  for (const unsigned set : sets) {
    const bool fits = (set & all & (~all + 1)) != 0 && (set & ~all) == 0;
    if (fits) best = std::min(best, 1 + fewest(all & ~set, sets));
  }
  return best;
}

constexpr Amount kMaxPricedDevices = 16;
constexpr Amount kLargestChunk = 720720;  // lcm(1, …, 16)
constexpr Amount kSlowdownEnd = Amount{1} << 16U;
constexpr Amount kLargestPrice = Amount{1} << 60U;
// A group is charged at most 15 times what 16 chunks are, a link carries at most 8 groups, and a
// program has at most kMaxSteps steps: no bytes overflow before they are priced.
static_assert(kLargestPrice / (kMaxPricedDevices - 1) / kMaxPricedDevices / kLargestChunk /
                  (kMaxPricedDevices / 2) / kSlowdownEnd / static_cast<Amount>(kMaxSteps) >
              1);

}  // namespace

Amount Ratio::price(const Charge& charge) const {
  Amount for_rounds = 0;
  Amount for_bytes = 0;
  if (__builtin_mul_overflow(alpha, charge.rounds, &for_rounds) ||
      __builtin_mul_overflow(beta, charge.bytes, &for_bytes) || for_rounds > kLargestPrice ||
      for_bytes > kLargestPrice) {
    throw CheckFailure(Verdict::Incomplete, "the costs are too large");
  }
  return for_rounds + for_bytes;
}

PricedSystem::PricedSystem(const Problem& problem, const Json& uplinks)
    : devices_(problem.devices) {
  if (devices_ > kMaxPricedDevices)
    throw CheckFailure(Verdict::Incomplete, "the devices are too many");
  initial.assign(std::size_t{devices_} * devices_, 0);
  goal = initial;
  for (Amount n = 2; n <= devices_; ++n) chunk_ = std::lcm(chunk_, n);
  for (const Numbers& members : problem.classes) {
    unsigned all = 0;
    for (const std::uint32_t d : members) all |= 1U << d;
    classes_.push_back(static_cast<char16_t>(all));
    for (const std::uint32_t d : members) {
      const std::size_t row = std::size_t{d} * devices_;
      initial.replace(row, devices_, devices_, static_cast<char16_t>(1U << d));
      goal.replace(row, devices_, devices_, classes_.back());
    }
  }
  std::map<std::uint32_t, std::uint32_t> slowest;  // of the uplinks of one span
  for (const Json& item : as_list(uplinks)) {
    const Numbers pair = as_numbers(item, kSlowdownEnd);
    if (pair.size() != 2 || pair[0] == 0) malformed("an uplink is not [span, slowdown]");
    slowest[pair[0]] = std::max(slowest[pair[0]], pair[1]);
  }
  for (const auto& [span, slowdown] : slowest) {
    if (span >= devices_) break;  // no group has devices on both sides
    for (std::uint32_t first = 0; first < devices_; first += span) {
      links_.push_back({first, first + span, slowdown});
    }
  }
}

std::uint32_t PricedSystem::held(const Holdings& state, std::uint32_t device) const {
  const auto row = state.begin() + static_cast<std::ptrdiff_t>(device) * devices_;
  return devices_ - static_cast<std::uint32_t>(std::count(row, row + devices_, 0));
}

bool PricedSystem::run(const Step& step, const Numbers& group, Holdings& state) const {
  const bool gathers = step.collective == "AllGather";
  const bool copies = step.collective == "Broadcast";
  const bool scatters = step.collective == "ReduceScatter";
  const std::size_t n = held(state, group[0]);
  std::u16string total = state.substr(std::size_t{group[0]} * devices_, devices_);
  const std::u16string sent = total;
  bool learns = false;
  for (std::size_t i = 1; i < group.size(); ++i) {
    if (gathers && held(state, group[i]) != n) return false;
    for (std::uint32_t r = 0; r < devices_; ++r) {
      const char16_t own = state[group[i] * devices_ + r];
      const bool broken = copies    ? (own & ~sent[r]) != 0
                          : gathers ? own != 0 && total[r] != 0
                                    : (own & total[r]) != 0 || (own == 0) != (sent[r] == 0);
      if (broken) return false;
      learns = learns || own != sent[r];
      total[r] = static_cast<char16_t>(total[r] | own);
    }
  }
  if (n == 0 || (copies && !learns) || (scatters && n % group.size() != 0)) return false;
  for (std::size_t i = 0; i < group.size(); ++i) {
    std::size_t before = 0;  // chunks
    for (std::uint32_t r = 0; r < devices_; ++r) {
      const bool part = before * group.size() / n == i;
      const bool kept = scatters ? part : step.collective != "Reduce" || i == 0;
      state[group[i] * devices_ + r] = kept ? total[r] : 0;
      before += total[r] != 0 ? 1 : 0;
    }
  }
  return true;
}

std::vector<Charge> PricedSystem::charges(const Step& step, const Numbers& held) const {
  std::vector<Charge> own;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const Amount n = std::ssize(step.groups[i]);
    const Amount bytes = chunk_ * held[i];
    const Charge shares = {n - 1, (n - 1) * bytes / n};
    const Amount depth = std::bit_width(static_cast<unsigned>(n - 1));
    own.push_back(step.collective == "AllReduce"       ? Charge{2 * shares.rounds, 2 * shares.bytes}
                  : step.collective == "ReduceScatter" ? shares
                  : step.collective == "AllGather"     ? Charge{n - 1, (n - 1) * bytes}
                                                       : Charge{depth, depth * bytes});
  }
  std::vector<Charge> slowest = own;
  for (const Link& link : links_) {
    const auto crosses = [&](std::size_t i) {
      const auto inside = std::ranges::count_if(step.groups[i], link);
      return inside > 0 && inside < std::ssize(step.groups[i]);
    };
    Amount load = 0;
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (crosses(i)) load += link.slowdown * own[i].bytes;
    }
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (crosses(i)) slowest[i].bytes = std::max(slowest[i].bytes, load);
    }
  }
  return slowest;
}

std::optional<std::vector<Charge>> PricedSystem::take(const Step& step, Holdings& state) const {
  Numbers before;
  for (const Numbers& group : step.groups) {
    before.push_back(held(state, group[0]));
    if (!run(step, group, state)) return std::nullopt;
  }
  return charges(step, before);
}

bool PricedSystem::add_what_is_left(const Holdings& state, std::uint32_t r, unsigned all,
                                    Left& left) const {
  std::u16string pure(devices_, 0);  // what may become a part of the class
  Amount most = 0, sum = 0, open = 0;
  for (std::uint32_t d = 0; d < devices_; ++d) {
    const unsigned own = state[d * devices_ + r];
    if ((all >> d & 1U) != 0 && own != all) ++open;
    if ((own & ~all) != 0) continue;
    pure[d] = static_cast<char16_t>(own);
    most = std::max<Amount>(most, std::popcount(own));
    sum += std::popcount(own);
  }
  const auto pieces = static_cast<Amount>(fewest(all, pure));
  if (pieces > devices_) return false;
  if (open == 0) return true;
  const Amount size = std::popcount(all);
  while ((most * sum << left.rounds) < size * size * size) ++left.rounds;
  left.volume += pieces - 1 + open - (pieces > 1 ? 1 : 0);
  for (std::size_t l = 0; l < links_.size(); ++l) {
    unsigned there[2] = {}, members[2] = {};  // outside and inside
    for (std::uint32_t d = 0; d < devices_; ++d) {
      there[links_[l](d)] |= pure[d];
      members[links_[l](d)] |= all & 1U << d;
    }
    for (const int side : {0, 1}) left.flows[l] += members[side] != 0 && there[side] != all ? 1 : 0;
  }
  return true;
}

std::optional<Amount> PricedSystem::least(const Holdings& state, const Ratio& ratio) const {
  if (state == goal) return 0;
  const Amount k = devices_;
  Left left = {1, 0, std::vector<Amount>(links_.size(), 0)};
  Amount most = 0;  // volume of a chunk
  for (std::uint32_t r = 0; r < devices_; ++r) {
    const Amount before = left.volume;
    for (const unsigned all : classes_) {
      if (!add_what_is_left(state, r, all, left)) return std::nullopt;
    }
    most = std::max(most, left.volume - before);
  }
  Amount least = std::max(ratio.price({left.rounds, 0}),
                          ratio.price({std::max(k, 2 * most), left.volume * chunk_}) / k);
  for (std::size_t l = 0; l < links_.size(); ++l) {
    const Amount load = links_[l].slowdown * left.flows[l] * chunk_ / 2;
    least = std::max(least, ratio.price({1, load}));
  }
  return least;
}

namespace {

/// What a valid program takes; rejects unless that is linear in α and β.
Charge cost_of(const Problem& program, const PricedSystem& system, const std::string& which) {
  Charge total;
  Holdings state = system.initial;
  for (const Step& step : program.steps) {
    if (state == system.goal) reject(which + "steps after the goal");
    if (!step.allowed(program.published)) reject(which + "a Master with another collective");
    const auto charges = system.take(step, state);
    if (!charges) reject(which + "a step is not legal");
    Charge slowest;
    for (const auto& [rounds, bytes] : *charges) {
      slowest = {std::max(slowest.rounds, rounds), std::max(slowest.bytes, bytes)};
    }
    if (std::ranges::count(*charges, slowest) == 0) reject(which + "a step has no slowest group");
    total = {total.rounds + slowest.rounds, total.bytes + slowest.bytes};
  }
  if (state != system.goal) reject(which + "the goal is not reached");
  return total;
}

/// The ratios at which one charge gives way to another.
void add_bends(const std::vector<Charge>& charges, std::set<Ratio>& ratios, Budget& budget) {
  budget.spend(charges.size() * charges.size());
  for (const Charge& a : charges) {
    for (const Charge& b : charges) {
      const Amount alpha = b.bytes - a.bytes;
      const Amount beta = a.rounds - b.rounds;
      const Amount divisor = std::gcd(alpha, beta);
      if (alpha <= 0 || beta <= 0) continue;
      budget.spend(16);
      ratios.insert({alpha / divisor, beta / divisor});
    }
  }
}

/// Between two that follow each other every step and the least of what is known is linear.
std::set<Ratio> all_ratios(const PricedSystem& system, const std::vector<Step>& choices,
                           const std::vector<Charge>& known, Budget& budget) {
  std::set<Ratio> ratios = {{0, 1}, {1, 0}};
  add_bends(known, ratios, budget);
  for (const Step& choice : choices) {
    const auto other = [](const Numbers& a, const Numbers& b) { return a.size() != b.size(); };
    const bool alike = std::ranges::adjacent_find(choice.groups, other) == choice.groups.end();
    Numbers held(alike ? 0 : choice.groups.size(), 1);  // groups of one size have equal rounds
    for (std::size_t i = 0; i < held.size();) {
      budget.spend((system.links() + 1) * system.devices());
      add_bends(system.charges(choice, held), ratios, budget);
      for (i = 0; i < held.size() && ++held[i] > system.devices(); ++i) held[i] = 1;
    }
  }
  return ratios;
}

std::vector<Step> choices_of(const Problem& problem, Budget& budget) {
  if (problem.instance) return problem.instance->choices(problem.published, budget);
  std::vector<Step> choices;
  for (const std::vector<Numbers>& groups : disjoint_groups(problem.devices)) {
    for (const char* collective : kCollectives) choices.push_back({collective, {}, {}, groups});
  }
  return choices;
}

/// Of the listed programs; each is made of what `among` says.
std::vector<Charge> costs_of(const Json& root, const Problem& problem, const PricedSystem& system,
                             Budget& budget) {
  const std::string& among = as_text(root["among"]);
  if (among != "hierarchies" && among != "unmixed" && among != "all") malformed("among is unknown");
  std::vector<Charge> costs;
  for (const Json& item : as_list(root["programs"])) {
    const std::string which = "program " + std::to_string(costs.size()) + ": ";
    const Problem program = read_problem(item, {"steps"}, budget);
    if (program.classes != problem.classes || program.published != problem.published) {
      reject(which + "it is for a different system");
    }
    for (const Step& step : program.steps) {
      if (among == "hierarchies" && !step.instruction) reject(which + "it has bare groups");
      if (among == "unmixed" && program.mixes(step.groups)) reject(which + "it mixes classes");
    }
    costs.push_back(cost_of(program, system, which));
  }
  if (costs.empty()) malformed("there are no programs");
  return costs;
}

}  // namespace

CostQuestion::CostQuestion(const Json& root, Budget& budget)
    : problem(read_problem(root, {"uplinks", "among", "programs"}, budget)),
      system(problem, root["uplinks"]),
      known(costs_of(root, problem, system, budget)) {
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  choices = choices_of(problem, budget);
  ratios = all_ratios(system, choices, known, budget);
}

Amount CostQuestion::least_listed(const Ratio& ratio) const {
  Amount least = INT64_MAX;
  for (const Charge& charge : known) least = std::min(least, ratio.price(charge));
  return least;
}

std::optional<Amount> CostQuestion::take(const Step& choice, const Ratio& ratio, Holdings& state,
                                         Budget& budget) const {
  budget.spend(state.size() / 6 + 1);
  const auto charges = system.take(choice, state);
  if (!charges) return std::nullopt;
  budget.spend(system.links() * system.devices() / 6);
  Amount price = 0;
  for (const Charge& charge : *charges) price = std::max(price, ratio.price(charge));
  return price;
}

std::optional<Amount> CostQuestion::bound(const Holdings& state, const Ratio& ratio,
                                          Budget& budget) const {
  budget.spend((system.links() + 2) * state.size());
  return system.least(state, ratio);
}

namespace {

/// potential.json: for some states, at every ratio, a number that no way from there to the goal is
/// cheaper than.
class Potential {
 public:
  Potential(const Files& files, const CostQuestion& question, Budget& budget)
      : question_(question), budget_(budget) {
    const Json root = parse_json(files, "potential.json");
    expect_keys(root, {"states", "ratios"});
    const std::uint64_t k = question.system.devices();
    for (const Json& item : as_list(root["states"])) {
      budget.spend(4 * k * k);
      const Numbers cells = as_numbers(item, std::uint64_t{1} << k);
      if (cells.size() != k * k) malformed("a state does not have a number for every chunk");
      const Holdings state(cells.begin(), cells.end());
      if (state == question.system.goal) reject("the goal has a potential");
      if (!numbers_.emplace(state, numbers_.size()).second) malformed("duplicate state");
    }
    if (as_list(root["ratios"]).size() != question.ratios.size()) reject("ratios mismatch");
    auto entry = root["ratios"].begin();
    for (const Ratio& ratio : question.ratios) check(ratio, *entry++);
  }

 private:
  /// At a ratio; 0 for a state that has none there.
  void check(const Ratio& ratio, const Json& entry) {
    expect_keys(entry, {"alpha", "beta", "potential"});
    const auto amount = [](const Json& value, std::uint64_t end) {
      as_number(value, end);
      return value.get<Amount>();
    };
    if (amount(entry["alpha"], INT64_MAX) != ratio.alpha ||
        amount(entry["beta"], INT64_MAX) != ratio.beta) {
      reject("ratios mismatch");
    }
    values_.clear();
    for (const Json& value : as_list(entry["potential"])) {
      values_.push_back(amount(value, 2 * kLargestPrice));
    }
    if (values_.size() != numbers_.size()) malformed("not every state has a potential");
    const std::optional<Amount> first = at(question_.system.initial, ratio);
    if (first && *first < question_.least_listed(ratio)) {
      reject("the potential of the first state is below the least listed cost");
    }
    for (const auto& [state, number] : numbers_) {
      if (values_[number] > 0) check(ratio, state, values_[number]);
    }
  }

  /// No step leads to where price and potential together are less.
  void check(const Ratio& ratio, const Holdings& state, Amount own) {
    for (const Step& choice : question_.choices) {
      Holdings after = state;
      const std::optional<Amount> price = question_.take(choice, ratio, after, budget_);
      if (!price || *price >= own) continue;
      const std::optional<Amount> rest = at(after, ratio);
      if (rest && *price + *rest < own) reject("a potential is above step and potential after it");
    }
  }

  /// Nothing where the goal cannot be reached.
  std::optional<Amount> at(const Holdings& state, const Ratio& ratio) {
    const auto found = numbers_.find(state);
    if (found != numbers_.end() && values_[found->second] > 0) return values_[found->second];
    return question_.bound(state, ratio, budget_);
  }

  const CostQuestion& question_;
  Budget& budget_;
  std::unordered_map<Holdings, std::size_t> numbers_;
  std::vector<Amount> values_;  ///< by number
};

}  // namespace

std::string judge_cost(const std::string& /*claim*/, const Json& statement, const Files& files) {
  Budget budget;
  const Json& root = statement["problem.json"];
  const CostQuestion question(root, budget);
  const Potential checked(files, question, budget);
  const Problem& problem = question.problem;
  std::string costs;
  for (const auto& [rounds, bytes] : question.known) {
    const Amount divisor = std::gcd(bytes, question.system.buffer());
    const Amount whole = question.system.buffer() / divisor;
    costs += (costs.empty() ? "" : ", or ") + std::to_string(rounds) + " rounds and " +
             std::to_string(bytes / divisor) + (whole == 1 ? "" : "/" + std::to_string(whole)) +
             " buffers";
  }
  return "no program over " + (problem.instance ? problem.instance->kind : "any disjoint groups") +
         " costs less than the listed ones, " + as_text(root["among"]) + ", of " +
         shortened(costs) + " (" + problem.words() + ", uplinks " +
         shortened(root["uplinks"].dump()) + ")";
}

}  // namespace p2::kernel
