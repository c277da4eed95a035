#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/collective/language/definition.h"
#include "engine/collective/language/token_stream.h"

namespace p2::language {

/// What a let costs each expression that calls it, its own calls written out.
struct Extent {
  std::size_t nodes = 0;
  std::size_t depth = 0;
  std::size_t variables = 0;  ///< bound at one place of its body, parameters not counted
};

/// What the names mean at one place of a definition, and how much of the limits is used up. All
/// errors are thrown through `tokens`, which must outlive the scope.
class Scope {
 public:
  explicit Scope(const TokenStream& tokens) : tokens_(tokens) {}

  /// Fails if `name` means something already.
  void check_new(const Token& name) const;
  /// Brings the variable `name` into scope.
  Variable bind(const Token& name, Sort sort);
  /// Takes the last `count` variables out of scope.
  void release(std::size_t count);
  const Variable* find_variable(std::string_view name) const;

  /// From here on the let can be called.
  void define(Let let, const Extent& extent);
  std::optional<std::uint32_t> find_let(std::string_view name) const;
  const Let& let(std::uint32_t index) const { return lets_[index]; }
  std::vector<Let> take_lets() { return std::move(lets_); }

  /// Accounts for one more node.
  void add_node(std::size_t offset);
  /// Accounts for a call of a let at this place and returns the depth below the call.
  std::size_t add_call(std::uint32_t let, std::size_t offset);
  /// Nodes so far, and since `forget_variables` the most variables bound at one place.
  std::size_t nodes() const { return nodes_; }
  std::size_t most_variables() const { return most_variables_; }
  void forget_variables() { most_variables_ = 0; }

 private:
  void count_variables(std::size_t variables, std::size_t offset);
  void count_nodes(std::size_t nodes, std::size_t offset);

  const TokenStream& tokens_;
  std::vector<Variable> variables_;
  std::vector<Let> lets_;
  std::vector<Extent> extents_;
  std::size_t nodes_ = 0;
  std::size_t most_variables_ = 0;
};

}  // namespace p2::language
