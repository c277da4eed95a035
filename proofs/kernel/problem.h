#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proofs/kernel/input.h"

namespace p2::kernel {

/// In the order in which choices are numbered.
inline constexpr const char* kCollectives[] = {"AllReduce", "ReduceScatter", "AllGather", "Reduce",
                                               "Broadcast"};

inline constexpr std::size_t kMaxSteps = 4096;

/// One step of the program that a certificate is about.
struct Step {
  std::string collective;       ///< one of kCollectives
  std::string slice, form;      ///< of an instruction
  std::vector<Numbers> groups;  ///< disjoint, each ascending
  bool instruction = false;     ///< given by slice and form
  bool master = false;          ///< an instruction whose groups only a Master gives

  /// With Master the published dialect, unlike the printed one, lets only AllReduce run.
  bool allowed(bool published) const {
    return !published || !master || collective == kCollectives[0];
  }
  /// `AllReduce(node, InsideGroup)`, or `AllReduce{0,1},{2,3}`.
  std::string text() const;
};

/// A placed reduction and its synthesis hierarchy, from the keys hierarchy, axes, reduce, placement
/// and synthesis_hierarchy of problem.json.
struct Instance {
  /// Of a device id: one per hardware level and axis, if larger than 1.
  struct Digit {
    std::size_t level, axis;
    std::uint32_t size, stride;
    std::size_t part = 0;  ///< the level of the synthesis hierarchy; root, which is left alone
  };

  /// A slice and form, and what they do to every level: leave it alone 0, reduce it 1, pin it 2.
  struct Shape {
    std::string slice, form;
    std::vector<std::size_t> role;
  };

  Instance(const Json& problem, std::uint32_t k);

  /// The reduction classes, ordered by first device.
  std::vector<Numbers> classes() const;
  /// An instruction; rejects unless slice and form are one that forms groups of at least two
  /// devices.
  Step lower(const std::string& slice, const std::string& form) const;
  /// One step for every set of groups and every collective that the dialect allows on it, in the
  /// order of docs/certificates.md.
  std::vector<Step> choices(bool published, Budget& budget) const;

  std::uint32_t devices;
  std::string kind;   ///< of the synthesis hierarchy
  std::string words;  ///< all of it, for sentences
  std::vector<Digit> digits;
  std::vector<bool> reduced_axis;
  std::vector<std::string> levels = {"root"};  ///< of the synthesis hierarchy
  std::vector<Shape> shapes;                   ///< in the order of docs/certificates.md
  bool confined = false;                       ///< no group leaves a reduction class
};

/// What problem.json says of the system, consistent in itself: classes partition the devices, and
/// are those of the instance where there is one.
struct Problem {
  std::uint32_t devices = 0;     ///< and as many chunks
  std::vector<Numbers> classes;  ///< each ascending, ordered by first device
  bool published = true;         ///< the dialect; otherwise printed
  std::optional<Instance> instance;
  std::vector<Step>
      steps;  ///< of the program; instructions form exactly the groups listed with them

  std::string dialect() const { return published ? "published" : "printed"; }
  /// `step 2 (AllReduce)`; steps count from 1.
  std::string name(std::size_t step) const {
    return "step " + std::to_string(step) + " (" + steps[step - 1].collective + ")";
  }
  /// All of the system, for sentences.
  std::string words() const;
  /// Which of the steps are no instruction over the hierarchy that the key `to` of `root` names.
  Numbers lacking(const std::vector<Step>& among, Json root, Budget& budget) const;
  /// Whether some of the groups has devices of several classes.
  bool mixes(const std::vector<Numbers>& groups) const;
};

/// Every set, not empty, of disjoint groups of at least two devices. Rejects more than 6.
std::set<std::vector<Numbers>> disjoint_groups(std::uint32_t devices);

/// What is looked at: the whole system, or, where all classes look alike, the first class alone.
/// Then devices and contributors are positions in the class, chunks stay those of the system, and
/// what holds of one class holds of all, because nothing that the rules look at changes when one
/// class is renamed to another in device order.
struct Stage {
  std::uint32_t devices = 0;
  std::uint32_t chunks = 0;
  std::vector<Numbers> classes;
  std::vector<Step> steps;
  Numbers part;      ///< of every device of the system: its class, or 0 for the whole system
  Numbers position;  ///< of every device of the system: its device on the stage
};

Stage whole_system(const Problem& problem, std::vector<Step> steps);
/// Rejects unless every class is the first one's image in all the steps.
Stage first_class(const Problem& problem, std::vector<Step> steps);

/// `root` has these keys in addition to those of the system. With `steps` among them, they are
/// read.
Problem read_problem(const Json& root, std::vector<std::string> keys, Budget& budget);

/// Sets of contributors, stored once: equal sets have equal numbers, and the empty set has 0.
class Sets {
 public:
  explicit Sets(Budget& budget) : budget_(&budget) { number({}); }

  std::uint32_t number(const Numbers& members);
  const Numbers& members(std::uint32_t number) const { return *members_[number]; }
  bool subset(std::uint32_t small, std::uint32_t large) const;
  /// The union of sets, or nothing where two of them meet.
  std::optional<std::uint32_t> unite(const Numbers& numbers);

 private:
  Budget* budget_;
  std::map<Numbers, std::uint32_t> numbers_;
  std::vector<const Numbers*> members_;
  std::map<Numbers, std::optional<std::uint32_t>> united_;
};

/// The states of all devices: for every device and chunk the set of contributors that it holds.
class System {
 public:
  /// The initial system: device d holds contribution d in all chunks.
  System(const Stage& stage, Budget& budget);

  Sets& sets() { return sets_; }
  /// By chunk, the number of the set that the device holds.
  const Numbers& rows(std::uint32_t device) const { return rows_[device]; }

  /// Runs the step's collective on one of its groups, by the rules of figure 8; or, leaving the
  /// group as it is, returns the rule that forbids it, the first in the order of the tables of
  /// docs/certificates.md.
  const char* run(const Step& step, const Numbers& group);
  /// All groups; rejects where one is forbidden.
  void take(const Step& step, const std::string& name);
  /// Whether every device holds exactly its class in all chunks.
  bool at_goal(const std::vector<Numbers>& classes) const;

 private:
  const char* add(const Numbers& group, Numbers& total);
  const char* gather(const Numbers& group, Numbers& total);
  const char* contain(const Numbers& group) const;

  Budget* budget_;
  Sets sets_;
  std::uint32_t chunks_;
  std::vector<Numbers> rows_;
};

}  // namespace p2::kernel
