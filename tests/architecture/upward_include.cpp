// The lowest module includes from a higher one: must not compile with the include directories of p2_base.
#include "engine/program/program.h"
