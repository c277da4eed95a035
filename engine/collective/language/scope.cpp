#include "engine/collective/language/scope.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace p2::language {

void Scope::check_new(const Token& name) const {
  const bool variable = find_variable(name.text) != nullptr;
  if (!variable && !find_let(name.text)) return;
  tokens_.fail(name.offset, fmt::format("'{}' is already a {} here, expected another name",
                                        name.text, variable ? "variable" : "let"));
}

Variable Scope::bind(const Token& name, Sort sort) {
  check_new(name);
  const auto slot = static_cast<std::uint32_t>(variables_.size());
  variables_.push_back({std::string(name.text), sort, slot});
  count_variables(variables_.size(), name.offset);
  return variables_.back();
}

void Scope::release(std::size_t count) { variables_.resize(variables_.size() - count); }

const Variable* Scope::find_variable(std::string_view name) const {
  const auto found = std::find_if(variables_.begin(), variables_.end(),
                                  [&](const Variable& known) { return known.name == name; });
  return found == variables_.end() ? nullptr : &*found;
}

void Scope::define(Let let, const Extent& extent) {
  lets_.push_back(std::move(let));
  extents_.push_back(extent);
}

std::optional<std::uint32_t> Scope::find_let(std::string_view name) const {
  for (std::uint32_t i = 0; i < lets_.size(); ++i) {
    if (lets_[i].name == name) return i;
  }
  return std::nullopt;
}

void Scope::add_node(std::size_t offset) { count_nodes(1, offset); }

std::size_t Scope::add_call(std::uint32_t let, std::size_t offset) {
  const Extent& extent = extents_[let];
  count_nodes(extent.nodes, offset);
  count_variables(variables_.size() + extent.variables, offset);
  return extent.depth;
}

void Scope::count_variables(std::size_t variables, std::size_t offset) {
  most_variables_ = std::max(most_variables_, variables);
  if (variables <= kMaxVariables) return;
  tokens_.fail(offset, fmt::format("more than {} variables bound at one place, lets written out",
                                   kMaxVariables));
}

void Scope::count_nodes(std::size_t nodes, std::size_t offset) {
  nodes_ += nodes;
  if (nodes_ <= kMaxNodes) return;
  tokens_.fail(offset, fmt::format("the definition has more than {} operations and operands, lets "
                                   "written out",
                                   kMaxNodes));
}

}  // namespace p2::language
