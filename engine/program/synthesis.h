#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/program/program.h"
#include "engine/program/program_list.h"

namespace p2 {

struct SynthesisOptions {
  Dialect dialect = Dialect::Published;
  Terms terms = {};
  std::uint32_t size = 5;              ///< most steps of a program
  unsigned jobs = 0;                   ///< threads; 0 = one per core
  Limits limits;                       ///< memory is shared out equally among the threads
  SearchProgress* progress = nullptr;  ///< may be watched from another thread
};

/// All valid programs of one placement.
class PlacementPrograms {
 public:
  PlacementPrograms(Instance placed, Dialect dialect, Terms terms, Beginning beginning,
                    std::shared_ptr<const ProgramList> list)
      : instance_(std::move(placed)),
        dialect_(dialect),
        terms_(std::move(terms)),
        beginning_(beginning),
        list_(std::move(list)) {}

  const Instance& instance() const { return instance_; }
  const Beginning& beginning() const { return beginning_; }
  /// A program of the whole system with these steps.
  Program program(std::vector<Step> steps) const {
    return {instance_.grid.devices(), instance_.classes(), std::move(steps), terms_, beginning_};
  }
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
  Terms terms_;
  Beginning beginning_;
  std::shared_ptr<const ProgramList> list_;
};

/// Enumerates the valid programs of every instance: all instances of one problem share one search,
/// different problems run in parallel. The result does not depend on the number of threads. Throws
/// InputError where the goal has no beginning (beginning_of).
std::vector<PlacementPrograms> synthesise(std::vector<Instance> instances,
                                          const SynthesisOptions& options);

}  // namespace p2
