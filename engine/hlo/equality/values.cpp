#include "engine/hlo/equality/values.h"

#include <algorithm>

namespace p2::hlo {
namespace {

constexpr std::size_t kAtomHeader = 5;

}  // namespace

Value Values::atom(const Atom& atom) {
  std::vector<std::int64_t> sequence = {
      static_cast<std::int64_t>(atom.kind), atom.source, atom.device, intern_map(atom.map),
      atom.binders.empty() ? static_cast<std::int64_t>(Reducer::Unknown)
                           : static_cast<std::int64_t>(atom.reducer)};
  sequence.insert(sequence.end(), atom.binders.begin(), atom.binders.end());
  return intern(sequence);
}

Value Values::apply(std::uint32_t fingerprint, std::vector<Value> operands, bool commutative) {
  if (commutative) std::sort(operands.begin(), operands.end());
  std::vector<std::int64_t> sequence = {static_cast<std::int64_t>(ValueKind::Apply), fingerprint};
  sequence.insert(sequence.end(), operands.begin(), operands.end());
  return intern(sequence);
}

bool Values::is_atom(Value value) const {
  const ValueKind kind = this->kind(value);
  return kind == ValueKind::Input || kind == ValueKind::Array || kind == ValueKind::Position ||
         kind == ValueKind::Element;
}

std::optional<Number> Values::as_number(Value value) const {
  if (kind(value) != ValueKind::Number) return std::nullopt;
  return Number{store_[value][1], store_[value][2]};
}

Atom Values::as_atom(Value value) const {
  const auto sequence = store_[value];
  return {
      static_cast<ValueKind>(sequence[0]),     sequence[1],
      static_cast<std::uint32_t>(sequence[2]), map(static_cast<std::uint32_t>(sequence[3])),
      static_cast<Reducer>(sequence[4]),       {sequence.begin() + kAtomHeader, sequence.end()}};
}

Linear Values::as_linear(Value value) const {
  if (const auto number = as_number(value)) return {*number, {}};
  if (kind(value) != ValueKind::Sum) return {{}, {{value, {1, 1}}}};
  const auto sequence = store_[value];
  Linear linear{{sequence[1], sequence[2]}, {}};
  for (std::size_t i = 3; i < sequence.size(); i += 3) {
    linear.terms.push_back({static_cast<Value>(sequence[i]), {sequence[i + 1], sequence[i + 2]}});
  }
  return linear;
}

std::vector<std::pair<Value, std::int64_t>> Values::factors(Value value) const {
  const auto sequence = store_[value];
  std::vector<std::pair<Value, std::int64_t>> all;
  for (std::size_t i = 1; i < sequence.size(); i += 2) {
    all.emplace_back(static_cast<Value>(sequence[i]), sequence[i + 1]);
  }
  return all;
}

std::vector<Value> Values::parts(Value value) const {
  const auto sequence = store_[value];
  std::vector<Value> parts;
  const auto take = [&](std::size_t first, std::size_t step) {
    for (std::size_t i = first; i < sequence.size(); i += step) {
      parts.push_back(static_cast<Value>(sequence[i]));
    }
  };
  switch (kind(value)) {
    case ValueKind::Sum:
      take(3, 3);
      break;
    case ValueKind::Product:
      take(1, 2);
      break;
    case ValueKind::Maximum:
    case ValueKind::Minimum:
    case ValueKind::And:
    case ValueKind::Or:
      take(1, 1);
      break;
    case ValueKind::Apply:
      take(2, 1);
      break;
    default:
      break;
  }
  return parts;
}

std::vector<Value> Values::inside(Value value) const {
  std::vector<Value> found = {value};
  std::vector<Value> open = {value};
  std::vector<bool> seen(value + std::size_t{1});
  while (!open.empty()) {
    const Value next = open.back();
    open.pop_back();
    for (const Value part : parts(next)) {
      if (seen[part]) continue;
      seen[part] = true;
      found.push_back(part);
      open.push_back(part);
    }
  }
  std::sort(found.begin(), found.end());  // parts are stored before what they are part of
  return found;
}

bool Values::depends(Value value, const std::vector<Variable>& variables) const {
  for (const Value part : is_atom(value) ? std::vector<Value>{value} : inside(value)) {
    if (!is_atom(part)) continue;
    for (const Coordinate& coordinate : as_atom(part).map) {
      for (const Term& term : coordinate.terms) {
        if (std::find(variables.begin(), variables.end(), term.variable) != variables.end()) {
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace p2::hlo
