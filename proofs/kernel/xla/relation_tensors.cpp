// Whole tensors as functions of the inputs, and what is equal by form.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "proofs/kernel/input.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {

namespace {

/// Of which operands a result may be zero where an element of theirs may.
enum class Zeros : std::uint8_t { None, First, FirstTwo, AllButFirst, AllButSecond, Any };

struct Elements {
  Zeros zeros = Zeros::None;
  bool makes_no_zero = false;  ///< of constants that are not zero
};

/// Sums, maxima and minima apart. Not by a reduction's initial value if something is added to it.
/// What is not listed, as operations on bits, may be zero.
const std::map<std::string, Elements, std::less<>> kElements = {
    {"abs", {Zeros::First, true}},
    {"broadcast", {Zeros::First, true}},
    {"cbrt", {Zeros::First, true}},
    {"clamp", {Zeros::Any, true}},
    {"concatenate", {Zeros::Any, true}},
    {"constant", {Zeros::None, true}},
    {"convert", {Zeros::First}},
    {"divide", {Zeros::First, true}},
    {"dot", {Zeros::Any}},
    {"dynamic-slice", {Zeros::First, true}},
    {"dynamic-update-slice", {Zeros::FirstTwo, true}},
    {"erf", {Zeros::First}},
    {"exponential", {Zeros::None, true}},
    {"exponential-minus-one", {Zeros::First}},
    {"gather", {Zeros::First, true}},
    {"input", {Zeros::None, true}},
    {"log-plus-one", {Zeros::First}},
    {"logistic", {Zeros::None, true}},
    {"loop", {Zeros::First, true}},
    {"maximum", {Zeros::None, true}},
    {"minimum", {Zeros::None, true}},
    {"multiply", {Zeros::Any, true}},
    {"negate", {Zeros::First, true}},
    {"pad", {Zeros::Any, true}},
    {"power", {Zeros::First}},
    {"reduce", {Zeros::Any}},
    {"reshape", {Zeros::First, true}},
    {"reverse", {Zeros::First, true}},
    {"rsqrt", {Zeros::None, true}},
    {"scatter", {Zeros::AllButSecond}},
    {"select", {Zeros::AllButFirst, true}},
    {"shard", {Zeros::First, true}},
    {"sign", {Zeros::First, true}},
    {"sine", {Zeros::First}},
    {"slice", {Zeros::First, true}},
    {"sqrt", {Zeros::First, true}},
    {"tan", {Zeros::First}},
    {"tanh", {Zeros::First}},
    {"transpose", {Zeros::First, true}},
    {"variable", {Zeros::None, true}},
    {"whole", {Zeros::First, true}},
};

bool is_zero_of(Zeros zeros, std::size_t operand) {
  switch (zeros) {
    case Zeros::None:
      return false;
    case Zeros::First:
      return operand == 0;
    case Zeros::FirstTwo:
      return operand < 2;
    case Zeros::AllButFirst:
      return operand > 0;
    case Zeros::AllButSecond:
      return operand != 1;
    case Zeros::Any:
      return true;
  }
  return true;
}

}  // namespace

std::size_t Tensors::intern(Tensor tensor) {
  const auto [number, is_new] = tensors_.number(std::move(tensor));
  if (!is_new) return number;
  const auto& [form, operands, kind, sizes] = at(number);
  for (const std::size_t each : operands) {
    const auto own = alike_.find(each);
    if (own == alike_.end()) continue;
    const auto [all, is_first] = alike_.emplace(number, own->second);
    if (!is_first) all->second = Places::common(all->second, own->second);
  }
  may_be_infinite_.push_back(false);
  may_be_zero_.push_back(false);
  has_input_.push_back(is_one_of(form.opcode, {"input", "unknown"}) ||
                       std::any_of(operands.begin(), operands.end(),
                                   [&](std::size_t each) { return has_input_[each]; }));
  signs_.push_back(sign_made(at(number)));
  finite_.push_back(makes_finite(at(number)));
  update(number);
  return number;
}

/// What elements may be, by what those of operands may be; whether that is more than was known.
bool Tensors::update(std::size_t number) {
  const Tensor& known = at(number);
  const std::string_view opcode = known.form.opcode;
  const std::string& text = known.form.text;
  const bool calls = opcode != "sort" && text.find("{root") != std::string::npos;
  bool may_be_infinite = is_one_of(opcode, {"bitcast-convert", "unknown"}) || calls ||
                         (opcode == "log-plus-one" && !has_input_[number]);
  if (opcode == "constant")
    may_be_infinite = text.starts_with("of the name ") || text.find("inf") != std::string::npos ||
                      text.find("nan") != std::string::npos;
  const auto found = kElements.find(opcode);
  Elements elements = found == kElements.end() ? Elements{} : found->second;
  if (opcode == "reduce" && text == "add") elements.zeros = Zeros::First;
  const std::string words = " " + text + " ";
  bool may_be_zero = known.kind == "pred" || found == kElements.end() ||
                     (opcode == "convert" && known.kind != "float") ||
                     (opcode == "constant" && (words.find(" 0.0/1.0") != std::string::npos ||
                                               words.find(" 0 ") != std::string::npos));
  for (std::size_t k = 0; k < known.operands.size(); ++k) {
    const bool is_zero = may_be_zero_[known.operands[k]];
    const bool is_pole =
        is_zero && k == (opcode == "divide" ? 1 : 0) &&
        is_one_of(opcode, {"atanh", "divide", "log", "log-plus-one", "power", "rsqrt"});
    may_be_infinite = may_be_infinite || may_be_infinite_[known.operands[k]] || is_pole;
    may_be_zero = may_be_zero || (is_zero && is_zero_of(elements.zeros, k));
  }
  if (is_one_of(opcode, {"add", "subtract", "maximum", "minimum"})) {
    const auto& sides = known.operands;
    const auto is_beyond = [&](std::size_t side) {
      return opcode == "maximum" ? signs_[side] == Sign::Above
                                 : opcode == "minimum" && is_below_zero(side);
    };
    const auto negates = [&](std::size_t side, std::size_t other) {
      return at(side).form.opcode == "negate" && at(side).operands[0] == other;
    };
    const bool is_sum = is_one_of(opcode, {"add", "subtract"});
    const bool first = may_be_zero_[sides[0]], second = may_be_zero_[sides[1]];
    // What may be zero by discrete numbers, as those of a mask, a constant may make zero elsewhere.
    const bool is_balanced = (first && has_input_[sides[0]] && !has_input_[sides[1]]) ||
                             (second && has_input_[sides[1]] && !has_input_[sides[0]]);
    may_be_zero = (is_sum ? (first && second) || is_balanced
                          : (first && !is_beyond(sides[1])) || (second && !is_beyond(sides[0]))) ||
                  (opcode == "subtract" && sides[0] == sides[1]) ||
                  (opcode == "add" && (negates(sides[0], sides[1]) || negates(sides[1], sides[0])));
  }
  // What follows from constants alone is what it is: it may be zero but where the operation makes
  // no zero of what is none. A variable that begins with a constant is taken to be one.
  const bool keeps_numbers = opcode == "convert" && known.kind == "float";
  if (!has_input_[number] && !elements.makes_no_zero && !keeps_numbers) may_be_zero = true;
  if (signs_[number] == Sign::Above) may_be_zero = false;
  return add_to(number, may_be_infinite, may_be_zero);
}

bool Tensors::add_to(std::size_t number, bool may_be_infinite, bool may_be_zero) {
  const bool is_more =
      (may_be_infinite && !may_be_infinite_[number]) || (may_be_zero && !may_be_zero_[number]);
  may_be_infinite_[number] = may_be_infinite_[number] || may_be_infinite;
  may_be_zero_[number] = may_be_zero_[number] || may_be_zero;
  return is_more;
}

/// Whether all elements are one number below zero.
bool Tensors::is_below_zero(std::size_t number) const {
  const Tensor& known = at(number);
  if (known.form.opcode == "broadcast") return is_below_zero(known.operands[0]);
  return known.form.opcode == "constant" && known.sizes.empty() && !may_be_zero_[number] &&
         known.form.text.starts_with("-");
}

bool Tensors::is_zero(std::size_t number) const {
  const Tensor& known = at(number);
  if (known.form.opcode == "broadcast") return is_zero(known.operands[0]);
  return is_scalar(number, "0.0/1.0") || is_scalar(number, "0");
}

std::size_t Tensors::family(Form form, std::vector<std::size_t> operands, const std::string& kind,
                            Index sizes, Numbering alike) {
  const std::size_t number = intern({std::move(form), std::move(operands), kind, std::move(sizes)});
  vary(number, std::move(alike));
  return number;
}

void Tensors::vary(std::size_t number, Numbering alike) {
  const bool is_same =
      std::all_of(alike.begin(), alike.end(), [](std::uint32_t device) { return device == 0; });
  if (is_same)
    alike_.erase(number);
  else
    alike_[number] = std::move(alike);
}

Numbering Tensors::alike(std::size_t number, std::size_t devices) const {
  const auto found = alike_.find(number);
  return found == alike_.end() ? Numbering(devices, 0) : found->second;
}

std::size_t Tensors::variable(std::size_t number, std::size_t first, const Shape& shape) {
  const std::size_t variable = intern({{"variable", "", {{static_cast<std::int64_t>(number)}}},
                                       {},
                                       kind_of(shape.type),
                                       shape.sizes});
  has_input_[variable] = has_input_[first];
  add_to(variable, may_be_infinite_[first], may_be_zero_[first]);
  return variable;
}

std::size_t Tensors::result(std::size_t variable) {
  const Tensor& known = at(variable);
  return intern({{"loop", "", {}}, {variable}, known.kind, known.sizes});
}

void Tensors::spread(const std::vector<std::pair<std::size_t, std::size_t>>& variables) {
  results_.clear();  // Laws ask what elements may be.
  for (bool is_more = !variables.empty(); is_more;) {
    is_more = false;
    for (const auto& [variable, next] : variables)
      is_more = add_to(variable, may_be_infinite_[next], may_be_zero_[next]) || is_more;
    for (std::size_t k = 0; k < tensors_.size(); ++k) is_more = update(k) || is_more;
  }
}

std::size_t Tensors::input(std::size_t number, const Shape& shape) {
  return intern(
      {{"input", "", {{static_cast<std::int64_t>(number)}}}, {}, kind_of(shape.type), shape.sizes});
}

std::size_t Tensors::summand(const Form& form, std::vector<std::size_t> operands, std::size_t sum) {
  const Tensor& whole = at(sum);
  return intern({{"summand", form.opcode + " " + form.text, form.numbers},
                 std::move(operands),
                 whole.kind,
                 whole.sizes});
}

std::size_t Tensors::unknown(const Shape& shape) {
  return intern({{"unknown", "", {{static_cast<std::int64_t>(tensors_.size())}}},
                 {},
                 kind_of(shape.type),
                 shape.sizes});
}

std::optional<std::size_t> Tensors::make(const Form& form, std::vector<std::size_t> operands,
                                         const std::string& kind) {
  const std::size_t number =
      applications_.number({forms_.number(form).first, std::move(operands), kind}).first;
  results_.resize(applications_.size());
  if (!results_[number]) {
    const Application& known = applications_.at(number);
    const auto result = made(forms_.at(known.form), known.operands, known.kind);
    results_[number] = result;
  }
  return *results_[number];
}

std::optional<std::size_t> Tensors::made(const Form& form, std::vector<std::size_t> operands,
                                         const std::string& kind) {
  std::vector<Index> all;
  for (const std::size_t each : operands) all.push_back(at(each).sizes);
  auto sizes = sizes_of(form, all);
  if (!sizes) return std::nullopt;
  const std::string_view opcode = form.opcode;
  const auto has = [&](std::size_t k, const std::string& other) {
    return at(operands[k]).kind == other;
  };
  if (op_called(form.opcode)) {
    const bool is_select = opcode == "select";
    if (is_select && !has(0, "pred")) return std::nullopt;
    for (std::size_t k = is_select ? 1 : 0; k < operands.size(); ++k) {
      if (!has(k, at(operands.back()).kind)) return std::nullopt;
      if (all[k] != *sizes) {
        const auto wide =
            make({"broadcast", "", {{}, *sizes}}, {operands[k]}, at(operands[k]).kind);
        if (!wide) return std::nullopt;
        operands[k] = *wide;
      }
    }
    if (is_select && all[0] != *sizes) {
      const auto wide = make({"broadcast", "", {{}, *sizes}}, {operands[0]}, "pred");
      if (!wide) return std::nullopt;
      operands[0] = *wide;
    }
    const bool changes = is_one_of(opcode, {"convert", "bitcast-convert", "compare", "is-finite"});
    if (!changes && !has(operands.size() - 1, kind)) return std::nullopt;
    if (is_one_of(opcode, {"compare", "is-finite"}) && kind != "pred") return std::nullopt;
    // The order of what is added, multiplied or compared does not matter.
    if (is_one_of(opcode, {"add", "and", "maximum", "minimum", "multiply", "or", "xor"}))
      std::sort(operands.begin(), operands.end());
  } else if (opcode == "dot") {
    if (has(0, "float") != (kind == "float") || has(1, "float") != (kind == "float"))
      return std::nullopt;
  } else if (opcode != "iota" && opcode != "function") {
    const bool has_indices =
        is_one_of(opcode, {"gather", "dynamic-slice", "dynamic-update-slice", "scatter"});
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const bool is_index =
          has_indices && !(k == 0 || (k == 1 && opcode == "dynamic-update-slice") ||
                           (k == 2 && opcode == "scatter"));
      if (!is_index && !has(k, kind)) return std::nullopt;
    }
  }
  struct Level {
    int& depth;
    ~Level() { --depth; }
  };
  const Level level{++depth_};
  if (depth_ > kMaxDepth) not_covered("functions of functions this deep");
  const auto simple = simplified(form, operands, kind);
  return simple ? simple
                : std::optional(intern({form, std::move(operands), kind, std::move(*sizes)}));
}

/// Laws of single operations, by which equal tensors are made the same way.
std::optional<std::size_t> Tensors::simplified(const Form& form,
                                               const std::vector<std::size_t>& operands,
                                               const std::string& kind) {
  const std::string_view opcode = form.opcode;
  if (std::any_of(operands.begin(), operands.end(),
                  [&](std::size_t each) { return is_empty(at(each).sizes); }))
    return std::nullopt;
  if (opcode == "function") {
    if (const auto padded = convolution_of_padded(form, operands, kind)) return padded;
    return canonical_convolution(form, operands, kind);
  }
  if (opcode == "gather") return simple_gather(form, operands, kind);
  if (opcode == "scatter") return simple_scatter(form, operands, kind);
  if (opcode == "iota" && form.numbers[1].size() > 1) {
    const Index size = {element_of(form.numbers[1], form.numbers[0][0])};
    const auto line = make({"iota", "", {{0}, size}}, {}, kind);
    return line ? make({"broadcast", "", {form.numbers[0], form.numbers[1]}}, {*line}, kind)
                : std::nullopt;
  }
  if (opcode == "convert" && at(operands[0]).kind == kind) return operands[0];
  if (op_called(form.opcode)) {
    if (const auto simple = one_of_elements(form, operands, kind)) return simple;
    if (const auto simple = function_of_broadcasts(form, operands, kind)) return simple;
    return elements_of_moved(form, operands, kind);
  }
  if (opcode == "dot") {
    if (const auto simple = product_of_pairs(form, operands, kind)) return simple;
    if (const auto simple = dot_of_padded(form, operands, kind)) return simple;
    if (const auto simple = dot_of_broadcast(form, operands, kind)) return simple;
    return dot_of_moved(form, operands, kind);
  }
  if (opcode == "concatenate") {
    if (const auto simple = joined_slices(form, operands, kind)) return simple;
  }
  if (opcode == "pad") {
    Form plain = form;  // Nothing is between one element and others.
    for (std::size_t k = 0; k < plain.numbers[2].size(); ++k) {
      if (at(operands[0]).sizes.at(k) == 1) plain.numbers[2][k] = 0;
    }
    if (plain != form) return make(plain, operands, kind);
  }
  if (is_one_of(opcode, {"concatenate", "pad", "reduce", "slice"})) {
    if (const auto simple = padded(form, operands, kind)) return simple;
  }
  if (opcode == "concatenate") return concatenation_of_moved(form, operands, kind);
  if (opcode == "reduce") {
    if (const auto simple = reduction_of_parts(form, operands, kind)) return simple;
    if (const auto simple = sum_of_scaled(form, operands, kind)) return simple;
    return reduction_of_moved(form, operands, kind);
  }
  if (opcode == "dynamic-slice" || opcode == "dynamic-update-slice") {
    if (const auto plain = with_plain_starts(form, operands, kind)) return plain;
    if (const auto choice = choice_of_update(form, operands, kind)) return choice;
  }
  if (opcode == "dynamic-slice") return dynamic_slice_of_moved(form, operands);
  if (operands.size() != 1) return std::nullopt;
  const Tensor& x = at(operands[0]);
  const bool is_broadcast = x.form.opcode == "broadcast";
  if (opcode == "reshape" || opcode == "transpose") {
    if (sizes_of(form, {x.sizes}) == x.sizes &&
        (opcode == "reshape" || std::is_sorted(form.numbers[0].begin(), form.numbers[0].end())))
      return operands[0];
    if (x.form.opcode == "constant" && x.sizes.empty())
      return make({"broadcast", "", {{}, form.numbers[0]}}, operands, kind);
    Moved moved = this->moved(operands[0]);
    if (auto dimensions = moved_by(form, moved.dimensions)) {
      moved.dimensions = std::move(*dimensions);
      if (const auto wide = moved_broadcast(moved)) return wide;
      if (const auto wide = reshaped_broadcast(moved)) return wide;
      return make_moved(moved);
    }
    if (opcode == "reshape" && x.form.opcode == "reshape") return make(form, x.operands, kind);
  }
  if (opcode == "broadcast") {
    const Index& order = form.numbers[0];
    if (form.numbers[1] == x.sizes && std::is_sorted(order.begin(), order.end()))
      return operands[0];
    if (!std::is_sorted(order.begin(), order.end())) {
      Index turned(order.size()), sorted = order;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t k = 0; k < order.size(); ++k)
        turned[k] = std::find(order.begin(), order.end(), sorted[k]) - order.begin();
      const auto operand = make({"transpose", "", {turned}}, operands, kind);
      return operand ? make({"broadcast", "", {sorted, form.numbers[1]}}, {*operand}, kind)
                     : std::nullopt;
    }
    // Only dimensions of one index are new.
    const auto elements = [](const Index& sizes) {
      return std::accumulate(sizes.begin(), sizes.end(), 1.0, [](double all, std::int64_t size) {
        return all * static_cast<double>(size);
      });
    };
    if (!order.empty() && std::is_sorted(order.begin(), order.end()) &&
        elements(form.numbers[1]) == elements(x.sizes)) {
      if (const auto same = make({"reshape", "", {form.numbers[1]}}, operands, kind)) return same;
    }
    const Moved way = this->moved(operands[0]);
    if (const auto own = scaled(way.base)) {
      const auto of = make_moved_as(own->of, way.dimensions);
      const auto wide = of ? make(form, {*of}, kind) : std::nullopt;
      return wide ? scaled_by(*wide, own->by) : std::nullopt;
    }
    if (is_broadcast) {
      Index both;
      for (const std::int64_t each : x.form.numbers[0]) both.push_back(element_of(order, each));
      return make({"broadcast", "", {both, form.numbers[1]}}, x.operands, kind);
    }
  }
  if (opcode == "slice") {
    // It ends behind its last element, and one element is no distance from the next.
    const Index sizes = sizes_of(form, {x.sizes}).value();
    if (sizes == x.sizes) return operands[0];
    Form plain = form;
    for (std::size_t k = 0; k < sizes.size() && !is_empty(sizes); ++k) {
      std::int64_t& stride = plain.numbers[2][k];
      if (sizes[k] == 1) stride = 1;
      plain.numbers[1][k] = plain.numbers[0][k] + (sizes[k] - 1) * stride + 1;
    }
    if (plain != form) return make(plain, operands, kind);
  }
  if (opcode == "slice" && x.form.opcode == "dot") return slice_of_dot(form, operands[0]);
  if (opcode == "slice" && x.form.opcode == "concatenate") {
    const auto along = static_cast<std::size_t>(x.form.numbers[0][0]);
    std::int64_t begin = 0;
    for (const std::size_t each : x.operands) {
      const std::int64_t end = begin + at(each).sizes[along];
      Form own = form;
      own.numbers[0][along] -= begin;
      own.numbers[1][along] -= begin;
      const bool is_inside = begin <= form.numbers[0][along] && form.numbers[1][along] <= end;
      if (is_inside && begin < end) return make(own, {each}, kind);
      begin = end;
    }
  }
  if (opcode == "slice") return slice_of_moved(form, operands[0]);
  return std::nullopt;
}

}  // namespace p2::kernel::xla
