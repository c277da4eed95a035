#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/cost/latency_bandwidth.h"
#include "engine/program/program_file.h"
#include "proofs/claims/absent_programs.h"
#include "proofs/claims/claim.h"

/// Costs of programs in the latency-bandwidth model: the cheapest programs for every α : β at once
/// (cheapest.cpp), and the claims about which are cheaper than which (cost_claims.cpp).
namespace p2::claims {

/// Programs of `moves` that reduce within `classes`.
struct CostProblem {
  std::uint32_t devices = 0;  ///< at most 64
  std::vector<Group> classes;
  std::vector<BareMove> moves;
  LatencyBandwidth network;
};

struct PricedProgram {
  Cost cost;
  std::vector<std::uint32_t> path;  ///< moves
};

struct CheaperPrograms {
  /// By number of steps; each is cheaper, for some α : β, than `known` and all before it.
  std::vector<PricedProgram> found;
  /// No other program of at most this many steps is cheaper for any α : β.
  std::uint32_t settled = 0;
  bool any_length = false;  ///< nor is one of any length
};

/// Finds the valid programs that are cheaper, for some α : β, than everything in `known`.
///
/// Multi-criteria label-setting search (E. Q. V. Martins, "On a multicriteria shortest path
/// problem", 1984) over the states of the system, in order of steps, as branch and bound: a label
/// is dropped if another path to the same state dominates it, or if its cost and the lower bound of
/// search.h together are nowhere below what is known. Unless bounds.deep the search stops
/// after 50,000,000 tried moves.
CheaperPrograms cheaper_programs(const CostProblem& problem, CostFront known, const Bounds& bounds);

/// The groups of moves over the factors of a grid.
std::vector<BareMove> bare_moves(const DeviceGrid& grid, const std::vector<Move>& moves);

/// A program and what it costs.
struct PricedFile {
  ProgramFile file;
  Cost cost;
};
/// As programs of the subject's instructions, and as programs of bare groups.
std::vector<PricedFile> files_of(const CheaperPrograms& found, const Subject& subject);
std::vector<PricedFile> files_of(const CheaperPrograms& found, const CostProblem& problem,
                                 Dialect dialect);

/// The lower envelope of the costs of some programs over α : β.
class BestPrograms {
 public:
  /// For programs of at most `size` steps.
  explicit BestPrograms(std::uint32_t size) : settled_(size) {}

  /// `settled`: no others of at most this many steps cost less.
  void add(std::vector<PricedFile> programs, std::uint32_t settled);
  /// Adds the best programs over a hierarchy.
  void add(const Subject& subject, const LatencyBandwidth& network, const Bounds& bounds);

  const CostFront& front() const { return front_; }
  /// No program of at most this many steps costs less.
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

/// The best over all kinds of hierarchies of every placed system of this many devices whose
/// reduction classes are these, priced on `network`; programs of at most bounds.size steps.
BestPrograms best_over_hierarchies(std::uint32_t devices, const std::vector<Group>& classes,
                                   Dialect dialect, const LatencyBandwidth& network,
                                   const Bounds& bounds);

/// The networks that claims about costs are asked for. In all of them a device has a port of its
/// own; latency is the same everywhere.
enum class CostModel : std::uint8_t {
  Homogeneous,  ///< no shared links
  TwoLevel,     ///< all devices of a node, an instance of the outermost level, share its NIC, on
                ///< which a byte takes ten times as long
  Tiered,  ///< the devices of an instance of every level share a link, ten times slower at each
           ///< level outwards
};

/// `homogeneous`, `two-level`, `tiered`.
std::string_view to_string(CostModel model);

/// Levels of size 1 do not count. With one level left all networks are homogeneous.
LatencyBandwidth network_of(const Hierarchy& hierarchy, CostModel model);

/// An answer about costs, with the programs that it rests on.
struct CostSettlement {
  Settlement answer;
  LatencyBandwidth network;
  /// No program of any length costs less than the least of these.
  std::vector<ProgramFile> programs;
  bool any_length = false;
  /// The hierarchies they are compared with, and the best programs over these.
  std::vector<Instance> hierarchies;
  std::vector<ProgramFile> over_hierarchies;
};

/// No valid program over any disjoint groups is cheaper, for any α : β, than all programs over
/// hierarchies. Undecided on more than 6 devices.
CostSettlement no_groups_are_cheaper(const Subject& subject, const Bounds& bounds, CostModel model);

/// No valid program over any disjoint groups is cheaper, for any α : β, than all those whose groups
/// stay in their classes, which need not be those of a placement. At most 6 devices.
CostSettlement no_mixing_is_cheaper(std::uint32_t devices, const std::vector<Group>& classes,
                                    const LatencyBandwidth& network, const Bounds& bounds);

/// No program over the lattice is cheaper, for any α : β, than all over (d) and over collapsed.
CostSettlement lattice_gains_nothing(const Subject& subject, const Bounds& bounds, CostModel model);

}  // namespace p2::claims
