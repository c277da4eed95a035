#include "engine/strategy/sketch.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::operations {
namespace {

constexpr std::int64_t kMostPoints = std::int64_t{1} << 50U;

std::vector<std::string> words(const std::string& text, char between = ' ') {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, between);) {
    if (!word.empty()) found.push_back(word);
  }
  return found;
}

bool names(const std::string& list, const std::string& name) {
  return std::ranges::count(words(list), name) > 0;
}

class Maker {
 public:
  Maker(const OperationSketch& sketch, const Kind& kind) : sketch_(sketch), kind_(kind) {
    made_.name = sketch.name;
    made_.kind = sketch.kind;
    take_dimensions();
  }

  Operation operation() {
    const bool free = kind_.name == "einsum";
    if (free && sketch_.output.empty()) throw std::invalid_argument("an einsum needs an output");
    const auto& inputs = free ? sketch_.inputs : kind_.inputs;
    const auto& weights = free ? sketch_.weights : kind_.weights;
    for (const std::string& input : inputs) made_.inputs.push_back(tensor(input));
    for (const std::string& weight : weights) made_.weights.push_back(tensor(weight));
    made_.output = tensor(free ? sketch_.output : kind_.output);
    made_.partial = kind_.partial.empty() ? made_.output : tensor(kind_.partial);
    made_.work = kind_.work.empty() ? made_.output : tensor(kind_.work);
    made_.multiply = kind_.multiply;
    if (free) made_.multiply += std::ssize(inputs) + std::ssize(weights);
    made_.pointwise = sketch_.pointwise.value_or(kind_.pointwise);
    made_.scattered = kind_.scattered;
    made_.data = role(sketch_.data, number("b") ? "b" : "t");
    made_.model = role(sketch_.model, kind_.model);
    return std::move(made_);
  }

 private:
  void take_dimensions() {
    std::int64_t points = 1;
    for (const auto& [name, length] : sketch_.dimensions) {
      if (kind_.dimensions != "*" && !names(kind_.dimensions, name)) {
        throw std::invalid_argument(
            fmt::format("{} has no dimension {}, expected {}", kind_.name, name, kind_.dimensions));
      }
      if (number(name)) throw std::invalid_argument("there is a dimension twice");
      made_.dimensions.push_back({name, length, !names(kind_.whole, name)});
      if (length > kMostPoints / points) {
        throw std::invalid_argument("the operation has more than 2^50 points");
      }
      points *= length;
    }
    for (const std::string& name : words(kind_.dimensions)) {
      if (name == "*" || number(name) || names(kind_.optional, name)) continue;
      throw std::invalid_argument(fmt::format("{} lacks the dimension {}, expected {}", kind_.name,
                                              name, kind_.dimensions));
    }
  }

  std::optional<std::size_t> number(const std::string& name) const {
    const auto found = std::ranges::find(made_.dimensions, name, &Dimension::name);
    if (found == made_.dimensions.end()) return std::nullopt;
    return static_cast<std::size_t>(found - made_.dimensions.begin());
  }

  std::optional<std::size_t> role(const std::string& wanted, const std::string& otherwise) const {
    const auto found = number(wanted.empty() ? otherwise : wanted);
    if (!wanted.empty() && !found) {
      throw std::invalid_argument(fmt::format("there is no dimension {}", wanted));
    }
    return found;
  }

  Tensor tensor(const std::string& text) const {
    Tensor axes;
    std::set<std::size_t> seen;
    for (const std::string& word : words(text)) {
      if (word == "*") {
        for (std::size_t d = 0; d < made_.dimensions.size(); ++d) {
          axes.push_back({d, made_.dimensions[d].length});
        }
      } else if (word == "?") {
        axes.push_back({std::nullopt, 1});
      } else if (word.size() < 6 && word.find_first_not_of("0123456789") == std::string::npos) {
        axes.push_back({std::nullopt, std::max(1LL, std::stoll(word))});
      } else if (const auto axis = product_axis(word)) {
        if (!seen.insert(*axis->dimension).second) {
          throw std::invalid_argument(fmt::format("a tensor has the dimension {} twice", word));
        }
        axes.push_back(*axis);
      }
    }
    std::int64_t left = kMostPoints << 4U;
    for (const Axis& axis : axes) left /= axis.length;
    if (left == 0) throw std::invalid_argument("a tensor has more than 2^54 elements");
    return axes;
  }

  /// No dimension twice, so that a product is at most as long as the operation has points.
  std::optional<Axis> product_axis(const std::string& word) const {
    Axis axis;
    std::set<std::size_t> factors;
    for (const std::string& name : words(word, '.')) {
      const auto dimension = number(name);
      if (!dimension && names(kind_.optional, name)) return std::nullopt;
      if (!dimension) throw std::invalid_argument(fmt::format("there is no dimension {}", name));
      if (!axis.dimension) axis.dimension = dimension;
      if (!factors.insert(*dimension).second) {
        throw std::invalid_argument(fmt::format(
            "the axis {} has the dimension {} twice, expected each at most once", word, name));
      }
      axis.length *= made_.dimensions[*dimension].length;
    }
    if (!axis.dimension) throw std::invalid_argument("an axis has no dimension");
    return axis;
  }

  const OperationSketch& sketch_;
  const Kind& kind_;
  Operation made_;
};

}  // namespace

Operation make_operation(const OperationSketch& sketch) {
  const auto kind = std::ranges::find(kinds(), sketch.kind, &Kind::name);
  if (kind == kinds().end()) {
    std::vector<std::string> known;
    for (const Kind& each : kinds()) known.push_back(each.name);
    throw std::invalid_argument(fmt::format("unknown kind \"{}\", expected one of {}", sketch.kind,
                                            fmt::join(known, ", ")));
  }
  return Maker(sketch, *kind).operation();
}

}  // namespace p2::operations
