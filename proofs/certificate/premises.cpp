// What a claim may take as given: constants that a compiler computed of others and rounded, found
// by their values, and what a module multiplies by masks.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/hlo/interpreter/numbers.h"
#include "proofs/certificate/subject_certificates.h"
#include "proofs/kernel/claims.h"
#include "proofs/kernel/xla/relation.h"

namespace p2 {
namespace {

/// The magnitude of a scalar constant, with the text of that.
struct Magnitude {
  std::string type, text;
  double value = 0;
  bool is_negative = false;
  auto operator<=>(const Magnitude&) const = default;
};

/// Of numbers that are not too small for them; 0 for types that are not looked at.
int digits_of(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, int>, 4> kDigits{
      {{"bf16", 8}, {"f16", 11}, {"f32", 24}, {"f64", 53}}};
  for (const auto& [name, digits] : kDigits) {
    if (name == type) return digits;
  }
  return 0;
}

double rounded(double value, const std::string& type) {
  return hlo::interpreter::rounded_constant(value, hlo::ElementType::from_xla(type).value());
}

/// The scalar constants of lines `x = f32[] constant(0.1)` that are neither zero nor infinite.
std::set<Magnitude> scalars_of(const std::string& text) {
  static constexpr std::string_view kConstant = " constant(";
  std::set<Magnitude> all;
  for (std::size_t at = text.find(kConstant); at != std::string::npos;
       at = text.find(kConstant, at + 1)) {
    const std::size_t line = text.rfind('\n', at) + 1;
    const std::size_t equals = text.find(" = ", line);
    const std::size_t bracket = text.find("[]", line);
    const std::size_t end = text.find(')', at);
    if (equals >= at || bracket >= at || bracket < equals || end == std::string::npos) continue;
    Magnitude found{text.substr(equals + 3, bracket - equals - 3),
                    text.substr(at + kConstant.size(), end - at - kConstant.size())};
    if (digits_of(found.type) == 0 || found.text.empty()) continue;
    found.is_negative = found.text[0] == '-';
    if (found.is_negative) found.text.erase(0, 1);
    char* rest = nullptr;
    found.value = rounded(std::strtod(found.text.c_str(), &rest), found.type);
    if (*rest == '\0' && std::isfinite(found.value) && found.value > 0) all.insert(found);
  }
  return all;
}

/// A fraction of small numbers, as which it is read anyway.
bool is_simple(const Magnitude& constant) {
  for (double denominator = 1; denominator < 4096; ++denominator) {
    const double numerator = std::nearbyint(constant.value * denominator);
    if (numerator * denominator < 4096 &&
        rounded(numerator / denominator, constant.type) == constant.value)
      return true;
  }
  return false;
}

}  // namespace

std::string FoldedConstant::words() const {
  return fmt::format("{} as {} {} {}", text, operands[0], opcode == "multiply" ? "·" : "/",
                     operands[1]);
}

namespace {

/// Folds of the constants of one type.
class FoldSearch {
 public:
  FoldSearch(std::string type, std::vector<Magnitude> operands)
      : type_(std::move(type)), digits_(digits_of(type_)), operands_(std::move(operands)) {
    // Those that compilers make most often come first: dividing by a constant is multiplying by its
    // inverse.
    const Magnitude one{type_, "1", 1};
    for (const Magnitude& each : operands_) add_result("divide", one, each);
    if (operands_.size() > kMaxPaired) return;
    for (const Magnitude& a : operands_) {
      for (const Magnitude& b : operands_) {
        if (b.value >= a.value) add_result("multiply", a, b);
      }
    }
    for (const Magnitude& a : operands_) {
      for (const Magnitude& b : operands_) add_result("divide", a, b);
    }
  }

  /// Adds what makes this constant of one operation, or of two.
  void find(const Magnitude& constant, std::vector<FoldedConstant>& found) const {
    const std::string sign = constant.is_negative ? "-" : "";
    const auto is_it = [&](double value) { return is_rounded(value, constant.value); };
    // What is an operand of another stands before that one, once.
    const auto add = [&](const std::string& text, const std::string& opcode, const std::string& a,
                         const std::string& b) {
      const bool is_known = std::any_of(found.begin(), found.end(), [&](const auto& other) {
        return other.type == type_ && other.text == text;
      });
      if (!is_known) found.push_back({type_, text, opcode, {a, b}});
    };
    for (const Result& each : results_) {
      if (each.value != constant.value) continue;
      return add(sign + constant.text, each.opcode, sign + each.a, each.b);
    }
    if (operands_.size() > kMaxNested) return;
    for (const Result& inner : results_) {
      for (const Magnitude& each : operands_) {
        const bool is_product = is_it(inner.value * each.value);
        const bool is_part = !is_product && is_it(inner.value / each.value);
        if (!is_product && !is_part && !is_it(each.value / inner.value)) continue;
        const std::string text = fmt::format("{:.{}g}", inner.value, digits_ > 24 ? 17 : 9);
        add(text, inner.opcode, inner.a, inner.b);
        return add(sign + constant.text, is_product ? "multiply" : "divide",
                   sign + (is_part ? text : each.text), is_part ? each.text : text);
      }
    }
  }

 private:
  /// Of so many constants all operations on two are tried, and on three.
  static constexpr std::size_t kMaxPaired = 1024, kMaxNested = 64;

  /// One operation on two constants, rounded.
  struct Result {
    double value = 0;
    std::string opcode, a, b;
  };

  /// Whether a number is rounded to `value`, which has all digits of its type.
  bool is_rounded(double number, double value) const {
    return std::fabs(number - value) <= std::ldexp(value, -digits_) &&
           rounded(number, type_) == value;
  }

  void add_result(const std::string& opcode, const Magnitude& a, const Magnitude& b) {
    const double exact = opcode == "multiply" ? a.value * b.value : a.value / b.value;
    const double value = rounded(exact, type_);
    if (is_rounded(exact, value)) results_.push_back({value, opcode, a.text, b.text});
  }

  std::string type_;
  int digits_;
  std::vector<Magnitude> operands_;
  std::vector<Result> results_;
};

}  // namespace

std::vector<FoldedConstant> folded_constants(const std::string& before, const std::string& after) {
  std::map<std::string, std::map<double, Magnitude>> known;
  for (const Magnitude& each : scalars_of(before)) known[each.type].try_emplace(each.value, each);
  std::map<std::string, std::map<double, Magnitude>> folded;
  for (const Magnitude& each : scalars_of(after)) {
    if (!known[each.type].contains(each.value) && !is_simple(each))
      folded[each.type].try_emplace(each.is_negative ? -each.value : each.value, each);
  }
  std::vector<FoldedConstant> found;
  for (const auto& [type, constants] : folded) {
    std::vector<Magnitude> operands;
    for (const auto& [value, each] : known[type]) operands.push_back(each);
    const FoldSearch search(type, std::move(operands));
    for (const auto& [value, each] : constants) search.find(each, found);
  }
  return found;
}

using kernel::xla::RelatedModules;
using kernel::xla::Tensors;

std::vector<std::string> finite_candidates(const CertificateFiles& problem) try {
  std::set<std::string> found;
  kernel::xla::with_related_modules(problem, [&](RelatedModules& modules, const auto&) {
    const Tensors& tensors = modules.tensors();
    // A tensor, and what it has the elements of.
    const auto origins = [&](std::size_t number, bool may_be_wide) {
      std::vector<std::size_t> all = {number};
      const auto is_moved = [&](const std::string& opcode) {
        return opcode == "reshape" || opcode == "transpose" ||
               (may_be_wide && opcode == "broadcast");
      };
      while (is_moved(tensors.at(all.back()).form.opcode))
        all.push_back(tensors.at(all.back()).operands[0]);
      return all;
    };
    const auto is_mask = [&](std::size_t number) {
      const Tensors::Tensor& known = tensors.at(origins(number, true).back());
      return known.form.opcode == "convert" && tensors.at(known.operands[0]).kind == "pred";
    };
    std::map<std::size_t, std::string> names = modules.names_of_entry();
    for (const auto& [number, name] : modules.names_of_entry()) {
      for (const std::size_t each : origins(number, false)) names.try_emplace(each, name);
    }
    const auto take = [&](std::size_t number) {
      const auto factors = origins(number, true);
      const auto factor = std::find_if(factors.rbegin(), factors.rend(), [&](std::size_t each) {
        return names.contains(each) && !tensors.is_finite(each) && tensors.can_be_finite(each);
      });
      if (factor != factors.rend()) found.insert(names.at(*factor));
    };
    for (std::size_t k = 0; k < tensors.count(); ++k) {
      const auto& [form, operands, kind, sizes] = tensors.at(k);
      if (kind != "float") continue;
      const bool is_padded =
          form.text.starts_with("convolution,") && form.text.find(" pad=") != std::string::npos;
      if (is_padded && tensors.may_be_infinite(operands.at(1))) take(operands[1]);
      if (!kernel::xla::is_one_of(form.opcode, {"dot", "multiply"})) continue;
      for (std::size_t side = 0; side < 2; ++side) {
        if (is_mask(operands[side])) take(operands[1 - side]);
      }
    }
  });
  return {found.begin(), found.end()};
} catch (const kernel::CheckFailure&) {
  return {};
}

}  // namespace p2
