#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>

/// Memory that processes forked from one share, at the same place for all, and a lock on it.
struct SharedArena {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  std::atomic<std::size_t> used;
};

SharedArena& shared_arena();
/// Never given back; nullptr when there is no more.
void* take_shared(std::size_t bytes);
