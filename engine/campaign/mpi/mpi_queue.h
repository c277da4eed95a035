#pragma once

#include <string>

#include "engine/campaign/campaign.h"

namespace p2::campaign {

/// The processes that mpirun started, as one work queue: rank 0 hands out questions, longest
/// expected first in chunks that become smaller (guided self-scheduling, Polychronopoulos and Kuck
/// 1987), and answers some itself. Once none is left, idle threads answer those that others have
/// not answered yet (backup tasks, Dean and Ghemawat 2004), so a rank that dies or hangs delays
/// nothing but its own questions. MPI is initialized as long as this object lives; there is one.
///
/// Every rank works on `jobs` threads (0 = one). Only the thread that calls uses MPI.
class MpiQueue {
 public:
  MpiQueue();
  /// Stops the others if it has not led. Finalizes MPI, unless a rank was lost: that would wait for
  /// it.
  ~MpiQueue();
  MpiQueue(const MpiQueue&) = delete;
  MpiQueue& operator=(const MpiQueue&) = delete;

  bool is_leader() const { return rank_ == 0; }

  /// Rank 0: until every open question is answered, or limits.cancelled. Throws ToolError where
  /// another rank fails, or asks something else: `identity` is everything that the answers depend
  /// on.
  void lead(Questions& questions, Collector& collector, const std::string& identity, unsigned jobs,
            const Limits& limits);
  /// The other ranks: until rank 0 stops them, or is silent for a minute.
  void serve(Questions& questions, const std::string& identity, unsigned jobs,
             const Limits& limits);

 private:
  int rank_ = 0;
  int ranks_ = 1;
  bool finalize_ = true;
  bool stopped_ = false;  ///< the other ranks, by this one
};

}  // namespace p2::campaign
