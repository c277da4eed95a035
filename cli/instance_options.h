#pragma once

#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include "cli/command_line.h"
#include "engine/program/instance.h"
#include "engine/topology/system.h"

namespace p2 {

/// The flags that describe an instance: --hierarchy or --system, --axes, --reduce, --placement,
/// --synthesis-hierarchy, --dialect.
boost::program_options::options_description instance_flags();
/// The first of them, for commands that only place: --hierarchy, --system, --axes, --placement.
boost::program_options::options_description placement_flags();

/// What the flags say; nothing in it is required yet. Throws InputError where they are malformed or
/// contradict each other.
GivenInstance given_instance(const CommandLine& line);
/// The same without --synthesis-hierarchy and --dialect, for commands that ask about several.
GivenInstance given_system(const CommandLine& line);

/// The system that --system or --hierarchy names; the latter without interconnects. Throws
/// InputError when there is neither or both.
System system_of(const CommandLine& line);

/// What the flags say of an instance, with hierarchy and axes present, or an InputError that names
/// the missing flag.
GivenInstance required_instance(const CommandLine& line, bool with_reduction);
/// Throws InputError unless hierarchy and axes are known, and with `with_reduction` also the
/// reduction axes.
void require_system(const GivenInstance& given, bool with_reduction);

/// The given placement, or all of them; InputError when there are more than `most`.
std::vector<Placement> placements_of(const GivenInstance& given, std::size_t most);

}  // namespace p2
