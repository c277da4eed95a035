#include "engine/strategy/operation.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace p2::operations {

Wide rounded(Wide numerator, Wide denominator) {
  const Wide whole = numerator / denominator;
  const Wide rest = 2 * (numerator % denominator);
  const bool up = rest > denominator || (rest == denominator && whole % 2 != 0);
  return whole + (up ? 1 : 0);
}

std::int64_t Machine::devices() const {
  std::int64_t product = 1;
  for (const Level& level : levels) product *= level.size;
  return product;
}

Wide Machine::cost_of_words(Wide words, Wide parts, std::int64_t group) const {
  std::int64_t bandwidth = levels.front().bandwidth;
  std::int64_t spanned = levels.front().size;
  for (std::size_t l = 1; l < levels.size() && spanned < group; ++l) {
    bandwidth = std::min(bandwidth, levels[l].bandwidth);
    spanned *= levels[l].size;
  }
  return rounded(words * flops * word_bytes, parts * bandwidth);
}

std::int64_t product(const Configuration& configuration) {
  std::int64_t devices = 1;
  for (const std::int64_t split : configuration) devices *= split;
  return devices;
}

std::int64_t parts(const Axis& axis, const Configuration& configuration) {
  return axis.dimension ? configuration[*axis.dimension] : 1;
}

std::int64_t elements(const Tensor& tensor) {
  std::int64_t count = 1;
  for (const Axis& axis : tensor) count *= axis.length;
  return count;
}

std::int64_t elements_of_part(const Tensor& tensor, const Configuration& configuration) {
  std::int64_t count = 1;
  for (const Axis& axis : tensor) count *= axis.length / parts(axis, configuration);
  return count;
}

namespace {

/// Dimensions: b batch, s sequence, t the sequence that is attended to (of experts: tokens of one
/// expert), h heads or height, w width, d width of a head or of a model, k and c what is summed
/// over, n what is made, l layers, e experts, v vocabulary, r and q the window of a convolution.
const std::vector<Kind> kKinds = {
    {.name = "gemm",
     .dimensions = "b s n k",
     .optional = "s",
     .inputs = {"b s k"},
     .weights = {"k n"},
     .output = "b s n",
     .multiply = 3,
     .model = "n"},
    {.name = "projection",
     .dimensions = "b s h d k",
     .inputs = {"b s k"},
     .weights = {"k h d"},
     .output = "b s h d",
     .multiply = 3,
     .model = "h"},
    {.name = "attention",
     .dimensions = "b s h d t",
     .whole = "d",
     .inputs = {"b s h d", "b t h d", "b t h d"},
     .output = "b s h d",
     .multiply = 6,
     .model = "h"},
    {.name = "merge",
     .dimensions = "b s n h d",
     .inputs = {"b s h d"},
     .weights = {"h d n"},
     .output = "b s n",
     .multiply = 3,
     .model = "h"},
    {.name = "convolution",
     .dimensions = "b c h w r q n",
     .whole = "h w r q",
     .inputs = {"b c h w"},
     .weights = {"c r q n"},
     .output = "b n h w",
     .multiply = 3},
    {.name = "embedding",
     .dimensions = "b s d v",
     .optional = "s",
     .inputs = {"b s"},
     .weights = {"v d"},
     .output = "b s d",
     .pointwise = 2,
     .model = "v"},
    {.name = "lstm",
     .dimensions = "l s b n k",
     .whole = "s",
     .inputs = {"b s k"},
     .weights = {"8 l k n"},
     .output = "b s n",
     .partial = "4 l b s n",
     .work = "l b s n",
     .multiply = 24,
     .pointwise = 36,
     .model = "n"},
    {.name = "pooling",
     .dimensions = "b c h w",
     .whole = "h w",
     .inputs = {"b c h w"},
     .output = "b c h w",
     .pointwise = 1},
    {.name = "mean",
     .dimensions = "b c h w",
     .whole = "h w",
     .inputs = {"b c h w"},
     .output = "b c",
     .work = "b c h w",
     .pointwise = 1},
    {.name = "flatten",
     .dimensions = "b c h w",
     .whole = "h w",
     .inputs = {"b c h w"},
     .output = "b c.h.w"},
    {.name = "batch_norm",
     .dimensions = "b c h w",
     .whole = "h w",
     .inputs = {"b c h w"},
     .weights = {"2 c"},
     .output = "b c h w",
     .partial = "2 c",
     .pointwise = 16},
    {.name = "layer_norm",
     .dimensions = "b s c",
     .optional = "s",
     .inputs = {"b s c"},
     .weights = {"2 c"},
     .output = "b s c",
     .partial = "2 b s",
     .pointwise = 16},
    {.name = "softmax",
     .dimensions = "b s c",
     .optional = "s",
     .inputs = {"b s c"},
     .output = "b s c",
     .partial = "2 b s",
     .pointwise = 4},
    {.name = "loss",
     .dimensions = "b s c",
     .optional = "s",
     .inputs = {"b s c"},
     .output = "b s c",
     .partial = "2 b s",
     .pointwise = 4,
     .model = "c"},
    {.name = "elementwise",
     .dimensions = "*",
     .inputs = {"*"},
     .output = "*",
     .pointwise = 1,
     .many_inputs = true},
    {.name = "concat",
     .dimensions = "b c h w",
     .whole = "c h w",
     .inputs = {"b c h w"},
     .output = "b c h w",
     .many_inputs = true},
    {.name = "dispatch",
     .dimensions = "e t d",
     .inputs = {"? ? d"},
     .output = "e t d",
     .model = "e",
     .scattered = true},
    {.name = "expert",
     .dimensions = "e t n k",
     .inputs = {"e t k"},
     .weights = {"e k n"},
     .output = "e t n",
     .multiply = 3,
     .model = "e"},
    {.name = "combine",
     .dimensions = "b s d",
     .inputs = {"? ? d", "b s ?"},
     .output = "b s d",
     .pointwise = 2,
     .scattered = true},
    {.name = "einsum", .dimensions = "*", .multiply = 1},
};

}  // namespace

const std::vector<Kind>& kinds() { return kKinds; }

namespace {

constexpr std::int64_t kMaxPoints = std::int64_t{1} << 50U;

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

class OperationBuilder {
 public:
  OperationBuilder(const OperationSketch& sketch, const Kind& kind) : sketch_(sketch), kind_(kind) {
    made_.name = sketch.name;
    made_.kind = sketch.kind;
    add_dimensions();
  }

  Operation operation() {
    const bool free = kind_.name == "einsum";
    if (free && sketch_.output.empty()) throw SketchError("an einsum needs an output");
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
  void add_dimensions() {
    std::int64_t points = 1;
    for (const auto& [name, length] : sketch_.dimensions) {
      if (kind_.dimensions != "*" && !names(kind_.dimensions, name)) {
        throw SketchError(
            fmt::format("{} has no dimension {}, expected {}", kind_.name, name, kind_.dimensions));
      }
      if (number(name)) throw SketchError(fmt::format("duplicate dimension {}", name));
      made_.dimensions.push_back({name, length, !names(kind_.whole, name)});
      if (length > kMaxPoints / points) {
        throw SketchError("the operation has more than 2^50 points");
      }
      points *= length;
    }
    for (const std::string& name : words(kind_.dimensions)) {
      if (name == "*" || number(name) || names(kind_.optional, name)) continue;
      throw SketchError(fmt::format("{} lacks the dimension {}, expected {}", kind_.name, name,
                                    kind_.dimensions));
    }
  }

  std::optional<std::size_t> number(const std::string& name) const {
    const auto found = std::ranges::find(made_.dimensions, name, &Dimension::name);
    if (found == made_.dimensions.end()) return std::nullopt;
    return static_cast<std::size_t>(found - made_.dimensions.begin());
  }

  std::optional<std::size_t> role(const std::string& wanted, const std::string& fallback) const {
    const auto found = number(wanted.empty() ? fallback : wanted);
    if (!wanted.empty() && !found) {
      throw SketchError(fmt::format("there is no dimension {}", wanted));
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
          throw SketchError(fmt::format("a tensor has the dimension {} twice", word));
        }
        axes.push_back(*axis);
      }
    }
    std::int64_t left = kMaxPoints << 4U;
    for (const Axis& axis : axes) left /= axis.length;
    if (left == 0) throw SketchError("a tensor has more than 2^54 elements");
    return axes;
  }

  /// Without duplicates, so that the length is at most the number of points of the operation.
  std::optional<Axis> product_axis(const std::string& word) const {
    Axis axis;
    std::set<std::size_t> factors;
    for (const std::string& name : words(word, '.')) {
      const auto dimension = number(name);
      if (!dimension && names(kind_.optional, name)) return std::nullopt;
      if (!dimension) throw SketchError(fmt::format("there is no dimension {}", name));
      if (!axis.dimension) axis.dimension = dimension;
      if (!factors.insert(*dimension).second) {
        throw SketchError(fmt::format(
            "the axis {} has the dimension {} twice, expected each at most once", word, name));
      }
      axis.length *= made_.dimensions[*dimension].length;
    }
    if (!axis.dimension) throw SketchError("an axis has no dimension");
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
    throw SketchError(fmt::format("unknown kind \"{}\", expected one of {}", sketch.kind,
                                  fmt::join(known, ", ")));
  }
  return OperationBuilder(sketch, *kind).operation();
}

}  // namespace p2::operations
