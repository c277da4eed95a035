// Symbolic values in words: for a counterexample, and where an undecided comparison stopped.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hlo/equality/comparison.h"

namespace p2::hlo {
std::string devices_in_words(const std::vector<std::uint32_t>& sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    text += text.empty() ? "" : ", ";
    text += end - i > 2 ? fmt::format("{}–{}", sorted[i], sorted[end - 1])
                        : fmt::format("{}", sorted[i]);
    i = end - i > 2 ? end : i + 1;
  }
  return fmt::format("device{} {}", sorted.size() == 1 ? "" : "s", text);
}

namespace {

constexpr std::size_t kMaxDescribedTerms = 6;
constexpr int kMaxDescriptionDepth = 3;

std::string name_of_input(const Flow& flow, std::int64_t input) {
  for (const Node& node : flow.nodes) {
    if (node.op == Op::Parameter && node.parameter == input) return node.instruction->name;
  }
  return fmt::format("input {}", input);
}

std::string index_text(const IndexMap& map) {
  std::vector<std::string> coordinates;
  for (const Coordinate& coordinate : map) {
    std::string text =
        coordinate.base != 0 || coordinate.terms.empty() ? fmt::format("{}", coordinate.base) : "";
    for (const Term& term : coordinate.terms) {
      const std::string name = term.variable < 0 ? "offset"
                               : term.variable >= kBinder
                                   ? fmt::format("i{}", term.variable % kBinder)
                                   : fmt::format("v{}", term.variable);
      text += text.empty() ? "" : "+";
      text += term.stride == 1 ? name : fmt::format("{}·{}", term.stride, name);
    }
    coordinates.push_back(text);
  }
  return fmt::format("[{}]", fmt::join(coordinates, ","));
}

/// A term, and the devices of whose inputs it is taken.
struct SharedTerm {
  std::string text;
  std::vector<std::uint32_t> devices;
};

std::string binder_text(const Atom& atom) {
  if (atom.binders.empty()) return "";
  std::vector<std::string> ranges;
  for (std::size_t k = 0; k < atom.binders.size(); ++k) {
    ranges.push_back(fmt::format("i{} < {}", k, atom.binders[k]));
  }
  return fmt::format(" ({} over {})", to_string(atom.reducer), fmt::join(ranges, ", "));
}

std::string describe(const ComparisonContext& context, const Flow& flow, Value value, int depth);

void describe_term(const ComparisonContext& context, const Flow& flow, Value value,
                   const std::string& factor, int depth, std::vector<SharedTerm>& all) {
  const Values& values = context.values;
  std::string what;
  std::vector<std::uint32_t> devices;
  if (values.kind(value) == ValueKind::Input) {
    const Atom atom = values.as_atom(value);
    what = name_of_input(flow, atom.source) + index_text(atom.map) + binder_text(atom);
    devices = {atom.device};
  } else if (values.kind(value) == ValueKind::Element) {
    what = "the result of an uninterpreted operation at " + index_text(values.as_atom(value).map);
  } else if (values.kind(value) == ValueKind::Closed) {
    const Value definition = values.children(value)[0];
    what = fmt::format("({} over {} of {})", to_string(values.reducer_of_closed(value)),
                       index_text(values.as_atom(value).map),
                       describe(context, flow, values.children(definition)[0], depth + 1));
  } else if (values.kind(value) == ValueKind::Apply) {
    const std::string& function = context.fingerprints.text(values.fingerprint(value));
    what = fmt::format(
        "{}({})", function == "added in order" ? function : function.substr(0, function.find(' ')),
        describe(context, flow, values.children(value)[0], depth + 1) +
            (values.children(value).size() > 1 ? ", …" : ""));
  } else {
    what = describe(context, flow, value, depth + 1);
  }
  what = factor + what;
  for (SharedTerm& each : all) {
    if (each.text != what || devices.empty()) continue;
    each.devices.push_back(devices[0]);
    return;
  }
  all.push_back({what, devices});
}

std::string describe(const ComparisonContext& context, const Flow& flow, Value value, int depth) {
  if (depth == kMaxDescriptionDepth) return "…";
  const Values& values = context.values;
  if (const auto number = values.as_number(value)) return to_string(*number);
  const ValueKind kind = values.kind(value);
  if (kind == ValueKind::Text) return context.fingerprints.text(values.fingerprint(value));
  if (kind == ValueKind::Array) return "a constant at " + index_text(values.as_atom(value).map);
  if (kind == ValueKind::Position) return "a position";
  std::vector<SharedTerm> terms;
  std::string between = " + ";
  std::string prefix;
  if (kind == ValueKind::Sum) {
    const Linear linear = values.as_linear(value);
    for (const LinearTerm& term : linear.terms) {
      const Number factor = term.coefficient;
      describe_term(context, flow, term.value,
                    factor == Number{1, 1} ? "" : to_string(factor) + "·", depth, terms);
    }
    if (!linear.constant.is_zero()) terms.push_back({to_string(linear.constant), {}});
  } else if (kind >= ValueKind::Product && kind <= ValueKind::Or) {
    between = ", ";
    prefix = kind == ValueKind::Product   ? "the product of "
             : kind == ValueKind::Maximum ? "the largest of "
             : kind == ValueKind::Minimum ? "the least of "
             : kind == ValueKind::And     ? "all of "
                                          : "any of ";
    for (const Value part : values.children(value))
      describe_term(context, flow, part, "", depth, terms);
  } else {
    describe_term(context, flow, value, "", depth, terms);
  }
  std::string text;
  for (std::size_t i = 0; i < terms.size() && i < kMaxDescribedTerms; ++i) {
    std::sort(terms[i].devices.begin(), terms[i].devices.end());
    text += text.empty() ? "" : between;
    text += terms[i].text;
    if (terms[i].devices.empty()) continue;
    text += " of " + devices_in_words(terms[i].devices);
  }
  if (terms.size() > kMaxDescribedTerms)
    text += fmt::format(" and {} more", terms.size() - kMaxDescribedTerms);
  return prefix + text;
}

}  // namespace

std::string text_of(const ComparisonContext& context, const Flow& flow, Value value) {
  return describe(context, flow, value, 0);
}

}  // namespace p2::hlo
