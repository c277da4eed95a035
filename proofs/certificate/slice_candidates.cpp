// What is tried for slices, and for arrays that are slices or concatenations of tensors, as those
// with the border of a neighbour's part are.

#include <algorithm>

#include "proofs/certificate/relation_search.h"

namespace p2 {

using kernel::xla::Index;
using kernel::xla::Node;
using kernel::xla::Tensors;

std::optional<Index> RelationSearch::joined_part(const Node& node, std::size_t fact,
                                                 Index hint) const {
  const auto& places = modules_.facts()[fact].places;
  bool is_part = false;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const kernel::xla::Place& place = modules_.places().at(places[k]);
    const std::int64_t begin = hint[k];
    const std::int64_t end = begin + node.shape.sizes[k];
    if (node.shape.sizes[k] == place.size) continue;
    std::set<std::pair<std::int64_t, std::int64_t>> taken;
    bool is_one = true;  // of several segments
    for (const auto& all : place.devices) {
      is_one = is_one && all.size() > 1;
      for (const auto& each : all) {
        if (each.at < end && each.at + each.size > begin) taken.insert({each.of, each.size});
      }
    }
    if (!is_one || taken.empty()) continue;
    std::int64_t last = taken.begin()->first;
    for (const auto& [of, size] : taken) {
      if (of > last) return std::nullopt;
      last = std::max(last, of + size);
    }
    hint[k] = taken.begin()->first;
    hint[places.size() + k] = last;
    is_part = true;
  }
  return is_part ? std::optional(hint) : std::nullopt;
}

void RelationSearch::slices(std::size_t node, std::size_t fact) {
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
  const auto sliced = modules_.follows(node, {fact}, hint);
  const bool is_known = sliced && sliced->tensor < whole_;
  if (is_known && derive(node, {fact}, hint, Wanted::Total)) return;
  if (const auto one = joined_part(here, fact, hint);
      one && derive(node, {fact}, *one, Wanted::Total))
    return;
  const auto& places = modules_.facts()[fact].places;
  const auto& tensors = modules_.tensors();
  const std::size_t base = tensors.moved(modules_.facts()[fact].tensor).base;
  bool is_whole = modules_.has_own() || tensors.at(base).form.opcode == "concatenate";
  for (std::size_t k = 0; k < own.size(); ++k) {
    const kernel::xla::Place& place = modules_.places().at(places[k]);
    is_whole = is_whole && (own_sizes(node)[k] == own[k] || place.size == place.whole);
  }
  if (is_whole) derive(node, {fact}, hint, Wanted::Total);
  // That of a microbatch is no slice of the whole batch.
  const bool is_part = derive(node, {fact}, {}, Wanted::Total);
  if (!is_part && derive(node, {fact}, hint, Wanted::Total)) return;
  for (const Index& other : known) derive(node, {fact}, other, Wanted::Total);
  if (!is_part) derive(node, {fact}, {});
}

void RelationSearch::see_slices(std::size_t node, std::size_t fact) {
  constexpr int kMost = 2;  // of one tensor
  const auto& tensors = modules_.tensors();
  const std::size_t whole = modules_.facts()[fact].tensor;
  if (modules_.facts()[fact].partial) return;
  const Index sizes = tensors.at(whole).sizes;
  const auto see = [&](const std::vector<Index>& rows) {
    Index hint;
    bool is_cut = true;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::size_t place = modules_.facts()[fact].places[k];
      const bool is_all = rows[0][k] == 0 && rows[1][k] == sizes[k];
      is_cut = is_cut && rows[2][k] == 1 &&
               (is_all || !(modules_.places().is_free(place) ||
                            modules_.places().at(place).size == sizes[k]));
    }
    for (const Index& row : rows) hint.insert(hint.end(), row.begin(), row.end());
    if (is_cut) derive(node, {fact}, hint);
    return is_cut;
  };
  const kernel::xla::Form form = tensors.at(whole).form;
  if (form.opcode == "pad" && form.numbers[2] == Index(sizes.size(), 0)) {
    // What is padded.
    Index end = sizes;
    for (std::size_t k = 0; k < sizes.size(); ++k) end[k] -= form.numbers[1][k];
    see({form.numbers[0], end, Index(sizes.size(), 1)});
  }
  int count = 0;
  for (const std::size_t tensor : made_of(whole, "slice")) {
    if (tensor >= whole_ || count == kMost) break;
    if (see(tensors.at(tensor).form.numbers)) ++count;
  }
  // Of what is moved, all that devices have.
  Index starts, ends;
  bool is_part = false;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const auto [start, end] = span_of(modules_.facts()[fact].places[k]);
    if (start >= end) return;
    is_part = is_part || start > 0 || end < sizes[k];
    starts.push_back(start);
    ends.push_back(end);
  }
  if (count > 0 || !is_part) return;
  Index hint = starts;
  hint.insert(hint.end(), ends.begin(), ends.end());
  hint.insert(hint.end(), starts.size(), 1);
  const auto slice = modules_.follows(node, {fact}, hint);
  if (slice && slice->tensor < whole_) derive(node, {fact}, hint);
}

std::pair<std::int64_t, std::int64_t> RelationSearch::span_of(std::size_t number) {
  const kernel::xla::Place& place = modules_.places().at(number);
  if (place.devices.empty()) return {0, place.whole};
  const auto [known, is_new] = spans_.try_emplace(number, place.whole, 0);
  if (!is_new) return known->second;
  auto& [start, end] = known->second;
  for (const auto& all : place.devices) {
    for (const auto& each : all) {
      start = std::min(start, each.of);
      end = std::max(end, each.of + each.size);
    }
  }
  return known->second;
}

void RelationSearch::see_concatenations(std::size_t node, std::size_t fact) {
  const auto& tensors = modules_.tensors();
  for (const std::size_t tensor : made_of(modules_.facts()[fact].tensor, "concatenate")) {
    if (tensor >= whole_) break;
    Numbers facts;
    for (const std::size_t part : tensors.at(tensor).operands) {
      for (const std::size_t each : of_[node]) {
        if (modules_.facts()[each].tensor != part) continue;
        facts.push_back(each);
        break;
      }
    }
    if (facts.size() > 1 && facts.size() == tensors.at(tensor).operands.size())
      derive(node, facts, tensors.at(tensor).form.numbers[0]);
  }
}

RelationSearch::Edges RelationSearch::pads_of(std::size_t tensor, std::size_t along) {
  Edges pads;
  // What is padded along another dimension may be padded along this one, too.
  const kernel::xla::Form& own = modules_.tensors().at(tensor).form;
  const bool is_padded =
      own.opcode == "pad" && own.numbers[0][along] == 0 && own.numbers[1][along] == 0;
  const std::size_t base = is_padded ? modules_.tensors().at(tensor).operands[0] : tensor;
  for (const std::size_t padded : made_of(base, "pad")) {
    const auto& rows = modules_.tensors().at(padded).form.numbers;
    const std::int64_t low = rows[0][along], high = rows[1][along];
    if (low >= 0 && high >= 0 && low + high > 0 && rows[2][along] == 0) pads.insert({low, high});
  }
  return pads;
}

RelationSearch::Edges RelationSearch::likely_pads(std::size_t fact, std::size_t along) {
  const kernel::xla::Place& place = modules_.places().at(modules_.facts()[fact].places[along]);
  if (place.devices.empty()) return {};
  Edges pads = pads_of(modules_.facts()[fact].tensor, along);
  std::int64_t low = 0, high = 0;
  for (const auto& all : place.devices) {
    for (const auto& each : all) {
      low = std::max(low, each.at - each.of);
      high = std::max(high, each.of - each.at + place.size - place.whole);
    }
  }
  if (low >= 0 && high >= 0 && low + high > 0) pads.insert({low, high});
  return pads;
}

void RelationSearch::borders(std::size_t node) {
  const auto& nodes = modules_.local().nodes;
  const Node& here = nodes[node];
  const auto is_sent = [&](std::size_t operand) {
    return nodes[operand].instruction->opcode == "collective-permute";
  };
  if (std::ranges::none_of(here.operands, is_sent)) return;
  const std::int64_t along = here.instruction->numbers("dimensions").at(0);
  const auto dimension = static_cast<std::size_t>(along);
  std::map<std::size_t, Edges> pads;  // by tensor
  for (const std::size_t fact : of_[here.operands[0]]) {
    const std::size_t tensor = modules_.facts()[fact].tensor;
    pads.emplace(tensor, pads_of(tensor, dimension));
  }
  for (const auto& [tensor, edges] : pads) {
    for (const auto& [low, high] : edges) {
      std::vector<Numbers> choices;
      bool is_after = false;
      for (const std::size_t operand : here.operands) {
        const bool sent = is_sent(operand);
        const Index hint = {along, low, high, sent && is_after ? 1 : 0};
        Numbers& padded = choices.emplace_back();
        for (const std::size_t fact : Numbers(of_[sent ? nodes[operand].operands[0] : operand])) {
          if (modules_.facts()[fact].tensor != tensor) continue;
          const auto seen = modules_.follows(operand, {fact}, hint);
          if (!seen) continue;
          derive(operand, {fact}, hint);
          for (const std::size_t each : of_[operand]) {
            if (modules_.facts()[each].tensor == seen->tensor) padded.push_back(each);
          }
          break;
        }
        is_after = is_after || !sent;
      }
      derive_all(node, choices, {1});
    }
  }
}

void RelationSearch::see_unpadded(std::size_t node, std::size_t fact) {
  const Index sizes = sizes_of(fact);
  const kernel::xla::Form form = modules_.tensors().at(modules_.facts()[fact].tensor).form;
  if (form.opcode != "pad" || form.numbers[2] != Index(sizes.size(), 0)) return;
  const auto is_padded = [&](std::size_t k) {
    return form.numbers[0][k] > 0 || form.numbers[1][k] > 0;
  };
  for (std::size_t along = 0; along < sizes.size(); ++along) {
    const std::size_t place = modules_.facts()[fact].places[along];
    if (!is_padded(along) || modules_.places().is_free(place)) continue;
    Index hint(sizes.size(), 0);
    hint[along] = form.numbers[0][along];
    hint.insert(hint.end(), sizes.begin(), sizes.end());
    hint[sizes.size() + along] -= form.numbers[1][along];
    hint.insert(hint.end(), sizes.size(), 1);
    derive(node, {fact}, hint);
  }
}

void RelationSearch::masks(std::size_t node) {
  const Node& here = modules_.local().nodes[node];
  for (std::int64_t k = 1; k <= 2; ++k) {
    const std::size_t chosen = here.operands[static_cast<std::size_t>(k)];
    for (const std::size_t fact : Numbers(of_[chosen])) see_unpadded(chosen, fact);
    const Numbers facts = of_[chosen];
    const std::size_t other = here.operands[static_cast<std::size_t>(3 - k)];
    for (const std::size_t fact : facts) {
      if (sizes_of(fact).size() != own_sizes(node).size()) continue;
      for (std::size_t along = 0; along < own_sizes(node).size(); ++along) {
        const auto dimension = static_cast<std::int64_t>(along);
        for (const auto& [low, high] : likely_pads(fact, along)) {
          Index sizes = sizes_of(fact);
          sizes[along] += low + high;
          Numbers numbers = request(other, sizes);
          const Numbers conditions = request(here.operands[0], sizes);
          std::vector<Numbers> choices = {conditions, {fact}, numbers};
          if (k == 2) std::swap(choices[1], choices[2]);
          derive_all(node, choices, {dimension, low, high, k});
        }
        // Of one tensor on both sides.
        if (k == 2 || modules_.places().is_identity(modules_.facts()[fact].places[along])) continue;
        Numbers same;
        for (const std::size_t each : of_[other]) {
          if (modules_.facts()[each].tensor == modules_.facts()[fact].tensor) same.push_back(each);
        }
        if (same.empty()) continue;
        derive_all(node, {request(here.operands[0], sizes_of(fact)), {fact}, same}, {dimension});
      }
    }
  }
}

}  // namespace p2
