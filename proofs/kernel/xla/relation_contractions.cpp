// Dots and reductions of tensors that are moved: those of what is moved, in one order.

#include <algorithm>

#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {
namespace {

/// Two lists of digits of as many elements, cut where one of them is. Nothing where a digit would
/// be cut at what does not divide it.
bool cut_alike(Digits& a, Digits& b) {
  const auto cut = [](Digits& digits, std::size_t k, std::int64_t size) {
    const Digit whole = digits[k];
    if (whole.size % size != 0) return false;
    digits[k] = {whole.stride * (whole.size / size), size};
    digits.insert(digits.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                  {whole.stride, whole.size / size});
    return true;
  };
  std::size_t k = 0;
  for (; k < a.size() && k < b.size(); ++k) {
    if (a[k].size > b[k].size && !cut(a, k, b[k].size)) return false;
    if (b[k].size > a[k].size && !cut(b, k, a[k].size)) return false;
  }
  return k == a.size() && k == b.size();
}

/// A digit of one operand, or of both, the same indices.
struct Common {
  std::optional<Digit> x, y;
};

/// Whether `outer` and `inner` are one digit of a dimension of a tensor.
bool are_one(const Digit& outer, const Digit& inner, const Index& sizes) {
  if (outer.stride != inner.stride * inner.size) return false;
  const Index strides = strides_of(sizes);
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] != 1 && strides[k] == outer.stride) return false;
  }
  return true;
}

/// In the order of the first operand that has them, those put together that are one in all.
std::vector<Common> in_order(std::vector<Common> all, const Index& x, const Index& y) {
  const auto stride = [](const Common& each) { return (each.x ? *each.x : *each.y).stride; };
  std::sort(all.begin(), all.end(),
            [&](const Common& a, const Common& b) { return stride(a) > stride(b); });
  std::vector<Common> result;
  for (const Common& each : all) {
    const bool is_one = !result.empty() && (!each.x || are_one(*result.back().x, *each.x, x)) &&
                        (!each.y || are_one(*result.back().y, *each.y, y));
    if (!is_one) {
      result.push_back(each);
      continue;
    }
    if (each.x) result.back().x = Digit{each.x->stride, result.back().x->size * each.x->size};
    if (each.y) result.back().y = Digit{each.y->stride, result.back().y->size * each.y->size};
  }
  return result;
}

/// One dimension for every digit, in the order of the tensor.
Index sizes_by(Digits digits) {
  std::sort(digits.begin(), digits.end(),
            [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
  Index sizes;
  for (const Digit& each : digits) sizes.push_back(each.size);
  return sizes;
}

/// Which dimension of them a digit is.
std::int64_t dimension_among(const Digit& digit, const Digits& digits) {
  return std::count_if(digits.begin(), digits.end(),
                       [&](const Digit& each) { return each.stride > digit.stride; });
}

}  // namespace

/// Products of zeros that both operands are padded with, along dimensions that are contracted, add
/// nothing.
std::optional<std::size_t> Tensors::dot_of_padded(const Form& form,
                                                  const std::vector<std::size_t>& operands,
                                                  const std::string& kind) {
  Form pads[2];
  for (std::size_t side = 0; side < 2; ++side) {
    const Tensor& pad = at(operands[side]);
    if (pad.form.opcode != "pad" || !is_zero(pad.operands[1])) return std::nullopt;
    pads[side] = pad.form;
  }
  bool is_less = false;
  for (std::size_t k = 0; k < form.numbers[2].size(); ++k) {
    std::int64_t* edges[2][3];
    for (std::size_t side = 0; side < 2; ++side) {
      const auto along = static_cast<std::size_t>(form.numbers[side + 2][k]);
      for (std::size_t row = 0; row < 3; ++row) edges[side][row] = &pads[side].numbers[row][along];
    }
    const auto& [x, y] = edges;
    const bool is_alike = *x[0] == *y[0] && *x[1] == *y[1] && *x[2] == 0 && *y[2] == 0;
    if (!is_alike || *x[0] < 0 || *x[1] < 0 || *x[0] + *x[1] == 0) continue;
    for (std::size_t row = 0; row < 2; ++row) *x[row] = *y[row] = 0;
    is_less = true;
  }
  if (!is_less) return std::nullopt;
  const auto left = make(pads[0], at(operands[0]).operands, at(operands[0]).kind);
  const auto right = make(pads[1], at(operands[1]).operands, at(operands[1]).kind);
  return left && right ? make(form, {*left, *right}, kind) : std::nullopt;
}

/// Of what is summed over nothing, the product of the operands' elements.
std::optional<std::size_t> Tensors::product_of_pairs(const Form& form,
                                                     const std::vector<std::size_t>& operands,
                                                     const std::string& kind) {
  if (!form.numbers[2].empty()) return std::nullopt;
  const auto sizes = sizes_of(form, {at(operands[0]).sizes, at(operands[1]).sizes});
  const std::size_t batches = form.numbers[0].size();
  std::size_t next = batches;  // of the result
  std::vector<std::size_t> wide;
  for (std::size_t side = 0; side < 2; ++side) {
    const Tensor& x = at(operands[side]);
    const Index& own = form.numbers[side];
    Index dimensions(x.sizes.size());
    for (std::size_t k = 0; k < batches; ++k)
      dimensions.at(static_cast<std::size_t>(own[k])) = static_cast<std::int64_t>(k);
    for (std::size_t k = 0; k < dimensions.size(); ++k) {
      if (!contains(own, k)) dimensions[k] = static_cast<std::int64_t>(next++);
    }
    if (!sizes || x.kind != kind) return std::nullopt;
    const auto one = make({"broadcast", "", {dimensions, *sizes}}, {operands[side]}, kind);
    if (!one) return std::nullopt;
    wide.push_back(*one);
  }
  return make({"multiply", "", {}}, std::move(wide), kind);
}

/// A broadcast, or a function of the elements of such, of at most this depth, which moved_broadcast
/// moves.
bool Tensors::is_wide(std::size_t number, int depth) const {
  const Tensor& known = at(number);
  if (known.form.opcode == "broadcast") return true;
  return depth > 0 && op_called(known.form.opcode) &&
         std::all_of(known.operands.begin(), known.operands.end(), [&](std::size_t each) {
           return at(each).sizes == known.sizes && is_wide(each, depth - 1);
         });
}

/// What is the same along some dimensions, as a broadcast is, has no order of these by itself: they
/// are in the order in which the other operand has them.
std::optional<std::size_t> Tensors::dot_of_broadcast(const Form& form,
                                                     const std::vector<std::size_t>& operands,
                                                     const std::string& kind) {
  if (is_wide(operands[0]) == is_wide(operands[1])) return std::nullopt;
  const std::size_t side = is_wide(operands[1]) ? 1 : 0;
  Form next = form;
  std::vector<std::pair<std::int64_t, std::int64_t>> along;  // of the other, and of this
  for (std::size_t k = 0; k < form.numbers[2].size(); ++k)
    along.emplace_back(form.numbers[3 - side][k], form.numbers[2 + side][k]);
  std::sort(along.begin(), along.end());
  Index order = form.numbers[side];
  for (std::size_t k = 0; k < along.size(); ++k) {
    order.push_back(along[k].second);
    next.numbers[3 - side][k] = along[k].first;
    next.numbers[2 + side][k] = std::ssize(order) - 1;
  }
  for (std::size_t k = 0; k < at(operands[side]).sizes.size(); ++k) {
    if (!contains(order, k)) order.push_back(static_cast<std::int64_t>(k));
  }
  if (std::is_sorted(order.begin(), order.end())) return std::nullopt;
  std::iota(next.numbers[side].begin(), next.numbers[side].end(), 0);
  const auto turned = make({"transpose", "", {order}}, {operands[side]}, at(operands[side]).kind);
  if (!turned || !is_wide(*turned)) return std::nullopt;
  return make(next,
              side == 0 ? std::vector{*turned, operands[1]} : std::vector{operands[0], *turned},
              kind);
}

/// Batches, then what only the first operand has, then the second, each in the order of the first
/// operand that has them; contractions likewise. The operand that was made first is the first.
std::optional<std::size_t> Tensors::dot_of_moved(const Form& form,
                                                 const std::vector<std::size_t>& operands,
                                                 const std::string& kind) {
  Moved x = moved(operands[0]);
  Moved y = moved(operands[1]);
  const auto& [xb, yb, xc, yc] =
      std::tie(form.numbers[0], form.numbers[1], form.numbers[2], form.numbers[3]);
  const auto dimension = [](Moved& of, std::int64_t k) -> Digits& {
    return of.dimensions[static_cast<std::size_t>(k)];
  };
  const bool is_turned = y.base < x.base;
  // Of every kind, x and y as they come.
  std::vector<Common> batches, contractions, first, second;
  std::vector<std::vector<Common>> result;
  const auto add = [](std::vector<Common>& to, const Digits* of_x, const Digits* of_y) {
    std::vector<Common> all;
    for (std::size_t k = 0; k < (of_x != nullptr ? of_x : of_y)->size(); ++k) {
      Common each;
      if (of_x != nullptr) each.x = (*of_x)[k];
      if (of_y != nullptr) each.y = (*of_y)[k];
      all.push_back(each);
    }
    to.insert(to.end(), all.begin(), all.end());
    return all;
  };
  for (std::size_t k = 0; k < xb.size(); ++k) {
    if (!cut_alike(dimension(x, xb[k]), dimension(y, yb[k]))) return std::nullopt;
    result.push_back(add(batches, &dimension(x, xb[k]), &dimension(y, yb[k])));
  }
  for (std::size_t k = 0; k < xc.size(); ++k) {
    if (!cut_alike(dimension(x, xc[k]), dimension(y, yc[k]))) return std::nullopt;
    add(contractions, &dimension(x, xc[k]), &dimension(y, yc[k]));
  }
  for (std::size_t k = 0; k < x.dimensions.size(); ++k) {
    if (!contains(xb, k) && !contains(xc, k))
      result.push_back(add(first, &x.dimensions[k], nullptr));
  }
  for (std::size_t k = 0; k < y.dimensions.size(); ++k) {
    if (!contains(yb, k) && !contains(yc, k))
      result.push_back(add(second, nullptr, &y.dimensions[k]));
  }
  if (is_turned) {
    std::swap(x, y);
    std::swap(first, second);
    const auto turn = [](std::vector<Common>& all) {
      for (Common& each : all) std::swap(each.x, each.y);
    };
    for (auto* each : {&batches, &contractions, &first, &second}) turn(*each);
    for (auto& each : result) turn(each);
  }
  const Index of_x = at(x.base).sizes;
  const Index of_y = at(y.base).sizes;
  for (auto* each : {&batches, &contractions, &first, &second})
    *each = in_order(std::move(*each), of_x, of_y);
  Digits digits_x, digits_y;
  for (const auto* list : {&batches, &contractions, &first, &second}) {
    for (const Common& each : *list) {
      if (each.x) digits_x.push_back(*each.x);
      if (each.y) digits_y.push_back(*each.y);
    }
  }
  Form own{"dot", "", {{}, {}, {}, {}}};
  for (const Common& each : batches) {
    own.numbers[0].push_back(dimension_among(*each.x, digits_x));
    own.numbers[1].push_back(dimension_among(*each.y, digits_y));
  }
  for (const Common& each : contractions) {
    own.numbers[2].push_back(dimension_among(*each.x, digits_x));
    own.numbers[3].push_back(dimension_among(*each.y, digits_y));
  }
  const auto left = make({"reshape", "", {sizes_by(digits_x)}}, {x.base}, at(x.base).kind);
  const auto right = make({"reshape", "", {sizes_by(digits_y)}}, {y.base}, at(y.base).kind);
  if (!left || !right) return std::nullopt;
  auto sizes = sizes_of(own, {at(*left).sizes, at(*right).sizes});
  if (!sizes) return std::nullopt;
  // The result in the order that was asked for.
  std::vector<Common> order = batches;
  order.insert(order.end(), first.begin(), first.end());
  order.insert(order.end(), second.begin(), second.end());
  const Index strides = strides_of(*sizes);
  std::vector<Digits> dimensions;
  for (const auto& each : result) {
    Digits& digits = dimensions.emplace_back();
    for (const Common& part : each) {
      for (std::size_t k = 0; k < order.size(); ++k) {
        const auto& whole = part.x ? order[k].x : order[k].y;
        const Digit& digit = part.x ? *part.x : *part.y;
        if (!whole || order[k].x.has_value() != part.x.has_value() ||
            order[k].y.has_value() != part.y.has_value() || digit.stride < whole->stride ||
            digit.stride >= whole->stride * whole->size)
          continue;
        digits.push_back({strides[k] * (digit.stride / whole->stride), digit.size});
      }
    }
  }
  // Dimensions of one index are none now, which may be all that is summed over.
  for (const auto law : {&Tensors::product_of_pairs, &Tensors::dot_of_broadcast}) {
    if (const auto other = (this->*law)(own, {*left, *right}, kind))
      return make_moved_as(*other, dimensions);
  }
  const std::size_t dot = intern({std::move(own), {*left, *right}, kind, std::move(*sizes)});
  return make_moved({dot, std::move(dimensions)});
}

/// Of what is reduced before by the same operation, of batches of a dot, and of dimensions in the
/// order of the tensor that was moved.
std::optional<std::size_t> Tensors::reduction_of_moved(const Form& form,
                                                       const std::vector<std::size_t>& operands,
                                                       const std::string& kind) {
  if (!is_one_of(form.text, {"add", "and", "maximum", "minimum", "multiply", "or"}))
    return std::nullopt;
  Moved x = moved(operands[0]);
  Index along = form.numbers[0];
  const Tensor& base = at(x.base);
  const bool is_sum = form.text == "add" && is_zero(operands[1]);
  const bool is_again = base.form.opcode == "reduce" && base.form.text == form.text &&
                        (is_zero(base.operands[1]) && form.text == "add");
  const bool is_same = base.form.opcode == "reduce" && base.form.text == form.text &&
                       is_one_of(form.text, {"maximum", "minimum"}) &&
                       base.operands[1] == operands[1];
  const Index strides = strides_of(base.sizes);
  if (is_again || is_same) {
    const Tensor& inner = at(base.operands[0]);
    const Index inner_strides = strides_of(inner.sizes);
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < inner.sizes.size(); ++k) {
      if (!contains(base.form.numbers[0], k)) kept.push_back(k);
    }
    for (Digits& digits : x.dimensions) {
      for (Digit& each : digits) {
        const std::size_t k = dimension_of(each, base.sizes, strides);
        each.stride = inner_strides[kept[k]] * (each.stride / strides[k]);
      }
    }
    for (const std::int64_t each : base.form.numbers[0]) {
      const auto k = static_cast<std::size_t>(each);
      along.push_back(std::ssize(x.dimensions));
      x.dimensions.emplace_back();
      if (inner.sizes[k] != 1) x.dimensions.back() = {{inner_strides[k], inner.sizes[k]}};
    }
    const auto operand = make_moved_as(base.operands[0], x.dimensions);
    return operand ? make({"reduce", form.text, {along}}, {*operand, operands[1]}, kind)
                   : std::nullopt;
  }
  if (is_sum && base.form.opcode == "dot") {
    if (const auto dot = sum_of_batches(x, along)) return dot;
  }
  std::vector<Common> kept, reduced;
  std::vector<Digits> result;
  for (std::size_t k = 0; k < x.dimensions.size(); ++k) {
    const bool is_reduced = contains(along, k);
    for (const Digit& each : x.dimensions[k]) (is_reduced ? reduced : kept).push_back({each, {}});
    if (!is_reduced) result.push_back(x.dimensions[k]);
  }
  if (reduced.empty() && is_neutral(form.text, operands[1])) return make_moved_as(x.base, result);
  kept = in_order(std::move(kept), base.sizes, {});
  reduced = in_order(std::move(reduced), base.sizes, {});
  Digits all;
  for (const auto* list : {&kept, &reduced}) {
    for (const Common& each : *list) all.push_back(*each.x);
  }
  Form own{"reduce", form.text, {{}}};
  for (const Common& each : reduced) own.numbers[0].push_back(dimension_among(*each.x, all));
  const auto operand = make({"reshape", "", {sizes_by(all)}}, {x.base}, base.kind);
  if (!operand) return std::nullopt;
  Index sizes;
  for (const Common& each : kept) sizes.push_back(each.x->size);
  const Index own_strides = strides_of(sizes);
  for (Digits& digits : result) {
    for (Digit& each : digits) {
      for (std::size_t k = 0; k < kept.size(); ++k) {
        const Digit& whole = *kept[k].x;
        if (each.stride < whole.stride || each.stride >= whole.stride * whole.size) continue;
        each.stride = own_strides[k] * (each.stride / whole.stride);
        break;
      }
    }
  }
  const auto dot = is_sum ? sum_of_products(own.numbers[0], x.base, at(*operand).sizes)
                          : std::optional<std::size_t>();
  if (dot) return make_moved_as(*dot, result);
  const std::size_t reduction =
      intern({std::move(own), {*operand, operands[1]}, kind, std::move(sizes)});
  return make_moved({reduction, std::move(result)});
}

/// A sum of x · c or −x, from zero, is that of x, times c or negated.
std::optional<std::size_t> Tensors::sum_of_scaled(const Form& form,
                                                  const std::vector<std::size_t>& operands,
                                                  const std::string& kind) {
  if (form.text != "add" || kind != "float" || !is_zero(operands[1])) return std::nullopt;
  const Moved moved = this->moved(operands[0]);
  const Tensor& base = at(moved.base);
  const auto scaled = this->scaled(moved.base);
  if (!scaled && base.form.opcode != "negate") return std::nullopt;
  const auto x = make_moved_as(scaled ? scaled->of : base.operands[0], moved.dimensions);
  const auto sum = x ? make(form, {*x, operands[1]}, kind) : std::nullopt;
  if (!sum || scaled) return sum ? scaled_by(*sum, scaled->by) : std::nullopt;
  return make(base.form, {*sum}, kind);
}

/// A reduction of what is put together of few parts, along that dimension, too, from the neutral
/// element, combines those of the parts.
std::optional<std::size_t> Tensors::reduction_of_parts(const Form& form,
                                                       const std::vector<std::size_t>& operands,
                                                       const std::string& kind) {
  constexpr std::size_t kFew = 64;
  const Tensor& x = at(operands[0]);
  if (x.form.opcode != "concatenate" || x.operands.size() > kFew || form.numbers.size() != 1 ||
      !contains(form.numbers[0], static_cast<std::size_t>(x.form.numbers[0][0])) ||
      !op_called(form.text) || !is_neutral(form.text, operands[1]))
    return std::nullopt;
  std::optional<std::size_t> all;
  for (const std::size_t each : x.operands) {
    const auto part = make(form, {each, operands[1]}, kind);
    if (!part) return std::nullopt;
    all = all ? make({form.text, "", {}}, {*all, *part}, kind) : part;
    if (!all) return std::nullopt;
  }
  return all;
}

/// A sum of products along dimensions that both factors have is a dot of these, without their
/// broadcasts. The product is reshaped to `sizes`.
std::optional<std::size_t> Tensors::sum_of_products(const Index& along, std::size_t product,
                                                    const Index& sizes) {
  const std::string kind = at(product).kind;
  if (at(product).form.opcode != "multiply" || kind == "pred") return std::nullopt;
  std::vector<std::size_t> factors;
  Index dimensions[2];
  for (const std::size_t each : std::vector(at(product).operands)) {
    const auto factor = make({"reshape", "", {sizes}}, {each}, kind);
    if (!factor) return std::nullopt;
    const Tensor& wide = at(*factor);
    Index& own = dimensions[factors.size()];
    if (wide.form.opcode == "broadcast") {
      own = wide.form.numbers[0];
      factors.push_back(wide.operands[0]);
    } else {
      own.resize(sizes.size());
      std::iota(own.begin(), own.end(), 0);
      factors.push_back(*factor);
    }
  }
  Form form{"dot", "", {{}, {}, {}, {}}};
  std::vector<std::size_t> order;  // of the dot's dimensions
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const bool is_reduced = contains(along, k);
    if (!contains(dimensions[0], k) || !contains(dimensions[1], k)) {
      if (is_reduced || (!contains(dimensions[0], k) && !contains(dimensions[1], k)))
        return std::nullopt;
      continue;
    }
    for (std::size_t side = 0; side < 2; ++side) {
      const auto found =
          std::find(dimensions[side].begin(), dimensions[side].end(), static_cast<std::int64_t>(k));
      form.numbers[side + (is_reduced ? 2 : 0)].push_back(found - dimensions[side].begin());
    }
    if (!is_reduced) order.push_back(k);
  }
  for (std::size_t side = 0; side < 2; ++side) {
    for (const std::int64_t each : dimensions[side]) {
      const auto k = static_cast<std::size_t>(each);
      if (!contains(dimensions[1 - side], k)) order.push_back(k);
    }
  }
  std::vector<std::size_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  Index turned;
  for (const std::size_t each : sorted)
    turned.push_back(std::find(order.begin(), order.end(), each) - order.begin());
  const auto dot = make(form, std::move(factors), kind);
  return dot ? make({"transpose", "", {std::move(turned)}}, {*dot}, kind) : std::nullopt;
}

/// A sum over batches of a dot is a contraction of them, too.
std::optional<std::size_t> Tensors::sum_of_batches(const Moved& moved, const Index& along) {
  const Tensor& dot = at(moved.base);
  const Index strides = strides_of(dot.sizes);
  const std::size_t batches = dot.form.numbers[0].size();
  std::vector<Digits> sides[2];  // digits of the operands' dimensions, one each
  const auto split = [&](std::size_t side, std::size_t k, const Digit& digit) {
    const Index of = strides_of(at(dot.operands[side]).sizes);
    const auto dimension = static_cast<std::size_t>(dot.form.numbers[side].at(k));
    return Digit{of[dimension] * (digit.stride / strides[k]), digit.size};
  };
  Form own{"dot", "", {{}, {}, {}, {}}};
  std::vector<Digits> result;
  std::vector<Digit> kept;
  for (std::size_t k = 0; k < moved.dimensions.size(); ++k) {
    const bool is_reduced = contains(along, k);
    for (const Digit& each : moved.dimensions[k]) {
      const std::size_t dimension = dimension_of(each, dot.sizes, strides);
      if (dimension >= batches) {
        if (is_reduced) return std::nullopt;
        continue;
      }
      for (std::size_t side = 0; side < 2; ++side) {
        own.numbers[side + (is_reduced ? 2 : 0)].push_back(std::ssize(sides[side]));
        sides[side].push_back({split(side, dimension, each)});
      }
      if (!is_reduced) kept.push_back(each);
    }
    if (!is_reduced) result.push_back(moved.dimensions[k]);
  }
  std::vector<std::size_t> operands;
  std::vector<std::pair<std::size_t, std::int64_t>> free;  // dimension of the dot, and size
  Index sizes;
  for (const Digit& each : kept) sizes.push_back(each.size);
  for (std::size_t side = 0; side < 2; ++side) {
    const Tensor& operand = at(dot.operands[side]);
    const Index of = strides_of(operand.sizes);
    for (std::size_t k = 0; k < operand.sizes.size(); ++k) {
      if (contains(dot.form.numbers[side], k)) continue;
      const bool is_contracted = contains(dot.form.numbers[side + 2], k);
      if (!is_contracted) sizes.push_back(operand.sizes[k]);
    }
    // Contractions in the order of the dot, then what is free.
    for (const std::int64_t each : dot.form.numbers[side + 2]) {
      own.numbers[side + 2].push_back(std::ssize(sides[side]));
      sides[side].push_back(
          {{of[static_cast<std::size_t>(each)], element_of(operand.sizes, each)}});
    }
    for (std::size_t k = 0; k < operand.sizes.size(); ++k) {
      if (contains(dot.form.numbers[side], k) || contains(dot.form.numbers[side + 2], k)) continue;
      sides[side].push_back({{of[k], operand.sizes[k]}});
    }
    const auto moved_side = make_moved_as(dot.operands[side], sides[side]);
    if (!moved_side) return std::nullopt;
    operands.push_back(*moved_side);
  }
  const auto sum = make(own, operands, dot.kind);
  if (!sum || at(*sum).sizes != sizes) return std::nullopt;
  // Batches that are kept come first, one digit each, then the other dimensions.
  const Index own_strides = strides_of(sizes);
  for (Digits& digits : result) {
    for (Digit& each : digits) {
      const std::size_t dimension = dimension_of(each, dot.sizes, strides);
      if (dimension >= batches) {
        each.stride =
            own_strides[kept.size() + dimension - batches] * (each.stride / strides[dimension]);
        continue;
      }
      for (std::size_t k = 0; k < kept.size(); ++k) {
        if (kept[k].stride != each.stride) continue;
        each.stride = own_strides[k];
        break;
      }
    }
  }
  return make_moved_as(*sum, result);
}

/// Of batches, or what only one operand has.
std::optional<std::size_t> Tensors::slice_of_dot(const Form& form, std::size_t operand) {
  const Tensor& dot = at(operand);
  std::size_t k = 0;
  std::vector<std::size_t> operands = dot.operands;
  const auto cut = [&](std::size_t side, std::size_t dimension) {
    const Index sizes = at(operands[side]).sizes;
    Form own{"slice", "", {Index(sizes.size(), 0), sizes, Index(sizes.size(), 1)}};
    for (std::size_t i = 0; i < 3; ++i) own.numbers[i][dimension] = form.numbers[i][k];
    const auto slice = make(own, {operands[side]}, at(operands[side]).kind);
    if (slice) operands[side] = *slice;
    return slice.has_value();
  };
  for (; k < dot.form.numbers[0].size(); ++k) {
    for (std::size_t side = 0; side < 2; ++side) {
      if (!cut(side, static_cast<std::size_t>(dot.form.numbers[side][k]))) return std::nullopt;
    }
  }
  for (std::size_t side = 0; side < 2; ++side) {
    const std::size_t rank = at(operands[side]).sizes.size();
    for (std::size_t i = 0; i < rank; ++i) {
      if (contains(dot.form.numbers[side], i) || contains(dot.form.numbers[side + 2], i)) continue;
      if (!cut(side, i)) return std::nullopt;
      ++k;
    }
  }
  return make(dot.form, operands, dot.kind);
}

}  // namespace p2::kernel::xla
