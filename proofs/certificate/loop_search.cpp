#include <algorithm>
#include <map>
#include <set>

#include "proofs/certificate/relation_search.h"

namespace p2 {
namespace {

using kernel::xla::Fact;
using kernel::xla::Index;
using kernel::xla::Loop;
using kernel::xla::Op;
using kernel::xla::Place;
using kernel::xla::RelatedModules;
using kernel::xla::Segment;
using Numbers = RelationSearch::Numbers;

constexpr int kMaxRounds = 16;        ///< in which assumptions are adapted
constexpr std::size_t kMaxLoops = 4;  ///< of the other module that one is compared with

/// Numbers of devices as the hint of an assumption: n, c, v_1, …, v_n.
void add_by_device(const Index& numbers, Index& hint) {
  const std::size_t count = numbers.size();
  std::size_t repeated = count;
  const auto is_constant = [&](std::size_t block) {
    for (std::size_t k = 0; k < count; ++k) {
      if (numbers[k] != numbers[k / block * block]) return false;
    }
    return true;
  };
  while (count % repeated != 0 || !is_constant(repeated)) --repeated;
  std::size_t period = 1;
  const auto is_periodic = [&] {
    for (std::size_t k = period * repeated; k < count; ++k) {
      if (numbers[k] != numbers[k - period * repeated]) return false;
    }
    return true;
  };
  while (!is_periodic()) ++period;
  hint.push_back(static_cast<std::int64_t>(period));
  hint.push_back(static_cast<std::int64_t>(repeated));
  for (std::size_t k = 0; k < period; ++k) hint.push_back(numbers[k * repeated]);
}

/// What is assumed of one variable.
struct Assumption {
  std::size_t array = 0;                     ///< of the local loop
  std::size_t variable = 0;                  ///< of the other module
  std::size_t first = 0;                     ///< the fact about what the loop begins with
  std::map<std::size_t, Index> begins = {};  ///< by dimension: where it is taken to be, by device
  Index parts = {};                          ///< of a partial sum, by device
  std::size_t fact = 0;
};

class LoopSearch {
 public:
  LoopSearch(RelationSearch& search, const RelatedModules& modules, std::size_t loop,
             const std::vector<bool>& needed)
      : search_(search),
        modules_(modules),
        number_(loop),
        loop_(modules.local().loops[loop]),
        needed_(needed),
        begin_(modules.facts().size()) {}

  std::optional<ClosedLoop> run() {
    const auto others = candidates();
    for (const std::size_t other : others) {
      if (auto closed = closed_as(other)) return closed;
      search_.forget(begin_);
    }
    // These facts say up to where the modules are related.
    if (!others.empty()) {
      assume(last_);
      search_.relate_nodes(loop_.begin + 1, loop_.end);
    }
    return std::nullopt;
  }

 private:
  const Fact& fact(std::size_t number) const { return modules_.facts()[number]; }
  const kernel::xla::WholeModule::Variable& variable(const Assumption& assumption) const {
    return modules_.variables()[assumption.variable];
  }
  const Index& sizes_of(std::size_t tensor) const { return modules_.tensors().at(tensor).sizes; }

  Numbers variables_of(std::size_t other) const {
    Numbers all;
    for (std::size_t k = 0; k < modules_.variables().size(); ++k) {
      if (modules_.variables()[k].loop == other) all.push_back(k);
    }
    return all;
  }

  /// Loops of the other module: first the one of the same number, then those that change as many
  /// arrays.
  Numbers candidates() const {
    std::map<std::size_t, std::size_t> sizes;
    for (const auto& each : modules_.variables()) ++sizes[each.loop];
    Numbers all;
    if (sizes.contains(number_)) all.push_back(number_);
    for (const bool is_alike : {true, false}) {
      for (const auto& [other, size] : sizes) {
        if (other != number_ && (size == loop_.first.size()) == is_alike && all.size() < kMaxLoops)
          all.push_back(other);
      }
    }
    return all;
  }

  /// A fact about what the loop begins with that is one about what this variable begins with.
  std::optional<std::size_t> first_of(std::size_t array, std::size_t number) {
    const auto& known = modules_.variables()[number];
    if (sizes_of(known.first).size() !=
        modules_.local().nodes[loop_.first[array]].shape.sizes.size())
      return std::nullopt;
    for (const std::size_t each : search_.request(loop_.first[array], sizes_of(known.first))) {
      if (fact(each).tensor == known.first && !fact(each).view) return each;
    }
    return std::nullopt;
  }

  /// Which variable each array is: that of the same place in the list, if it begins alike.
  std::vector<Assumption> paired(std::size_t other) {
    const Numbers variables = variables_of(other);
    std::vector<Assumption> all;
    std::set<std::size_t> used;
    for (const bool in_order : {true, false}) {
      for (std::size_t array = 0; array < loop_.first.size(); ++array) {
        const bool is_known = std::any_of(
            all.begin(), all.end(), [&](const Assumption& each) { return each.array == array; });
        if (!needed_[loop_.variables[array]] || is_known) continue;
        for (std::size_t k = 0; k < variables.size(); ++k) {
          if ((in_order && k != array) || used.contains(variables[k])) continue;
          const auto first = first_of(array, variables[k]);
          if (!first) continue;
          used.insert(variables[k]);
          all.push_back({array, variables[k], *first});
          break;
        }
      }
    }
    // Two counters may have become one.
    for (const std::size_t number : variables) {
      if (used.contains(number) || !sizes_of(modules_.variables()[number].tensor).empty()) continue;
      for (std::size_t array = 0; array < loop_.first.size(); ++array) {
        if (!needed_[loop_.variables[array]]) continue;
        if (const auto first = first_of(array, number)) all.push_back({array, number, *first});
      }
    }
    return all;
  }

  /// Adds the assumptions that the checker takes.
  void assume(std::vector<Assumption>& all) {
    std::erase_if(all, [&](Assumption& each) {
      Index hint = {static_cast<std::int64_t>(each.variable)};
      const std::size_t rank = fact(each.first).places.size();
      for (std::size_t k = 0; k < rank; ++k) {
        const auto begin = each.begins.find(k);
        if (begin == each.begins.end())
          hint.push_back(0);
        else
          add_by_device(begin->second, hint);
      }
      if (!each.parts.empty()) add_by_device(each.parts, hint);
      const std::size_t node = loop_.variables[each.array];
      if (!search_.derive(node, {each.first}, hint)) return true;
      each.fact = search_.facts_of(node).back();
      return false;
    });
  }

  std::optional<ClosedLoop> closed_as(std::size_t other) {
    std::vector<Assumption> all = paired(other);
    const std::size_t begin = modules_.facts().size();
    for (int round = 0; round < kMaxRounds; ++round) {
      assume(all);
      if (last_.empty()) last_ = all;
      if (all.empty()) return std::nullopt;
      search_.relate_nodes(loop_.begin + 1, loop_.end);
      ClosedLoop closed;
      std::vector<bool> holds(all.size(), false);
      bool is_adapted = false;
      std::vector<Assumption> next = all;
      for (std::size_t k = 0; k < all.size(); ++k) {
        const auto found = next_of(all[k]);
        if (found) {
          holds[k] = true;
          closed.assumptions.push_back(all[k].fact);
          closed.next.push_back(*found);
        } else {
          is_adapted = adapt(next[k], next) || is_adapted;
        }
      }
      const bool hold_all = std::all_of(holds.begin(), holds.end(), [](bool each) { return each; });
      if (hold_all) {
        for (const std::size_t each : search_.request(loop_.condition, {})) {
          const Fact& condition = fact(each);
          if (condition.tensor != modules_.condition(other) || condition.partial || condition.view)
            continue;
          closed.condition = each;
          close(all, closed);
          return closed;
        }
        last_ = all;
        return std::nullopt;
      }
      last_ = all;
      search_.forget(begin);
      if (!is_adapted) {
        // Without those that do not hold.
        std::size_t k = 0;
        std::erase_if(next, [&](const Assumption&) { return !holds[k++]; });
      }
      all = std::move(next);
    }
    return std::nullopt;
  }

  std::optional<std::size_t> next_of(const Assumption& assumption) {
    const std::size_t tensor = variable(assumption).next;
    for (const std::size_t each : search_.request(loop_.next[assumption.array], sizes_of(tensor))) {
      if (modules_.is_assumed(fact(each), tensor, fact(assumption.fact))) return each;
    }
    return std::nullopt;
  }

  /// Whether another assumption is made after what an iteration makes.
  bool adapt(Assumption& assumption, std::vector<Assumption>& all) {
    const Numbers made = search_.facts_of(loop_.next[assumption.array]);
    for (const std::size_t each : made) {
      if (fact(each).tensor == variable(assumption).next && follow(assumption, fact(each)))
        return true;
    }
    // Parts of a sum that are added to it.
    const auto& nodes = modules_.local().nodes;
    const auto& last = nodes[loop_.next[assumption.array]];
    if (made.empty() && last.instruction->opcode == "add") {
      for (const std::size_t operand : last.operands) {
        for (const std::size_t each : Numbers(search_.facts_of(operand))) {
          if (fact(each).partial && follow(assumption, fact(each))) return true;
        }
      }
    }
    // Another variable that begins alike.
    for (const std::size_t each : made) {
      for (const std::size_t number : variables_of(variable(assumption).loop)) {
        if (number == assumption.variable ||
            modules_.variables()[number].next != fact(each).tensor ||
            modules_.variables()[number].first != variable(assumption).first ||
            !swapped_.insert({assumption.array, number}).second)
          continue;
        for (Assumption& other : all) {
          if (other.variable == number) other.variable = assumption.variable;
        }
        assumption.variable = number;
        return true;
      }
    }
    return false;
  }

  /// Takes the places of what an iteration makes where what the loop begins with may be anywhere.
  bool follow(Assumption& assumption, const Fact& made) {
    const auto& places = modules_.places();
    const Numbers firsts = search_.facts_of(loop_.first[assumption.array]);
    for (const std::size_t number : firsts) {
      const Fact& first = fact(number);
      if (first.tensor != variable(assumption).first || first.view) continue;
      Assumption adapted{assumption.array, assumption.variable, number};
      bool fits = true;
      for (std::size_t k = 0; k < first.places.size() && fits; ++k) {
        if (first.places[k] == made.places[k] || places.is_free(made.places[k])) continue;
        fits = places.is_free(first.places[k]);
        const Place& place = places.at(made.places[k]);
        Index begin;
        for (const auto& segments : place.devices) {
          fits = fits && segments.size() == 1 && segments[0].size == place.size;
          if (fits) begin.push_back(segments[0].of);
        }
        if (fits) adapted.begins[k] = std::move(begin);
      }
      if (made.partial && !first.partial) {
        const auto& partial = places.partial_at(*made.partial);
        fits = fits && partial.op == Op::Add;
        for (const std::uint32_t each : partial.copies) adapted.parts.push_back(each);
      }
      const bool is_new = adapted.first != assumption.first ||
                          adapted.begins != assumption.begins || adapted.parts != assumption.parts;
      if (!fits || !is_new) continue;
      assumption = std::move(adapted);
      return true;
    }
    return false;
  }

  void close(const std::vector<Assumption>& all, const ClosedLoop& closed) {
    Numbers list = closed.next;
    list.push_back(closed.condition);
    for (std::size_t k = 0; k < all.size(); ++k) {
      search_.derive(loop_.results[all[k].array], k == 0 ? list : Numbers(),
                     {static_cast<std::int64_t>(k)});
    }
  }

  RelationSearch& search_;
  const RelatedModules& modules_;
  std::size_t number_;
  const Loop& loop_;
  const std::vector<bool>& needed_;
  std::size_t begin_;
  std::vector<Assumption> last_;
  std::set<std::pair<std::size_t, std::size_t>> swapped_;
};

}  // namespace

std::optional<ClosedLoop> relate_loop(RelationSearch& search, const RelatedModules& modules,
                                      std::size_t loop, const std::vector<bool>& needed) {
  return LoopSearch(search, modules, loop, needed).run();
}

}  // namespace p2
