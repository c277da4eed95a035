#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>

/// Memory that processes share, at the same place for all, and a lock on it: those forked from one,
/// or those that mpirun starts with one FAKE_NCCL_ARENA, a file which is made.
struct SharedArena {
  enum class State : int { New, BeingMade, Made };
  std::atomic<State> state;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  std::atomic<std::size_t> used;
};

SharedArena& shared_arena();
/// Never given back; nullptr when there is no more.
void* take_shared(std::size_t bytes);
