// What is tried for every operation: which facts about operands, and which hints. Slices, reshapes
// and dots have files of their own.

#include "proofs/certificate/relation_search.h"

#include <algorithm>

namespace p2 {
namespace {

using kernel::xla::contains;
using kernel::xla::Index;
using kernel::xla::Node;
using kernel::xla::Tensors;

bool is_elementwise(const std::string& opcode) {
  return kernel::xla::op_called(opcode) || opcode == "mulhi";
}

}  // namespace

bool RelationSearch::derive_all(std::size_t node, const std::vector<Numbers>& choices,
                                const Index& hint, Wanted wanted) {
  // Those about tensors that the module has come first: they lead to others that it has.
  const auto is_known = [&](std::size_t fact) { return modules_.facts()[fact].tensor < whole_; };
  std::vector<Numbers> all = {{}};
  for (Numbers each : choices) {
    std::stable_partition(each.begin(), each.end(), is_known);
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
  const auto others = std::stable_partition(all.begin(), all.end(), [&](const Numbers& facts) {
    return std::all_of(facts.begin(), facts.end(), is_known);
  });
  bool found = false;
  for (auto facts = all.begin(); facts != all.end(); ++facts) {
    if (facts == others && found && modules_.has_own() && is_known(of_[node].back())) break;
    found = derive(node, *facts, hint, wanted) || found;
  }
  return found;
}

void RelationSearch::answer(std::size_t node, const Index& sizes) {
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
    if (!derive(node, {}, sizes) && sizes == own_sizes(node)) derive(node, {}, {});
  } else if (opcode == "all-gather") {
    // Of the same tensor.
    request(here.operands[0], sizes);
    derive_all(node, {with_sizes(here.operands[0], sizes)}, {});
  } else if (!here.is_function) {
    return;
  } else if (opcode == "iota") {
    derive(node, {}, sizes);
  } else if (opcode == "broadcast") {
    Index operand;
    const Index dimensions = here.instruction->numbers("dimensions");
    for (const std::int64_t each : dimensions)
      operand.push_back(sizes.at(static_cast<std::size_t>(each)));
    request(here.operands[0], operand);
    if (derive_all(node, {with_sizes(here.operands[0], operand)}, sizes)) return;
    // Dimensions of one index may be parts of the operand's: as they are, or of the next one.
    Index hint = sizes;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (own_sizes(node)[k] != 1 || sizes[k] <= 1 || contains(dimensions, k)) continue;
      hint.push_back(static_cast<std::int64_t>(k));
      const auto next = std::ranges::find_if(
          dimensions, [&](std::int64_t each) { return each > static_cast<std::int64_t>(k); });
      if (next != dimensions.end())
        operand[static_cast<std::size_t>(next - dimensions.begin())] *= sizes[k];
    }
    if (hint.size() == sizes.size()) return;
    if (derive_all(node, {of_[here.operands[0]]}, hint)) return;
    derive_all(node, {request(here.operands[0], operand)}, hint);
  } else if (is_elementwise(opcode)) {
    by_elements(node, sizes);
  } else if (opcode == "transpose") {
    const Index order = here.instruction->numbers("dimensions");
    Index operand(order.size());
    for (std::size_t k = 0; k < order.size(); ++k)
      operand.at(static_cast<std::size_t>(order[k])) = sizes[k];
    request(here.operands[0], operand);
    derive_all(node, {with_sizes(here.operands[0], operand)}, {});
  } else if (opcode == "reshape") {
    if (of_[here.operands[0]].empty())
      request(here.operands[0], reshaped(own_sizes(node), sizes, own_sizes(here.operands[0])));
    derive_all(node, {of_[here.operands[0]]}, sizes);
    if (is_any_plain(with_sizes(node, sizes))) return;
    for (const std::size_t fact : Numbers(of_[here.operands[0]])) by_parts(node, fact, sizes);
  } else if (opcode == "dot") {
    dot_of_sizes(node, sizes);
  } else if (opcode == "reduce" && here.operands.size() == 2) {
    Index operand = own_sizes(here.operands[0]);
    const Index along = here.instruction->numbers("dimensions");
    for (std::size_t i = 0, next = 0; i < operand.size(); ++i) {
      if (!contains(along, i)) operand[i] = sizes.at(next++);
    }
    request(here.operands[0], operand);
    relate(node);
    derive_all(node, {of_[here.operands[0]], of_[here.operands[1]]}, sizes);
  } else if (opcode == "scatter" && here.operands.size() == 3) {
    request(here.operands[0], sizes);
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

bool RelationSearch::by_elements(std::size_t node, const Index& sizes) {
  const Node& here = modules_.local().nodes[node];
  std::vector<Numbers> choices;
  for (std::size_t k = 0; k < here.operands.size(); ++k) {
    const Index& own = own_sizes(here.operands[k]);
    choices.push_back(request(here.operands[k], own.empty() ? own : sizes));
    // A condition may be what devices know.
    const bool is_condition = here.instruction->opcode == "select" && k == 0;
    if (k == 0 && here.operands.size() == 2) by_counted(node, choices[0]);
    if (choices.back().empty() && !is_condition) return false;
  }
  if (choices[0].empty()) choices.erase(choices.begin());
  return derive_all(node, choices, {});
}

void RelationSearch::longer_iotas(std::size_t node) {
  constexpr std::size_t kMost = 2;
  const Node& here = modules_.local().nodes[node];
  const auto along = static_cast<std::size_t>(here.instruction->number("iota_dimension", 0));
  std::set<std::int64_t> lengths;
  for (const std::size_t tensor : made_of(SIZE_MAX, "iota")) {
    const Tensors::Tensor& line = modules_.tensors().at(tensor);
    const bool is_longer = line.sizes[0] > own_sizes(node)[along];
    if (tensor >= whole_ || lengths.size() == kMost) break;
    if (is_longer && line.kind == kernel::xla::kind_of(here.shape.type))
      lengths.insert(line.sizes[0]);
  }
  for (const std::int64_t length : lengths) {
    Index sizes = own_sizes(node);
    sizes[along] = length;
    request(node, sizes);
  }
}

void RelationSearch::by_counted(std::size_t node, const Numbers& facts) {
  for (const std::size_t fact : facts) {
    if (modules_.tensors().counted(modules_.facts()[fact].tensor)) derive(node, {fact}, {});
  }
}

std::vector<Index> RelationSearch::counted_elsewhere(const Index& own, const Index& sizes) {
  std::vector<Index> all;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i] < 1 || sizes[i] == own[i] || sizes[i] % own[i] != 0) continue;
    for (std::size_t j = 0; j < own.size(); ++j) {
      if (j == i) continue;
      all.push_back(sizes);
      all.back()[i] = own[i];
      all.back()[j] *= sizes[i] / own[i];
    }
  }
  return all;
}

void RelationSearch::relate(std::size_t node) {
  const Node& here = modules_.local().nodes[node];
  const std::string& opcode = here.instruction->opcode;
  if (modules_.has_own() && modules_.has_numbers(node) && derive(node, {}, {2})) return;
  if (opcode == "constant") {
    if (own_sizes(node).empty()) derive(node, {}, {});
    return;
  }
  if (here.operands.empty()) {
    derive(node, {}, {});
    if (opcode == "iota") longer_iotas(node);
    return;
  }
  const Numbers first = of_[here.operands[0]];
  if (!here.is_function) {
    for (const std::size_t fact : first) derive(node, {fact}, {});
    if (of_[node].empty() && opcode == "all-reduce") sums(node, first);
    return;
  }
  if (is_elementwise(opcode)) {
    if (opcode == "select") masks(node);
    // What is asked for may lead to facts of other sizes.
    std::set<Index> tried;
    for (std::size_t before = SIZE_MAX; before != tried.size();) {
      before = tried.size();
      for (const std::size_t each : here.operands) {
        if (own_sizes(each).empty() && !own_sizes(node).empty()) continue;
        for (const std::size_t fact : Numbers(of_[each])) {
          if (tried.insert(sizes_of(fact)).second) by_elements(node, Index(sizes_of(fact)));
        }
      }
    }
    if (of_[node].empty() && here.operands.size() == 2 && modules_.has_numbers(here.operands[1])) {
      for (const std::size_t fact : first) derive(node, {fact}, {});
    }
    if (of_[node].empty()) by_known_sizes(node);
    // Which device's part it is may be counted in another dimension.
    for (auto each = tried.begin(); each != tried.end() && of_[node].empty(); ++each) {
      for (const Index& sizes : counted_elsewhere(own_sizes(node), *each)) {
        if (!tried.contains(sizes) && by_elements(node, sizes)) break;
      }
    }
    return;
  }
  if (opcode == "broadcast") return broadcasts(node, first);
  if (opcode == "reshape") return reshapes(node, first);
  if (opcode == "slice") {
    for (const std::size_t fact : first) slices(node, fact);
    return;
  }
  if (opcode == "dynamic-slice") {
    for (const std::size_t fact : first) derive(node, {fact}, {});
    if (!of_[node].empty() && !modules_.has_own()) return;
  }
  if (opcode == "concatenate") borders(node);
  const bool is_scatter = opcode == "scatter" && here.operands.size() == 3;  // of one array
  std::vector<Numbers> choices;
  for (std::size_t k = 0; k < here.operands.size(); ++k) {
    const std::size_t each = here.operands[k];
    if (of_[each].empty() && opcode == "scatter" && k == 0) {
      for (const std::size_t tensor : made_of(SIZE_MAX, opcode))
        request(each, modules_.tensors().at(tensor).sizes);
    }
    if (is_scatter && k == 2) {
      for (const std::size_t fact : choices[0]) request(each, likely_updates(here, fact));
    }
    if (of_[each].empty()) request(each, likely_sizes(here, k));
    if (of_[each].empty()) return;
    choices.push_back(of_[each]);
  }
  // Of one tensor before all others.
  if (opcode == "concatenate" && (derive_all(node, choices, {1}) || !of_[node].empty())) {
    const bool is_in_whole = std::ranges::any_of(choices[0], [&](std::size_t fact) {
      const Numbers joined = made_of(modules_.facts()[fact].tensor, opcode);
      return !joined.empty() && joined[0] < whole_;
    });
    if (!is_in_whole) return;
  }
  if (opcode == "reduce" && choices.size() == 2) choices[0] = undivided(node);
  bool found = false;
  if (is_scatter) {
    for (const std::size_t fact : choices[0]) {
      const Numbers updates = with_sizes(here.operands[2], likely_updates(here, fact));
      found = derive_all(node, {{fact}, choices[1], updates}, {}) || found;
    }
  }
  if (opcode == "dot") return dots(node);
  if (opcode == "pad" && !found && !derive_all(node, choices, {})) {
    // A padding that no device uses.
    derive_all(node, choices, {0});
    return;
  }
  // Windows within what a device has, without what it has of neighbours, are of other tensors.
  const bool has_windows =
      kernel::xla::is_one_of(opcode, {"convolution", "reduce-window", "select-and-scatter"});
  if (has_windows && derive_all(node, choices, {}, Wanted::OfWhole)) return;
  found = derive_all(node, choices, {}) || found;
  if (opcode == "reduce" && choices.size() == 2) over_others(node, choices);
  if (found) return;
  if (!kernel::xla::is_one_of(opcode, {"complex", "map", "reduce", "sort"})) return;
  // Arrays that are sorted or reduced together are cut alike.
  for (std::size_t k = 1; k < here.operands.size(); ++k) {
    if (own_sizes(here.operands[k]) == own_sizes(here.operands[0]))
      choices[k] = request(here.operands[k], likely_sizes(here, k));
  }
  derive_all(node, choices, {});
}

void RelationSearch::over_others(std::size_t node, const std::vector<Numbers>& choices) {
  const Node& here = modules_.local().nodes[node];
  const Index& own = own_sizes(here.operands[0]);
  const Index along = here.instruction->numbers("dimensions");
  for (const std::size_t fact : choices[0]) {
    Index left, whole;
    bool is_cut = false;
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (contains(along, static_cast<std::int64_t>(k)) && own[k] != 1) continue;
      left.push_back(own[k]);
      whole.push_back(sizes_of(fact)[k]);
      is_cut = is_cut || (contains(along, static_cast<std::int64_t>(k)) && whole.back() != 1);
    }
    if (!is_cut || own_sizes(node).empty()) continue;
    derive_all(node, {{fact}, choices[1]}, reshaped(left, whole, own_sizes(node), {}));
  }
}

RelationSearch::Numbers RelationSearch::undivided(std::size_t node) {
  const Node& here = modules_.local().nodes[node];
  const std::size_t operand = here.operands[0];
  const Numbers facts = of_[operand];
  const Index along = here.instruction->numbers("dimensions");
  const auto is_divided = [&](const Index& sizes) {
    return std::ranges::any_of(along, [&](std::int64_t each) {
      const auto k = static_cast<std::size_t>(each);
      return sizes.at(k) > own_sizes(operand).at(k);
    });
  };
  if (modules_.local().nodes[operand].instruction->opcode != "reshape" ||
      !std::ranges::all_of(facts, [&](std::size_t each) { return is_divided(sizes_of(each)); }))
    return facts;
  for (const std::size_t fact : facts) {
    for (const Index& sizes : counted_elsewhere(own_sizes(operand), Index(sizes_of(fact)))) {
      if (!is_divided(sizes)) request(operand, sizes);
    }
  }
  return of_[operand];
}

void RelationSearch::by_known_sizes(std::size_t node) {
  const Node& here = modules_.local().nodes[node];
  const bool are_known =
      std::ranges::all_of(here.operands, [&](std::size_t each) { return !of_[each].empty(); });
  if (here.operands.size() < 2 || !are_known) return;
  std::set<Index> sizes;
  for (const std::size_t tensor : made_of(SIZE_MAX, here.instruction->opcode)) {
    if (tensor >= whole_ || sizes.size() == kMaxChoices) break;
    const Index& whole = modules_.tensors().at(tensor).sizes;
    if (std::ranges::equal(own_sizes(node), whole, std::ranges::less_equal())) sizes.insert(whole);
  }
  for (const Index& each : sizes) {
    if (by_elements(node, each)) return;
  }
}

RelationSearch::Numbers RelationSearch::made_of(std::size_t tensor, const std::string& opcode) {
  for (; indexed_ < modules_.tensors().count(); ++indexed_) {
    const Tensors::Tensor& each = modules_.tensors().at(indexed_);
    made_of_[{SIZE_MAX, each.form.opcode}].push_back(indexed_);
    if (!each.operands.empty()) made_of_[{each.operands[0], each.form.opcode}].push_back(indexed_);
    if (each.form.opcode == "reshape" || each.form.opcode == "transpose")
      made_of_[{modules_.tensors().moved(indexed_).base, "moved"}].push_back(indexed_);
    if (each.form.opcode == "dot") {
      for (const std::size_t operand : each.operands)
        made_of_[{modules_.tensors().moved(operand).base, "dot of moved"}].push_back(indexed_);
    }
  }
  const auto found = made_of_.find({tensor, opcode});
  return found == made_of_.end() ? Numbers() : found->second;
}

Index RelationSearch::likely_sizes(const Node& node, std::size_t operand) const {
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

Index RelationSearch::likely_updates(const Node& node, std::size_t fact) const {
  const auto& scatter = *node.instruction;
  const Index& own = own_sizes(node.operands[0]);
  const Index& whole = sizes_of(fact);
  Index sizes = own_sizes(node.operands[2]);
  const Index windows = scatter.numbers("update_window_dims");
  const Index inserted = scatter.numbers("inserted_window_dims");
  const Index batches = scatter.numbers("input_batching_dims");
  const Index of_indices = scatter.numbers("scatter_indices_batching_dims");
  const std::int64_t along = scatter.number("index_vector_dim", 0);
  for (std::size_t i = 0, window = 0; i < own.size(); ++i) {
    const auto batch = std::find(batches.begin(), batches.end(), static_cast<std::int64_t>(i));
    std::size_t at = 0;  // the dimension of the updates
    if (batch != batches.end()) {
      const auto k = static_cast<std::size_t>(batch - batches.begin());
      std::int64_t left = of_indices.at(k) - (of_indices[k] > along ? 1 : 0);
      while (contains(windows, at) || left-- > 0) ++at;
    } else if (contains(inserted, i)) {
      continue;
    } else {
      at = static_cast<std::size_t>(windows.at(window++));
    }
    if (at < sizes.size() && sizes[at] == own[i]) sizes[at] = whole.at(i);
  }
  if (of_[node.operands[1]].empty()) return sizes;
  // As many as there are vectors of indices.
  const Index& own_indices = own_sizes(node.operands[1]);
  const Index& indices = sizes_of(of_[node.operands[1]][0]);
  for (std::size_t k = 0, at = 0; k < own_indices.size(); ++k) {
    if (static_cast<std::int64_t>(k) == along) continue;
    while (contains(windows, at)) ++at;
    if (at < sizes.size() && sizes[at] == own_indices[k]) sizes[at] = indices.at(k);
    ++at;
  }
  return sizes;
}

void RelationSearch::broadcasts(std::size_t node, const Numbers& facts) {
  const Index dimensions = modules_.local().nodes[node].instruction->numbers("dimensions");
  if (dimensions.empty()) return;
  for (const std::size_t fact : facts) {
    bool found = false;
    for (const std::size_t tensor : made_of(modules_.facts()[fact].tensor, "broadcast")) {
      const Tensors::Tensor& whole = modules_.tensors().at(tensor);
      if (whole.form.numbers[0] == dimensions) found = derive(node, {fact}, whole.sizes) || found;
    }
    if (found) continue;
    // Most often a new dimension is not cut.
    Index sizes = own_sizes(node);
    const Index from = sizes_of(fact);
    bool fits = from.size() == dimensions.size();  // else the module is ill-formed
    for (std::size_t k = 0; k < dimensions.size() && fits; ++k) {
      fits = dimensions[k] >= 0 && dimensions[k] < std::ssize(sizes);
      if (fits) sizes[static_cast<std::size_t>(dimensions[k])] = from[k];
    }
    if (fits) derive(node, {fact}, sizes);
  }
}

void RelationSearch::sums(std::size_t node, const Numbers& facts) {
  const std::size_t operand = modules_.local().nodes[node].operands[0];
  for (const std::size_t fact : facts) {
    for (std::size_t k = 0; k < own_sizes(operand).size(); ++k) {
      const std::int64_t own = own_sizes(operand)[k];
      if (own == sizes_of(fact)[k] || own == 0 || sizes_of(fact)[k] % own != 0) continue;
      if (derive(operand, {fact}, {static_cast<std::int64_t>(k), 0}))
        derive(node, {of_[operand].back()}, {});
    }
  }
}

}  // namespace p2
