#include "tests/hlo/small_relations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::hlo::small {
namespace {

std::int64_t elements(const Index& sizes) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) all *= size;
  return all;
}

bool has(const Index& list, std::size_t number) {
  return std::find(list.begin(), list.end(), static_cast<std::int64_t>(number)) != list.end();
}

std::size_t number(std::int64_t value) { return static_cast<std::size_t>(value); }

bool is_real(const std::string& type) { return type[0] == 'f' || type == "bf16"; }

double function(const std::string& opcode, double x, const std::string& type) {
  if (opcode == "negate") return in_type(-x, type);
  if (opcode == "not") return type == "pred" ? 1 - x : in_type(-x - 1, type);
  if (opcode == "abs") return in_type(std::fabs(x), type);
  if (opcode == "exponential") return std::exp(x);
  if (opcode == "tanh") return std::tanh(x);
  if (opcode == "rsqrt") return 1 / std::sqrt(x);
  if (opcode == "sqrt") return std::sqrt(x);
  if (opcode == "log") return std::log(x);
  if (opcode == "atanh") return std::atanh(x);
  if (opcode == "convert") {
    return type == "pred" || is_real(type) ? in_type(x, type) : in_type(std::trunc(x), type);
  }
  throw std::out_of_range("no function " + opcode);
}

bool compared(const std::string& direction, double a, double b) {
  const std::string word = direction.substr(0, 2);
  return word == "EQ"   ? a == b
         : word == "NE" ? a != b
         : word == "LT" ? a < b
         : word == "LE" ? a <= b
         : word == "GT" ? a > b
                        : a >= b;
}

double elementwise(const Form& form, const std::vector<double>& x, const std::string& type) {
  const std::string& opcode = form.opcode;
  if (opcode == "select") return x.at(0) != 0 ? x.at(1) : x.at(2);
  if (opcode == "clamp")
    return reduced("minimum", reduced("maximum", x.at(0), x.at(1), type), x.at(2), type);
  if (opcode == "compare") return compared(form.text, x.at(0), x.at(1)) ? 1 : 0;
  if (x.size() == 1) return function(opcode, x[0], type);
  if (opcode == "power") return std::pow(x.at(0), x.at(1));
  return reduced(opcode, x.at(0), x.at(1), type);
}

/// Where a slice of a gather or an update of a scatter begins, by the vector of indices.
Index begin_of(const Index& map, const Index& batching, const Index& of_indices, std::size_t along,
               const Array& indices, Index batch, std::size_t rank) {
  Index begin(rank, 0);
  if (along < indices.sizes.size())
    batch.insert(batch.begin() + static_cast<std::ptrdiff_t>(along), 0);
  for (std::size_t k = 0; k < map.size(); ++k) {
    Index at = batch;
    if (along < at.size()) at[along] = static_cast<std::int64_t>(k);
    begin.at(number(map[k])) = static_cast<std::int64_t>(indices.at(at));
  }
  for (std::size_t k = 0; k < batching.size(); ++k)
    begin.at(number(batching[k])) = batch.at(number(of_indices[k]));
  return begin;
}

Array gathered(const Form& form, const Array& x, const Array& indices, const Index& sizes) {
  const auto& n = form.numbers;
  Array result{sizes, {}};
  for (const Index& index : indices_of(sizes)) {
    Index batch, offset;
    for (std::size_t i = 0; i < index.size(); ++i)
      (has(n[0], i) ? offset : batch).push_back(index[i]);
    Index at = begin_of(n[2], n[3], n[4], number(n[5][0]), indices, batch, x.sizes.size());
    for (std::size_t i = 0, next = 0; i < at.size(); ++i) {
      if (!has(n[3], i)) at[i] = std::clamp<std::int64_t>(at[i], 0, x.sizes[i] - n[6].at(i));
      if (!has(n[1], i) && !has(n[3], i)) at[i] += offset.at(next++);
    }
    result.cells.push_back(x.at(at));
  }
  return result;
}

Array scattered(const Form& form, const Array& x, const Array& indices, const Array& updates,
                const std::string& type) {
  const auto& n = form.numbers;
  Array result = x;
  for (const Index& index : indices_of(updates.sizes)) {
    Index batch, window;
    for (std::size_t i = 0; i < index.size(); ++i)
      (has(n[0], i) ? window : batch).push_back(index[i]);
    Index at = begin_of(n[2], n[3], n[4], number(n[5][0]), indices, batch, x.sizes.size());
    bool is_inside = true;
    for (std::size_t i = 0, next = 0; i < at.size(); ++i) {
      // The whole window has to be inside.
      const bool is_window = !has(n[1], i) && !has(n[3], i);
      std::int64_t size = 1, offset = 0;
      if (is_window) {
        size = updates.sizes.at(number(n[0].at(next)));
        offset = window.at(next++);
      }
      is_inside = is_inside && at[i] >= 0 && at[i] + size <= x.sizes[i];
      at[i] += offset;
    }
    if (is_inside) result.at(at) = reduced(form.text, result.at(at), updates.at(index), type);
  }
  return result;
}

Array product(const Form& form, const Array& x, const Array& y, const Index& sizes,
              const std::string& type) {
  const auto& n = form.numbers;
  Index summed;
  for (const std::int64_t each : n[2]) summed.push_back(x.sizes.at(number(each)));
  Array result{sizes, {}};
  for (const Index& index : indices_of(sizes)) {
    double total = 0;
    for (const Index& along : indices_of(summed)) {
      Index a(x.sizes.size()), b(y.sizes.size());
      std::size_t next = 0;
      for (std::size_t k = 0; k < n[0].size(); ++k)
        a.at(number(n[0][k])) = b.at(number(n[1][k])) = index.at(next++);
      for (std::size_t k = 0; k < along.size(); ++k)
        a.at(number(n[2][k])) = b.at(number(n[3][k])) = along[k];
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (!has(n[0], i) && !has(n[2], i)) a[i] = index.at(next++);
      }
      for (std::size_t i = 0; i < b.size(); ++i) {
        if (!has(n[1], i) && !has(n[3], i)) b[i] = index.at(next++);
      }
      total = reduced("add", total, reduced("multiply", x.at(a), y.at(b), type), type);
    }
    result.cells.push_back(total);
  }
  return result;
}

double constant_of(const std::string& word) {
  if (word == "true" || word == "false") return word == "true" ? 1 : 0;
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  const std::size_t slash = word.find('/');
  return std::stod(word) / (slash == std::string::npos ? 1 : std::stod(word.substr(slash + 1)));
}

/// Padding, and slices at indices that are data.
Array placed(const Form& form, const std::vector<const Array*>& x, const Index& sizes) {
  const auto& n = form.numbers;
  Array result{sizes, std::vector<double>(number(elements(sizes)), 0)};
  if (form.opcode == "pad") {
    std::fill(result.cells.begin(), result.cells.end(), x.at(1)->at(Index{}));
    for (const Index& index : indices_of(x[0]->sizes)) {
      Index at = index;
      bool is_inside = true;
      for (std::size_t i = 0; i < at.size(); ++i) {
        at[i] = n[0].at(i) + index[i] * (n[2].at(i) + 1);
        is_inside = is_inside && at[i] >= 0 && at[i] < sizes[i];
      }
      if (is_inside) result.at(at) = x[0]->at(index);
    }
    return result;
  }
  const bool is_update = form.opcode == "dynamic-update-slice";
  const Index& size = is_update ? x.at(1)->sizes : sizes;
  Index first;
  for (std::size_t i = 0; i < size.size(); ++i)
    first.push_back(std::clamp<std::int64_t>(
        static_cast<std::int64_t>(x.at(i + (is_update ? 2 : 1))->at(Index{})), 0,
        x[0]->sizes.at(i) - size[i]));
  if (is_update) result = *x[0];
  for (const Index& index : indices_of(size)) {
    Index at = index;
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += first[i];
    if (is_update)
      result.at(at) = x[1]->at(index);
    else
      result.at(index) = x[0]->at(at);
  }
  return result;
}

}  // namespace

double& Array::at(const Index& index) {
  std::int64_t place = 0;
  if (index.size() != sizes.size()) throw std::out_of_range("dimensions");
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= sizes[i]) throw std::out_of_range("an index");
    place = place * sizes[i] + index[i];
  }
  return cells.at(number(place));
}
double Array::at(const Index& index) const { return const_cast<Array*>(this)->at(index); }

std::vector<Index> indices_of(const Index& sizes) {
  std::vector<Index> all = {{}};
  for (const std::int64_t size : sizes) {
    std::vector<Index> next;
    for (const Index& each : all) {
      for (std::int64_t i = 0; i < size; ++i) {
        next.push_back(each);
        next.back().push_back(i);
      }
    }
    all = std::move(next);
  }
  return all;
}

double in_type(double value, const std::string& type) {
  if (is_real(type)) return value;
  if (type == "pred") return value != 0 ? 1 : 0;
  const double range = std::ldexp(1, std::stoi(type.substr(1)));
  double rest = value - std::floor(value / range) * range;
  if (type[0] == 's' && rest >= range / 2) rest -= range;
  return rest;
}

kernel::xla::Shape shape_of(const char* type, const Index& sizes) {
  kernel::xla::Shape shape;
  shape.type = kernel::xla::type_called(type);
  shape.sizes = sizes;
  return shape;
}

bool is_same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= 1e-9 * std::max({std::fabs(a), std::fabs(b), 1.0});
}

double reduced(const std::string& opcode, double a, double b, const std::string& type) {
  // A reducer that is printed with its computation.
  if (opcode.find("subtract %0 %1") != std::string::npos) return reduced("subtract", a, b, type);
  if (opcode == "add") return in_type(type == "pred" ? a != 0 || b != 0 : a + b, type);
  if (opcode == "subtract") return in_type(a - b, type);
  if (opcode == "multiply") {
    if (is_real(type)) return a * b;
    // Of up to 32 bits.
    const auto low = static_cast<std::uint64_t>(static_cast<std::int64_t>(a)) *
                     static_cast<std::uint64_t>(static_cast<std::int64_t>(b));
    return in_type(static_cast<double>(low & 0xFFFFFFFFU), type);
  }
  if (opcode == "remainder") return std::fmod(a, b == 0 ? 1 : b);
  if (opcode == "divide") return is_real(type) ? a / b : std::trunc(a / (b == 0 ? 1 : b));
  if (opcode == "maximum") return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
  if (opcode == "minimum") return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
  const auto x = static_cast<std::int64_t>(a);
  const auto y = static_cast<std::int64_t>(b);
  if (opcode == "and") return in_type(static_cast<double>(x & y), type);
  if (opcode == "or") return in_type(static_cast<double>(x | y), type);
  if (opcode == "xor") return in_type(static_cast<double>(x ^ y), type);
  throw std::out_of_range("no operation " + opcode);
}

Array evaluate(const Form& form, const std::vector<const Array*>& x, const Index& sizes,
               const std::string& type) {
  const std::string& opcode = form.opcode;
  const auto& n = form.numbers;
  if (opcode == "dot") return product(form, *x.at(0), *x.at(1), sizes, type);
  if (opcode == "gather") return gathered(form, *x.at(0), *x.at(1), sizes);
  if (opcode == "scatter") return scattered(form, *x.at(0), *x.at(1), *x.at(2), type);
  if (opcode == "pad" || opcode.starts_with("dynamic-")) return placed(form, x, sizes);
  if (opcode == "function") return function_of(form, x, sizes, type);
  Array result{sizes, {}};
  if (opcode == "constant") {
    std::istringstream words(form.text);
    for (std::string word; words >> word;) result.cells.push_back(constant_of(word));
    return result;
  }
  if (opcode == "reshape") {
    result.cells = x.at(0)->cells;
    if (elements(sizes) != std::ssize(result.cells)) throw std::out_of_range("a reshape");
    return result;
  }
  if (opcode == "reduce") {
    Index summed = x.at(0)->sizes;
    for (std::size_t i = 0; i < summed.size(); ++i) summed[i] = has(n[0], i) ? summed[i] : 1;
    for (const Index& index : indices_of(sizes)) {
      double total = x.at(1)->at(Index{});
      for (Index at : indices_of(summed)) {
        for (std::size_t i = 0, next = 0; i < at.size(); ++i) {
          if (!has(n[0], i)) at[i] = index.at(next++);
        }
        total = reduced(form.text, total, x[0]->at(at), type);
      }
      result.cells.push_back(total);
    }
    return result;
  }
  for (const Index& index : indices_of(sizes)) {
    Index at = index;
    if (opcode == "iota") {
      result.cells.push_back(in_type(static_cast<double>(index.at(number(n[0].at(0)))), type));
      continue;
    }
    if (opcode == "broadcast") {
      at.clear();
      for (const std::int64_t each : n[0]) at.push_back(index.at(number(each)));
    } else if (opcode == "transpose") {
      for (std::size_t k = 0; k < at.size(); ++k) at.at(number(n[0].at(k))) = index[k];
    } else if (opcode == "reverse") {
      for (const std::int64_t each : n[0])
        at.at(number(each)) = sizes.at(number(each)) - 1 - at[number(each)];
    } else if (opcode == "slice") {
      for (std::size_t k = 0; k < at.size(); ++k) at[k] = n[0].at(k) + index[k] * n[2].at(k);
    } else if (opcode == "concatenate") {
      std::size_t part = 0;
      std::int64_t& along = at.at(number(n[0].at(0)));
      while (along >= x.at(part)->sizes.at(number(n[0][0])))
        along -= x[part++]->sizes[number(n[0][0])];
      result.cells.push_back(x[part]->at(at));
      continue;
    } else {
      std::vector<double> cells;
      for (const Array* each : x) cells.push_back(each->at(each->sizes.empty() ? Index{} : index));
      result.cells.push_back(elementwise(form, cells, type));
      continue;
    }
    result.cells.push_back(x.at(0)->at(at));
  }
  return result;
}

const Array& WholeTensors::at(std::size_t tensor, const std::optional<Index>& summand) {
  const std::pair key(tensor, summand);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  const auto& known = tensors_.at(tensor);
  if (known.form.opcode == "input") {
    const Array& input = inputs_.at(number(known.form.numbers.at(0).at(0)));
    return known_.emplace(key, input).first->second;
  }
  std::vector<const Array*> operands;
  for (const std::size_t each : known.operands) operands.push_back(&at(each, summand));
  if (known.form.opcode != "summand")
    return known_.emplace(key, evaluate(known.form, operands, known.sizes, known.kind))
        .first->second;
  const Summand one(known.form);
  std::vector<Array> taken;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const auto slice = one.slice_of(k, operands[k]->sizes, summand.value());
    Index sizes;
    for (std::size_t i = 0; i < operands[k]->sizes.size(); ++i)
      sizes.push_back(slice.numbers[1][i] - slice.numbers[0][i]);
    taken.push_back(evaluate(slice, {operands[k]}, sizes, known.kind));
  }
  for (std::size_t k = 0; k < operands.size(); ++k) operands[k] = &taken[k];
  return known_.emplace(key, evaluate(one.form, operands, known.sizes, known.kind)).first->second;
}

Summand::Summand(const Form& of)
    : form{of.text.substr(0, of.text.find(' ')), of.text.substr(of.text.find(' ') + 1),
           of.numbers} {}

Form Summand::slice_of(std::size_t operand, const Index& sizes, const Index& at) const {
  Form slice{"slice", "", {Index(sizes.size(), 0), sizes, Index(sizes.size(), 1)}};
  Index along;
  if (form.opcode == "dot") along = form.numbers.at(operand + 2);
  if (form.opcode == "reduce" && operand == 0) along = form.numbers.at(0);
  if (form.opcode == "reduce") std::sort(along.begin(), along.end());
  for (std::size_t k = 0; k < along.size(); ++k) {
    slice.numbers[0].at(number(along[k])) = at.at(k);
    slice.numbers[1].at(number(along[k])) = at.at(k) + 1;
  }
  return slice;
}

}  // namespace p2::hlo::small
