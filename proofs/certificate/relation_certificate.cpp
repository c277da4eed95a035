#include "proofs/certificate/subject_certificates.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/limits.h"
#include "proofs/certificate/loop_search.h"
#include "proofs/kernel/claims.h"
#include "proofs/kernel/xla/related_programs.h"
#include "proofs/kernel/xla/relation.h"

namespace p2 {
namespace {

using kernel::xla::contains;
using kernel::xla::Fact;
using kernel::xla::Index;
using kernel::xla::Node;
using kernel::xla::ProgramsRelation;
using kernel::xla::RelatedModules;
using kernel::xla::RelatedPrograms;
using kernel::xla::Relation;
using kernel::xla::Tensors;
using Numbers = std::vector<std::size_t>;

constexpr std::size_t kMaxFacts = 4;     ///< of one node
constexpr std::size_t kMaxChoices = 24;  ///< of facts about operands
constexpr int kMaxDepth = 1000;          ///< of nodes whose sizes are asked for

/// Finds facts from inputs to outputs, each with the rules of the checker.
class RelationSearch : private FactSearch {
 public:
  RelationSearch(RelatedModules& modules, const Limits& limits)
      : modules_(modules),
        watch_(limits, "relating the modules node by node"),
        of_(modules.local().nodes.size()) {
    for (std::size_t k = 0; k < modules.facts().size(); ++k) {
      of_[modules.facts()[k].node].push_back(k);
      lines_.push_back({});
    }
  }

  /// relation.json, or nothing. Throws LimitReached.
  std::optional<std::string> run(const std::vector<Relation>& outputs) {
    needed_ = needed_nodes({});
    relate_nodes(0, needed_.size());
    Numbers answers;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const auto found = answer_to(k, outputs[k]);
      if (!found) return std::nullopt;
      answers.push_back(*found);
    }
    return text_of(answers);
  }
  const std::string& lost() const { return lost_; }

  // Of one of several programs.

  struct Line {
    std::size_t node = 0;
    Numbers facts;
    Index hint;
    std::vector<RelatedPrograms::ProgramFact> others = {};  ///< in place of `facts`
    auto operator<=>(const Line&) const = default;
  };
  /// By fact; of inputs nothing.
  const std::vector<Line>& lines() const { return lines_; }
  std::size_t given() const { return given_; }
  const Numbers& facts_of(std::size_t node) const override { return of_[node]; }

  /// Those that outputs, or these, are computed from.
  std::vector<bool> needed_nodes(const Numbers& ends) const {
    const auto& local = modules_.local();
    std::vector<bool> needed(local.nodes.size(), false);
    for (const std::size_t each : local.outputs) needed[each] = true;
    for (const std::size_t each : ends) needed[each] = true;
    for (bool is_more = true; is_more;) {
      is_more = false;
      for (std::size_t i = needed.size(); i-- > 0;) {
        if (!needed[i]) continue;
        for (const std::size_t each : local.nodes[i].operands) needed[each] = true;
      }
      // What is needed in an iteration is that after the one before.
      for (const auto& [node, array] : local.variables) {
        const std::size_t next = local.loops[array.loop].next[array.number];
        if (!needed[node] || needed[next]) continue;
        needed[next] = true;
        is_more = true;
      }
    }
    return needed;
  }

  void relate_node(std::size_t node) {
    watch_.take(0);
    relate(node);
  }

  /// Adds a fact that follows from facts of several programs.
  void add(std::size_t node, std::vector<RelatedPrograms::ProgramFact> others, Fact fact) {
    if (of_[node].size() < kMaxFacts) add_new({node, {}, {}, std::move(others)}, std::move(fact));
  }

  /// The fact about an output that says what a relation says of it; of one that is a sum over
  /// programs, a share of it.
  std::optional<std::size_t> answer_to(std::size_t output, const Relation& relation,
                                       bool is_share = false) {
    const std::size_t node = modules_.local().outputs.at(relation.number);
    request(node, modules_.tensors().at(modules_.output(output)).sizes);
    const auto found = std::find_if(of_[node].begin(), of_[node].end(), [&](std::size_t number) {
      const Fact& fact = modules_.facts()[number];
      return is_share ? fact.share && fact.tensor == modules_.output(output)
                      : modules_.answers(number, output, relation);
    });
    if (found != of_[node].end()) return *found;
    lost_ = lost(node, output);
    return std::nullopt;
  }

 private:
  const Index& sizes_of(std::size_t fact) const {
    return modules_.tensors().at(modules_.facts()[fact].tensor).sizes;
  }
  const Index& own_sizes(std::size_t node) const {
    return modules_.local().nodes[node].shape.sizes;
  }

  void relate_nodes(std::size_t begin, std::size_t end) override {
    const auto& local = modules_.local();
    for (std::size_t i = begin; i < end; ++i) {
      watch_.take(0);
      const auto variable = local.variables.find(i);
      if (variable != local.variables.end()) {
        // The first array that it changes; the others stand beside it.
        const std::size_t number = variable->second.loop;
        const kernel::xla::Loop& loop = local.loops[number];
        if (loop.begin < begin) continue;
        const bool is_needed = std::any_of(loop.variables.begin(), loop.variables.end(),
                                           [&](std::size_t each) { return needed_[each]; });
        closed_[number] = is_needed ? relate_loop(*this, modules_, number, needed_) : std::nullopt;
        i = loop.end - 1;
      } else if (needed_[i]) {
        relate(i);
        see_manual(i);
      }
    }
  }

  /// The same array as a tensor of a manual part of the other module, or as what that makes.
  void see_manual(std::size_t node) {
    const auto& borders = modules_.borders();
    for (std::size_t k = 0; k < of_[node].size() && !borders.empty(); ++k) {
      for (std::size_t border = 0; border < borders.size(); ++border) {
        if (borders[border].from == modules_.facts()[of_[node][k]].tensor)
          derive(node, {of_[node][k]}, {static_cast<std::int64_t>(border)}, false);
      }
    }
  }

  void forget(std::size_t facts) override {
    while (lines_.size() > facts) {
      of_[lines_.back().node].pop_back();
      lines_.pop_back();
    }
    modules_.forget(facts);
    while (!tried_by_.empty() && tried_by_.back().first >= facts) {
      tried_.erase(tried_by_.back().second);
      tried_by_.pop_back();
    }
    while (!asked_by_.empty() && asked_by_.back().first >= facts) {
      asked_.erase(asked_by_.back().second);
      asked_by_.pop_back();
    }
  }

  bool derive(std::size_t node, const Numbers& facts, const Index& hint) override {
    return derive(node, facts, hint, false);
  }

  bool is_total(const Fact& fact) const {
    return std::all_of(fact.places.begin(), fact.places.end(),
                       [&](std::size_t place) { return modules_.places().is_total(place); });
  }

  /// Whether there is a fact by this line; it is added unless it is known.
  bool derive(std::size_t node, const Numbers& facts, const Index& hint, bool total) {
    if (of_[node].size() >= kMaxFacts) return false;
    Line line{node, facts, hint};
    const auto [tried, is_new] = tried_.insert(line);
    if (!is_new) return false;
    tried_by_.emplace_back(lines_.size(), tried);
    auto fact = modules_.follows(node, facts, hint);
    if (!fact || (total && !is_total(*fact))) return false;
    add_new(std::move(line), std::move(*fact));
    return true;
  }

  /// Unless it is known.
  void add_new(Line line, Fact fact) {
    const std::size_t node = line.node;
    for (const std::size_t each : of_[node]) {
      const Fact& known = modules_.facts()[each];
      if (known.tensor == fact.tensor && known.places == fact.places &&
          known.partial == fact.partial && known.share == fact.share)
        return;
    }
    of_[node].push_back(modules_.add(std::move(fact)));
    lines_.push_back(std::move(line));
  }

  /// Tries all choices of facts about the operands.
  bool derive_all(std::size_t node, const std::vector<Numbers>& choices, const Index& hint) {
    std::vector<Numbers> all = {{}};
    for (const Numbers& each : choices) {
      std::vector<Numbers> next;
      for (const Numbers& begin : all) {
        for (const std::size_t fact : each) {
          if (next.size() == kMaxChoices) break;
          next.push_back(begin);
          next.back().push_back(fact);
        }
      }
      all = std::move(next);
    }
    bool found = false;
    for (const Numbers& facts : all) found = derive(node, facts, hint) || found;
    return found;
  }

  Numbers with_sizes(std::size_t node, const Index& sizes) const {
    Numbers facts;
    for (const std::size_t each : of_[node]) {
      if (sizes_of(each) == sizes) facts.push_back(each);
    }
    return facts;
  }

  /// Facts about a node with whole tensors of these sizes, found where the node allows any.
  Numbers request(std::size_t node, const Index& sizes) override {
    Numbers known = with_sizes(node, sizes);
    if (!known.empty() || sizes.size() != own_sizes(node).size() || depth_ > kMaxDepth)
      return known;
    const auto [asked, is_new] = asked_.insert({node, sizes});
    if (!is_new) return known;
    asked_by_.emplace_back(lines_.size(), asked);
    ++depth_;
    answer(node, sizes);
    --depth_;
    return with_sizes(node, sizes);
  }

  void answer(std::size_t node, const Index& sizes) {
    const Node& here = modules_.local().nodes[node];
    const std::string& opcode = here.instruction->opcode;
    if (modules_.has_numbers(node)) {
      Index hint = {0};
      hint.insert(hint.end(), sizes.begin(), sizes.end());
      if (!derive(node, {}, hint)) {
        for (std::int64_t along = 0; along < std::ssize(sizes); ++along) {
          hint = {1, along};
          hint.insert(hint.end(), sizes.begin(), sizes.end());
          if (derive(node, {}, hint)) break;
        }
      }
    }
    if (opcode == "constant") {
      derive(node, {}, sizes);
    } else if (!here.is_function) {
      return;
    } else if (opcode == "iota") {
      derive(node, {}, sizes);
    } else if (opcode == "broadcast") {
      Index operand;
      for (const std::int64_t each : here.instruction->numbers("dimensions"))
        operand.push_back(sizes.at(static_cast<std::size_t>(each)));
      request(here.operands[0], operand);
      derive_all(node, {with_sizes(here.operands[0], operand)}, sizes);
    } else if (kernel::xla::op_called(opcode)) {
      by_elements(node, sizes);
    } else if (opcode == "transpose") {
      const Index order = here.instruction->numbers("dimensions");
      Index operand(order.size());
      for (std::size_t k = 0; k < order.size(); ++k)
        operand.at(static_cast<std::size_t>(order[k])) = sizes[k];
      request(here.operands[0], operand);
      derive_all(node, {with_sizes(here.operands[0], operand)}, {});
    } else if (opcode == "reshape" || opcode == "bitcast") {
      if (of_[here.operands[0]].empty())
        request(here.operands[0], reshaped(own_sizes(node), sizes, own_sizes(here.operands[0])));
      derive_all(node, {of_[here.operands[0]]}, sizes);
    } else if (opcode == "reduce" && here.operands.size() == 2) {
      Index operand = own_sizes(here.operands[0]);
      const Index along = here.instruction->numbers("dimensions");
      for (std::size_t i = 0, next = 0; i < operand.size(); ++i) {
        if (!contains(along, i)) operand[i] = sizes.at(next++);
      }
      request(here.operands[0], operand);
      relate(node);
    } else if (opcode == "slice" || opcode == "concatenate" || opcode == "pad" ||
               opcode == "reverse") {
      Index operand = sizes;
      for (const std::size_t each : here.operands) {
        for (std::size_t k = 0; k < std::min(operand.size(), own_sizes(each).size()); ++k)
          operand[k] = sizes[k] == own_sizes(node)[k] ? own_sizes(each)[k] : sizes[k];
        operand.resize(own_sizes(each).size());
        request(each, operand);
      }
      relate(node);
    }
  }

  /// Sizes of a whole tensor after a reshape of arrays: where a group of dimensions has more
  /// elements in the whole, the first of its dimensions is larger.
  static Index reshaped(const Index& own, const Index& whole, const Index& to) {
    Index sizes = to;
    for (std::size_t i = 0, j = 0; i < own.size() && j < to.size();) {
      const std::size_t first = j;
      std::int64_t a = own[i], b = to[j], ratio = own[i] == 0 ? 1 : whole[i] / own[i];
      ++i;
      ++j;
      while (a != b && (a < b ? i < own.size() : j < to.size())) {
        if (a < b) {
          a *= own[i];
          ratio *= own[i] == 0 ? 1 : whole[i] / own[i];
          ++i;
        } else {
          b *= to[j++];
        }
      }
      // Dimensions of size 1 go with those beside them.
      while (i < own.size() && own[i] == 1 && (j == to.size() || to[j] != 1)) ratio *= whole[i++];
      std::size_t at = first;
      while (at + 1 < j && to[at] == 1) ++at;
      while (j < to.size() && to[j] == 1 && (i == own.size() || own[i] != 1)) ++j;
      if (at < sizes.size()) sizes[at] *= ratio;
    }
    return sizes;
  }

  /// Operands that are scalars are so in the whole.
  bool by_elements(std::size_t node, const Index& sizes) {
    const Node& here = modules_.local().nodes[node];
    std::vector<Numbers> choices;
    for (std::size_t k = 0; k < here.operands.size(); ++k) {
      const Index& own = own_sizes(here.operands[k]);
      choices.push_back(request(here.operands[k], own.empty() ? own : sizes));
      // A condition may be what devices know.
      const bool is_condition = here.instruction->opcode == "select" && k == 0;
      if (choices.back().empty() && !is_condition) return false;
    }
    if (choices[0].empty()) choices.erase(choices.begin());
    return derive_all(node, choices, {});
  }

  /// Facts about a node that follow from those of its operands.
  void relate(std::size_t node) {
    const Node& here = modules_.local().nodes[node];
    const std::string& opcode = here.instruction->opcode;
    if (opcode == "constant") {
      if (own_sizes(node).empty()) derive(node, {}, {});
      return;
    }
    if (here.operands.empty()) {
      derive(node, {}, {});
      return;
    }
    const Numbers first = of_[here.operands[0]];
    if (!here.is_function) {
      for (const std::size_t fact : first) derive(node, {fact}, {});
      return;
    }
    if (kernel::xla::op_called(opcode)) {
      std::set<Index> wanted;
      for (const std::size_t each : here.operands) {
        if (own_sizes(each).empty() && !own_sizes(node).empty()) continue;
        for (const std::size_t fact : of_[each]) wanted.insert(sizes_of(fact));
      }
      for (const Index& sizes : wanted) by_elements(node, sizes);
      if (of_[node].empty() && here.operands.size() == 2 &&
          modules_.has_numbers(here.operands[1])) {
        for (const std::size_t fact : first) derive(node, {fact}, {});
      }
      return;
    }
    if (opcode == "broadcast") {
      const Index dimensions = here.instruction->numbers("dimensions");
      if (dimensions.empty()) return;
      for (const std::size_t fact : first) {
        for (const std::size_t tensor : made_of(modules_.facts()[fact].tensor, "broadcast")) {
          const Tensors::Tensor& whole = modules_.tensors().at(tensor);
          if (whole.form.numbers[0] == dimensions) derive(node, {fact}, whole.sizes);
        }
        if (!of_[node].empty()) continue;
        // Most often a new dimension is not cut.
        Index sizes = own_sizes(node);
        for (std::size_t k = 0; k < dimensions.size(); ++k)
          sizes.at(static_cast<std::size_t>(dimensions[k])) = sizes_of(fact)[k];
        derive(node, {fact}, sizes);
      }
      return;
    }
    if (opcode == "reshape" || opcode == "bitcast") {
      for (const std::size_t fact : first) {
        const Tensors::Tensor& whole = modules_.tensors().at(modules_.facts()[fact].tensor);
        const bool is_reshape = whole.form.opcode == "reshape";
        const std::size_t base = is_reshape ? whole.operands[0] : modules_.facts()[fact].tensor;
        // Those that the other module has, before a guess: where dimensions of one index are
        // ambiguous it is one of these.
        std::vector<Index> candidates;
        for (const std::size_t each : made_of(base, "reshape"))
          candidates.push_back(modules_.tensors().at(each).sizes);
        const Index guess = reshaped(own_sizes(here.operands[0]), whole.sizes, own_sizes(node));
        if (is_reshape) candidates.push_back(modules_.tensors().at(base).sizes);
        bool found = false;
        for (const Index& sizes : candidates) found = derive(node, {fact}, sizes) || found;
        if (!found) derive(node, {fact}, guess);
      }
      return;
    }
    if (opcode == "slice") {
      for (const std::size_t fact : first) slices(node, fact);
      return;
    }
    if (opcode == "dynamic-slice") {
      for (const std::size_t fact : first) derive(node, {fact}, {});
      if (!of_[node].empty() && modules_.borders().empty()) return;
    }
    std::vector<Numbers> choices;
    for (std::size_t k = 0; k < here.operands.size(); ++k) {
      const std::size_t each = here.operands[k];
      if (of_[each].empty() && opcode == "scatter" && k == 0) {
        for (const std::size_t tensor : made_of(SIZE_MAX, opcode))
          request(each, modules_.tensors().at(tensor).sizes);
      }
      if (of_[each].empty()) request(each, likely_sizes(here, k));
      if (of_[each].empty()) return;
      choices.push_back(of_[each]);
    }
    const bool found = derive_all(node, choices, {});
    if (opcode == "concatenate" && !found) derive_all(node, choices, {1});
  }

  /// The tensors that an operation makes of that of a fact.
  Numbers made_of(std::size_t tensor, const std::string& opcode) {
    for (; indexed_ < modules_.tensors().count(); ++indexed_) {
      const Tensors::Tensor& each = modules_.tensors().at(indexed_);
      made_of_[{SIZE_MAX, each.form.opcode}].push_back(indexed_);
      if (!each.operands.empty())
        made_of_[{each.operands[0], each.form.opcode}].push_back(indexed_);
    }
    const auto found = made_of_.find({tensor, opcode});
    return found == made_of_.end() ? Numbers() : found->second;
  }

  /// Of an operand of which nothing is known; dimensions that another has, too, are its.
  Index likely_sizes(const Node& node, std::size_t operand) const {
    Index sizes = own_sizes(node.operands[operand]);
    if (node.instruction->opcode == "dot") {
      const std::size_t other = 1 - operand;
      if (of_[node.operands[other]].empty()) return sizes;
      const Index& whole = sizes_of(of_[node.operands[other]][0]);
      for (const char* kind : {"batch_dims", "contracting_dims"}) {
        const Index own =
            node.instruction->numbers(std::string(operand == 0 ? "lhs_" : "rhs_") + kind);
        const Index of =
            node.instruction->numbers(std::string(operand == 0 ? "rhs_" : "lhs_") + kind);
        for (std::size_t k = 0; k < own.size(); ++k)
          sizes.at(static_cast<std::size_t>(own[k])) = whole.at(static_cast<std::size_t>(of[k]));
      }
    } else if (operand > 0 && !of_[node.operands[0]].empty() &&
               sizes.size() == own_sizes(node.operands[0]).size()) {
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        if (sizes[k] == own_sizes(node.operands[0])[k])
          sizes[k] = sizes_of(of_[node.operands[0]][0])[k];
      }
    }
    return sizes;
  }

  void slices(std::size_t node, std::size_t fact) {
    const Node& here = modules_.local().nodes[node];
    const Index& own = own_sizes(here.operands[0]);
    Index hint(3 * own.size());
    const auto ranges = kernel::xla::ranges_of(here.instruction->attribute("slice"));
    for (std::size_t k = 0; k < own.size(); ++k) {
      const bool is_all = ranges[k] == Index{0, own[k], 1};
      for (std::size_t i = 0; i < 3; ++i) hint[i * own.size() + k] = ranges[k][i];
      if (is_all) hint[own.size() + k] = sizes_of(fact)[k];
    }
    std::vector<Index> known;
    for (const std::size_t tensor : made_of(modules_.facts()[fact].tensor, "slice")) {
      known.emplace_back();
      for (const Index& row : modules_.tensors().at(tensor).form.numbers)
        known.back().insert(known.back().end(), row.begin(), row.end());
    }
    const bool is_known = std::find(known.begin(), known.end(), hint) != known.end();
    if (is_known && derive(node, {fact}, hint, true)) return;
    // That of a microbatch is no slice of the whole batch.
    const bool is_part = derive(node, {fact}, {}, true);
    if (!is_part && derive(node, {fact}, hint, true)) return;
    for (const Index& other : known) derive(node, {fact}, other, true);
    if (!is_part) derive(node, {fact}, {});
  }

  /// The first node on the way to an output of which nothing is known, though of its operands is.
  std::string lost(std::size_t output, std::size_t number) const {
    const auto& nodes = modules_.local().nodes;
    std::set<std::size_t> reached = {output};
    std::size_t first = output;
    for (std::size_t i = output + 1; i-- > 0;) {
      if (!reached.contains(i) || !of_[i].empty()) continue;
      const auto& operands = nodes[i].operands;
      reached.insert(operands.begin(), operands.end());
      if (std::any_of(operands.begin(), operands.end(),
                      [&](std::size_t each) { return !of_[each].empty(); }))
        first = i;
    }
    const std::string name = nodes[first].instruction->name;
    return fmt::format("output {} is related up to {} {}", number, nodes[first].instruction->opcode,
                       name);
  }

  /// Whether it is about the array that the fact that it comes from is about.
  bool is_seen_otherwise(const Line& line) const {
    return line.facts.size() == 1 && lines_[line.facts[0]].node == line.node;
  }

  /// The facts that these need. What is assumed in a loop needs the fact about what that is after
  /// an iteration, and that about the condition.
  std::vector<bool> used_by(Numbers left) const {
    const auto& local = modules_.local();
    std::vector<bool> used(lines_.size(), false);
    while (!left.empty()) {
      const std::size_t fact = left.back();
      left.pop_back();
      if (used[fact]) continue;
      used[fact] = true;
      const Line& line = lines_[fact];
      const auto result = local.results.find(line.node);
      const auto variable = local.variables.find(line.node);
      if (result != local.results.end() && !is_seen_otherwise(line)) {
        const ClosedLoop& loop = closed_.at(result->second.loop).value();
        left.push_back(loop.assumptions.at(static_cast<std::size_t>(line.hint[0])));
        continue;
      }
      left.insert(left.end(), line.facts.begin(), line.facts.end());
      if (variable == local.variables.end()) continue;
      const ClosedLoop& loop = closed_.at(variable->second.loop).value();
      const auto found = std::find(loop.assumptions.begin(), loop.assumptions.end(), fact);
      left.push_back(loop.next.at(static_cast<std::size_t>(found - loop.assumptions.begin())));
      left.push_back(loop.condition);
    }
    return used;
  }

  /// The line of a fact about what a loop makes, with those of its assumptions that are used; the
  /// first one of a loop closes it.
  Line closing(Line line, const std::vector<bool>& used, std::set<std::size_t>& closed) const {
    const std::size_t number = modules_.local().results.at(line.node).loop;
    const ClosedLoop& loop = closed_.at(number).value();
    const auto which = static_cast<std::size_t>(line.hint[0]);
    line.facts.clear();
    line.hint[0] = 0;
    const bool is_first = closed.insert(number).second;
    for (std::size_t k = 0; k < loop.assumptions.size(); ++k) {
      if (!used[loop.assumptions[k]]) continue;
      if (k < which) ++line.hint[0];
      if (is_first) line.facts.push_back(loop.next[k]);
    }
    if (is_first) line.facts.push_back(loop.condition);
    return line;
  }

  /// Only the facts that the outputs need.
  std::string text_of(const Numbers& answers) const {
    const std::vector<bool> used = used_by(answers);
    std::set<std::size_t> closed;
    nlohmann::ordered_json facts = nlohmann::ordered_json::array();
    Numbers numbers(lines_.size());
    std::size_t next = 0;
    for (std::size_t k = 0; k < lines_.size(); ++k) {
      // Those about inputs come first, and are all there.
      const bool is_input = k < given_;
      if (!is_input && !used[k]) continue;
      numbers[k] = next++;
      if (is_input) continue;
      const bool is_result =
          modules_.local().results.contains(lines_[k].node) && !is_seen_otherwise(lines_[k]);
      const Line line = is_result ? closing(lines_[k], used, closed) : lines_[k];
      nlohmann::ordered_json json = {line.node, line.facts.size()};
      for (const std::size_t each : line.facts) json.push_back(numbers[each]);
      for (const std::int64_t each : line.hint) json.push_back(each);
      facts.push_back(std::move(json));
    }
    nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
    for (const std::size_t each : answers) outputs.push_back(numbers[each]);
    const nlohmann::ordered_json all = {{"facts", std::move(facts)},
                                        {"outputs", std::move(outputs)}};
    return all.dump() + "\n";
  }
  RelatedModules& modules_;
  LimitWatch watch_;
  std::size_t given_ = modules_.facts().size();  ///< facts about inputs
  std::vector<Numbers> of_;                      ///< facts, by node
  std::vector<Line> lines_;                      ///< by fact; of inputs nothing
  std::set<Line> tried_;
  std::set<std::pair<std::size_t, Index>> asked_;
  // What was tried and asked, in order, at a number of facts.
  std::vector<std::pair<std::size_t, std::set<Line>::iterator>> tried_by_;
  std::vector<std::pair<std::size_t, std::set<std::pair<std::size_t, Index>>::iterator>> asked_by_;
  std::vector<bool> needed_;
  std::map<std::size_t, std::optional<ClosedLoop>> closed_;  ///< by local loop
  int depth_ = 0;
  std::size_t indexed_ = 0;
  std::map<std::pair<std::size_t, std::string>, Numbers> made_of_;
  std::string lost_;
};

/// Relates several programs: each in the order of its text, as far as what it needs of others is
/// related.
class ProgramsSearch {
 public:
  ProgramsSearch(RelatedPrograms& programs, const Limits& limits) : programs_(programs) {
    for (std::size_t k = 0; k < programs.programs().count(); ++k) {
      searches_.push_back(std::make_unique<RelationSearch>(programs.at(k), limits));
      for (std::size_t fact = 0; fact < searches_[k]->given(); ++fact) order_.emplace_back(k, fact);
    }
    given_ = order_.size();
  }

  /// relation.json, or nothing. Throws LimitReached.
  std::optional<std::string> run(const std::vector<ProgramsRelation>& outputs) {
    std::vector<Numbers> ends(searches_.size());
    for (std::size_t k = 0; k < searches_.size(); ++k) {
      for (std::size_t node = 0; node < nodes_of(k); ++node) {
        for (const auto& [program, origin] : programs_.origins({k, node}))
          ends[program].push_back(origin);
      }
    }
    for (std::size_t k = 0; k < searches_.size(); ++k)
      needed_.push_back(searches_[k]->needed_nodes(ends[k]));
    next_.assign(searches_.size(), 0);
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (std::size_t k = 0; k < searches_.size(); ++k) goes_on = relate_program(k) || goes_on;
    }
    std::vector<std::vector<RelatedPrograms::ProgramFact>> answers;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      answers.emplace_back();
      for (std::size_t program = 0; program < searches_.size(); ++program) {
        const auto own = relation_on(programs_.programs(), program, outputs[k]);
        if (!own || own->pieces.empty()) continue;
        const bool is_share = own->reducer && outputs[k].numbers.size() > 1;
        const auto found = searches_[program]->answer_to(k, *own, is_share);
        note(program);
        if (!found) {
          lost_ = searches_[program]->lost();
          return std::nullopt;
        }
        answers.back().emplace_back(program, *found);
      }
    }
    return text_of(answers);
  }
  const std::string& lost() const { return lost_; }

 private:
  std::size_t nodes_of(std::size_t program) const {
    return programs_.at(program).local().nodes.size();
  }

  /// Notes the new facts of a program, in the order in which they follow.
  void note(std::size_t program) {
    const std::size_t count = searches_[program]->lines().size();
    for (auto& known = noted_[program]; known + searches_[program]->given() < count; ++known)
      order_.emplace_back(program, known + searches_[program]->given());
  }

  /// As far as possible; whether that was any further.
  bool relate_program(std::size_t program) {
    std::size_t& next = next_[program];
    const std::size_t first = next;
    for (; next < nodes_of(program); ++next) {
      if (!needed_[program][next]) continue;
      const auto& origins = programs_.origins({program, next});
      const bool is_known = std::all_of(origins.begin(), origins.end(), [&](const auto& each) {
        return each.second < next_[each.first];
      });
      if (!is_known) break;
      if (origins.empty())
        searches_[program]->relate_node(next);
      else
        exchange(program, next, origins);
      note(program);
    }
    return next != first;
  }

  void exchange(std::size_t program, std::size_t node,
                const std::vector<RelatedPrograms::ProgramNode>& origins) {
    std::vector<std::vector<RelatedPrograms::ProgramFact>> all = {{}};
    for (const auto& [other, origin] : origins) {
      std::vector<std::vector<RelatedPrograms::ProgramFact>> longer;
      for (const auto& begin : all) {
        for (const std::size_t fact : searches_[other]->facts_of(origin)) {
          if (longer.size() == kMaxChoices) break;
          longer.push_back(begin);
          longer.back().emplace_back(other, fact);
        }
      }
      all = std::move(longer);
    }
    for (const auto& facts : all) {
      if (auto fact = programs_.follows({program, node}, facts, {}))
        searches_[program]->add(node, facts, std::move(*fact));
    }
  }

  /// Only the facts that the outputs need, and those about inputs.
  std::string text_of(const std::vector<std::vector<RelatedPrograms::ProgramFact>>& answers) const {
    std::vector<std::vector<bool>> used;
    for (const auto& search : searches_) used.emplace_back(search->lines().size(), false);
    for (const auto& output : answers) {
      for (const auto& [program, fact] : output) used[program][fact] = true;
    }
    for (std::size_t k = order_.size(); k-- > given_;) {
      const auto& [program, fact] = order_[k];
      if (!used[program][fact]) continue;
      const RelationSearch::Line& line = searches_[program]->lines()[fact];
      for (const std::size_t each : line.facts) used[program][each] = true;
      for (const auto& [other, each] : line.others) used[other][each] = true;
    }
    std::vector<Numbers> numbers;
    for (const auto& search : searches_) numbers.emplace_back(search->lines().size());
    nlohmann::ordered_json facts = nlohmann::ordered_json::array();
    std::size_t next = 0;
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const auto& [program, fact] = order_[k];
      if (k >= given_ && !used[program][fact]) continue;
      numbers[program][fact] = next++;
      if (k < given_) continue;
      const RelationSearch::Line& each = searches_[program]->lines()[fact];
      nlohmann::ordered_json line = {program, each.node, each.facts.size() + each.others.size()};
      for (const std::size_t own : each.facts) line.push_back(numbers[program][own]);
      for (const auto& [other, number] : each.others) line.push_back(numbers[other][number]);
      for (const std::int64_t size : each.hint) line.push_back(size);
      facts.push_back(std::move(line));
    }
    nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
    for (const auto& output : answers) {
      nlohmann::ordered_json own = nlohmann::ordered_json::array();
      for (const auto& [program, fact] : output) own.push_back(numbers[program][fact]);
      outputs.push_back(std::move(own));
    }
    const nlohmann::ordered_json all = {{"facts", std::move(facts)},
                                        {"outputs", std::move(outputs)}};
    return all.dump() + "\n";
  }

  RelatedPrograms& programs_;
  std::vector<std::unique_ptr<RelationSearch>> searches_;
  std::vector<RelatedPrograms::ProgramFact> order_;  ///< in which facts follow
  std::size_t given_ = 0;                            ///< of `order_`, about inputs
  std::map<std::size_t, std::size_t> noted_;         ///< by program, besides those given
  std::vector<std::vector<bool>> needed_;
  Numbers next_;  ///< by program, the node that is related next
  std::string lost_;
};

}  // namespace

std::variant<std::string, std::string> relation_evidence(const CertificateFiles& files,
                                                         const Limits& limits) {
  std::variant<std::string, std::string> result;
  try {
    kernel::xla::with_related_modules(
        files, [&](RelatedModules& modules, const std::vector<Relation>& outputs) {
          RelationSearch search(modules, limits);
          if (auto text = search.run(outputs))
            result.emplace<0>(std::move(*text));
          else
            result.emplace<1>(search.lost());
        });
  } catch (const kernel::CheckFailure& failure) {
    result.emplace<1>(failure.what());
  }
  return result;
}

std::variant<std::string, std::string> programs_evidence(const CertificateFiles& files,
                                                         const Limits& limits) {
  std::variant<std::string, std::string> result;
  try {
    kernel::xla::with_related_programs(
        files, [&](RelatedPrograms& programs, const std::vector<ProgramsRelation>& outputs) {
          ProgramsSearch search(programs, limits);
          if (auto text = search.run(outputs))
            result.emplace<0>(std::move(*text));
          else
            result.emplace<1>(search.lost());
        });
  } catch (const kernel::CheckFailure& failure) {
    result.emplace<1>(failure.what());
  }
  return result;
}

}  // namespace p2
