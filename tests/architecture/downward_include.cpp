// An include of its own with the include directories of p2_base: compiles.
#include "engine/base/invariant.h"
