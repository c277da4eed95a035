#pragma once

#include <vector>

#include "proofs/kernel/xla/relation.h"

namespace p2 {

/// What the search for facts about a loop needs of that for facts about all nodes.
class FactSearch {
 public:
  using Numbers = std::vector<std::size_t>;

  FactSearch() = default;
  FactSearch(const FactSearch&) = delete;
  FactSearch& operator=(const FactSearch&) = delete;
  virtual ~FactSearch() = default;

  /// Facts about nodes from `begin` to before `end`.
  virtual void relate_nodes(std::size_t begin, std::size_t end) = 0;
  virtual const Numbers& facts_of(std::size_t node) const = 0;
  /// Those with whole tensors of these sizes, found where the node allows any.
  virtual Numbers request(std::size_t node, const kernel::xla::Index& sizes) = 0;
  /// Whether there is a fact by this line; it is the last about the node.
  virtual bool derive(std::size_t node, const Numbers& facts, const kernel::xla::Index& hint) = 0;
  /// Forgets all facts from this number on.
  virtual void forget(std::size_t facts) = 0;
};

/// The facts by which a loop is closed: assumptions about its variables, a fact for each about what
/// that is after an iteration, and one about the condition.
struct ClosedLoop {
  FactSearch::Numbers assumptions, next;
  std::size_t condition = 0;
};

/// Looks for what holds in every iteration of a local loop: begins with what holds before it, and
/// adapts the places of what holds anywhere (of zeros, above all) to what an iteration makes, until
/// that is what was assumed. Of variables in `needed` only. Facts about what the loop makes are
/// then derived; nothing where none is found.
std::optional<ClosedLoop> relate_loop(FactSearch& search,
                                      const kernel::xla::RelatedModules& modules, std::size_t loop,
                                      const std::vector<bool>& needed);

}  // namespace p2
