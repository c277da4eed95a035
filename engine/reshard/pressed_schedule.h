#pragma once

#include <cstdint>
#include <vector>

#include "engine/reshard/scheduling_problem.h"

namespace p2 {

/// A schedule as far as it is made, with what is left for everything that does one task at a time:
/// senders, receivers, and the cliques that take the longest, in one numbering.
struct PressedSchedule {
  std::vector<std::uint16_t> left;  ///< tasks, by class
  std::vector<double> free;         ///< when each becomes free
  std::vector<double> work;         ///< what each is left with; senders of a task share it
  double now = 0;                   ///< nothing that is left starts before
  double end = 0;
  std::uint64_t key = 0;  ///< equal where the same tasks are left, and hardly ever otherwise
  std::size_t step = 0;   ///< for who makes it
};

/// Judges partial schedules by what they leave for hosts and cliques to do.
class Pressure {
 public:
  /// `enough`: when everything should be done.
  Pressure(const SchedulingProblem& problem, double enough);

  PressedSchedule nothing_started() const;
  /// When a task of class `number` could start if `sender` sent it.
  double earliest(const PressedSchedule& from, std::size_t number, std::size_t sender) const;
  void start(PressedSchedule& schedule, std::size_t number, std::size_t sender) const;

  /// How much counts what is left after all that has not started waits until `start`. Every host
  /// and clique counts by when it can be done as a part of `enough`, to the power of 2^steepness.
  double waiting(const PressedSchedule& from, double start, int steepness) const;
  /// The same after a task of the class was started then, given waiting(); infinite where a
  /// receiver or clique cannot be done before `most`.
  double started(const PressedSchedule& from, std::size_t number, std::size_t sender, double start,
                 double waiting, int steepness, double most) const;
  std::uint64_t key(std::size_t number) const { return classes_[number].key; }
  double size(std::size_t number) const { return classes_[number].size; }

 private:
  struct Class {
    std::vector<std::size_t> senders;
    std::vector<std::size_t> others;  ///< receivers and cliques
    double size = 0;
    double part = 0;  ///< of the size, for each sender
    std::uint64_t key = 0;
  };

  double weight(double end, int steepness) const;

  const SchedulingProblem& problem_;
  const double enough_;
  std::vector<Class> classes_;
  std::size_t resources_ = 0;
};

}  // namespace p2
