#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/hlo/interpreter/algebra.h"
#include "engine/hlo/interpreter/numbers.h"

// Execution of modules on numbers and by random interpretation: the two agree, and do not claim
// more than XLA defines.

namespace p2::hlo {
namespace {

constexpr double kLargestInput = 1e4;

using interpreter::Algebra;
using interpreter::Direction;
using interpreter::Element;
using interpreter::ElementOperation;
using interpreter::Numbers;
using interpreter::Scalar;
using interpreter::Term;

constexpr std::uint64_t kFirstSeed = 1;
constexpr std::uint64_t kSeeds = 5000;
constexpr int kDraws = 12;
constexpr double kRounding = 4e-16;
/// Functions of constants are rounded to f32.
constexpr double kFoldedRounding = 1.3e-7;
/// Below, doubles underflow.
constexpr double kSmallest = 1e-250;

ElementType type_of(const char* name) { return *ElementType::from_xla(name); }

/// A number on one draw of the inputs, and a bound of its rounding error.
struct Sample {
  Scalar value;
  double error = 0;
  bool valid = true;  ///< false: rounding decides, or not finite
};

struct Node {
  ElementType type;
  Term term;
  std::array<Sample, kDraws> samples;
  std::string text;
};

/// Random expressions over few inputs, in both arithmetics.
class Expressions {
 public:
  explicit Expressions(std::uint64_t seed) : algebra_(seed), random_(seed) {}

  void grow(int inputs, int operations) {
    for (int i = 0; i < inputs; ++i) add_input(static_cast<std::uint64_t>(i));
    for (int i = 0; i < 4; ++i) add_constant();
    for (int i = 0; i < operations; ++i) {
      if (below(12) == 0) {
        add_constant();
      } else if (below(25) == 0) {
        add_choice();
      } else if (below(25) == 0) {
        add_dot();
      } else {
        add_operation();
      }
    }
  }

  /// The first claim of a term that its samples contradict.
  std::string contradiction() {
    std::map<std::uint64_t, std::size_t> first;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      if (const std::string wrong = wrong_bounds(node); !wrong.empty()) return wrong;
      const auto [found, added] = first.try_emplace(node.term.value, i);
      const Node& other = nodes_[found->second];
      if (added || other.type != node.type) continue;
      ++compared;
      for (int k = 0; k < kDraws; ++k) {
        if (differ(other.samples[at(k)], node.samples[at(k)], node.type)) {
          return fmt::format("equal terms: {}  and  {}: {} and {}", other.text, node.text,
                             shown(other, k), shown(node, k));
        }
      }
    }
    return wrong_exact_terms();
  }

  std::size_t compared = 0;

 private:
  static std::size_t at(int k) { return static_cast<std::size_t>(k); }
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  ElementType any_type() {
    static const char* const kNames[] = {"f32", "f32", "f32", "f32", "s8",  "u8",   "s16", "u16",
                                         "s32", "s32", "u32", "s64", "u64", "pred", "pred"};
    return type_of(kNames[below(std::size(kNames))]);
  }

  Scalar draw(ElementType type, int k) {
    if (type.is_float()) {
      const double unit = static_cast<double>(random_() >> 11U) * 0x1p-53 * 2 - 1;
      switch ((below(8) + static_cast<std::uint64_t>(k)) % 8) {
        case 0:
          return {static_cast<double>(below(7)) - 3, 0};
        case 1:
          return {unit * kLargestInput, 0};
        case 2:
          return {below(2) == 0 ? kLargestInput : -kLargestInput, 0};
        case 3:
          return {unit * 1e-3, 0};
        default:
          return {unit * 3, 0};
      }
    }
    const std::uint64_t extremes[] = {0,
                                      1,
                                      ~std::uint64_t{0},
                                      std::uint64_t{1} << (type.bits() - 1),
                                      (std::uint64_t{1} << (type.bits() - 1)) - 1,
                                      random_(),
                                      random_(),
                                      below(7)};
    const std::uint64_t bits = extremes[below(std::size(extremes))];
    if (type.kind() == ElementType::Kind::Boolean) {
      return {0, static_cast<std::int64_t>(bits & 1U)};
    }
    return {0, interpreter::wrapped(bits, type)};
  }

  void add_input(std::uint64_t number) {
    Node node;
    node.type = any_type();
    const std::uint64_t keys[] = {number, 7};
    node.term = algebra_.input(keys, node.type);
    for (int k = 0; k < kDraws; ++k) node.samples[at(k)].value = draw(node.type, k);
    node.text = fmt::format("{}:{}", static_cast<char>('p' + number), node.type.name());
    nodes_.push_back(node);
  }

  void add_constant() {
    static const char* const kReals[] = {"0",           "1",  "-1",      "2",  "0.5",       "0.1",
                                         "0.333333343", "-3", "1000000", "64", "0.69314718"};
    static const char* const kWholes[] = {"0", "1", "2", "3", "7", "8", "127", "100"};
    Node node;
    node.type = any_type();
    std::string text = node.type.is_float() ? kReals[below(std::size(kReals))]
                                            : kWholes[below(std::size(kWholes))];
    if (node.type.kind() == ElementType::Kind::Boolean) text = below(2) == 0 ? "0" : "1";
    if (node.type.kind() == ElementType::Kind::Signed && below(3) == 0) text = "-" + text;
    if (node.type.name() == "s64" && below(4) == 0) text = "-9223372036854775808";
    if (node.type.name() == "u64" && below(4) == 0) text = "18446744073709551615";
    const LiteralElement element{{}, text};
    node.term = algebra_.constant(element, node.type);
    const Scalar value = numbers_.constant(element, node.type);
    node.samples.fill({value, kRounding * std::fabs(value.real), true});
    node.text = fmt::format("{}:{}", text, node.type.name());
    nodes_.push_back(node);
  }

  const Node& any_node() { return nodes_[below(nodes_.size())]; }

  const Node* node_of(ElementType type) {
    for (int i = 0; i < 30; ++i) {
      const Node& node = any_node();
      if (node.type == type) return &node;
    }
    return nullptr;
  }

  void add_operation() {
    static const Element kReal[] = {
        Element::Abs,       Element::Add,         Element::Add,
        Element::Add,       Element::Ceil,        Element::Cosine,
        Element::Divide,    Element::Exponential, Element::ExponentialMinusOne,
        Element::Floor,     Element::Log,         Element::LogPlusOne,
        Element::Logistic,  Element::Maximum,     Element::Maximum,
        Element::Minimum,   Element::Minimum,     Element::Multiply,
        Element::Multiply,  Element::Negate,      Element::Negate,
        Element::Power,     Element::Remainder,   Element::RoundAway,
        Element::RoundEven, Element::Rsqrt,       Element::Sign,
        Element::Sine,      Element::Sqrt,        Element::Subtract,
        Element::Subtract,  Element::Subtract,    Element::Tanh,
        Element::Erf,       Element::Cbrt,        Element::Atan2};
    static const Element kWhole[] = {Element::Abs,
                                     Element::Add,
                                     Element::Add,
                                     Element::And,
                                     Element::CountLeadingZeros,
                                     Element::Divide,
                                     Element::Maximum,
                                     Element::Maximum,
                                     Element::Minimum,
                                     Element::Minimum,
                                     Element::Multiply,
                                     Element::Multiply,
                                     Element::MultiplyHigh,
                                     Element::Negate,
                                     Element::Not,
                                     Element::Or,
                                     Element::PopulationCount,
                                     Element::Power,
                                     Element::Remainder,
                                     Element::ShiftLeft,
                                     Element::ShiftRightArithmetic,
                                     Element::ShiftRightLogical,
                                     Element::Sign,
                                     Element::Subtract,
                                     Element::Subtract,
                                     Element::Xor};
    static const Element kLogical[] = {Element::And, Element::Or,      Element::Xor,
                                       Element::Not, Element::Maximum, Element::Minimum,
                                       Element::Add, Element::Multiply};
    const Node& first = any_node();
    const ElementType type = first.type;
    const bool boolean = type.kind() == ElementType::Kind::Boolean;
    std::vector<const Node*> operands = {&first};
    ElementOperation operation{Element::Add, {}, type, type};
    const std::uint64_t kind = below(10);
    if (kind < 2) {
      operation.code = Element::Compare;
      operation.direction = static_cast<Direction>(below(6));
      operation.to = type_of("pred");
      operands.push_back(node_of(type));
    } else if (kind == 2) {
      const Node* const condition = node_of(type_of("pred"));
      operation.code = Element::Select;
      operands = {condition, &first, node_of(type)};
    } else if (kind == 3) {
      operation.code = Element::Convert;
      operation.to = any_type();
    } else if (kind == 4 && !boolean) {
      operation.code = Element::Clamp;
      operands = {node_of(type), &first, node_of(type)};
    } else if (kind == 5 && type.is_integer()) {
      const std::string name(type.name());
      operation.code = Element::BitcastConvert;
      operation.to = type_of(((name[0] == 's' ? "u" : "s") + name.substr(1)).c_str());
    } else {
      operation.code = type.is_float() ? kReal[below(std::size(kReal))]
                       : boolean       ? kLogical[below(std::size(kLogical))]
                                       : kWhole[below(std::size(kWhole))];
      if (is_binary(operation.code)) operands.push_back(node_of(type));
    }
    if (std::find(operands.begin(), operands.end(), nullptr) != operands.end()) return;
    apply(operation, operands);
  }

  static bool is_binary(Element code) {
    switch (code) {
      case Element::Add:
      case Element::And:
      case Element::Atan2:
      case Element::Divide:
      case Element::Maximum:
      case Element::Minimum:
      case Element::Multiply:
      case Element::MultiplyHigh:
      case Element::Or:
      case Element::Power:
      case Element::Remainder:
      case Element::ShiftLeft:
      case Element::ShiftRightArithmetic:
      case Element::ShiftRightLogical:
      case Element::Subtract:
      case Element::Xor:
        return true;
      default:
        return false;
    }
  }

  static bool is_constant(const Node& node) {
    return node.term.high - node.term.low <= 1e-9 * std::fabs(node.term.low);
  }

  void apply(const ElementOperation& operation, const std::vector<const Node*>& operands) {
    Node node;
    node.type = operation.to;
    std::vector<Term> terms;
    node.text = fmt::format("{}{}:{}(", static_cast<int>(operation.code),
                            operation.code == Element::Compare
                                ? fmt::format(".{}", static_cast<int>(operation.direction))
                                : "",
                            node.type.name());
    bool constant = true;
    for (const Node* operand : operands) {
      constant = constant && is_constant(*operand);
      terms.push_back(operand->term);
      node.text += (terms.size() == 1 ? "" : ", ") + operand->text;
    }
    node.text += ")";
    if (node.text.size() > 400) return;
    node.term = algebra_.apply(operation, terms);
    for (int k = 0; k < kDraws; ++k) {
      std::vector<Sample> samples;
      for (const Node* operand : operands) samples.push_back(operand->samples[at(k)]);
      node.samples[at(k)] = applied(operation, samples);
      Sample& sample = node.samples[at(k)];
      if (!constant || !node.type.is_float()) continue;
      const double size = std::fabs(sample.value.real);
      sample.error +=
          kFoldedRounding * (operation.code == Element::ExponentialMinusOne ? 1 + size : size);
      sample.valid = sample.valid && (size == 0 || size > 1e-30);
    }
    nodes_.push_back(std::move(node));
  }

  Sample applied(const ElementOperation& operation, const std::vector<Sample>& operands) {
    std::vector<Scalar> values;
    for (const Sample& operand : operands) values.push_back(operand.value);
    Sample result{numbers_.apply(operation, values), 0, true};
    if (operation.code == Element::Select) {
      const Sample& chosen = operands[operands[0].value.integer != 0 ? 1 : 2];
      return {chosen.value, chosen.error, chosen.valid && operands[0].valid};
    }
    for (const Sample& operand : operands) result.valid = result.valid && operand.valid;
    const bool real = operation.to.is_float();
    if (operation.code == Element::Compare && operation.from.is_float()) {
      const double difference = std::fabs(values[0].real - values[1].real);
      const double error = operands[0].error + operands[1].error;
      result.valid = result.valid && (error == 0 || difference > error);
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].error == 0) continue;
      for (const double side : {-1.0, 1.0}) {
        std::vector<Scalar> moved = values;
        moved[i].real += side * operands[i].error;
        const Scalar other = numbers_.apply(operation, moved);
        if (real) {
          result.error += std::fabs(other.real - result.value.real);
        } else if (other.integer != result.value.integer) {
          result.valid = false;
        }
      }
    }
    if (!real) return result;
    result.value.real += 0.0;  // −0 is 0
    const double size = std::fabs(result.value.real);
    result.error += size * kRounding;
    const bool underflow =
        size < kSmallest &&
        (operation.code == Element::Exponential || operation.code == Element::Logistic ||
         size != 0 ||
         (operation.code == Element::Multiply && values[0].real != 0 && values[1].real != 0) ||
         (operation.code == Element::Divide && values[0].real != 0));
    result.valid = result.valid && size < 1e38 && std::isfinite(result.error) && !underflow;
    // Where doubles absorb a number or an argument is too large for them.
    if (result.error > 1e-3 * size && result.error > 1e-9) result.valid = false;
    return result;
  }

  void add_choice() {
    const Node& index = any_node();
    if (!index.type.is_integer()) return;
    const ElementType type = any_type();
    std::vector<const Node*> nodes;
    std::vector<Term> terms;
    Node node;
    node.text = "choose(" + index.text;
    for (int i = 0; i < 4; ++i) {
      nodes.push_back(node_of(type));
      if (nodes.back() == nullptr) return;
      terms.push_back(nodes.back()->term);
      node.text += ", " + nodes.back()->text;
    }
    node.text += ")";
    if (node.text.size() > 400) return;
    node.type = type;
    node.term = algebra_.choose(index.term, index.type, terms, type);
    for (int k = 0; k < kDraws; ++k) {
      const Sample& place = index.samples[at(k)];
      const bool large =
          index.type.kind() == ElementType::Kind::Unsigned && place.value.integer < 0;
      const std::int64_t number = large ? 3 : std::clamp<std::int64_t>(place.value.integer, 0, 3);
      node.samples[at(k)] = nodes[static_cast<std::size_t>(number)]->samples[at(k)];
      node.samples[at(k)].valid = node.samples[at(k)].valid && place.valid;
    }
    nodes_.push_back(std::move(node));
  }

  void add_dot() {
    const ElementType type = any_type();
    if (type.kind() == ElementType::Kind::Boolean) return;
    Algebra::Accumulator terms;
    std::array<Numbers::Accumulator, kDraws> sums;
    Node node;
    node.text = "dot(";
    for (int i = 0; i < 3; ++i) {
      const Node* const a = node_of(type);
      const Node* const b = node_of(type);
      if (a == nullptr || b == nullptr) return;
      algebra_.add_product(terms, a->term, b->term, type);
      node.text += a->text + "*" + b->text + ", ";
      for (int k = 0; k < kDraws; ++k) {
        const Sample& x = a->samples[at(k)];
        const Sample& y = b->samples[at(k)];
        Sample& sample = node.samples[at(k)];
        numbers_.add_product(sums[at(k)], x.value, y.value, type);
        sample.valid = sample.valid && x.valid && y.valid;
        sample.error += std::fabs(x.value.real) * y.error + std::fabs(y.value.real) * x.error +
                        3 * kRounding * std::fabs(x.value.real * y.value.real);
      }
    }
    if (node.text.size() > 400) return;
    node.type = type;
    node.term = algebra_.result(terms, type);
    for (int k = 0; k < kDraws; ++k) {
      Sample& sample = node.samples[at(k)];
      sample.value = numbers_.result(sums[at(k)], type);
      if (!type.is_float()) sample.error = 0;
      sample.valid = sample.valid && std::isfinite(sample.value.real);
      const double size = std::fabs(sample.value.real);
      if (sample.error > 1e-3 * size && sample.error > 1e-9) sample.valid = false;
    }
    nodes_.push_back(std::move(node));
  }

  static double number_of(const Scalar& value, ElementType type) {
    if (type.is_float()) return value.real;
    return type.kind() == ElementType::Kind::Signed
               ? static_cast<double>(value.integer)
               : static_cast<double>(static_cast<std::uint64_t>(value.integer));
  }

  static bool differ(const Sample& a, const Sample& b, ElementType type) {
    if (!a.valid || !b.valid) return false;
    if (!type.is_float()) return a.value.integer != b.value.integer;
    return std::fabs(a.value.real - b.value.real) >
           4 * (a.error + b.error) + 1e-12 * std::fabs(a.value.real);
  }

  static std::string shown(const Node& node, int k) {
    return fmt::format("{}", number_of(node.samples[at(k)].value, node.type));
  }

  /// Integers are bounded before they wrap around.
  std::string wrong_bounds(const Node& node) {
    const double low = node.term.low;
    const double high = node.term.high;
    for (int k = 0; k < kDraws; ++k) {
      const Sample& sample = node.samples[at(k)];
      if (!sample.valid) continue;
      double value = number_of(sample.value, node.type);
      double slack = 4 * sample.error + 1e-12 * std::fabs(value);
      if (!node.type.is_float()) {
        const double size = std::max(std::fabs(low), std::fabs(high));
        slack = size > 1e14 || node.type.bits() > 50 ? 4096 + 1e-15 * size : 0;
        const double modulus = std::ldexp(1.0, static_cast<int>(node.type.bits()));
        if (node.type.kind() != ElementType::Kind::Boolean && high - low < 1e18) {
          value += std::ceil((low - slack - value) / modulus) * modulus;
          slack *= 2;  // the sum is rounded
        } else if (node.type.kind() != ElementType::Kind::Boolean) {
          continue;
        }
      }
      if (!(value >= low - slack && value <= high + slack)) {
        return fmt::format("bounds [{}, {}] of {}: {}", low, high, node.text, shown(node, k));
      }
      if (node.type.is_float()) continue;
      const auto known = algebra_.as_integer(node.term, node.type);
      if (known && *known != sample.value.integer) {
        return fmt::format("known {} of {}: {}", *known, node.text, shown(node, k));
      }
    }
    return {};
  }

  /// After integers wrap around, terms of all types are real numbers: equal ones are equal.
  std::string wrong_exact_terms() {
    std::map<std::uint64_t, std::size_t> first;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      const Term exact = algebra_.exact(node.term, node.type);
      const auto [found, added] = first.try_emplace(exact.value, i);
      const Node& other = nodes_[found->second];
      for (int k = 0; k < kDraws; ++k) {
        const Sample& sample = node.samples[at(k)];
        if (!sample.valid) continue;
        const double value = number_of(sample.value, node.type);
        const double slack = 4 * sample.error + 1e-12 * std::fabs(value);
        if (!(value >= exact.low - slack && value <= exact.high + slack)) {
          return fmt::format("exact bounds [{}, {}] of {}: {}", exact.low, exact.high, node.text,
                             shown(node, k));
        }
        if (added || other.type == node.type) continue;
        ++compared;
        const Sample& before = other.samples[at(k)];
        if (!before.valid) continue;
        const double same = number_of(before.value, other.type);
        if (std::fabs(value - same) >
            4 * (sample.error + before.error) + 1e-12 * std::fabs(value)) {
          return fmt::format("equal exact terms: {}  and  {}: {} and {}", other.text, node.text,
                             shown(other, k), shown(node, k));
        }
      }
    }
    return {};
  }

  Algebra algebra_;
  Numbers numbers_;
  std::mt19937_64 random_;
  std::vector<Node> nodes_;
};

}  // namespace

TEST_CASE("random interpretation claims nothing that numbers contradict") {
  std::size_t compared = 0;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kSeeds; ++seed) {
    Expressions expressions(seed);
    expressions.grow(3, 60);
    CAPTURE(seed);
    CHECK(expressions.contradiction() == "");
    compared += expressions.compared;
  }
  CHECK(compared > 100'000);  // pairs of equal terms
}

}  // namespace p2::hlo
