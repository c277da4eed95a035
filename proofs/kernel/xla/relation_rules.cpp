// Of every operation, what its result is of the whole tensors of which its operands are parts.

#include <algorithm>
#include <numeric>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

std::size_t get(const std::vector<std::size_t>& places, std::int64_t at) {
  return places.at(static_cast<std::size_t>(at));
}

std::vector<std::size_t> picked(const std::vector<std::size_t>& places, const Index& dimensions) {
  std::vector<std::size_t> list;
  for (const std::int64_t each : dimensions) list.push_back(get(places, each));
  return list;
}

}  // namespace

std::vector<Index> sizes_of(const std::vector<Node>& nodes, const Node& node) {
  std::vector<Index> sizes;
  for (const std::size_t each : node.operands) sizes.push_back(nodes[each].shape.sizes);
  return sizes;
}

std::optional<Fact> RelatedModules::made(const Node& node, const Form& form, const Facts& facts,
                                         std::vector<std::size_t> places,
                                         std::optional<std::size_t> partial) {
  std::vector<std::size_t> operands;
  operands.reserve(facts.size());
  for (const Fact* fact : facts) operands.push_back(fact->tensor);
  const auto tensor = tensors_.make(form, std::move(operands), kind_of(node.shape.type));
  if (!tensor) return std::nullopt;
  if (partial) {
    partial = places_.refined(*partial, places);
    if (!partial) return std::nullopt;
  }
  return Fact{0, *tensor, std::move(places), partial};
}

std::optional<Fact> RelatedModules::follows(std::size_t number,
                                            const std::vector<std::size_t>& list,
                                            const Index& hint) {
  budget_.spend(256 + 16 * list.size());
  const Node& node = local_.nodes.at(number);
  if (!list.empty() && facts_.at(list[0]).node == number) {
    Facts facts;
    for (const std::size_t each : list) {
      if (facts_.at(each).node != number) return std::nullopt;
      facts.push_back(&facts_[each]);
    }
    const bool is_border = list.size() == 1 && hint.size() == 1;
    if (list.size() == 1 && hint.size() == 2)
      return checked(number, seen_as_sum(node, *facts[0], hint));
    if (list.size() == 1 && hint.size() == 4)
      return checked(number,
                     in_padding(*facts[0], hint, std::vector<bool>(places_.devices(), false)));
    return checked(number, is_border ? seen_as(*facts[0], hint) : seen_in(node, facts, hint));
  }
  if (node.promises() && !is_promised(number, list)) return std::nullopt;
  if (local_.results.contains(number)) return after_loop(number, list, hint);
  Facts facts;
  facts.reserve(list.size());
  // Without a fact about the condition a select is by what devices know of it.
  const bool is_choice = node.instruction->opcode == "select" && list.size() == 2;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const Fact& fact = facts_.at(list[k]);
    const std::size_t operand = k + (is_choice ? 1 : 0);
    if (operand >= node.operands.size() || fact.node != node.operands[operand]) return std::nullopt;
    facts.push_back(&fact);
  }
  if (local_.variables.contains(number)) return checked(number, assumed(number, facts, hint));
  if (list.empty() && has_numbers(number) && !hint.empty())
    return checked(number, of_numbers(number, hint));
  const bool has_share =
      std::any_of(facts.begin(), facts.end(), [](const Fact* fact) { return fact->share; });
  return checked(
      number, has_share ? of_shares(number, facts, hint) : rule_of(number, facts, is_choice, hint));
}

std::optional<Fact> RelatedModules::rule_of(std::size_t number, const Facts& facts, bool is_choice,
                                            const Index& hint) {
  const Node& node = local_.nodes.at(number);
  std::optional<Fact> result;
  if (node.instruction->opcode == "constant") {
    if (const auto tensor = tensors_.constant(*node.instruction)) {
      Fact fact{0, *tensor, {}, {}};
      for (const std::int64_t size : node.shape.sizes)
        fact.places.push_back(places_.identity(size));
      result = fact;
      if (tensors_.at(*tensor).form.opcode == "broadcast" &&
          hint.size() == node.shape.sizes.size()) {
        result.reset();
        const std::size_t scalar = tensors_.at(*tensor).operands[0];
        if (const auto wide = tensors_.splat(scalar, hint)) {
          result = Fact{0, *wide, {}, {}};
          for (std::size_t k = 0; k < hint.size(); ++k)
            result->places.push_back(places_.free(node.shape.sizes[k], hint[k]));
        }
      }
    }
  } else if (node.instruction->opcode == "same everywhere") {
    const bool is_same = facts.size() == 1 && !facts[0]->partial && !facts[0]->view &&
                         !tensors_.varies(facts[0]->tensor);
    if (is_same) result = Fact{0, facts[0]->tensor, {}, {}};
  } else if (!node.is_function) {
    if (const auto id = facts.empty() && has_own_ ? whole_.number_of_device(node) : std::nullopt)
      result = Fact{0, *id, {}, {}};
    if (facts.size() == 1 && hint.size() == 4)
      result = sent_in_padding(node, *facts[0], hint);
    else if (facts.size() == 1 && node.operands.size() == 1)
      result = facts[0]->view ? gathered_view(node, *facts[0]) : collective(node, *facts[0]);
  } else {
    std::optional<Form> own;
    if (local_.forms[number] == nullptr) {
      const std::vector<Index> operands = sizes_of(local_.nodes, node);
      own = form_of(local_.module, node, operands);
      if (xla::sizes_of(*own, operands) != node.shape.sizes) return std::nullopt;
    }
    const Form& form = own ? *own : *local_.forms[number];
    const std::string_view opcode = form.opcode;
    const bool has_view =
        std::any_of(facts.begin(), facts.end(), [](const Fact* fact) { return fact->view; });
    if (is_choice) {
      if (!has_view) result = chosen(node, facts);
    } else if (has_view) {
      if (facts.size() == node.operands.size()) result = viewed(node, form, facts, hint);
    } else if (facts.size() == 1 && node.operands.size() == 2 && op_called(form.opcode)) {
      result = by_number(node, form, *facts[0]);
    } else if (opcode == "dynamic-slice" && facts.size() == 1 && node.operands.size() > 1) {
      result = dynamic(node, form, facts);
    } else if (facts.size() == node.operands.size()) {
      if (op_called(form.opcode))
        result = elementwise(node, form, facts);
      else if (opcode == "dot")
        result = dot(node, form, facts);
      else if (opcode == "reduce")
        result = hint.empty() ? reduce(node, form, facts) : reduced_to(node, form, facts, hint);
      else if (opcode == "gather")
        result = gather(node, form, facts);
      else if (opcode == "scatter")
        result = scatter(node, form, facts);
      else if (opcode == "dynamic-slice" || opcode == "dynamic-update-slice")
        result = dynamic(node, form, facts);
      else if (opcode == "function")
        result = applied(node, form, facts);
      else
        result = moved(node, form, facts, hint);
      if (!result) result = same(node, form, facts);
    }
  }
  return result;
}

std::optional<Fact> RelatedModules::checked(std::size_t number, std::optional<Fact> result) const {
  if (!result) return std::nullopt;
  const Node& node = local_.nodes.at(number);
  result->node = number;
  const Tensors::Tensor& tensor = tensors_.at(result->tensor);
  const bool is_condition = result->view && result->view->kind == View::Kind::Within;
  if (result->places.size() != tensor.sizes.size() ||
      result->places.size() != node.shape.sizes.size() ||
      (is_condition ? "pred" : tensor.kind) != kind_of(node.shape.type))
    return std::nullopt;
  // Parts on different devices would be of different tensors.
  if (result->partial && tensors_.varies(result->tensor)) return std::nullopt;
  for (std::size_t k = 0; k < result->places.size(); ++k) {
    const Place& place = places_.at(result->places[k]);
    if (place.size != node.shape.sizes[k] || place.whole != tensor.sizes[k]) return std::nullopt;
  }
  return result;
}

/// The same function of all elements, on every device.
std::optional<Fact> RelatedModules::same(const Node& node, const Form& form, const Facts& facts) {
  for (const Fact* fact : facts) {
    if (fact->partial) return std::nullopt;
    for (const std::size_t place : fact->places) {
      if (!places_.is_identity(place)) return std::nullopt;
    }
  }
  std::vector<std::size_t> places;
  for (const std::int64_t size : node.shape.sizes) places.push_back(places_.identity(size));
  return made(node, form, facts, std::move(places));
}

std::optional<Fact> RelatedModules::elementwise(const Node& node, const Form& form,
                                                const Facts& facts) {
  const std::string_view opcode = form.opcode;
  std::vector<std::size_t> places;
  std::optional<std::size_t> partial;
  bool is_first = true;
  for (const Fact* fact : facts) {
    if (fact->partial && partial && fact->partial != partial) return std::nullopt;
    if (fact->partial) partial = fact->partial;
    // A scalar condition or bound is that of all elements.
    if (fact->places.empty() && !node.shape.sizes.empty()) continue;
    if (is_first) {
      places = fact->places;
      is_first = false;
      continue;
    }
    for (std::size_t k = 0; k < places.size(); ++k) {
      const auto both = places_.meet(places[k], fact->places[k]);
      if (!both) return std::nullopt;
      places[k] = *both;
    }
  }
  if (!partial) return made(node, form, facts, std::move(places));
  // f(⊕ parts) = ⊕ f(parts).
  const Op op = places_.partial_at(*partial).op;
  const auto has_parts = [&](std::size_t k) { return facts[k]->partial.has_value(); };
  const auto is_summand = [&](std::size_t k) {
    return has_parts(k) || tensors_.is_zero(facts[k]->tensor);
  };
  const bool is_float = std::all_of(facts.begin(), facts.end(), [&](const Fact* fact) {
    return tensors_.at(fact->tensor).kind == "float";
  });
  bool applies = op_called(form.opcode) == op &&
                 std::all_of(facts.begin(), facts.end(), [](const Fact* f) { return f->partial; });
  if (op == Op::Add) {
    const bool is_number = kind_of(node.shape.type) != "pred";
    if (opcode == "negate") applies = is_number;
    if (opcode == "convert") applies = is_float && kind_of(node.shape.type) == "float";
    if (opcode == "add" || opcode == "subtract")
      applies = is_number && is_summand(0) && is_summand(1);
    // Not by what may be infinite: of parts of both signs the sum would be no number.
    const auto is_factor = [&](std::size_t k) {
      return !has_parts(k) && !tensors_.may_be_infinite(facts[k]->tensor);
    };
    if (opcode == "multiply") applies = is_number && (is_factor(0) || is_factor(1));
    if (opcode == "divide")
      applies = is_float && is_factor(1) && !tensors_.may_be_zero(facts[1]->tensor);
    if (opcode == "select") applies = !has_parts(0) && is_summand(1) && is_summand(2);
  }
  return applies ? made(node, form, facts, std::move(places), partial) : std::nullopt;
}

std::optional<Fact> RelatedModules::moved(const Node& node, const Form& form, const Facts& facts,
                                          const Index& hint) {
  const std::string_view opcode = form.opcode;
  const Index& list = form.numbers.at(0);
  const Index& sizes = node.shape.sizes;
  if (opcode == "iota") {
    if (hint.size() != sizes.size()) return std::nullopt;
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (hint[k] < sizes[k]) return std::nullopt;
      const std::size_t free = places_.free(sizes[k], hint[k]);
      places.push_back(static_cast<std::int64_t>(k) == list[0] ? places_.fixed(free).value()
                                                               : free);
    }
    return made(node, {form.opcode, form.text, {list, hint}}, {}, std::move(places));
  }
  const Fact& fact = *facts.at(0);
  if (opcode == "reshape") {
    if (hint.size() > sizes.size()) return reshaped_by_parts(node, fact, hint);
    if (auto same = reshaped(node, fact, hint)) return same;
    const auto dimensions = as_broadcast(sizes, fact, hint);
    return dimensions ? moved(node, {"broadcast", "", {*dimensions, sizes}}, facts, hint)
                      : std::nullopt;
  }
  if (opcode == "slice") return sliced(node, form, fact, hint);
  if (opcode == "concatenate") return joined(node, form, facts, hint);
  if (opcode == "transpose")
    return made(node, form, facts, picked(fact.places, list), fact.partial);
  if (opcode == "reverse") {
    for (const std::size_t place : picked(fact.places, list)) {
      if (!places_.is_identity(place)) return std::nullopt;
    }
    return made(node, form, facts, fact.places, fact.partial);
  }
  if (opcode == "broadcast") {
    if (hint.size() > sizes.size()) return broadcast_with(node, form, fact, hint);
    if (hint.size() != sizes.size()) return std::nullopt;
    std::vector<std::size_t> places;
    places.reserve(sizes.size());
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (hint[k] < 1) return std::nullopt;
      places.push_back(places_.free(sizes[k], hint[k]));
    }
    for (std::size_t k = 0; k < list.size(); ++k)
      places.at(static_cast<std::size_t>(list[k])) = fact.places.at(k);
    return made(node, {form.opcode, form.text, {list, hint}}, facts, std::move(places),
                fact.partial);
  }
  if (opcode != "pad" || facts[1]->partial || fact.partial) return std::nullopt;
  if (hint == Index{0}) return within_padding(node, form, fact);
  std::vector<std::size_t> places = fact.places;
  for (std::size_t k = 0; k < places.size(); ++k) {
    if (form.numbers[0][k] == 0 && form.numbers[1][k] == 0 && form.numbers[2][k] == 0) continue;
    if (!places_.is_identity(places[k])) return std::nullopt;
    places[k] = places_.identity(sizes[k]);
  }
  return made(node, form, facts, std::move(places));
}

/// What is not padding is elements of the same tensor; of the padding nothing is said.
std::optional<Fact> RelatedModules::within_padding(const Node& node, const Form& form,
                                                   const Fact& fact) {
  Fact result{0, fact.tensor, {}, {}};
  for (std::size_t k = 0; k < fact.places.size(); ++k) {
    const std::int64_t low = form.numbers[0][k];
    const bool is_padded = low != 0 || form.numbers[1][k] != 0;
    if (low < 0 || form.numbers[1][k] < 0 || form.numbers[2][k] != 0) return std::nullopt;
    result.places.push_back(fact.places[k]);
    if (!is_padded) continue;
    const auto place = places_.fixed(fact.places[k]);
    if (!place) return std::nullopt;
    result.places[k] =
        places_.sliced(*place, {-low}, node.shape.sizes[k], 0, places_.at(*place).whole);
  }
  return result;
}

/// Without a hint elements of the same tensor; otherwise of the slice that the hint says.
std::optional<Fact> RelatedModules::sliced(const Node& node, const Form& form, const Fact& fact,
                                           const Index& hint) {
  const std::size_t rank = fact.places.size();
  const Index whole = tensors_.at(fact.tensor).sizes;
  Form wide = form;
  if (hint.empty()) {
    wide.numbers = {Index(rank, 0), whole, Index(rank, 1)};
  } else {
    if (hint.size() != 3 * rank) return std::nullopt;
    for (std::size_t k = 0; k < 3; ++k)
      wide.numbers[k].assign(hint.begin() + static_cast<std::ptrdiff_t>(k * rank),
                             hint.begin() + static_cast<std::ptrdiff_t>((k + 1) * rank));
  }
  const auto sizes = xla::sizes_of(wide, {whole});
  if (!sizes) return std::nullopt;
  std::vector<std::size_t> places;
  for (std::size_t k = 0; k < rank; ++k) {
    const std::int64_t size = node.shape.sizes[k];
    if ((*sizes)[k] < 1 || size < 1) return std::nullopt;
    if (form.numbers[2][k] == 1 && wide.numbers[2][k] == 1) {
      places.push_back(places_.sliced(fact.places[k], {form.numbers[0][k]}, size,
                                      -wide.numbers[0][k], (*sizes)[k]));
      continue;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      if (wide.numbers[i][k] != form.numbers[i][k]) return std::nullopt;
    }
    if (!places_.is_identity(fact.places[k])) return std::nullopt;
    places.push_back(places_.identity(size));
  }
  return made(node, wide, {&fact}, std::move(places), fact.partial);
}

/// Without a hint the concatenation of the tensors; with 1 elements of the one tensor.
std::optional<Fact> RelatedModules::joined(const Node& node, const Form& form, const Facts& facts,
                                           const Index& hint) {
  const auto along = static_cast<std::size_t>(form.numbers[0][0]);
  const bool is_one = hint == Index{1};
  std::vector<std::size_t> places = facts[0]->places;
  std::vector<std::size_t> parts;
  for (const Fact* fact : facts) {
    if (fact->partial != facts[0]->partial || (is_one && fact->tensor != facts[0]->tensor))
      return std::nullopt;
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (k == along) continue;
      const auto both = places_.meet(places[k], fact->places[k]);
      if (!both) return std::nullopt;
      places[k] = *both;
    }
    const auto place = places_.fixed(fact->places[along]);
    if (!place) return std::nullopt;
    parts.push_back(*place);
  }
  places[along] = places_.concatenated(parts, is_one);
  if (!is_one) return made(node, form, facts, std::move(places), facts[0]->partial);
  std::optional<std::size_t> partial = facts[0]->partial;
  if (partial) partial = places_.refined(*partial, places_.classes(places));
  if (facts[0]->partial && !partial) return std::nullopt;
  return Fact{0, facts[0]->tensor, std::move(places), partial};
}

std::optional<Fact> RelatedModules::dot(const Node& node, const Form& form, const Facts& facts) {
  const auto& [x, y] = std::tie(facts[0]->places, facts[1]->places);
  const auto meeting = [&](const Index& of_x,
                           const Index& of_y) -> std::optional<std::vector<std::size_t>> {
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < of_x.size(); ++k) {
      const auto both = places_.meet(get(x, of_x[k]), get(y, of_y[k]));
      if (!both) return std::nullopt;
      places.push_back(*both);
    }
    return places;
  };
  auto places = meeting(form.numbers[0], form.numbers[1]);
  auto along = meeting(form.numbers[2], form.numbers[3]);
  if (!places || !along) return std::nullopt;
  for (const bool is_left : {true, false}) {
    const auto& side = is_left ? x : y;
    for (std::size_t i = 0; i < side.size(); ++i) {
      if (!contains(form.numbers[is_left ? 0 : 1], i) &&
          !contains(form.numbers[is_left ? 2 : 3], i))
        places->push_back(side[i]);
    }
  }
  return product(node, form, facts, std::move(*places), std::move(*along));
}

/// Of what is linear in both operands, summed over what is at `along`.
std::optional<Fact> RelatedModules::product(const Node& node, const Form& form, const Facts& facts,
                                            std::vector<std::size_t> places,
                                            std::vector<std::size_t> along) {
  for (std::size_t& place : along) {
    // Free on both sides: as far as the array goes it is the whole.
    if (places_.is_free(place) && !places_.is_identity(place)) return std::nullopt;
    place = places_.fixed(place).value();
  }
  const auto cut = places_.reduced(Op::Add, places, along, budget_);
  if (!cut) {
    return form.opcode == "dot" ? shared(node, form, facts, std::move(places), along)
                                : std::nullopt;
  }
  auto partial = *cut;
  if (facts[0]->partial || facts[1]->partial) {
    if (partial || (facts[0]->partial && facts[1]->partial)) return std::nullopt;
    const Fact& parts = *facts[facts[0]->partial ? 0 : 1];
    partial = parts.partial;
    // The sum of wider products of narrow parts is not that of products of their sum, which wraps.
    if (places_.partial_at(*partial).op != Op::Add ||
        tensors_.at(parts.tensor).kind != kind_of(node.shape.type) ||
        tensors_.may_be_infinite(facts[facts[0]->partial ? 1 : 0]->tensor))
      return std::nullopt;
  }
  return made(node, form, facts, std::move(places), partial);
}

std::optional<Fact> RelatedModules::reduce(const Node& node, const Form& form, const Facts& facts) {
  const Fact& x = *facts[0];
  if (facts[1]->partial) return std::nullopt;
  std::vector<std::size_t> kept, along;
  for (std::size_t i = 0; i < x.places.size(); ++i) {
    if (!contains(form.numbers[0], i)) {
      kept.push_back(x.places[i]);
      continue;
    }
    if (places_.is_free(x.places[i]) && !places_.is_identity(x.places[i])) return std::nullopt;
    along.push_back(places_.fixed(x.places[i]).value());
  }
  const auto op = reducer_of(local_.module, *node.instruction);
  if (!op) {
    // In an order that nothing is known of.
    for (const std::size_t place : along) {
      if (!places_.is_identity(place)) return std::nullopt;
    }
    return x.partial ? std::nullopt : made(node, form, facts, std::move(kept));
  }
  const auto cut = places_.reduced(*op, kept, along, budget_);
  if (!cut) {
    return op == Op::Add && tensors_.is_zero(facts[1]->tensor)
               ? shared(node, form, facts, std::move(kept), along)
               : std::nullopt;
  }
  auto partial = *cut;
  if (x.partial) {
    if (partial || places_.partial_at(*x.partial).op != *op) return std::nullopt;
    partial = x.partial;
  }
  if (partial) {
    // Every device begins with the same value.
    const bool is_idempotent = *op == Op::Maximum || *op == Op::Minimum;
    if (!is_idempotent && !tensors_.is_neutral(form.text, facts[1]->tensor)) return std::nullopt;
  }
  return made(node, form, facts, std::move(kept), partial);
}

}  // namespace p2::kernel::xla
