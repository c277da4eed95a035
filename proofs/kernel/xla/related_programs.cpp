// Facts about what one program receives from another, and what programs compute together.

#include "proofs/kernel/xla/related_programs.h"

#include <algorithm>
#include <set>

#include "proofs/kernel/input.h"

namespace p2::kernel::xla {

std::optional<Relation> relation_on(const Programs& programs, std::size_t program,
                                    const ProgramsRelation& relation) {
  const auto number = relation.numbers.find(program);
  if (number == relation.numbers.end()) return std::nullopt;
  Relation own{number->second, relation.relation->reducer, relation.relation->parts, {}};
  for (const Piece& piece : relation.relation->pieces) {
    if (programs.program_of(piece.device) != program) continue;
    own.pieces.push_back(piece);
    own.pieces.back().device = programs.own_number(piece.device);
  }
  return own;
}

RelatedPrograms::RelatedPrograms(const Module& whole, const Programs& programs,
                                 const std::vector<ProgramsRelation>& inputs, Budget& budget)
    : programs_(programs),
      budget_(budget),
      whole_(whole, {}, {1, static_cast<std::int64_t>(programs.device_count())}, false, true,
             budget) {
  std::map<std::size_t, std::shared_ptr<Places>> places;  // by number of devices
  for (std::size_t k = 0; k < programs.count(); ++k) {
    const Program& program = programs.at(k);
    std::vector<std::optional<HeldInput>> own;
    for (const ProgramsRelation& each : inputs) {
      budget.spend(each.relation->pieces.size());
      const auto number = each.numbers.find(k);
      own.emplace_back();
      if (number == each.numbers.end()) continue;
      own.back().emplace(number->second, held(k, each));
    }
    const Runners runners =
        program.is_alone ? Runners(program.counts) : Runners(program.counts, program.devices);
    auto& shared = places[program.devices.size()];
    if (!shared) shared = std::make_shared<Places>(program.devices.size());
    related_.push_back(
        std::make_unique<RelatedModules>(whole_, program.module, runners, own, budget, shared));
  }
  find_exchanges();
}

std::shared_ptr<Relation> RelatedPrograms::held(std::size_t program,
                                                const ProgramsRelation& relation) {
  auto& here = held_[{program, relation.relation}];
  if (!here) here = std::make_shared<Relation>(relation_on(programs_, program, relation).value());
  return here;
}

void RelatedPrograms::find_exchanges() {
  const auto first_of = [&](const Site& site) {
    return related_[site.program]->local().of_entry.at(site.instruction);
  };
  for (const auto& [site, sources] : programs_.receives()) {
    const auto node = first_of(site);
    std::map<Site, std::optional<ProgramNode>> arrays;  // that are sent
    for (const auto& source : sources) {
      if (!source || arrays.contains(source->first)) continue;
      const auto array = first_of(source->first);
      auto& sent = arrays[source->first];
      if (array) sent.emplace(source->first.program, *array);
    }
    const bool is_known = node && std::ranges::all_of(arrays, [](const auto& each) {
                            return each.second.has_value();
                          });
    if (!is_known) continue;
    std::set<ProgramNode> ordered;
    for (const auto& [from, array] : arrays) ordered.insert(*array);
    Exchange exchange{{ordered.begin(), ordered.end()}, site};
    Route route;
    for (const auto& source : sources) {
      route.push_back(kNobody);
      if (!source) continue;
      const auto at = std::ranges::find(exchange.origins, *arrays.at(source->first));
      route.back() = {static_cast<std::size_t>(at - exchange.origins.begin()), source->second};
    }
    exchange.route = routes_.number(std::move(route)).first;
    exchanges_[{site.program, *node}] = std::move(exchange);
  }
  for (const auto& [site, parts] : programs_.spanning()) {
    const auto first = first_of(site);
    for (std::size_t k = 0; first && k < programs_.at(site).operands.size(); ++k) {
      Exchange exchange{{}, site};
      for (const Site& part : parts) {
        const std::vector<Node>& nodes = related_[part.program]->local().nodes;
        const auto own = first_of(part);
        if (!own || *own + k >= nodes.size()) continue;
        const Node& node = nodes[*own + k];
        if (node.instruction == &programs_.at(part) && node.operands.size() == 1)
          exchange.origins.emplace_back(part.program, node.operands[0]);
      }
      if (exchange.origins.size() == parts.size())
        exchanges_[{site.program, *first + k}] = std::move(exchange);
    }
  }
}

auto RelatedPrograms::origins(const ProgramNode& node) const -> const std::vector<ProgramNode>& {
  static const std::vector<ProgramNode> kNone;
  const auto found = exchanges_.find(node);
  return found == exchanges_.end() ? kNone : found->second.origins;
}

std::optional<Fact> RelatedPrograms::follows(const ProgramNode& node,
                                             const std::vector<ProgramFact>& facts,
                                             const Index& hint) {
  RelatedModules& related = *related_.at(node.first);
  const auto found = exchanges_.find(node);
  if (found == exchanges_.end()) {
    std::vector<std::size_t> own;
    own.reserve(facts.size());
    for (const auto& [program, fact] : facts) {
      if (program != node.first) return std::nullopt;
      own.push_back(fact);
    }
    return related.follows(node.second, own, hint);
  }
  const Exchange& exchange = found->second;
  budget_.spend(256 + 16 * facts.size());
  if (facts.empty() || facts.size() != exchange.origins.size()) return std::nullopt;
  std::vector<const Fact*> all;
  for (std::size_t k = 0; k < facts.size(); ++k) {
    const auto& [program, number] = facts[k];
    const Fact& fact = related_.at(program)->facts().at(number);
    if (ProgramNode(program, fact.node) != exchange.origins[k] || fact.view) return std::nullopt;
    // They are of one tensor, in the same form.
    const bool is_alike =
        all.empty() ||
        (fact.tensor == all[0]->tensor && fact.places.size() == all[0]->places.size() &&
         fact.partial.has_value() == all[0]->partial.has_value() &&
         fact.share.has_value() == all[0]->share.has_value() &&
         (!fact.share || fact.share->summand == all[0]->share->summand));
    if (!is_alike) return std::nullopt;
    all.push_back(&fact);
  }
  auto result = programs_.receives().contains(exchange.site) ? received(node, exchange, all)
                                                             : united(node, exchange, all);
  if (result && result->share) result = related.settled(std::move(*result));
  return related.checked(node.second, std::move(result));
}

/// The fact of what is sent, moved along the pairs; a device that is sent nothing has anything.
std::optional<Fact> RelatedPrograms::received(const ProgramNode& node, const Exchange& exchange,
                                              const std::vector<const Fact*>& facts) {
  Places& places = related_[node.first]->places();
  const Route& from = routes_.at(exchange.route);
  const bool is_all = std::ranges::find(from, kNobody) == from.end();
  const Fact& first = *facts[0];
  if (first.partial || (!is_all && first.places.empty())) return std::nullopt;
  const auto places_of = [&](std::size_t k) -> Places& {
    return related_[exchange.origins[k].first]->places();
  };
  Fact result{0, first.tensor, {}, {}};
  for (std::size_t dim = 0; dim < first.places.size(); ++dim) {
    const Place& whole = places_of(0).at(first.places[dim]);
    bool is_free = is_all || dim > 0;
    Sent sent{exchange.route, &places, {}};
    std::vector<std::size_t> fixed;
    for (std::size_t k = 0; k < facts.size(); ++k) {
      Places& own = places_of(k);
      const std::size_t place = facts[k]->places[dim];
      if (own.at(place).size != whole.size || own.at(place).whole != whole.whole)
        return std::nullopt;
      is_free = is_free && own.is_free(place);
      sent.places.emplace_back(&own, place);
    }
    if (is_free) {
      result.places.push_back(places.free(whole.size, whole.whole));
      continue;
    }
    const auto known = sent_.find(sent);
    if (known != sent_.end()) {
      result.places.push_back(known->second);
      continue;
    }
    for (std::size_t k = 0; k < facts.size(); ++k) {
      const auto place = places_of(k).fixed(facts[k]->places[dim]);
      if (!place) return std::nullopt;
      fixed.push_back(*place);
    }
    std::vector<Segments> devices;
    for (const auto& source : from)
      devices.push_back(
          source == kNobody
              ? Segments()
              : places_of(source.first).at(fixed[source.first]).devices.at(source.second));
    result.places.push_back(places.segments(whole.size, whole.whole, std::move(devices)));
    sent_.emplace(std::move(sent), result.places.back());
  }
  if (!first.share) return result;
  Parts parts{places_of(0).parts_at(first.share->parts).space, {}};
  for (const auto& source : from) {
    if (source == kNobody) return std::nullopt;
    const Parts& sent = places_of(source.first).parts_at(facts[source.first]->share->parts);
    if (sent.space != parts.space) return std::nullopt;
    parts.devices.push_back(sent.devices.at(source.second));
  }
  const auto number = places.parts(std::move(parts), budget_);
  if (!number) return std::nullopt;
  result.share = Share{first.share->summand, *number};
  return result;
}

/// By the rule of the collective, on the devices of all programs that have a part in it.
std::optional<Fact> RelatedPrograms::united(const ProgramNode& node, const Exchange& exchange,
                                            const std::vector<const Fact*>& facts) {
  const auto& sites = programs_.spanning().at(exchange.site);
  std::vector<std::size_t> number(programs_.device_count(), SIZE_MAX);
  std::size_t count = 0, begin = 0;
  for (const Site& site : sites) {
    if (site.program == node.first) begin = count;
    for (const std::size_t device : programs_.at(site.program).devices) number[device] = count++;
  }
  budget_.spend(8 * count);
  Places joint(count);
  const auto places_of = [&](std::size_t k) -> Places& {
    return related_[exchange.origins[k].first]->places();
  };
  const Fact& first = *facts[0];
  Fact fact{0, first.tensor, {}, {}};
  for (std::size_t dim = 0; dim < first.places.size(); ++dim) {
    const Place& whole = places_of(0).at(first.places[dim]);
    bool is_free = true;
    std::vector<Segments> devices;
    for (std::size_t k = 0; k < facts.size(); ++k)
      is_free = is_free && places_of(k).is_free(facts[k]->places[dim]);
    for (std::size_t k = 0; k < facts.size(); ++k) {
      Places& own = places_of(k);
      const auto place = is_free ? facts[k]->places[dim] : own.fixed(facts[k]->places[dim]);
      if (!place || own.at(*place).size != whole.size || own.at(*place).whole != whole.whole)
        return std::nullopt;
      const auto& each = own.at(*place).devices;
      devices.insert(devices.end(), each.begin(), each.end());
    }
    fact.places.push_back(is_free ? joint.free(whole.size, whole.whole)
                                  : joint.segments(whole.size, whole.whole, std::move(devices)));
  }
  if (first.partial) {
    Partial all{places_of(0).partial_at(*first.partial).op, {}, {}};
    for (std::size_t k = 0; k < facts.size(); ++k) {
      const Partial& own = places_of(k).partial_at(*facts[k]->partial);
      if (own.op != all.op) return std::nullopt;
      const auto offset = static_cast<std::uint32_t>(all.groups.size());
      for (std::size_t device = 0; device < own.groups.size(); ++device) {
        all.groups.push_back(own.groups[device] + offset);
        all.copies.push_back(own.copies[device] + offset);
      }
    }
    fact.partial = joint.partial(std::move(all));
  }
  if (first.share) {
    Parts all{places_of(0).parts_at(first.share->parts).space, {}};
    for (std::size_t k = 0; k < facts.size(); ++k) {
      const Parts& own = places_of(k).parts_at(facts[k]->share->parts);
      if (own.space != all.space) return std::nullopt;
      all.devices.insert(all.devices.end(), own.devices.begin(), own.devices.end());
    }
    const auto parts = joint.parts(std::move(all), budget_);
    if (!parts) return std::nullopt;
    fact.share = Share{first.share->summand, *parts};
  }
  const RelatedModules& related = *related_[node.first];
  Communication communication{related.local().nodes[node.second].instruction->opcode};
  std::string& opcode = communication.opcode;
  if (opcode.ends_with("-start")) opcode.resize(opcode.size() - 6);
  communication.sources.resize(count);
  std::set<std::vector<std::size_t>> groups;
  for (const Site& site : sites) {
    for (std::vector<std::size_t> group : programs_.groups(site)) {
      for (std::size_t& each : group) each = number.at(each);
      if (groups.insert(group).second) communication.groups.push_back(std::move(group));
    }
    for (const auto& [target, source] : programs_.sources(site)) {
      if (number.at(target) != SIZE_MAX && number.at(source) != SIZE_MAX)
        communication.sources[number[target]] = number[source];
    }
  }
  communication.look_at_groups(count);
  auto result =
      related.communicated(joint, communication, related.local().nodes[node.second], fact);
  if (!result) return std::nullopt;
  // What this says of the devices of this program.
  Places& own = related_[node.first]->places();
  const std::size_t end = begin + own.devices();
  const auto is_own = [&](std::size_t device) { return begin <= device && device < end; };
  const auto here = [&](const auto& list) {
    return std::decay_t<decltype(list)>(list.begin() + static_cast<std::ptrdiff_t>(begin),
                                        list.begin() + static_cast<std::ptrdiff_t>(end));
  };
  for (std::size_t& place : result->places) {
    const Place& all = joint.at(place);
    place = joint.is_free(place) ? own.free(all.size, all.whole)
                                 : own.segments(all.size, all.whole, here(all.devices));
  }
  if (result->partial) {
    const Partial& all = joint.partial_at(*result->partial);
    for (std::size_t device = 0; device < count; ++device) {
      // A group of several programs.
      if (is_own(device) != is_own(all.groups[device])) return std::nullopt;
    }
    Partial restricted{all.op, here(all.groups), here(all.copies)};
    for (auto* list : {&restricted.groups, &restricted.copies}) {
      for (std::uint32_t& each : *list) each -= static_cast<std::uint32_t>(begin);
    }
    result->partial = own.partial(std::move(restricted));
  }
  if (result->share) {
    const Parts& all = joint.parts_at(result->share->parts);
    const auto parts = own.parts({all.space, here(all.devices)}, budget_);
    if (!parts) return std::nullopt;
    result->share->parts = *parts;
  }
  return result;
}

/// Every part is a sum of other summands, the same on all devices that have it.
bool RelatedPrograms::answers_by_parts(const std::vector<ProgramFact>& facts, std::size_t output,
                                       const ProgramsRelation& relation) {
  std::map<std::size_t, const Fact*> of;  // by program
  for (const auto& [program, number] : facts) {
    const RelatedModules& related = *related_.at(program);
    const Fact& fact = related.facts().at(number);
    const auto output_number = relation.numbers.find(program);
    if (output_number == relation.numbers.end() || !fact.share || fact.view ||
        fact.node != related.local().outputs.at(output_number->second) ||
        fact.tensor != whole_.outputs.at(output) ||
        fact.share->summand !=
            related_.at(facts[0].first)->facts().at(facts[0].second).share->summand)
      return false;
    of[program] = &fact;
  }
  Parts parts{{}, std::vector<std::vector<Box>>(relation.relation->parts)};
  for (const Piece& piece : relation.relation->pieces) {
    const std::size_t program = programs_.program_of(piece.device);
    const auto fact = of.find(program);
    if (fact == of.end()) return false;
    const Places& places = related_[program]->places();
    const std::size_t own = programs_.own_number(piece.device);
    for (std::size_t k = 0; k < piece.of.size(); ++k) {
      const Place& place = places.at(fact->second->places.at(k));
      if (place.devices.empty() || place.devices.at(own).size() != 1) return false;
      const Segment& each = place.devices[own][0];
      if (each.at > piece.at[k] || piece.at[k] + piece.sizes[k] > each.at + each.size ||
          each.of - each.at != piece.of[k] - piece.at[k])
        return false;
    }
    const Parts& known = places.parts_at(fact->second->share->parts);
    auto& boxes = parts.devices.at(piece.part);
    if (!boxes.empty() && boxes != known.devices.at(own)) return false;
    if (!parts.space.empty() && parts.space != known.space) return false;
    parts.space = known.space;
    boxes = known.devices.at(own);
  }
  Places all(relation.relation->parts);
  const std::set<std::vector<Box>> different(parts.devices.begin(), parts.devices.end());
  if (different.size() != parts.devices.size()) return false;
  const auto number = all.parts(std::move(parts), budget_);
  return number && all.complete(*number, {}, budget_);
}

bool RelatedPrograms::answers(const std::vector<ProgramFact>& facts, std::size_t output,
                              const ProgramsRelation& relation) {
  // Parts of one number that several programs have are the same only if they have the same
  // summands.
  if (relation.relation->reducer && relation.numbers.size() > 1)
    return relation.relation->reducer == Op::Add && answers_by_parts(facts, output, relation);
  std::set<std::size_t> answered;
  for (const auto& [program, fact] : facts) {
    budget_.spend(relation.relation->pieces.size());
    const auto number = relation.numbers.find(program);
    if (number == relation.numbers.end()) return false;
    const auto own = held(program, relation);
    own->number = number->second;
    if (!related_.at(program)->answers(fact, output, *own)) return false;
    answered.insert(program);
  }
  return std::all_of(
      relation.relation->pieces.begin(), relation.relation->pieces.end(),
      [&](const Piece& piece) { return answered.contains(programs_.program_of(piece.device)); });
}

}  // namespace p2::kernel::xla
