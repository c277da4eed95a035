#pragma once

#include <vector>

#include "engine/program/program_file.h"
#include "proofs/claims/cheapest.h"
#include "proofs/claims/subject.h"

namespace p2::claims {

/// Moves over the factors of a grid with their groups.
std::vector<BareMove> bare_moves(const DeviceGrid& grid, const std::vector<Move>& moves);

/// A program and what it costs.
struct PricedFile {
  ProgramFile file;
  Cost cost;
};
/// Programs whose moves are those of the subject, and programs of bare groups.
std::vector<PricedFile> files_of(const CheaperPrograms& found, const Subject& subject);
std::vector<PricedFile> files_of(const CheaperPrograms& found, const CostProblem& problem,
                                 Dialect dialect);

/// What some programs cost at least, for every α : β.
class BestPrograms {
 public:
  /// For programs of at most `size` steps.
  explicit BestPrograms(std::uint32_t size) : settled_(size) {}

  /// `settled`: there are no others, of at most so many steps, that cost less.
  void add(std::vector<PricedFile> programs, std::uint32_t settled);
  /// Adds the best programs over a hierarchy.
  void add(const Subject& subject, const LatencyBandwidth& network, const Bounds& bounds);

  const CostFront& front() const { return front_; }
  /// Nothing of at most so many steps costs less.
  std::uint32_t settled() const { return settled_; }
  /// One for each of front().costs().
  std::vector<ProgramFile> programs() const;
  /// Those that were added.
  const std::vector<Instance>& hierarchies() const { return hierarchies_; }

 private:
  CostFront front_;
  std::vector<PricedFile> programs_;
  std::vector<Instance> hierarchies_;
  std::uint32_t settled_;
};

/// The best over all kinds of hierarchies of every placed system of so many devices whose reduction
/// classes are these, priced on `network`; programs of at most bounds.size steps.
BestPrograms best_over_hierarchies(std::uint32_t devices, const std::vector<Group>& classes,
                                   Dialect dialect, const LatencyBandwidth& network,
                                   const Bounds& bounds);

}  // namespace p2::claims
