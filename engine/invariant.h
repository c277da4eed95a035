#pragma once

#include <cstdio>
#include <cstdlib>

namespace p2 {

/// Stops the process loudly when `holds` is false: a broken invariant is our mistake, never the
/// user's, and no result computed after it can be trusted. Stays on in release builds.
inline void invariant(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "p2-verify: internal error, please report: %s\n", what);
  std::abort();
}

}  // namespace p2
