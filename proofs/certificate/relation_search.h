#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/limits.h"
#include "proofs/certificate/certificate_folder.h"
#include "proofs/kernel/claims.h"
#include "proofs/kernel/xla/related_programs.h"
#include "proofs/kernel/xla/relation.h"

namespace p2 {

/// The facts by which a loop is closed: assumptions about its variables, a fact for each about what
/// that is after an iteration, and one about the condition.
struct ClosedLoop {
  std::vector<std::size_t> assumptions, next;
  std::size_t condition = 0;
};

/// Finds facts about the nodes of a module from inputs to outputs, each with the rules of the
/// checker. What is tried for an operation stands in relation_candidates.cpp and
/// slice_candidates.cpp.
class RelationSearch {
 public:
  using Numbers = std::vector<std::size_t>;
  using Index = kernel::xla::Index;
  using Fact = kernel::xla::Fact;
  using ProgramFact = kernel::xla::RelatedPrograms::ProgramFact;

  static constexpr std::size_t kMaxChoices = 24;  ///< of facts that one follows from

  /// `modules` are to outlive this.
  RelationSearch(kernel::xla::RelatedModules& modules, const Limits& limits);
  RelationSearch(const RelationSearch&) = delete;
  RelationSearch& operator=(const RelationSearch&) = delete;

  /// relation.json, or nothing. Throws LimitReached.
  std::optional<std::string> run(const std::vector<kernel::xla::Relation>& outputs);
  /// Up to where an output is related, where there is no answer to it.
  const std::string& lost() const { return lost_; }

  // Of one of several programs.

  /// By what a fact follows: a line of relation.json.
  struct Line {
    std::size_t node = 0;
    Numbers facts;
    Index hint;
    std::vector<ProgramFact> others = {};  ///< in place of `facts`
    auto operator<=>(const Line&) const = default;
  };
  /// By fact; of inputs nothing.
  const std::vector<Line>& lines() const { return lines_; }
  /// The number of facts about inputs, which come first.
  std::size_t given() const { return given_; }
  const Numbers& facts_of(std::size_t node) const { return of_[node]; }
  /// Those that outputs, or these, are computed from.
  std::vector<bool> needed_nodes(const Numbers& ends) const;
  void relate_node(std::size_t node);
  /// Adds a fact that follows from facts of several programs.
  void add(std::size_t node, std::vector<ProgramFact> others, Fact fact);
  /// The fact about an output that says what a relation says of it; of one that is a sum over
  /// programs, a share of it.
  std::optional<std::size_t> answer_to(std::size_t output, const kernel::xla::Relation& relation,
                                       bool is_share = false);

  // For the facts about a loop.

  /// Facts that are found: all; those where every device has only what the tensor has; those where
  /// devices may have all of it between them; those of a tensor that the other module has, moved or
  /// not.
  enum class Wanted : std::uint8_t { Any, Total, Covering, OfWhole };
  /// Facts about nodes from `begin` to before `end`.
  void relate_nodes(std::size_t begin, std::size_t end);
  /// Facts about a node with whole tensors of these sizes, found where the node allows any.
  Numbers request(std::size_t node, const Index& sizes);
  /// Whether there is a fact by this line; it is added unless it is known, as the last about the
  /// node.
  bool derive(std::size_t node, const Numbers& facts, const Index& hint,
              Wanted wanted = Wanted::Any);
  /// Whether the node has enough facts without another one, about this tensor.
  bool is_full(std::size_t node, std::size_t tensor) const;
  /// Forgets all facts from this number on.
  void forget(std::size_t facts);

 private:
  const Index& sizes_of(std::size_t fact) const {
    return modules_.tensors().at(modules_.facts()[fact].tensor).sizes;
  }
  const Index& own_sizes(std::size_t node) const {
    return modules_.local().nodes[node].shape.sizes;
  }

  /// The same array as a tensor of a manual part of the other module, or as what that makes; or as
  /// a slice of its tensor along what is cut, or a concatenation of such.
  void see_otherwise(std::size_t node);
  void see_slices(std::size_t node, std::size_t fact);
  /// From the first to behind the last index of the whole that any device has.
  std::pair<std::int64_t, std::int64_t> span_of(std::size_t place);
  void see_concatenations(std::size_t node, std::size_t fact);
  bool is_wanted(const Fact& fact, Wanted wanted);
  /// Unless it is known.
  void add_new(Line line, Fact fact);
  Numbers with_sizes(std::size_t node, const Index& sizes) const;
  /// The first node on the way to an output of which nothing is known, though of its operands is.
  std::string lost(std::size_t output, std::size_t number) const;

  // What is tried for an operation.

  /// Facts about a node that follow from those of its operands.
  void relate(std::size_t node);
  /// Facts about a node that is the same in wholes of many sizes, as a broadcast constant is.
  void answer(std::size_t node, const Index& sizes);
  /// Tries all choices of facts about the operands.
  bool derive_all(std::size_t node, const std::vector<Numbers>& choices, const Index& hint,
                  Wanted wanted = Wanted::Any);
  /// Operands that are scalars are so in the whole.
  bool by_elements(std::size_t node, const Index& sizes);
  /// Operands are of tensors of other sizes than each other's: those that the other module's
  /// operations of this kind have.
  void by_known_sizes(std::size_t node);
  /// Of an iota, such as the module has that are longer.
  void longer_iotas(std::size_t node);
  /// Sizes of wholes where the parts that one dimension has are counted in another one.
  static std::vector<Index> counted_elsewhere(const Index& own, const Index& sizes);
  /// Of a reduction of several dimensions, those of one index here that devices have parts of kept.
  void over_others(std::size_t node, const std::vector<Numbers>& choices);
  /// Facts about what a node reduces; where all have parts along what is reduced, such that have
  /// them along other dimensions, too.
  Numbers undivided(std::size_t node);
  /// Of indices that count up along a dimension, and a number that devices know.
  void by_counted(std::size_t node, const Numbers& facts);
  void broadcasts(std::size_t node, const Numbers& facts);
  void reshapes(std::size_t node, const Numbers& facts);
  /// As a reshape that moves what is one part of a dimension here, to a tensor of these sizes; to
  /// one that the other module has, only, if `is_known`. Then what is a part of a part, if no part
  /// can be moved.
  void by_parts(std::size_t node, std::size_t fact, const Index& sizes, bool is_known = false);
  bool by_parts_so_fine(std::size_t node, std::size_t fact, const Index& sizes, bool is_known,
                        bool is_fine);
  /// Of an all-reduce of parts that are side by side.
  void sums(std::size_t node, const Numbers& facts);
  /// A dot of operands in wholes of sizes that fit each other.
  void dots(std::size_t node);
  /// A dot that makes tensors of these sizes.
  void dot_of_sizes(std::size_t node, const Index& sizes);
  /// Asks for the operands of a dot as a dot of the other module has them.
  void as_known_dot(std::size_t node);
  /// Whether every device has one segment at most of every dimension.
  bool is_plain(const Fact& fact) const;
  bool is_any_plain(const Numbers& facts) const;
  /// Where an array has several segments of the whole, how long they are and how far apart there;
  /// of every dimension.
  using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  Runs runs_of(std::size_t fact) const;
  /// Sizes of a whole tensor after a reshape of arrays: where a group of dimensions has more
  /// elements in the whole, the first of its dimensions is larger, or that which segments begin
  /// with, which are `runs` long and as far apart, if there are several. Dimensions of one index
  /// here are taken with those before them, or, with `is_first`, with those after them.
  static Index reshaped(const Index& own, const Index& whole, const Index& to,
                        const Runs& runs = {}, bool is_first = false);
  void slices(std::size_t node, std::size_t fact);
  /// Choices by indices that count up along a dimension that is cut.
  void masks(std::size_t node);
  /// An array of what is padded along several dimensions as one of what is not along one of them.
  void see_unpadded(std::size_t node, std::size_t fact);
  /// Parts of neighbours that are concatenated with an array, as the other module pads it with
  /// zeros.
  void borders(std::size_t node);
  using Edges = std::set<std::pair<std::int64_t, std::int64_t>>;  ///< before and behind
  /// How a tensor may be padded along a dimension: as the other module pads it, or so that arrays
  /// have something of it all along.
  Edges likely_pads(std::size_t fact, std::size_t along);
  /// How a tensor, or what it pads along other dimensions, is padded along one.
  Edges pads_of(std::size_t tensor, std::size_t along);
  /// The hint for a slice of what was joined: of the whole what it is on some device.
  std::optional<Index> joined_part(const kernel::xla::Node& node, std::size_t fact,
                                   Index hint) const;
  /// The tensors that an operation makes of that of a fact.
  Numbers made_of(std::size_t tensor, const std::string& opcode);
  /// Of an operand of which nothing is known; dimensions that another has, too, are its.
  Index likely_sizes(const kernel::xla::Node& node, std::size_t operand) const;
  /// Of the updates of a scatter into an array that this fact is about.
  Index likely_updates(const kernel::xla::Node& node, std::size_t fact) const;

  // What is written.

  /// The facts that these need. What is assumed in a loop needs the fact about what that is after
  /// an iteration, and that about the condition.
  std::vector<bool> used_by(Numbers left) const;
  /// Whether it is about the array that the fact that it comes from is about.
  bool is_seen_otherwise(const Line& line) const {
    return !line.facts.empty() && lines_[line.facts[0]].node == line.node;
  }
  /// The line of a fact about what a loop makes, with those of its assumptions that are used; the
  /// first one of a loop closes it.
  Line closing(Line line, const std::vector<bool>& used, std::set<std::size_t>& closed) const;
  /// Only the facts that the outputs need.
  std::string text_of(const Numbers& answers) const;

  kernel::xla::RelatedModules& modules_;
  LimitWatch watch_;
  std::size_t given_;        ///< facts about inputs
  std::size_t whole_;        ///< tensors of the module that is not partitioned
  std::vector<Numbers> of_;  ///< facts, by node
  std::vector<Line> lines_;  ///< by fact; of inputs nothing
  std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> spans_;  ///< by place
  std::set<Line> tried_;
  std::set<std::pair<std::size_t, Index>> asked_;
  // What was tried and asked, in order, at a number of facts.
  std::vector<std::pair<std::size_t, std::set<Line>::iterator>> tried_by_;
  std::vector<std::pair<std::size_t, std::set<std::pair<std::size_t, Index>>::iterator>> asked_by_;
  std::vector<bool> needed_;
  std::map<std::size_t, std::optional<ClosedLoop>> closed_;  ///< by local loop
  int depth_ = 0;
  std::size_t indexed_ = 0;
  std::map<std::pair<std::size_t, std::string>, Numbers> made_of_;
  std::string lost_;
};

/// Looks for what holds in every iteration of a local loop: begins with what holds before it, and
/// adapts the places of what holds anywhere (of zeros, above all) to what an iteration makes, until
/// that is what was assumed. Of variables in `needed` only. Facts about what the loop makes are
/// then derived; nothing where none is found.
std::optional<ClosedLoop> relate_loop(RelationSearch& search,
                                      const kernel::xla::RelatedModules& modules, std::size_t loop,
                                      const std::vector<bool>& needed);

/// Finds facts about several programs, as far as outputs need them. Throws LimitReached.
void relate_programs(kernel::xla::RelatedPrograms& programs,
                     const std::vector<kernel::xla::ProgramsRelation>& outputs,
                     const Limits& limits);

/// relation.json by a search for what `with_subject` reads of problem.json, or, as the second,
/// where it ends. Throws LimitReached.
template <typename Search, typename Subject, typename Output>
std::variant<std::string, std::string> evidence_by(
    void (*with_subject)(const kernel::Files&,
                         const std::function<void(Subject&, const std::vector<Output>&)>&),
    const CertificateFiles& files, const Limits& limits) {
  std::variant<std::string, std::string> result;
  try {
    with_subject(files, [&](Subject& subject, const std::vector<Output>& outputs) {
      Search search(subject, limits);
      if (auto text = search.run(outputs))
        result.emplace<0>(std::move(*text));
      else
        result.emplace<1>(search.lost());
    });
  } catch (const kernel::CheckFailure& failure) {
    result.emplace<1>(failure.what());
  }
  return result;
}

}  // namespace p2
