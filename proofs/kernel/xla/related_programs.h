#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "proofs/kernel/xla/programs.h"
#include "proofs/kernel/xla/relation.h"

namespace p2::kernel::xla {

/// How the devices of several programs hold one tensor of the module that is not partitioned.
struct ProgramsRelation {
  const Relation* relation = nullptr;          ///< on all devices
  std::map<std::size_t, std::size_t> numbers;  ///< by program, of the input or output there
};

/// Facts about the arrays of several programs, each about the devices of its program.
class RelatedPrograms {
 public:
  RelatedPrograms(const Module& whole, const Programs& programs,
                  const std::vector<ProgramsRelation>& inputs, Budget& budget);

  const Programs& programs() const { return programs_; }
  const WholeModule& whole() const { return whole_; }
  RelatedModules& at(std::size_t program) { return *related_.at(program); }

  /// A node of a program.
  using ProgramNode = std::pair<std::size_t, std::size_t>;
  /// Of a node that other programs have a part in, the nodes that its fact follows from; empty for
  /// any other.
  const std::vector<ProgramNode>& origins(const ProgramNode& node) const;

  /// A program, and the number of one of its facts.
  using ProgramFact = std::pair<std::size_t, std::size_t>;
  /// As RelatedModules::follows().
  std::optional<Fact> follows(const ProgramNode& node, const std::vector<ProgramFact>& facts,
                              const Index& hint);
  /// Whether the facts, one for every program that holds some of an output, say what the relation
  /// says of it.
  bool answers(const std::vector<ProgramFact>& facts, std::size_t output,
               const ProgramsRelation& relation);

 private:
  bool answers_by_parts(const std::vector<ProgramFact>& facts, std::size_t output,
                        const ProgramsRelation& relation);
  /// By device of a program that receives: which of the origins has what it gets, and on which
  /// device of its program; nobody's is kNobody.
  using Route = std::vector<std::pair<std::size_t, std::size_t>>;
  static constexpr std::pair kNobody = {SIZE_MAX, SIZE_MAX};
  struct Exchange {
    std::vector<ProgramNode> origins;
    Site site;
    std::size_t route = 0;  ///< of what is received, in routes_
  };
  /// What is sent along a route, of one dimension.
  struct Sent {
    std::size_t route = 0;
    const Places* to = nullptr;
    std::vector<std::pair<const Places*, std::size_t>> places;  ///< of every origin
    auto operator<=>(const Sent&) const = default;
  };
  /// How a program's devices hold what it has a number of: many tensors are held alike.
  std::shared_ptr<Relation> held(std::size_t program, const ProgramsRelation& relation);
  void find_exchanges();
  std::optional<Fact> received(const ProgramNode& node, const Exchange& exchange,
                               const std::vector<const Fact*>& facts);
  std::optional<Fact> united(const ProgramNode& node, const Exchange& exchange,
                             const std::vector<const Fact*>& facts);

  const Programs& programs_;
  Budget& budget_;
  WholeModule whole_;
  std::vector<std::unique_ptr<RelatedModules>> related_;
  std::map<ProgramNode, Exchange> exchanges_;
  std::map<std::pair<std::size_t, const Relation*>, std::shared_ptr<Relation>> held_;
  Interned<Route> routes_;
  std::map<Sent, std::size_t> sent_;  ///< its place in `to`
};

/// The relation on the devices of one program; nothing if it has nothing of the tensor.
std::optional<Relation> relation_on(const Programs& programs, std::size_t program,
                                    const ProgramsRelation& relation);

/// For writers of certificates: hands the programs of problem.json to `prove`, with the relation of
/// outputs.
void with_related_programs(
    const Files& files,
    const std::function<void(RelatedPrograms& programs,
                             const std::vector<ProgramsRelation>& outputs)>& prove);

}  // namespace p2::kernel::xla
