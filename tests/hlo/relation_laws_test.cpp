// Laws of look-ups, of integers that constants and positions bound, of broadcasts and of
// convolutions: element by element, and where they do not apply.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/hlo/made_tensors.h"

namespace p2::hlo::small {
namespace {

using kernel::xla::Tensors;
using kernel::xla::type_called;

/// Tensors of several types.
class Laws : private MadeTensors {
 public:
  using MadeTensors::MadeTensors;
  using MadeTensors::simplified;

  void run() {
    for (int k = 0; k < 6; ++k) step();
    check_elements();
  }

 private:
  std::int64_t from_to(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
  }
  bool once_in(std::size_t times) { return below(times) == 0; }
  const Index& sizes(std::size_t k) const { return all_[k].elements.sizes; }

  /// Integers from `low` to `high`, or real numbers that are halves.
  std::size_t input(const std::string& type, const Index& sizes, std::int64_t low = -5,
                    std::int64_t high = 5) {
    Array array{sizes, {}};
    for (std::size_t k = 0; k < indices_of(sizes).size(); ++k) {
      const auto drawn = static_cast<double>(from_to(low, high));
      const double least = type == "s8" ? -128 : type == "s32" ? -2147483648.0 : drawn;
      array.cells.push_back(in_type(once_in(12) ? least : type == "f32" ? drawn / 2 : drawn, type));
    }
    return add_input(std::move(array), type);
  }
  std::size_t constant(const std::string& type, const std::string& literal, const Index& sizes) {
    const std::size_t one = add_scalar(literal, type);
    return sizes.empty() ? one : apply({"broadcast", "", {{}, sizes}}, {one}, type);
  }

  std::string integer_type() { return one_of<std::string>({"s8", "u8", "s32", "u32"}); }
  /// A constant, positions, data, or positions that are moved.
  std::size_t integers(const std::string& type, const Index& sizes) {
    switch (below(4)) {
      case 0:
        return constant(type, std::to_string(from_to(type[0] == 's' ? -3 : 0, 6)), sizes);
      case 1:
        return input(type, sizes, type[0] == 's' ? -5 : 0, 5);
      default: {
        const std::int64_t along = from_to(0, std::ssize(sizes) - 1);
        const std::size_t line = apply({"iota", "", {{along}, sizes}}, {}, type);
        if (once_in(3)) return apply({"reverse", "", {{along}}}, {line}, type);
        return line;
      }
    }
  }

  void step() {
    switch (below(13)) {
      case 11:
        return update();
      case 12:
        return compare_bounded();
      case 9:
        return reduce_parts();
      case 10:
        return choose_quotient();
      case 0:
        return look_up(false);
      case 1:
        return look_up(true);
      case 2:
        return compare();
      case 3:
        return choose();
      case 4:
        return divide();
      case 5:
        return cut_off();
      case 6:
        return of_broadcasts();
      case 7:
        return convolve();
      default:
        return of_truth();
    }
  }

  /// Windows have all along a dimension, one index, or some; indices are data, or zero.
  void look_up(bool is_scatter) {
    const std::string type = one_of<std::string>({"f32", "s8", "s32", "pred"});
    const std::size_t rank = 1 + below(3);
    Index own, window, dropped, map;
    for (std::size_t k = 0; k < rank; ++k) {
      own.push_back(from_to(1, 3));
      const bool is_all = !once_in(3);
      const std::int64_t size = is_all ? own.back() : from_to(1, own.back());
      window.push_back(size);
      if (size == 1 && once_in(2)) dropped.push_back(static_cast<std::int64_t>(k));
      const bool is_dropped = !dropped.empty() && dropped.back() == static_cast<std::int64_t>(k);
      if (is_dropped || once_in(2)) map.push_back(static_cast<std::int64_t>(k));
    }
    std::shuffle(map.begin(), map.end(), random_);
    if (map.empty()) map.push_back(from_to(0, std::ssize(own) - 1));
    // Vectors of indices along a dimension of theirs, or one index each.
    Index of_indices;
    for (std::size_t k = below(3); k-- > 0;) of_indices.push_back(from_to(1, 3));
    Index batches = of_indices;
    const bool is_single = map.size() == 1 && once_in(2);
    const std::int64_t vector =
        is_single ? std::ssize(of_indices) : from_to(0, std::ssize(of_indices));
    if (!is_single) of_indices.insert(of_indices.begin() + vector, std::ssize(map));
    const std::size_t indices = once_in(2) ? constant("s32", once_in(5) ? "1" : "0", of_indices)
                                           : input("s32", of_indices, -1, 3);
    Index offsets, result;
    const std::size_t all = batches.size() + rank - dropped.size();
    std::vector<std::size_t> order(all);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    order.resize(rank - dropped.size());
    std::sort(order.begin(), order.end());
    for (std::size_t k = 0, next = 0; k < all; ++k) {
      const bool is_offset = std::find(order.begin(), order.end(), k) != order.end();
      if (!is_offset) {
        result.push_back(batches[k - offsets.size()]);
        continue;
      }
      while (std::find(dropped.begin(), dropped.end(), static_cast<std::int64_t>(next)) !=
             dropped.end())
        ++next;
      offsets.push_back(static_cast<std::int64_t>(k));
      result.push_back(window[next++]);
    }
    Form form{is_scatter ? "scatter" : "gather", "", {offsets, dropped, map, {}, {}, {vector}}};
    const std::string zero = type == "pred" ? "false" : "0";
    const std::size_t x = is_scatter && once_in(2) ? constant(type, zero, own) : input(type, own);
    if (!is_scatter) {
      form.numbers.push_back(window);
      apply(form, {x, indices}, type);
      return;
    }
    form.text = one_of<std::string>({"add", "add", "add", "maximum"});
    if (type == "pred") form.text = "or";
    apply(form, {x, indices, input(type, result)}, type);
  }

  void compare() {
    const std::string type = integer_type();
    const Index sizes = one_of<Index>({{3}, {2, 3}, {4, 1}});
    const std::size_t x = integers(type, sizes);
    const std::string direction = one_of<std::string>({"EQ", "NE", "LT", "LE", "GT", "GE"});
    const std::size_t truth = apply({"compare", direction, {}}, {x, integers(type, sizes)}, "pred");
    if (once_in(2)) {
      const std::size_t y = integers(type, sizes);
      apply({"select", "", {}}, {truth, y, integers(type, sizes)}, type);
    }
  }

  void choose() {
    const std::string type = one_of<std::string>({"f32", "s32", "pred"});
    const Index sizes = one_of<Index>({{3}, {2, 3}});
    const std::size_t where = once_in(3) ? input("pred", sizes, 0, 1)
                                         : constant("pred", once_in(2) ? "true" : "false", sizes);
    const std::size_t x = input(type, sizes);
    apply({"select", "", {}}, {where, x, input(type, sizes)}, type);
    apply({"compare", once_in(2) ? "EQ" : "NE", {}}, {where, input("pred", sizes, 0, 1)}, "pred");
  }

  void divide() {
    const std::string type = integer_type();
    const Index sizes = {4};
    const std::int64_t divisor = one_of<std::int64_t>({1, 2, 3, 4, 8, 64});
    const std::size_t x = input(type, sizes, type[0] == 's' ? -120 : 0, 120);
    apply({"remainder", "", {}},
          {x, once_in(6) ? integers(type, sizes) : constant(type, std::to_string(divisor), sizes)},
          type);
  }

  void cut_off() {
    const Index sizes = {5};
    const std::string type = once_in(2) ? "f32" : integer_type();
    const std::size_t x = input(type, sizes, type[0] == 'u' ? 0 : -5, 5);
    const auto number = [&] {
      if (once_in(5)) return input(type, sizes, 0, 5);
      if (type == "f32")
        return constant(type, one_of<std::string>({"-1.5", "-1", "0", "0.25", "2"}), sizes);
      return constant(type, std::to_string(from_to(type[0] == 'u' ? 0 : -3, 3)), sizes);
    };
    const std::size_t low = number();
    const std::size_t high = number();
    apply({"clamp", "", {}}, {low, x, high}, type);
    const std::size_t below = apply({"minimum", "", {}}, {x, high}, type);
    apply({"maximum", "", {}}, {low, below}, type);
    const std::size_t above = apply({"maximum", "", {}}, {x, low}, type);
    apply({"minimum", "", {}}, {above, high}, type);
    if (type == "f32")
      apply({"power", "", {}}, {x, constant("f32", once_in(3) ? "2" : "1", sizes)}, "f32");
  }

  /// Of several, along some dimensions, from what is neutral or not.
  void reduce_parts() {
    const std::string type = one_of<std::string>({"f32", "s32", "pred"});
    const auto along = from_to(0, 1);
    std::vector<std::size_t> parts;
    for (std::size_t k = 1 + below(4); k-- > 0;) {
      Index sizes = {2, 2};
      sizes[static_cast<std::size_t>(along)] = from_to(1, 3);
      parts.push_back(input(type, sizes, type == "pred" ? 0 : -5, type == "pred" ? 1 : 5));
    }
    const std::size_t all = apply({"concatenate", "", {{along}}}, parts, type);
    const std::string by = type == "pred" ? one_of<std::string>({"and", "or"})
                                          : one_of<std::string>({"add", "maximum", "multiply"});
    const std::string first = once_in(3)                         ? "1"
                              : by == "and" || by == "multiply"  ? "1"
                              : by == "maximum" && type == "f32" ? "-inf"
                                                                 : "0";
    const std::string literal = type == "pred" ? (first == "1" ? "true" : "false") : first;
    apply({"reduce", by, {one_of<Index>({{0}, {1}, {0, 1}})}}, {all, add_scalar(literal, type)},
          type);
  }

  /// What is divided by a maximum is finite.
  void choose_quotient() {
    const Index sizes = {4};
    const std::size_t x = input("f32", sizes);
    const std::size_t most =
        apply({"maximum", "", {}},
              {input("f32", sizes), constant("f32", once_in(4) ? "0.5" : "1", sizes)}, "f32");
    const std::size_t quotient = apply({"divide", "", {}}, {x, most}, "f32");
    const std::size_t zero = constant("f32", "0", sizes);
    const std::size_t where = input("pred", sizes, 0, 1);
    apply({"select", "", {}},
          once_in(2) ? std::vector<std::size_t>{where, quotient, zero}
                     : std::vector<std::size_t>{where, zero, quotient},
          "f32");
    const std::size_t minus = apply({"negate", "", {}}, {quotient}, "f32");
    const char* const by = once_in(3) ? "-1" : once_in(2) ? "0.25" : "-4";
    const std::size_t scaled =
        apply({"multiply", "", {}}, {minus, constant("f32", by, sizes)}, "f32");
    apply({"negate", "", {}}, {scaled}, "f32");
    apply({"divide", "", {}}, {minus, constant("f32", by, sizes)}, "f32");
  }

  void of_broadcasts() {
    const std::string type = one_of<std::string>({"f32", "s32", "pred"});
    const Index sizes = {from_to(1, 3), from_to(1, 3), from_to(1, 3)};
    const auto wide = [&](const std::string& of) {
      Index dimensions, own;
      for (std::size_t k = 0; k < 3; ++k) {
        if (once_in(2)) continue;
        dimensions.push_back(static_cast<std::int64_t>(k));
        own.push_back(sizes[k]);
      }
      const std::size_t x = once_in(4)
                                ? constant(of, of == "pred" ? "true" : "3", own)
                                : input(of, own, of == "pred" ? 0 : -5, of == "pred" ? 1 : 5);
      return apply({"broadcast", "", {dimensions, sizes}}, {x}, of);
    };
    const std::size_t x = wide(type);
    const std::size_t y = wide(type);
    if (once_in(3)) {
      apply({"select", "", {}}, {wide("pred"), x, y}, type);
    } else if (once_in(2)) {
      apply({"compare", one_of<std::string>({"LT", "NE", "GE"}), {}}, {x, y}, "pred");
    } else {
      const auto names = type == "pred" ? std::vector<std::string>{"and", "or", "xor"}
                                        : std::vector<std::string>{"add", "subtract", "maximum",
                                                                   "multiply", "minimum"};
      apply({one_of(names), "", {}}, {x, y}, type);
    }
  }

  void convolve() {
    const std::int64_t batch = from_to(1, 2), features = from_to(1, 3), line = from_to(2, 4),
                       results = from_to(1, 3), window = from_to(1, 2);
    const auto shuffled = [&](std::string labels) {
      std::shuffle(labels.begin(), labels.end(), random_);
      return labels;
    };
    const std::string in = shuffled("bf0"), kernel = shuffled("oi0"), out = shuffled("bf0");
    Index of_x, of_y, of_result;
    for (const char each : in) of_x.push_back(each == 'b' ? batch : each == 'f' ? features : line);
    for (const char each : kernel)
      of_y.push_back(each == 'o' ? results : each == 'i' ? features : window);
    for (const char each : out)
      of_result.push_back(each == 'b' ? batch : each == 'f' ? results : line - window + 1);
    Form form{"function",
              fmt::format("convolution, dim_labels={}_{}->{}, window={{size={} stride=1 pad=0_0 "
                          "lhs_dilate=1 rhs_dilate=1 rhs_reversal=0}}",
                          in, kernel, out, window),
              {of_x, of_y, of_result}};
    const std::size_t x = input("f32", of_x);
    apply(form, {x, input("f32", of_y)}, "f32");
  }

  /// What begins at constants, in bounds or not, or at data; and an update by a choice between
  /// that and something else.
  void update() {
    const std::string type = one_of<std::string>({"f32", "s32"});
    const std::string of_start = integer_type();
    const Index sizes = {from_to(1, 3), from_to(1, 4)};
    const Index taken = {from_to(1, sizes[0]), from_to(1, sizes[1])};
    const std::size_t x = input(type, sizes);
    const auto starts = [&](std::size_t of) {
      std::vector<std::size_t> operands = {of};
      for (int k = 0; k < 2; ++k) {
        const std::int64_t start = from_to(of_start[0] == 's' ? -3 : 0, 5);
        operands.push_back(once_in(4) ? input(of_start, {}, of_start[0] == 's' ? -3 : 0, 4)
                                      : add_scalar(std::to_string(start), of_start));
      }
      return operands;
    };
    std::vector<std::size_t> operands = starts(once_in(8) ? input(type, sizes) : x);
    const std::size_t slice = apply({"dynamic-slice", "", {taken}}, operands, type);
    operands[0] = x;
    if (once_in(8)) operands = starts(x);
    const Index flat = {taken[0] * taken[1]};
    const bool is_flat = once_in(2);
    const auto shaped = [&](std::size_t of, const Index& to) {
      return is_flat ? apply({"reshape", "", {to}}, {of}, type) : of;
    };
    const Index& own = is_flat ? flat : taken;
    const std::size_t where =
        once_in(4) ? input("pred", own, 0, 1)
                   : apply({"broadcast", "", {{}, own}}, {input("pred", {}, 0, 1)}, "pred");
    const std::size_t old = shaped(once_in(8) ? input(type, taken) : slice, flat);
    const std::size_t y = input(type, own);
    const std::size_t chosen = apply({"select", "", {}},
                                     once_in(2) ? std::vector<std::size_t>{where, old, y}
                                                : std::vector<std::size_t>{where, y, old},
                                     type);
    operands.insert(operands.begin() + 1, shaped(chosen, taken));
    apply({"dynamic-update-slice", "", {}}, operands, type);
  }

  void compare_bounded() {
    const std::string type = integer_type();
    const Index sizes = {3};
    std::size_t x = integers(type, sizes);
    for (std::size_t k = below(3); k-- > 0;) {
      const char* const opcode = once_in(2) ? "maximum" : "minimum";
      x = apply({opcode, "", {}}, {x, integers(type, sizes)}, type);
    }
    const std::string direction = one_of<std::string>({"EQ", "NE", "LT", "LE", "GT", "GE"});
    std::vector<std::size_t> operands = {x, integers(type, sizes)};
    if (once_in(2)) std::swap(operands[0], operands[1]);
    apply({"compare", direction, {}}, operands, "pred");
  }

  void of_truth() {
    const std::string type = integer_type();
    const Index sizes = {2, 2};
    const bool is_scalar = once_in(2);
    std::size_t holds = input("pred", is_scalar ? Index() : sizes, 0, 1);
    const std::string other = std::to_string(from_to(type[0] == 's' ? -1 : 0, 2));
    const std::size_t number = apply({"convert", "", {}}, {holds}, type);
    const std::string direction = one_of<std::string>({"EQ", "NE", "LT", "LE", "GT", "GE"});
    std::size_t compared =
        apply({"compare", direction, {}},
              {number, constant(type, other, is_scalar ? Index() : sizes)}, "pred");
    if (once_in(2)) compared = apply({"not", "", {}}, {compared}, "pred");
    if (is_scalar) {
      holds = apply({"broadcast", "", {{}, sizes}}, {holds}, "pred");
      compared = apply({"broadcast", "", {{}, sizes}}, {compared}, "pred");
    }
    const std::size_t a = input("f32", sizes);
    apply({"select", "", {}}, {compared, a, input("f32", sizes)}, "f32");
    const std::size_t truth = apply({"convert", "", {}}, {holds}, type);
    const std::size_t x = once_in(4) ? truth : integers(type, sizes);
    apply({"multiply", "", {}},
          once_in(2) ? std::vector<std::size_t>{truth, x} : std::vector<std::size_t>{x, truth},
          type);
  }
};

TEST_CASE("look-ups, bounded integers, broadcasts and convolutions are what they make") {
  const char* const more = std::getenv("P2_RELATION_TIMES");
  const auto programs = 4000U * (more == nullptr ? 1U : static_cast<unsigned>(std::atoi(more)));
  std::map<std::string, int> simplified;
  for (std::uint32_t seed = 0; seed < programs; ++seed) {
    Laws laws(seed);
    laws.run();
    for (const auto& [opcode, count] : laws.simplified()) simplified[opcode] += count;
  }
  for (const char* opcode :
       {"clamp", "compare", "divide", "dynamic-slice", "dynamic-update-slice", "function", "gather",
        "maximum", "multiply", "negate", "power", "reduce", "remainder", "scatter", "select"}) {
    CAPTURE(opcode);
    CHECK(simplified[opcode] > 300);
  }
}

/// Tensors of one type, and their numbers.
struct Lines {
  Tensors tensors{{}};
  std::size_t of(const Form& form, const std::vector<std::size_t>& operands,
                 const char* kind = "float") {
    return tensors.make(form, operands, kind).value();
  }
  std::size_t splat(const char* literal, const char* type, const Index& sizes) {
    return of({"broadcast", "", {{}, sizes}}, {tensors.scalar(literal, type_called(type))},
              kernel::xla::kind_of(type_called(type)).c_str());
  }
};

TEST_CASE("a comparison is decided by what positions can be, in their type") {
  Lines lines;
  const std::size_t truth = lines.splat("true", "pred", {4});
  const auto compared = [&](const char* direction, const char* bound, const char* type = "s32",
                            std::int64_t size = 4) {
    const std::size_t iota = lines.of({"iota", "", {{0}, {size}}}, {}, type);
    return lines.of({"compare", direction, {}}, {iota, lines.splat(bound, type, {size})}, "pred");
  };
  CHECK(compared("GE", "0") == truth);
  CHECK(compared("LE", "3") == truth);
  CHECK(compared("LT", "4") == truth);
  CHECK(compared("NE", "-1") == truth);
  CHECK(compared("LT", "0") == lines.splat("false", "pred", {4}));
  for (const auto& [direction, bound] :
       {std::pair("LE", "2"), std::pair("LT", "3"), std::pair("GE", "1"), std::pair("GT", "0"),
        std::pair("EQ", "3"), std::pair("NE", "0")}) {
    CAPTURE(direction);
    CHECK(lines.tensors.at(compared(direction, bound)).form.opcode == "compare");
  }
  // Positions that the type does not count wrap around, or are rounded.
  CHECK(lines.tensors.at(compared("GE", "0", "s8", 200)).form.opcode == "compare");
  CHECK(lines.tensors.at(compared("GE", "0", "s8", 128)).form.opcode == "broadcast");
  const std::size_t real = lines.of({"iota", "", {{0}, {4}}}, {});
  const std::size_t least =
      lines.of({"compare", "GE", {}}, {real, lines.splat("0", "f32", {4})}, "pred");
  CHECK(lines.tensors.at(least).form.opcode == "compare");
}

TEST_CASE("a look-up of all that there is does not depend on the index, an update does") {
  Lines lines;
  const std::size_t x = lines.tensors.input(0, shape_of("f32", {4, 1}));
  const std::size_t data = lines.tensors.input(1, shape_of("s32", {1}));
  const std::size_t zero = lines.splat("0", "s32", {1});
  const Form gather{"gather", "", {{0}, {1}, {1}, {}, {}, {0}, {4, 1}}};
  const std::size_t column = lines.of({"reshape", "", {{4}}}, {x});
  CHECK(lines.of(gather, {x, zero}) == column);
  CHECK(lines.of(gather, {x, data}) == column);
  const std::size_t updates = lines.tensors.input(2, shape_of("f32", {4}));
  const std::size_t none = lines.splat("0", "f32", {4, 1});
  const Form add{"scatter", "add", {{0}, {1}, {1}, {}, {}, {0}}};
  CHECK(lines.of(add, {none, zero, updates}) == lines.of({"reshape", "", {{4, 1}}}, {updates}));
  // An index beyond the array leaves it as it is.
  CHECK(lines.tensors.at(lines.of(add, {none, data, updates})).form.opcode == "scatter");
  const std::size_t one = lines.splat("1", "s32", {1});
  CHECK(lines.tensors.at(lines.of(add, {none, one, updates})).form.opcode == "scatter");
  Form most = add;
  most.text = "maximum";
  CHECK(lines.tensors.at(lines.of(most, {none, zero, updates})).form.opcode == "scatter");
  // Of a part of what there is the index matters.
  const Form part{"gather", "", {{0}, {}, {0}, {}, {}, {1}, {3}}};
  const std::size_t y = lines.tensors.input(3, shape_of("f32", {4}));
  const std::size_t scalar = lines.tensors.input(4, shape_of("s32", {1}));
  CHECK(lines.tensors.at(lines.of(part, {y, scalar})).form.opcode == "gather");
}

TEST_CASE("what is cut off at bounds that cross is not turned round") {
  Lines lines;
  const std::size_t x = lines.tensors.input(0, shape_of("f32", {4}));
  const auto splat = [&](const char* literal) { return lines.splat(literal, "f32", {4}); };
  const auto above = [&](const char* low, const char* high) {
    return lines.of({"maximum", "", {}},
                    {splat(low), lines.of({"minimum", "", {}}, {x, splat(high)})});
  };
  const auto below = [&](const char* low, const char* high) {
    return lines.of({"minimum", "", {}},
                    {splat(high), lines.of({"maximum", "", {}}, {x, splat(low)})});
  };
  CHECK(above("-1", "1") == below("-1", "1"));
  CHECK(above("1", "1") == below("1", "1"));
  CHECK(above("2", "1") != below("2", "1"));
  CHECK(lines.of({"clamp", "", {}}, {splat("2"), x, splat("1")}) == below("2", "1"));
}

// Compilers multiply by it. It is another real number: differences of both, times a large one, are.
TEST_CASE("the rounded inverse of a constant is not its inverse") {
  Lines lines;
  const std::size_t x = lines.tensors.input(0, shape_of("f32", {4}));
  const auto constant = [&](const char* literal) { return lines.splat(literal, "f32", {4}); };
  const auto product = [&](std::size_t y, std::size_t z) {
    return lines.of({"multiply", "", {}}, {y, z});
  };
  const auto quotient = [&](std::size_t y, std::size_t z) {
    return lines.of({"divide", "", {}}, {y, z});
  };
  CHECK(quotient(x, constant("5.65685415")) != product(x, constant("0.176776692")));
  CHECK(quotient(x, constant("11.3137083")) == product(x, constant("0.0883883461")));
  const std::size_t inverse = quotient(constant("1"), x);
  CHECK(quotient(inverse, constant("3.099617")) !=
        quotient(constant("1"), product(constant("3.09961677"), x)));
  CHECK(quotient(inverse, constant("3.099617")) ==
        quotient(constant("1"), product(constant("3.099617"), x)));
}

TEST_CASE("unsigned integers beyond 2^63 are no negative ones") {
  Lines lines;
  const std::size_t most = lines.splat("18446744073709551615", "u64", {4});
  const std::size_t half = lines.splat("9223372036854775808", "u64", {4});
  const std::size_t zero = lines.splat("0", "u64", {4});
  const std::size_t iota = lines.of({"iota", "", {{0}, {4}}}, {}, "u64");
  const std::size_t truth = lines.splat("true", "pred", {4});
  for (const std::size_t large : {most, half}) {
    for (const std::size_t other : {zero, iota}) {
      CHECK(lines.of({"compare", "LT", {}}, {large, other}, "pred") != truth);
      CHECK(lines.of({"compare", "GT", {}}, {other, large}, "pred") != truth);
    }
  }
  CHECK(lines.of({"convert", "", {}}, {most}) != lines.splat("-1", "f32", {4}));
}

TEST_CASE("an attribute with others in its value is none of these") {
  Lines lines;
  const std::size_t x = lines.tensors.input(0, shape_of("f32", {2, 4, 3}));
  const std::size_t kernel = lines.tensors.input(1, shape_of("f32", {1, 3, 3}));
  const auto convolution = [&](const std::string& labels) {
    return lines.of({"function",
                     "convolution, " + labels + ", window={size=1}",
                     {{2, 4, 3}, {1, 3, 3}, {2, 4, 3}}},
                    {x, kernel});
  };
  const std::size_t turned = convolution("dim_labels=b0f_0oi->b0f");
  CHECK(lines.tensors.at(turned).operands[1] == lines.of({"transpose", "", {{0, 2, 1}}}, {kernel}));
  const std::size_t twice =
      convolution("algorithm=a, dim_labels=b0f_0oi->b0f, dim_labels=b0f_0io->b0f");
  CHECK(lines.tensors.at(twice).operands[1] == kernel);
}

}  // namespace
}  // namespace p2::hlo::small
