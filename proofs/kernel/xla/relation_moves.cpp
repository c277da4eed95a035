// Reshapes and transposes of tensors: where several make the same of a tensor, it is made one way.

#include <algorithm>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// Along every dimension of `sizes` all digits, outermost first; nothing where a dimension would
/// have a part of a digit that is none itself.
std::optional<std::vector<Digits>> regrouped(const Digits& all, const Index& sizes) {
  std::vector<Digits> dimensions;
  Digits left(all.rbegin(), all.rend());
  for (std::int64_t size : sizes) {
    Digits& own = dimensions.emplace_back();
    while (size > 1) {
      if (left.empty()) return std::nullopt;
      const Digit digit = left.back();
      left.pop_back();
      if (size % digit.size == 0) {
        own.push_back(digit);
        size /= digit.size;
      } else if (digit.size % size == 0) {
        const std::int64_t inner = digit.size / size;
        own.push_back({digit.stride * inner, size});
        left.push_back({digit.stride, inner});
        size = 1;
      } else {
        return std::nullopt;
      }
    }
  }
  return left.empty() ? std::optional(dimensions) : std::nullopt;
}

std::int64_t size_of(const Digits& digits) {
  std::int64_t size = 1;
  for (const Digit& each : digits) size *= each.size;
  return size;
}

Digits all_of(const std::vector<Digits>& dimensions) {
  Digits all;
  for (const auto& each : dimensions) all.insert(all.end(), each.begin(), each.end());
  return all;
}

/// Digits by stride, the largest first.
std::vector<std::size_t> order_of(const Digits& digits) {
  std::vector<std::size_t> order(digits.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return digits[a].stride > digits[b].stride; });
  return order;
}

/// Sizes of digits in that order, and the place of every digit in it.
std::pair<Index, Index> parts_and_places(const Digits& digits) {
  const std::vector<std::size_t> order = order_of(digits);
  Index parts, places(digits.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    parts.push_back(digits[order[k]].size);
    places[order[k]] = static_cast<std::int64_t>(k);
  }
  return {parts, places};
}

}  // namespace

std::size_t dimension_of(const Digit& digit, const Index& sizes, const Index& strides) {
  std::size_t k = 0;
  while (digit.stride < strides[k] || sizes[k] == 1) ++k;
  return k;
}

bool is_empty(const Index& sizes) {
  return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
}

/// Digits of the row-major number of an element in a tensor that this one is made of by reshapes
/// and transposes.
const Tensors::Moved& Tensors::moved(std::size_t number) const {
  while (moved_.size() <= number) moved_.emplace_back();
  if (!moved_[number]) moved_[number] = move_of(number);
  return *moved_[number];
}

Tensors::Moved Tensors::move_of(std::size_t number) const {
  const Tensor& tensor = at(number);
  const std::string_view opcode = tensor.form.opcode;
  if ((opcode == "transpose" || opcode == "reshape") && !is_empty(tensor.sizes)) {
    const Moved& moved = this->moved(tensor.operands[0]);
    if (auto dimensions = moved_by(tensor.form, moved.dimensions))
      return {moved.base, std::move(*dimensions)};
  }
  Moved own{number, {}, true};
  std::int64_t stride = 1;
  for (std::size_t k = tensor.sizes.size(); k-- > 0;) {
    own.dimensions.insert(own.dimensions.begin(), Digits());
    if (tensor.sizes[k] != 1) own.dimensions[0] = {{stride, tensor.sizes[k]}};
    stride *= tensor.sizes[k];
  }
  return own;
}

std::optional<std::vector<Digits>> Tensors::moved_by(const Form& form,
                                                     const std::vector<Digits>& dimensions) {
  if (form.opcode == "reshape") return regrouped(all_of(dimensions), form.numbers[0]);
  std::vector<Digits> result;
  for (const std::int64_t each : form.numbers[0])
    result.push_back(dimensions.at(static_cast<std::size_t>(each)));
  return result;
}

std::size_t Tensors::make_moved(const Moved& moved) {
  Index sizes;
  for (const Digits& dimension : moved.dimensions) sizes.push_back(size_of(dimension));
  // Those side by side in both orders are one.
  Digits digits;
  for (const Digit& each : all_of(moved.dimensions)) {
    if (!digits.empty() && digits.back().stride == each.stride * each.size) {
      digits.back() = {each.stride, digits.back().size * each.size};
    } else {
      digits.push_back(each);
    }
  }
  const Tensor& base = at(moved.base);
  if (digits.size() < 2 && base.form.opcode == "numbers")
    return family(base.form, {}, base.kind, sizes, numbered(base.form.numbers));
  const auto [parts, places] = parts_and_places(digits);
  Index turned;
  for (const Digit& each : digits) turned.push_back(each.size);
  std::size_t number = moved.base;
  const auto step = [&](Form form, const Index& to) {
    if (form.opcode == "reshape" && at(number).sizes == to) return;
    const std::string kind = at(number).kind;
    number = intern({std::move(form), {number}, kind, to});
  };
  if (digits.size() > 1) {
    step({"reshape", "", {parts}}, parts);
    step({"transpose", "", {places}}, turned);
  }
  step({"reshape", "", {sizes}}, sizes);
  return number;
}

/// By make(), which puts it together with what the tensor is made by.
std::optional<std::size_t> Tensors::make_moved_as(std::size_t number,
                                                  const std::vector<Digits>& dimensions) {
  Moved own = moved(number);
  if (own.is_own && at(number).form.opcode != "reshape" && !is_wide(number)) {
    own.dimensions = dimensions;
    return make_moved(own);
  }
  Digits digits = all_of(dimensions);
  const auto [parts, places] = parts_and_places(digits);
  Index sizes;
  for (const auto& dimension : dimensions) sizes.push_back(size_of(dimension));
  const std::string kind = at(number).kind;
  std::optional<std::size_t> result = make({"reshape", "", {parts}}, {number}, kind);
  if (result) result = make({"transpose", "", {places}}, {*result}, kind);
  return result ? make({"reshape", "", {sizes}}, {*result}, kind) : std::nullopt;
}

/// The other way round: `dimensions` are those of the result in a tensor of sizes `own`.
std::optional<std::size_t> Tensors::make_moved_back(std::size_t number,
                                                    const std::vector<Digits>& dimensions,
                                                    const Index& own) {
  const Digits digits = all_of(dimensions);
  Index parts, places;
  for (const Digit& each : digits) parts.push_back(each.size);
  for (const std::size_t each : order_of(digits)) places.push_back(static_cast<std::int64_t>(each));
  const std::string kind = at(number).kind;
  std::optional<std::size_t> result = make({"reshape", "", {parts}}, {number}, kind);
  if (result) result = make({"transpose", "", {places}}, {*result}, kind);
  return result ? make({"reshape", "", {own}}, {*result}, kind) : std::nullopt;
}

/// A function of broadcasts that have a dimension in common along which all elements are the same
/// is a broadcast of the function without it. Constant factors are taken out of broadcasts instead.
std::optional<std::size_t> Tensors::function_of_broadcasts(const Form& form,
                                                           const std::vector<std::size_t>& operands,
                                                           const std::string& kind) {
  const bool has_factor = is_one_of(form.opcode, {"divide", "multiply", "negate"});
  const Index sizes = at(operands.back()).sizes;
  std::vector<bool> used;  // dimensions of one index are none to leave out
  for (const std::int64_t size : sizes) used.push_back(size == 1);
  for (const std::size_t each : operands) {
    const Tensor& wide = at(each);
    if (has_factor || wide.form.opcode != "broadcast" || wide.sizes != sizes) return std::nullopt;
    for (const std::int64_t along : wide.form.numbers[0])
      used[static_cast<std::size_t>(along)] = true;
  }
  Index own, dimensions, place(sizes.size(), 0);
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (!used[k]) continue;
    place[k] = std::ssize(own);
    own.push_back(sizes[k]);
    dimensions.push_back(static_cast<std::int64_t>(k));
  }
  if (own.size() == sizes.size()) return std::nullopt;
  std::vector<std::size_t> narrow;
  for (const std::size_t each : operands) {
    const Tensor& wide = at(each);
    Index along;
    for (const std::int64_t of : wide.form.numbers[0]) along.push_back(element_of(place, of));
    const auto one = make({"broadcast", "", {along, own}}, wide.operands, wide.kind);
    if (!one) return std::nullopt;
    narrow.push_back(*one);
  }
  const auto result = make(form, std::move(narrow), kind);
  return result ? make({"broadcast", "", {dimensions, sizes}}, {*result}, kind) : std::nullopt;
}

/// A function of elements is that of what its operands are made of, moved as the one of these that
/// was made first is. (Broadcasts are moved by what they are of, unless there are only such.)
std::optional<std::size_t> Tensors::elements_of_moved(const Form& form,
                                                      std::vector<std::size_t> operands,
                                                      const std::string& kind) {
  std::vector<const Moved*> all;
  const Moved* first = nullptr;
  for (const std::size_t each : operands) all.push_back(&moved(each));
  const auto is_splat = [&](const Moved& moved) {
    return is_one_of(at(moved.base).form.opcode, {"broadcast", "constant"});
  };
  const auto find_first = [&](const auto& may_be) {
    for (const Moved* each : all) {
      if (may_be(*each) && (first == nullptr || each->base < first->base)) first = each;
    }
  };
  find_first([&](const Moved& each) { return !is_splat(each); });
  if (first == nullptr) find_first([&](const Moved& each) { return !each.is_own; });
  if (first == nullptr || first->is_own) return std::nullopt;
  const Index own = at(first->base).sizes;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const bool is_alike = !is_splat(*all[k]) && all[k]->dimensions == first->dimensions &&
                          at(all[k]->base).sizes == own;
    const std::optional<std::size_t> back =
        is_alike ? all[k]->base : make_moved_back(operands[k], first->dimensions, own);
    if (!back) return std::nullopt;
    operands[k] = *back;
  }
  const auto result = make(form, std::move(operands), kind);
  return result ? make_moved_as(*result, first->dimensions) : std::nullopt;
}

/// Dimensions that are new in the broadcast may stand elsewhere, but not within others. A function
/// of the elements of broadcasts, of at most this depth, is that of these moved.
std::optional<std::size_t> Tensors::moved_broadcast(const Moved& moved, int depth) {
  const Tensor& wide = at(moved.base);
  if (wide.form.opcode != "broadcast") {
    if (!op_called(wide.form.opcode) || depth == 0) return std::nullopt;
    std::vector<std::size_t> operands;
    for (const std::size_t each : wide.operands) {
      if (at(each).sizes != wide.sizes) return std::nullopt;
      const auto operand = moved_broadcast({each, moved.dimensions, false}, depth - 1);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    return make(wide.form, std::move(operands), wide.kind);
  }
  const Index strides = strides_of(wide.sizes);
  const Tensor& narrow = at(wide.operands[0]);
  const Index narrow_strides = strides_of(narrow.sizes);
  std::vector<Digits> kept;
  Index dimensions, sizes;
  for (const Digits& digits : moved.dimensions) {
    Digits own;
    for (const Digit& each : digits) {
      const std::size_t along = dimension_of(each, wide.sizes, strides);
      const auto found = std::find(wide.form.numbers[0].begin(), wide.form.numbers[0].end(),
                                   static_cast<std::int64_t>(along));
      if (found == wide.form.numbers[0].end()) continue;
      const auto from = static_cast<std::size_t>(found - wide.form.numbers[0].begin());
      own.push_back({narrow_strides[from] * (each.stride / strides[along]), each.size});
    }
    if (!own.empty() && own.size() != digits.size()) return std::nullopt;
    if (!own.empty()) {
      dimensions.push_back(std::ssize(sizes));
      kept.push_back(std::move(own));
    }
    sizes.push_back(size_of(digits));
  }
  const auto operand = make_moved_as(wide.operands[0], kept);
  return operand ? make({"broadcast", "", {dimensions, sizes}}, {*operand}, wide.kind)
                 : std::nullopt;
}

/// Where a dimension is made of new ones and of others it is a reshape of a broadcast that has no
/// more dimensions than it takes.
std::optional<std::size_t> Tensors::reshaped_broadcast(const Moved& moved) {
  const Tensor& wide = at(moved.base);
  if (wide.form.opcode != "broadcast") return std::nullopt;
  const Index& kept = wide.form.numbers[0];
  const Index strides = strides_of(wide.sizes);
  Moved parts{moved.base, {}, false};
  Index sizes;
  for (const Digits& digits : moved.dimensions) {
    std::optional<bool> was_kept;
    for (const Digit& each : digits) {
      const auto along = static_cast<std::int64_t>(dimension_of(each, wide.sizes, strides));
      const bool is_kept = std::find(kept.begin(), kept.end(), along) != kept.end();
      if (was_kept != is_kept) parts.dimensions.emplace_back();
      was_kept = is_kept;
      parts.dimensions.back().push_back(each);
    }
    sizes.push_back(size_of(digits));
  }
  const auto fewer = moved_broadcast(parts);
  if (!fewer || at(*fewer).form.opcode != "broadcast") return std::nullopt;
  const auto dimensions = regrouped(all_of(this->moved(*fewer).dimensions), sizes);
  return dimensions ? std::optional(make_moved({*fewer, *dimensions})) : std::nullopt;
}

void Tensors::resize(std::vector<Digits>& dimensions, const Index& own, const Index& next) {
  const Index strides = strides_of(own);
  const Index new_strides = strides_of(next);
  for (Digits& digits : dimensions) {
    for (Digit& each : digits) {
      const std::size_t k = dimension_of(each, own, strides);
      if (next[k] != own[k]) each.size = next[k];
      each.stride = new_strides[k] * (each.stride / strides[k]);
    }
  }
}

/// Where dimensions become `next` from `sizes`, and only such are cut or wider that the tensor
/// which is moved has as they are: which these are, by dimension. `moved` is then that of the
/// tensor with these sizes.
std::optional<std::vector<std::size_t>> Tensors::cut_moved(Moved& moved, const Index& sizes,
                                                           const Index& next) const {
  const Index& own = at(moved.base).sizes;
  const Index strides = strides_of(own);
  std::vector<std::size_t> along(sizes.size(), SIZE_MAX);
  Index changed = own;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (next[k] == sizes[k]) continue;
    if (moved.dimensions[k].size() != 1 || next[k] < 1) return std::nullopt;
    const Digit& digit = moved.dimensions[k][0];
    along[k] = dimension_of(digit, own, strides);
    if (digit.stride != strides[along[k]] || digit.size != own[along[k]]) return std::nullopt;
    changed[along[k]] = next[k];
  }
  resize(moved.dimensions, own, changed);
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (next[k] == 1) moved.dimensions[k].clear();  // One index has no digit.
  }
  return along;
}

std::optional<std::size_t> Tensors::slice_of_moved(const Form& form, std::size_t operand) {
  Moved moved = this->moved(operand);
  if (moved.is_own) return std::nullopt;
  const Tensor& base = at(moved.base);
  const Index sizes = at(operand).sizes;
  Index next;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (form.numbers[2][k] != 1) return std::nullopt;
    next.push_back(form.numbers[1][k] - form.numbers[0][k]);
  }
  const auto along = cut_moved(moved, sizes, next);
  if (!along) return std::nullopt;
  Form own{"slice", "", {Index(base.sizes.size(), 0), base.sizes, Index(base.sizes.size(), 1)}};
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if ((*along)[k] == SIZE_MAX) continue;
    own.numbers[0][(*along)[k]] = form.numbers[0][k];
    own.numbers[1][(*along)[k]] = form.numbers[1][k];
  }
  const auto slice = make(own, {moved.base}, base.kind);
  return slice ? make_moved_as(*slice, moved.dimensions) : std::nullopt;
}

/// A concatenation of what is moved alike, along all of a dimension, is one that is moved.
std::optional<std::size_t> Tensors::concatenation_of_moved(const Form& form,
                                                           std::vector<std::size_t> operands,
                                                           const std::string& kind) {
  const auto along = static_cast<std::size_t>(form.numbers[0][0]);
  Index wide = at(operands[0]).sizes;
  for (std::size_t k = 1; k < operands.size(); ++k) wide[along] += at(operands[k]).sizes[along];
  std::optional<Moved> first;
  std::size_t of_base = 0;
  for (std::size_t& each : operands) {
    Moved one = moved(each);
    const auto of = one.is_own ? std::nullopt : cut_moved(one, at(each).sizes, wide);
    if (!of || (*of)[along] == SIZE_MAX ||
        (first && ((*of)[along] != of_base || one.dimensions != first->dimensions)))
      return std::nullopt;
    each = one.base;
    of_base = (*of)[along];
    first = std::move(one);
  }
  if (!first) return std::nullopt;
  const auto whole =
      make({"concatenate", "", {{static_cast<std::int64_t>(of_base)}}}, std::move(operands), kind);
  return whole ? make_moved_as(*whole, first->dimensions) : std::nullopt;
}

/// A dynamic slice of what is moved is likewise one that is; where all of a dimension is taken it
/// begins at 0.
std::optional<std::size_t> Tensors::dynamic_slice_of_moved(
    const Form& form, const std::vector<std::size_t>& operands) {
  if (form.numbers[0] == at(operands[0]).sizes) return operands[0];
  Moved moved = this->moved(operands[0]);
  const Tensor& base = at(moved.base);
  const Index sizes = at(operands[0]).sizes;
  const auto along = cut_moved(moved, sizes, form.numbers[0]);
  if (!along || operands.size() < 2) return std::nullopt;
  Form own{"dynamic-slice", "", {base.sizes}};
  const std::size_t zero = intern({{"constant", "0", {}}, {}, at(operands[1]).kind, {}});
  std::vector<std::size_t> list(base.sizes.size() + 1, zero);
  list[0] = moved.base;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if ((*along)[k] == SIZE_MAX) continue;
    own.numbers[0][(*along)[k]] = form.numbers[0][k];
    list[(*along)[k] + 1] = operands[k + 1];
  }
  auto own_sizes = own.numbers[0];
  if (base.form.opcode == "dynamic-slice") {
    // Along other dimensions it is one.
    const Index& inner = at(base.operands[0]).sizes;
    bool is_one = at(base.operands[1]).kind == at(zero).kind;
    std::vector<std::size_t> both = base.operands;
    for (std::size_t k = 0; k < inner.size(); ++k) {
      if (own_sizes[k] == base.sizes[k]) continue;
      is_one = is_one && inner[k] == base.sizes[k];
      both[k + 1] = list[k + 1];
    }
    if (is_one) list = std::move(both);
  }
  const std::size_t slice =
      intern({std::move(own), std::move(list), base.kind, std::move(own_sizes)});
  return make_moved_as(slice, moved.dimensions);
}

std::optional<std::size_t> Tensors::counted(std::size_t number) const {
  const Tensor& known = at(number);
  const Tensor& line = known.form.opcode == "broadcast" ? at(known.operands[0]) : known;
  if (line.form.opcode != "iota") return std::nullopt;
  const std::int64_t along = line.form.numbers[0][0];
  return static_cast<std::size_t>(&line == &known ? along
                                                  : element_of(known.form.numbers[0], along));
}

/// A concatenation of slices that follow one another in one tensor is a slice of it.
std::optional<std::size_t> Tensors::joined_slices(const Form& form,
                                                  const std::vector<std::size_t>& operands,
                                                  const std::string& kind) {
  const auto along = static_cast<std::size_t>(form.numbers[0][0]);
  std::vector<std::size_t> all = {operands[0]};
  for (std::size_t k = 1; k < operands.size(); ++k) {
    const Tensor& first = at(all.back());
    const Tensor& second = at(operands[k]);
    Form joined = first.form;
    bool follows = joined.opcode == "slice" && second.form.opcode == "slice" &&
                   first.operands == second.operands && joined.numbers[2][along] == 1;
    if (follows) {
      follows = joined.numbers[1][along] == second.form.numbers[0][along];
      joined.numbers[1][along] = second.form.numbers[1][along];
      Form other = second.form;
      other.numbers[0][along] = joined.numbers[0][along];
      follows = follows && joined == other;
    }
    const auto slice = follows ? make(joined, first.operands, kind) : std::optional<std::size_t>();
    if (slice)
      all.back() = *slice;
    else
      all.push_back(operands[k]);
  }
  if (all.size() == operands.size()) return std::nullopt;
  return all.size() == 1 ? std::optional(all[0]) : make(form, std::move(all), kind);
}

/// A pad of what is moved, as one of what has its dimensions in the order of the base's elements,
/// transposed.
std::optional<std::size_t> Tensors::padded_in_order(const std::vector<std::size_t>& operands,
                                                    Index low, Index high,
                                                    const std::string& kind) {
  const Moved way = moved(operands[0]);
  const auto stride = [&](std::int64_t k) {
    const Digits& digits = way.dimensions[static_cast<std::size_t>(k)];
    return digits.empty() ? INT64_MAX : digits[0].stride;
  };
  Index order(low.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), stride);
  if (std::ranges::is_sorted(order)) return std::nullopt;
  Index back(order.size());
  Form pad{"pad", "", {{}, {}, Index(order.size(), 0)}};
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto from = static_cast<std::size_t>(order[k]);
    back[from] = static_cast<std::int64_t>(k);
    pad.numbers[0].push_back(low[from]);
    pad.numbers[1].push_back(high[from]);
  }
  const auto turned = make({"transpose", "", {order}}, {operands[0]}, kind);
  const auto result = turned ? make(pad, {*turned, operands[1]}, kind) : std::nullopt;
  return result ? make({"transpose", "", {back}}, {*result}, kind) : std::nullopt;
}

/// What is padded with one number between no elements is made by one pad of a slice. Where elements
/// are added up, those of a pad with zeros do not count; likewise where others are neutral.
std::optional<std::size_t> Tensors::padded(const Form& form,
                                           const std::vector<std::size_t>& operands,
                                           const std::string& kind) {
  const auto is_plain = [](const Form& pad) {
    const auto is_none = [](std::int64_t between) { return between == 0; };
    return pad.opcode == "pad" && std::ranges::all_of(pad.numbers[2], is_none);
  };
  // One that cuts elements is a slice, or nothing but padding.
  const auto pads_only = [&](const Form& pad) {
    const auto is_edge = [](std::int64_t edge) { return edge >= 0; };
    return is_plain(pad) && std::ranges::all_of(pad.numbers[0], is_edge) &&
           std::ranges::all_of(pad.numbers[1], is_edge);
  };
  const auto pad_of = [&](std::optional<std::size_t> x, std::size_t number, Index low, Index high) {
    const Index none(low.size(), 0);
    return x ? make({"pad", "", {std::move(low), std::move(high), none}}, {*x, number}, kind)
             : std::nullopt;
  };
  const std::string_view opcode = form.opcode;
  if (opcode == "concatenate" && operands.size() > 1) {
    const auto along = static_cast<std::size_t>(form.numbers[0][0]);
    const auto splat = [&](std::size_t number) -> std::optional<std::size_t> {
      const Tensor& known = at(number);
      const bool is_one = known.form.opcode == "broadcast" &&
                          at(known.operands[0]).form.opcode == "constant" &&
                          at(known.operands[0]).sizes.empty();
      return is_one ? std::optional(known.operands[0]) : std::nullopt;
    };
    const auto first = splat(operands.front()), last = splat(operands.back());
    if (!first && !last) return std::nullopt;
    std::vector<std::size_t> rest = operands;
    Index low(at(operands[0]).sizes.size(), 0), high = low;
    const bool is_last = !first;
    std::int64_t& size = is_last ? high[along] : low[along];
    size = at(is_last ? operands.back() : operands.front()).sizes[along];
    rest.erase(is_last ? rest.end() - 1 : rest.begin());
    const auto x = rest.size() == 1 ? std::optional(rest[0]) : make(form, rest, kind);
    return pad_of(x, is_last ? *last : *first, std::move(low), std::move(high));
  }
  const Tensor& x = at(operands[0]);
  const Index& sizes = x.sizes;
  if (opcode == "pad" && is_plain(form)) {
    Form slice{"slice", "", {sizes, sizes, Index(sizes.size(), 1)}};
    Index low = form.numbers[0], high = form.numbers[1];
    bool pads = false, cuts = false;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      slice.numbers[0][k] = std::max<std::int64_t>(0, -low[k]);
      slice.numbers[1][k] = sizes[k] - std::max<std::int64_t>(0, -high[k]);
      if (slice.numbers[0][k] >= slice.numbers[1][k])
        return make({"broadcast", "", {{}, sizes_of(form, {sizes, {}}).value()}}, {operands[1]},
                    kind);
      cuts = cuts || low[k] < 0 || high[k] < 0;
      pads = pads || low[k] > 0 || high[k] > 0;
      low[k] = std::max<std::int64_t>(0, low[k]);
      high[k] = std::max<std::int64_t>(0, high[k]);
    }
    const bool is_number = x.form.opcode == "broadcast" && x.operands[0] == operands[1];
    if (is_number)
      return make({"broadcast", "", {{}, sizes_of(form, {sizes, {}}).value()}}, {operands[1]},
                  kind);
    if (!pads && !cuts) return operands[0];
    if (cuts) {
      const auto part = make(slice, {operands[0]}, kind);
      return pads ? pad_of(part, operands[1], std::move(low), std::move(high)) : part;
    }
    // What is moved is padded before.
    Moved way = moved(operands[0]);
    if (!way.is_own) {
      const auto along = cut_moved(way, sizes, sizes_of(form, {sizes, {}}).value());
      if (!along) return padded_in_order(operands, std::move(low), std::move(high), kind);
      Index own_low(at(way.base).sizes.size(), 0), own_high = own_low;
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        if ((*along)[k] == SIZE_MAX) continue;
        own_low[(*along)[k]] = low[k];
        own_high[(*along)[k]] = high[k];
      }
      const auto base = pad_of(way.base, operands[1], std::move(own_low), std::move(own_high));
      return base ? make_moved_as(*base, way.dimensions) : std::nullopt;
    }
    if (!pads_only(x.form) || x.operands[1] != operands[1]) return std::nullopt;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      low[k] += x.form.numbers[0][k];
      high[k] += x.form.numbers[1][k];
    }
    return pad_of(x.operands[0], operands[1], std::move(low), std::move(high));
  }
  if (!pads_only(x.form)) return std::nullopt;
  const auto& [before, after] = std::tie(x.form.numbers[0], x.form.numbers[1]);
  const Index& inner = at(x.operands[0]).sizes;
  if (opcode == "slice" &&
      std::ranges::all_of(form.numbers[2], [](std::int64_t stride) { return stride == 1; })) {
    Form slice = form;
    Index low = before, high = after;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::int64_t from = form.numbers[0][k] - before[k];
      const std::int64_t to = form.numbers[1][k] - before[k];
      slice.numbers[0][k] = std::max<std::int64_t>(0, from);
      slice.numbers[1][k] = std::min(to, inner[k]);
      if (slice.numbers[0][k] >= slice.numbers[1][k]) {
        const auto whole = sizes_of(form, {sizes});
        return make({"broadcast", "", {{}, whole.value()}}, {x.operands[1]}, kind);
      }
      low[k] = std::max<std::int64_t>(0, -from);
      high[k] = std::max<std::int64_t>(0, to - inner[k]);
    }
    const std::size_t number = x.operands[1];
    return pad_of(make(slice, {x.operands[0]}, kind), number, std::move(low), std::move(high));
  }
  if (opcode != "reduce") return std::nullopt;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if ((before[k] != 0 || after[k] != 0) && !contains(form.numbers[0], k)) return std::nullopt;
  }
  return is_neutral(form.text, x.operands[1]) ? make(form, {x.operands[0], operands[1]}, kind)
                                              : std::nullopt;
}

}  // namespace p2::kernel::xla
