// Slices, gathers and scatters at indices that are data; also where every device does those with
// indices among its own elements.

#include <algorithm>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

bool is_seen(const Fact& fact, View::Kind kind) { return fact.view && fact.view->kind == kind; }

}  // namespace

/// Where an index is on every device, if all know it.
std::optional<Index> RelatedModules::starts(std::size_t node, std::int64_t most) const {
  if (!has_numbers(node)) return std::nullopt;
  Index all;
  for (const TensorPtr& each : known_[node].devices) {
    const std::int64_t value = numbers_->known(each->cells.at(0), each->type).value();
    const auto start = start_of(value, each->type, most);
    if (!start) return std::nullopt;
    all.push_back(*start);
  }
  return all;
}

std::optional<Fact> RelatedModules::dynamic(const Node& node, const Form& form,
                                            const Facts& facts) {
  const Fact& x = *facts[0];
  const bool is_update = form.opcode == "dynamic-update-slice";
  const auto size = [&](std::size_t k) {
    return is_update ? places_.at(facts[1]->places[k]).size : node.shape.sizes[k];
  };
  std::vector<std::size_t> places;
  if (facts.size() == 1) {
    // Elements of the same tensor.
    std::optional<std::size_t> partial = x.partial;
    for (std::size_t k = 0; k < x.places.size(); ++k) {
      const Place& place = places_.at(x.places[k]);
      if (size(k) < 1) return std::nullopt;
      const std::int64_t most = place.size - size(k);
      const auto first =
          most == 0 ? Index(places_.devices(), 0) : starts(node.operands[k + 1], most);
      if (!first) return std::nullopt;
      if (partial) {
        // Those that together have the parts take them from the same place.
        Numbering taken;
        for (const std::int64_t each : *first) taken.push_back(static_cast<std::uint32_t>(each));
        partial = places_.refined(*partial, taken);
        if (!partial) return std::nullopt;
      }
      places.push_back(places_.sliced(x.places[k], *first, size(k), 0, place.whole));
    }
    return Fact{0, x.tensor, std::move(places), partial};
  }
  // Along dimensions that are taken whole nothing moves.
  Form wide = form;
  for (std::size_t k = 0; k < x.places.size(); ++k) {
    std::optional<std::size_t> place = x.places[k];
    if (size(k) == places_.at(x.places[k]).size) {
      if (!is_update) wide.numbers[0][k] = places_.at(x.places[k]).whole;
      if (is_update) place = places_.meet(x.places[k], facts[1]->places[k]);
      if (!place) return std::nullopt;
    } else {
      if (!places_.is_identity(x.places[k]) ||
          (is_update && !places_.is_identity(facts[1]->places[k])))
        return std::nullopt;
      place = places_.identity(node.shape.sizes[k]);
    }
    places.push_back(*place);
  }
  if (is_update && x.partial != facts[1]->partial) return std::nullopt;
  for (std::size_t k = is_update ? 2 : 1; k < facts.size(); ++k) {
    if (facts[k]->partial) return std::nullopt;
  }
  return made(node, wide, facts, std::move(places), x.partial);
}

/// Whether what a node promises of its indices follows from what the module before promises, which
/// is of all indices: devices have some of them, in their order and each once.
bool RelatedModules::is_promised(std::size_t number, const std::vector<std::size_t>& list) {
  const Node& node = local_.nodes[number];
  if (list.size() != node.operands.size() || list.size() < 2) return false;
  std::vector<std::size_t> tensors;
  for (const std::size_t each : list) tensors.push_back(facts_.at(each).tensor);
  const Fact& indices = facts_.at(list[1]);
  if (indices.node != node.operands[1] || indices.view || indices.share || indices.partial)
    return false;
  for (const std::size_t each : indices.places) {
    const auto place = places_.fixed(each);
    if (!place || !places_.is_total(*place)) return false;
    for (const Segments& device : places_.at(*place).devices) {
      for (std::size_t k = 1; k < device.size(); ++k) {
        if (device[k].of < device[k - 1].of + device[k - 1].size) return false;
      }
    }
  }
  // In loops that go on together, or in fewer of them.
  std::vector<std::optional<std::size_t>> loops;
  for (const std::size_t each : local_.loops_of(number)) loops.push_back(paired(each));
  const auto is_made = [&](WholeModule::Promise promise) {
    for (auto outer = loops.rbegin();; ++outer) {
      if (whole_.promises.contains(promise)) return true;
      if (outer == loops.rend() || !*outer) return false;
      promise.loops.insert(promise.loops.begin(), **outer);
    }
  };
  const auto promised = WholeModule::promises_of(local_, number, tensors, {}, tensors_);
  return std::all_of(promised.begin(), promised.end(), is_made);
}

std::optional<Fact> RelatedModules::gather(const Node& node, Form form, const Facts& facts) {
  const Fact& x = *facts[0];
  const Fact& indices = *facts[1];
  if (x.partial || indices.partial) return std::nullopt;
  const auto along = static_cast<std::size_t>(form.numbers[5][0]);
  std::vector<std::size_t> of_slices;
  std::vector<std::size_t> of_indices = indices.places;
  for (std::size_t i = 0; i < x.places.size(); ++i) {
    const Place& place = places_.at(x.places[i]);
    const auto batch =
        std::find(form.numbers[3].begin(), form.numbers[3].end(), static_cast<std::int64_t>(i));
    if (batch != form.numbers[3].end()) {
      const auto k = static_cast<std::size_t>(
          form.numbers[4].at(static_cast<std::size_t>(batch - form.numbers[3].begin())));
      const auto both = places_.meet(x.places[i], of_indices.at(k));
      if (!both) return std::nullopt;
      of_indices[k] = *both;
      continue;
    }
    std::int64_t& slice = form.numbers[6][i];
    // Where it is looked up, too: an index that leaves room for all is 0.
    const bool is_all = slice == place.size && !contains(form.numbers[1], i);
    if (!is_all && !places_.is_identity(x.places[i])) return std::nullopt;
    if (is_all) slice = place.whole;
    if (contains(form.numbers[1], i)) continue;
    of_slices.push_back(is_all ? x.places[i] : places_.identity(slice));
  }
  if (along < of_indices.size()) {
    if (!places_.is_identity(of_indices[along])) return std::nullopt;
    of_indices.erase(of_indices.begin() + static_cast<std::ptrdiff_t>(along));
  }
  std::vector<std::size_t> places;
  for (std::size_t i = 0, slice = 0, other = 0; i < node.shape.sizes.size(); ++i)
    places.push_back(contains(form.numbers[0], i) ? of_slices.at(slice++) : of_indices.at(other++));
  return made(node, form, facts, std::move(places));
}

std::optional<Fact> RelatedModules::scatter(const Node& node, const Form& form, const Facts& facts,
                                            const Index* only) {
  const Fact& x = *facts[0];
  const Fact& indices = *facts[1];
  const Fact& updates = *facts[2];
  if (x.partial || indices.partial || updates.partial) return std::nullopt;
  const auto along = static_cast<std::size_t>(form.numbers[5][0]);
  std::vector<std::size_t> windows, batches;
  for (std::size_t i = 0; i < updates.places.size(); ++i)
    (contains(form.numbers[0], i) ? windows : batches).push_back(updates.places[i]);
  // The dimensions of the indices that are not along their vectors are those of the updates.
  std::vector<bool> is_batch;
  for (std::size_t i = 0, next = 0; i < indices.places.size(); ++i) {
    if (i == along) {
      if (!places_.is_identity(indices.places[i])) return std::nullopt;
      continue;
    }
    const auto both = places_.meet(batches.at(next), indices.places[i]);
    if (!both) return std::nullopt;
    batches[next++] = *both;
    is_batch.push_back(contains(form.numbers[4], i));
  }
  std::vector<std::size_t> places;
  for (std::size_t i = 0, window = 0; i < x.places.size(); ++i) {
    const auto batch =
        std::find(form.numbers[3].begin(), form.numbers[3].end(), static_cast<std::int64_t>(i));
    std::optional<std::size_t> place = x.places[i];
    if (batch != form.numbers[3].end()) {
      auto k = static_cast<std::size_t>(
          form.numbers[4].at(static_cast<std::size_t>(batch - form.numbers[3].begin())));
      if (k > along) --k;
      place = places_.meet(x.places[i], batches.at(k));
    } else {
      const bool is_inserted = contains(form.numbers[1], i);
      const std::size_t other = is_inserted ? 0 : windows.at(window++);
      const bool is_all = !is_inserted && places_.at(other).size == places_.at(x.places[i]).size;
      if (is_all) {
        place = places_.meet(x.places[i], other);
      } else {
        if (!places_.is_identity(x.places[i]) || (!is_inserted && !places_.is_identity(other)))
          return std::nullopt;
        // What was the same all along the dimension is no longer.
        place = places_.identity(places_.at(x.places[i]).size);
      }
    }
    if (!place) return std::nullopt;
    places.push_back(*place);
  }
  std::vector<std::size_t> summed;
  bool is_cut = false;
  for (std::size_t k = 0; k < batches.size(); ++k) {
    if (is_batch.at(k)) continue;
    if (places_.is_free(batches[k]) && !places_.is_identity(batches[k])) return std::nullopt;
    summed.push_back(places_.fixed(batches[k]).value());
    is_cut = is_cut || !places_.is_identity(summed.back());
  }
  if (!is_cut) return only ? std::nullopt : made(node, form, facts, std::move(places));
  const auto op = reducer_of(local_.module, *node.instruction);
  // A maximum with what all devices have may be taken by each of them.
  const bool is_bound = op == Op::Maximum || op == Op::Minimum;
  if (only ? op != Op::Add : !is_bound && !(op == Op::Add && tensors_.is_zero(x.tensor)))
    return std::nullopt;
  const auto partial = places_.reduced(*op, places, summed, budget_);
  if (!partial || !*partial) return std::nullopt;
  auto result = made(node, form, facts, std::move(places), *partial);
  if (!result || !only) return result;
  // What updates are added to counts once, too.
  const Partial& known = places_.partial_at(*result->partial);
  std::map<std::uint32_t, std::uint32_t> first;
  for (std::uint32_t device = 0; device < only->size(); ++device) {
    if ((*only)[device] != (*only)[known.copies[device]]) return std::nullopt;
    if ((*only)[device] != 0 &&
        first.emplace(known.groups[device], known.copies[device]).first->second !=
            known.copies[device])
      return std::nullopt;
  }
  for (const std::uint32_t group : known.groups) {
    if (!first.contains(group)) return std::nullopt;
  }
  return result;
}

/// Of every device, the one number that all elements of an array are there.
std::optional<Index> RelatedModules::one_number(std::size_t node) const {
  for (;;) {
    const Node& here = local_.nodes.at(node);
    const bool is_moved =
        is_one_of(here.instruction->opcode, {"broadcast", "reshape", "transpose"});
    if (has_numbers(node) && !(is_moved && has_numbers(here.operands[0]))) break;
    // As real numbers integers are what they are.
    const bool is_real = here.instruction->opcode == "convert" && here.shape.type.is_float() &&
                         local_.nodes[here.operands[0]].shape.type.is_integer();
    if (!is_real && !is_moved) return std::nullopt;
    node = here.operands[0];
  }
  Index all;
  const auto& devices = known_[node].devices;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    const TensorPtr& tensor = devices[device];
    if (device > 0 && tensor == devices[device - 1]) {  // most have one and the same
      all.push_back(all.back());
      continue;
    }
    const std::int64_t first = numbers_->known(tensor->cells.at(0), tensor->type).value();
    for (const Cell& cell : tensor->cells) {
      if (numbers_->known(cell, tensor->type) != first) return std::nullopt;
    }
    all.push_back(first);
  }
  return all;
}

/// Of every device, the first element of the whole dimension that it has, if those are one
/// interval; all indices of the whole have to be numbers of the type.
std::optional<Index> RelatedModules::offsets(std::size_t place, const std::string& kind) const {
  const int bits = std::min(type_called(kind).bits - 1, 45);
  if (!places_.is_total(place) || places_.at(place).whole > std::int64_t{1} << bits)
    return std::nullopt;
  Index all;
  for (const Segments& segments : places_.at(place).devices) {
    if (segments.size() != 1) return std::nullopt;
    all.push_back(segments[0].of);
  }
  return all;
}

/// Whether all elements are from 0 to below `size`.
bool RelatedModules::is_within(std::size_t tensor, std::int64_t size) const {
  while (is_one_of(tensors_.at(tensor).form.opcode, {"broadcast", "reshape", "transpose"}))
    tensor = tensors_.at(tensor).operands[0];
  const Tensors::Tensor& known = tensors_.at(tensor);
  if (known.form.opcode != "clamp") return false;
  const auto low = tensors_.integer(known.operands[0]);
  const auto high = tensors_.integer(known.operands[2]);
  return low && high && 0 <= *low && 0 <= *high && *high < size;
}

/// One of two arrays on every device: elements of one tensor wherever these are, or one is zero.
std::optional<Fact> RelatedModules::chosen(const Node& node, const Facts& facts) {
  auto numbers = one_number(node.operands[0]);
  if (!numbers) return std::nullopt;
  if (facts[0]->tensor == facts[1]->tensor && !facts[0]->partial && !facts[1]->partial) {
    Fact either{0, facts[0]->tensor, {}, {}};
    for (std::size_t k = 0; k < facts[0]->places.size(); ++k) {
      if (facts[0]->places[k] == facts[1]->places[k]) {
        either.places.push_back(facts[0]->places[k]);
        continue;
      }
      const auto first = places_.fixed(facts[0]->places[k]);
      const auto second = places_.fixed(facts[1]->places[k]);
      if (!first || !second) return std::nullopt;
      auto [size, whole, devices] = places_.at(*first);
      for (std::size_t device = 0; device < devices.size(); ++device) {
        if ((*numbers)[device] == 0) devices[device] = places_.at(*second).devices[device];
      }
      either.places.push_back(places_.segments(size, whole, std::move(devices)));
    }
    return either;
  }
  const bool is_first = tensors_.is_zero(facts[1]->tensor);
  const Fact& zero = *facts[is_first ? 1 : 0];
  Fact result = *facts[is_first ? 0 : 1];
  if (result.partial || zero.partial || !tensors_.is_zero(zero.tensor) ||
      !std::all_of(zero.places.begin(), zero.places.end(),
                   [&](std::size_t place) { return places_.is_total(place); }))
    return std::nullopt;
  for (std::int64_t& each : *numbers) each = (each != 0) == is_first ? 1 : 0;
  result.view = View{View::Kind::Only, false, std::move(*numbers), {}, 0};
  return result;
}

/// An operation of an integer tensor and a number that depends on the device.
std::optional<Fact> RelatedModules::by_number(const Node& node, const Form& form,
                                              const Fact& fact) {
  const auto numbers = one_number(node.operands[1]);
  const Type& type = local_.nodes[node.operands[0]].shape.type;
  const bool is_number = type.is_integer() || (type.is_float() && form.opcode == "add");
  if (!numbers || fact.partial || !is_number) return std::nullopt;
  // Numbers and sums of them are far from where the type wraps around.
  const std::int64_t most = std::int64_t{1} << std::min(type.bits - 2, 40);
  if (std::any_of(numbers->begin(), numbers->end(),
                  [&](std::int64_t number) { return number < 0 || number > most; }))
    return std::nullopt;
  if (form.opcode == "add") return counted_from(fact, *numbers);
  Fact result = fact;
  View view{View::Kind::Minus, false, *numbers, {}, 0};
  if (form.opcode == "compare") {
    const std::string& direction = node.instruction->attribute("direction");
    view.kind = View::Kind::Within;
    const bool is_below = direction == "LT" || direction == "LE";
    if (!is_below && direction != "GT" && direction != "GE") return std::nullopt;
    Index bound = *numbers;
    if (direction == "LE" || direction == "GT") {
      for (std::int64_t& each : bound) ++each;
    }
    const Index none(numbers->size(), is_below ? -kNoBound : kNoBound);
    view.from = is_below ? none : bound;
    view.to = is_below ? bound : none;
  } else if (form.opcode != "subtract") {
    return std::nullopt;
  }
  result.view = std::move(view);
  return result;
}

/// `and`, `or` and `not` of conditions on the same elements.
std::optional<Fact> RelatedModules::combined(const Node& /*node*/, const Form& form,
                                             const Facts& facts) {
  Fact result = *facts[0];
  for (const Fact* fact : facts) {
    if (!is_seen(*fact, View::Kind::Within) || fact->tensor != result.tensor ||
        fact->places != result.places)
      return std::nullopt;
  }
  View& view = *result.view;
  if (form.opcode == "not") {
    view.is_not = !view.is_not;
    return result;
  }
  // By De Morgan an `or` is the complement of the `and` of complements; those are intervals here.
  const bool is_or = form.opcode == "or";
  const auto interval =
      [&](const View& each,
          std::size_t device) -> std::optional<std::pair<std::int64_t, std::int64_t>> {
    const std::int64_t from = each.from[device];
    const std::int64_t to = each.to[device];
    if (each.is_not == is_or) return std::pair(from, to);
    if (from == -kNoBound) return std::pair(to, kNoBound);
    if (to == kNoBound) return std::pair(-kNoBound, from);
    return std::nullopt;
  };
  for (std::size_t device = 0; device < view.from.size(); ++device) {
    const auto a = interval(*facts[0]->view, device);
    const auto b = interval(*facts[1]->view, device);
    if (!a || !b) return std::nullopt;
    view.from[device] = std::max(a->first, b->first);
    view.to[device] = std::min(a->second, b->second);
  }
  view.is_not = is_or;
  return result;
}

/// Elements are those of the whole where the index is one of the device's.
std::optional<Fact> RelatedModules::gathered(const Node& node, Form form, const Fact& x,
                                             const Fact& indices) {
  if (form.numbers[2].size() != 1 || !is_seen(indices, View::Kind::Minus) || x.view)
    return std::nullopt;
  const std::int64_t along = form.numbers[2][0];
  const std::size_t cut = x.places.at(static_cast<std::size_t>(along));
  if (!contains(form.numbers[1], static_cast<std::size_t>(along)) ||
      offsets(cut, tensors_.at(indices.tensor).kind) != indices.view->from)
    return std::nullopt;
  // By the rule of a gather for a device that has all along the dimension.
  const std::int64_t whole = places_.at(cut).whole;
  const std::int64_t size = places_.at(cut).size;
  Fact all = x;
  Fact plain = indices;
  plain.view.reset();
  all.places[static_cast<std::size_t>(along)] = places_.identity(whole);
  auto result = gather(node, form, {&all, &plain});
  if (!result) return std::nullopt;
  // The index that an element is taken at.
  const Index sizes = tensors_.at(result->tensor).sizes;
  Index batches;
  Index dimensions;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (contains(form.numbers[0], i)) continue;
    batches.push_back(sizes[i]);
    dimensions.push_back(static_cast<std::int64_t>(i));
  }
  const std::string kind = tensors_.at(indices.tensor).kind;
  const auto vectors = tensors_.make({"reshape", "", {batches}}, {indices.tensor}, kind);
  const auto of = tensors_.make({"broadcast", "", {dimensions, sizes}}, {vectors.value()}, kind);
  View view{View::Kind::Where, false, indices.view->from, indices.view->from, of.value()};
  for (std::int64_t& each : view.to) each += size;
  result->view = std::move(view);
  return result;
}

/// What is beyond a device's elements is dropped.
std::optional<Fact> RelatedModules::scattered(const Node& node, const Form& form,
                                              const Facts& facts) {
  const Fact& x = *facts[0];
  const Fact& indices = *facts[1];
  if (is_seen(x, View::Kind::Only) && !indices.view && !facts[2]->view) {
    Fact plain = x;
    plain.view.reset();
    return scatter(node, form, {&plain, &indices, facts[2]}, &x.view->from);
  }
  if (form.numbers[2].size() != 1 || x.view || facts[2]->view ||
      !is_seen(indices, View::Kind::Minus))
    return std::nullopt;
  const std::int64_t along = form.numbers[2][0];
  std::size_t cut = x.places.at(static_cast<std::size_t>(along));
  if (places_.is_free(cut)) {
    // Equal elements are those that the indices are of.
    const Place free = places_.at(cut);
    std::vector<Segments> devices;
    for (const std::int64_t from : indices.view->from) {
      if (from + free.size > free.whole) return std::nullopt;
      devices.push_back({{0, from, free.size}});
    }
    cut = places_.segments(free.size, free.whole, std::move(devices));
  }
  if (!contains(form.numbers[1], static_cast<std::size_t>(along)) ||
      offsets(cut, tensors_.at(indices.tensor).kind) != indices.view->from)
    return std::nullopt;
  Fact all = x;
  Fact plain = indices;
  plain.view.reset();
  all.places[static_cast<std::size_t>(along)] = places_.identity(places_.at(cut).whole);
  auto result = scatter(node, form, {&all, &plain, facts[2]});
  if (!result) return std::nullopt;
  result->places[static_cast<std::size_t>(along)] = cut;
  if (!result->partial) return result;
  // Those that together have all updates have the same elements.
  result->partial = places_.refined(*result->partial, result->places);
  if (!result->partial) return std::nullopt;
  return result;
}

std::optional<Fact> RelatedModules::viewed(const Node& node, const Form& form, const Facts& facts,
                                           const Index& hint) {
  const std::string& opcode = form.opcode;
  if (opcode == "gather" && facts[1]->view) return gathered(node, form, *facts[0], *facts[1]);
  if (opcode == "scatter") return scattered(node, form, facts);
  if (opcode == "and" || opcode == "or" || opcode == "not") return combined(node, form, facts);
  if (opcode == "select") {
    // Zero but where the index is one of the device's: together the whole, if each is some
    // device's.
    if (!is_seen(*facts[0], View::Kind::Within)) return std::nullopt;
    const View& condition = *facts[0]->view;
    const Fact& taken = *facts[condition.is_not ? 2 : 1];
    const Fact& other = *facts[condition.is_not ? 1 : 2];
    if (!hint.empty()) return chosen_by_index(facts, hint);
    if (!is_seen(taken, View::Kind::Where) || other.view || other.partial ||
        !tensors_.is_zero(other.tensor) ||
        !std::all_of(other.places.begin(), other.places.end(),
                     [&](std::size_t place) { return places_.is_total(place); }))
      return std::nullopt;
    const View& view = *taken.view;
    if (view.from != condition.from || view.to != condition.to || view.of != facts[0]->tensor)
      return std::nullopt;
    Fact result{0, taken.tensor, taken.places, {}};
    for (std::size_t k = 0; k < result.places.size(); ++k) {
      const auto both = places_.meet(taken.places[k], facts[0]->places[k]);
      if (!both) return std::nullopt;
      result.places[k] = *both;
    }
    const std::int64_t size = *std::max_element(view.to.begin(), view.to.end());
    if (!is_within(view.of, size)) return std::nullopt;
    std::vector<Segments> intervals;
    for (std::size_t device = 0; device < view.from.size(); ++device)
      intervals.push_back({{0, view.from[device], view.to[device] - view.from[device]}});
    const std::int64_t own = view.to[0] - view.from[0];
    const std::size_t along = places_.segments(own, size, std::move(intervals));
    const auto cut = places_.reduced(Op::Add, result.places, {along}, budget_);
    if (!cut) return std::nullopt;
    result.partial = *cut;
    return result;
  }
  if (!facts[0]->view) return std::nullopt;
  Fact plain = *facts[0];
  plain.view.reset();
  if (is_seen(*facts[0], View::Kind::Where) && op_called(opcode) && facts.size() == 1) {
    // Of one operand a function is that of those elements.
    auto result = elementwise(node, form, {&plain});
    if (result) result->view = facts[0]->view;
    return result;
  }
  // Where elements go does not depend on what they are.
  Node moving = node;
  moving.shape.type = local_.nodes[node.operands[0]].shape.type;
  if (facts[0]->view->kind == View::Kind::Within)
    moving.shape.type = type_called(tensors_.at(plain.tensor).kind);
  std::optional<Fact> result;
  if (opcode == "reshape" || opcode == "broadcast" || opcode == "transpose") {
    result = moved(moving, form, {&plain}, hint);
    if (result && is_seen(*facts[0], View::Kind::Where)) {
      // So do the indices that they are taken at.
      Fact indices{0, facts[0]->view->of, plain.places, {}};
      moving.shape.type = type_called(tensors_.at(indices.tensor).kind);
      const auto of = moved(moving, form, {&indices}, hint);
      if (!of || of->places != result->places) return std::nullopt;
      result->view = facts[0]->view;
      result->view->of = of->tensor;
      return result;
    }
  } else if (opcode == "reduce" && facts[0]->view->kind == View::Kind::Within && !facts[1]->view &&
             !facts[1]->partial) {
    // Of one truth value: of integers 1 is not neutral.
    const auto op = reducer_of(local_.module, *node.instruction);
    const std::string neutral = op == Op::Or ? "0" : "1";
    if ((op != Op::Or && op != Op::And) || !tensors_.is_scalar(facts[1]->tensor, neutral))
      return std::nullopt;
    Index sizes;
    for (std::size_t k = 0; k < plain.places.size(); ++k) {
      if (!contains(form.numbers[0], k)) sizes.push_back(places_.at(plain.places[k]).whole);
    }
    result = reshaped(moving, plain, sizes);
  }
  if (result) result->view = facts[0]->view;
  return result;
}

}  // namespace p2::kernel::xla
