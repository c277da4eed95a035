#include "proofs/certificate/relation_search.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "proofs/certificate/subject_certificates.h"

namespace p2 {
namespace {

using kernel::xla::RelatedModules;
using kernel::xla::Relation;

constexpr std::size_t kMaxFacts = 6;   ///< of one node
constexpr std::size_t kMaxKnown = 10;  ///< of which the last are of tensors that the module has
constexpr int kMaxDepth = 1000;        ///< of nodes whose sizes are asked for

}  // namespace

RelationSearch::RelationSearch(RelatedModules& modules, const Limits& limits)
    : modules_(modules),
      watch_(limits, "relating the modules node by node"),
      given_(modules.facts().size()),
      whole_(modules.tensors().count()),
      of_(modules.local().nodes.size()) {
  for (std::size_t k = 0; k < given_; ++k) {
    of_[modules.facts()[k].node].push_back(k);
    lines_.push_back({});
  }
}

void RelationSearch::relate_node(std::size_t node) {
  watch_.take(0);
  relate(node);
}

std::optional<std::string> RelationSearch::run(const std::vector<Relation>& outputs) {
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

std::vector<bool> RelationSearch::needed_nodes(const Numbers& ends) const {
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

std::optional<std::size_t> RelationSearch::answer_to(std::size_t output, const Relation& relation,
                                                     bool is_share) {
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

void RelationSearch::add(std::size_t node, std::vector<ProgramFact> others, Fact fact) {
  if (!is_full(node, fact.tensor)) add_new({node, {}, {}, std::move(others)}, std::move(fact));
}

void RelationSearch::relate_nodes(std::size_t begin, std::size_t end) {
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
      see_otherwise(i);
    }
  }
}

void RelationSearch::see_otherwise(std::size_t node) {
  const auto& borders = modules_.borders();
  for (std::size_t k = 0; k < of_[node].size(); ++k) {
    const std::size_t fact = of_[node][k];
    for (std::size_t border = 0; border < borders.size(); ++border) {
      if (borders[border].from == modules_.facts()[fact].tensor)
        derive(node, {fact}, {static_cast<std::int64_t>(border)});
    }
    see_slices(node, fact);
    see_concatenations(node, fact);
  }
}

void RelationSearch::forget(std::size_t facts) {
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

bool RelationSearch::is_full(std::size_t node, std::size_t tensor) const {
  return of_[node].size() >= (tensor < whole_ || depth_ > 0 ? kMaxKnown : kMaxFacts);
}

bool RelationSearch::is_wanted(const Fact& fact, Wanted wanted) {
  const auto& places = modules_.places();
  if (wanted == Wanted::Total)
    return std::ranges::all_of(fact.places,
                               [&](std::size_t each) { return places.is_total(each); });
  if (wanted == Wanted::OfWhole) return modules_.tensors().moved(fact.tensor).base < whole_;
  if (wanted == Wanted::Any) return true;
  double held = 1, whole = 1;  // where every class of devices has other elements
  for (const std::size_t each : fact.places) {
    if (places.is_free(each)) continue;
    held *= static_cast<double>(places.at(each).size);
    whole *= static_cast<double>(places.at(each).whole);
  }
  const kernel::xla::Numbering classes = places.classes(fact.places);
  for (std::size_t device = 0; device < classes.size(); ++device)
    whole -= classes[device] == device ? held : 0;
  return whole <= 0;
}

bool RelationSearch::derive(std::size_t node, const Numbers& facts, const Index& hint,
                            Wanted wanted) {
  if (of_[node].size() >= kMaxKnown) return false;
  Line line{node, facts, hint};
  const auto [tried, is_new] = tried_.insert(line);
  if (!is_new) return false;
  tried_by_.emplace_back(lines_.size(), tried);
  auto fact = modules_.follows(node, facts, hint);
  if (!fact || is_full(node, fact->tensor)) return false;
  if (!is_wanted(*fact, wanted)) {
    tried_.erase(tried);
    tried_by_.pop_back();
    return false;
  }
  add_new(std::move(line), std::move(*fact));
  return true;
}

void RelationSearch::add_new(Line line, Fact fact) {
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

RelationSearch::Numbers RelationSearch::with_sizes(std::size_t node, const Index& sizes) const {
  Numbers facts;
  for (const std::size_t each : of_[node]) {
    if (sizes_of(each) == sizes) facts.push_back(each);
  }
  return facts;
}

RelationSearch::Numbers RelationSearch::request(std::size_t node, const Index& sizes) {
  Numbers known = with_sizes(node, sizes);
  if (!known.empty() || sizes.size() != own_sizes(node).size() || depth_ > kMaxDepth) return known;
  const auto [asked, is_new] = asked_.insert({node, sizes});
  if (!is_new) return known;
  asked_by_.emplace_back(lines_.size(), asked);
  ++depth_;
  answer(node, sizes);
  --depth_;
  return with_sizes(node, sizes);
}

std::string RelationSearch::lost(std::size_t output, std::size_t number) const {
  const auto& nodes = modules_.local().nodes;
  // Facts about what is computed from constants alone are found where they are asked for.
  std::vector<bool> is_constant;
  for (const auto& node : nodes) {
    const std::string& opcode = node.instruction->opcode;
    const bool has_all =
        std::ranges::all_of(node.operands, [&](std::size_t each) { return is_constant[each]; });
    is_constant.push_back(opcode == "constant" || opcode == "iota" ||
                          (!node.operands.empty() && node.is_function && has_all));
  }
  const auto is_known = [&](std::size_t each) { return is_constant[each] || !of_[each].empty(); };
  std::set<std::size_t> reached = {output};
  std::size_t first = output;
  for (std::size_t i = output + 1; i-- > 0;) {
    if (!reached.contains(i) || is_known(i)) continue;
    const auto& operands = nodes[i].operands;
    reached.insert(operands.begin(), operands.end());
    const auto result = modules_.local().results.find(i);
    if (result != modules_.local().results.end()) {
      const auto& [loop, array] = result->second;
      reached.insert(modules_.local().loops[loop].next[array]);
    }
    if (!operands.empty() && std::ranges::all_of(operands, is_known)) first = i;
  }
  const std::string name = nodes[first].instruction->name;
  return fmt::format("output {} is not related, beginning with {} {}", number,
                     nodes[first].instruction->opcode, name);
}

std::vector<bool> RelationSearch::used_by(Numbers left) const {
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

RelationSearch::Line RelationSearch::closing(Line line, const std::vector<bool>& used,
                                             std::set<std::size_t>& closed) const {
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

std::string RelationSearch::text_of(const Numbers& answers) const {
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
  const nlohmann::ordered_json all = {{"facts", std::move(facts)}, {"outputs", std::move(outputs)}};
  return all.dump() + "\n";
}

std::variant<std::string, std::string> relation_evidence(const CertificateFiles& files,
                                                         const Limits& limits) {
  return evidence_by<RelationSearch>(kernel::xla::with_related_modules, files, limits);
}

}  // namespace p2
