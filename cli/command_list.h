#pragma once

#include <iosfwd>
#include <span>
#include <string_view>

#include "cli/commands.h"

namespace p2 {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Arguments&, std::ostream&, std::ostream&);
};

/// All commands, as the overview lists them.
std::span<const Command> command_list();

}  // namespace p2
