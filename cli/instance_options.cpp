#include "cli/instance_options.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "engine/program/hierarchy_kind_names.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kNoSystem = "no system, expected --hierarchy or --system";

}  // namespace

System system_of(const CommandLine& line) {
  if (line.has("hierarchy") && line.has("system")) {
    throw InputError({"command line"}, "both --hierarchy and --system, expected one of the two");
  }
  if (const auto text = line.text("hierarchy")) {
    return {"", parse_hierarchy("--hierarchy", *text), {}};
  }
  const auto file = line.text("system");
  if (!file) throw InputError({"command line"}, kNoSystem);
  return parse_system(*file, read_file(*file));
}

po::options_description placement_flags() {
  po::options_description flags("System and placement");
  flags.add_options()  //
      ("hierarchy", po::value<std::string>()->value_name("SIZES"),
       "hardware levels, outermost first: 4,16 or node=4,gpu=16")  //
      ("system", po::value<std::string>()->value_name("FILE"),
       "a system file instead (see examples/systems)")  //
      ("axes", po::value<std::string>()->value_name("SIZES"),
       "parallelism axes: 8,8 or data=8,shard=8")  //
      ("placement", po::value<std::string>()->value_name("MATRIX"),
       "one placement, e.g. '[[2,4],[2,4]]' (default: all)");
  return flags;
}

po::options_description instance_flags() {
  po::options_description flags("Reduction");
  flags.add_options()  //
      ("reduce", po::value<std::string>()->value_name("AXES"),
       "axes to reduce over: 0 or 0,2 or names")  //
      ("synthesis-hierarchy", po::value<std::string>()->value_name("KIND"),
       fmt::format("{} (default collapsed)", kHierarchyKindNames).c_str())  //
      ("dialect", po::value<std::string>()->value_name("NAME"),
       "printed or published (default published)");
  po::options_description all;
  all.add(placement_flags()).add(flags);
  return all;
}

GivenInstance given_system(const CommandLine& line) {
  GivenInstance given;
  if (line.has("hierarchy") || line.has("system")) given.hierarchy = system_of(line).hierarchy;
  if (const auto text = line.text("axes")) given.axes = parse_axes("--axes", *text);
  if (const auto text = line.text("reduce")) {
    if (!given.axes) throw InputError({"--reduce"}, "given without axes, expected --axes as well");
    given.reduction = parse_reduction("--reduce", *text, *given.axes);
  }
  if (const auto text = line.text("placement")) {
    if (!given.hierarchy || !given.axes) {
      throw InputError(
          {"--placement"},
          "given without a system and axes, expected --hierarchy or --system and --axes");
    }
    given.placement = parse_placement("--placement", *text, *given.hierarchy, *given.axes);
  }
  return given;
}

GivenInstance given_instance(const CommandLine& line) {
  GivenInstance given = given_system(line);
  if (const auto text = line.text("synthesis-hierarchy")) {
    const auto kind = hierarchy_kind_called(*text);
    if (!kind) {
      throw InputError({"--synthesis-hierarchy"},
                       fmt::format("unknown '{}', expected {}", *text, kHierarchyKindNames));
    }
    given.kind = *kind;
  }
  if (const auto text = line.text("dialect")) {
    const auto dialect = dialect_called(*text);
    if (!dialect) {
      throw InputError({"--dialect"}, "unknown '" + *text + "', expected printed or published");
    }
    given.dialect = *dialect;
    given.dialect_goes_first = true;
  }
  return given;
}

GivenInstance required_instance(const CommandLine& line, bool with_reduction) {
  GivenInstance given = given_instance(line);
  require_system(given, with_reduction);
  return given;
}

void require_system(const GivenInstance& given, bool with_reduction) {
  if (!given.hierarchy) {
    throw InputError({"command line"}, kNoSystem);
  }
  if (!given.axes) throw InputError({"command line"}, "no parallelism axes, expected --axes");
  if (with_reduction && !given.reduction) {
    throw InputError({"command line"}, "no reduction axes, expected --reduce");
  }
}

std::vector<Placement> placements_of(const GivenInstance& given, std::size_t most) {
  if (given.placement) return {*given.placement};
  return enumerate_placements(*given.hierarchy, *given.axes, {"--axes"}, most);
}

}  // namespace p2
