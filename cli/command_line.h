#pragma once

// Transitional: commands that still describe their flags with Boost.

#include <boost/program_options.hpp>

#include "cli/command.h"
