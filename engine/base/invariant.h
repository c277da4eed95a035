#pragma once

#include "p2/error.h"

namespace p2 {

/// Throws InternalError when `holds` is false: a bug in p2, never the user's mistake. Stays on in
/// release builds.
inline void invariant(bool holds, const char* what) {
  if (!holds) throw InternalError(what);
}

}  // namespace p2
