#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/program/program.h"
#include "engine/synthesis/program_list.h"

namespace p2 {

struct SynthesisOptions {
  Dialect dialect = Dialect::Published;
  std::uint32_t size = 5;              ///< most steps of a program
  unsigned jobs = 0;                   ///< threads; 0 = one per core
  Limits limits;                       ///< memory is shared out equally among the threads
  SearchProgress* progress = nullptr;  ///< may be watched from another thread
};

/// All valid programs of one placement.
class PlacementPrograms {
 public:
  PlacementPrograms(Instance placed, Dialect dialect, std::shared_ptr<const ProgramList> list)
      : instance_(std::move(placed)), dialect_(dialect), list_(std::move(list)) {}

  const Instance& instance() const { return instance_; }
  const ProgramList& list() const { return *list_; }
  /// Calls `visit` with the steps of every program, without groups, in the order of ProgramList.
  void for_each(const std::function<void(const std::vector<Step>& steps)>& visit) const;
  /// The same as a list.
  std::vector<std::vector<Step>> programs() const;
  /// The same with the groups of the whole system.
  void for_each_lowered(const std::function<void(const Program& program)>& visit) const;

 private:
  Instance instance_;
  Dialect dialect_;
  std::shared_ptr<const ProgramList> list_;
};

/// Enumerates the valid programs of every instance: all instances of one problem share one search,
/// different problems run in parallel. The result does not depend on the number of threads.
std::vector<PlacementPrograms> synthesise(std::vector<Instance> instances,
                                          const SynthesisOptions& options);

}  // namespace p2
