#include <algorithm>
#include <charconv>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "p2/error.h"
#include "engine/strategy/operation_graph_file.h"
#include "engine/strategy/networks/network.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t kMostFlops = 10'000'000'000'000'000;
constexpr std::int64_t kMostBandwidth = 1'000'000'000'000'000;

po::options_description network_flags() {
  po::options_description flags("Network");
  flags.add_options()  //
      ("batch", po::value<std::string>()->value_name("N"), "samples of one step")(
          "levels", po::value<std::string>()->value_name("SIZE:RATE,…"),
          "the machine, innermost level first: how many of the level below, and bytes a second of "
          "a device; default 4:16000000000")("flops", po::value<std::string>()->value_name("N"),
                                             "operations a second of a device; default 10^13")(
          "word-bytes", po::value<std::string>()->value_name("N"), "default 8");
  return flags;
}

std::int64_t number(const std::string& text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most) {
    throw InputError({"--levels"},
                     fmt::format("\"{}\" is no whole number from 1 to {}", text, most));
  }
  return value;
}

std::vector<operations::Level> levels_of(const std::string& text) {
  std::vector<operations::Level> levels;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string level = text.substr(at, end - at);
    const std::size_t colon = level.find(':');
    if (colon == std::string::npos) {
      throw InputError({"--levels"},
                       fmt::format("\"{}\" lacks a colon, expected SIZE:RATE", level));
    }
    levels.push_back({fmt::format("level{}", levels.size()), number(level.substr(0, colon), 4096),
                      number(level.substr(colon + 1), kMostBandwidth)});
    at = end + 1;
  }
  return levels;
}

}  // namespace

int run_network(const Arguments& arguments, std::ostream& out, std::ostream& /*err*/) {
  std::string usage =
      "usage: p2-verify network NAME [OPTION…]\n"
      "Writes the operation graph of a network, for parallelize:\n";
  for (const operations::NamedNetwork& each : operations::networks()) {
    usage += fmt::format("  {:<12} {}, batch {}\n", each.name, each.description, each.batch);
  }
  usage.pop_back();
  const CommandLine line(usage, network_flags(), arguments, "names");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const std::vector<std::string> names = line.texts("names");
  const auto& known = operations::networks();
  const auto found = names.size() == 1
                         ? std::ranges::find(known, names[0], &operations::NamedNetwork::name)
                         : known.end();
  if (found == known.end()) {
    throw InputError({"command line"}, "expected the name of one network (see --help)");
  }
  operations::Machine machine;
  machine.flops =
      static_cast<std::int64_t>(line.integer("flops", 1, kMostFlops, 10'000'000'000'000));
  machine.word_bytes = static_cast<std::int64_t>(line.integer("word-bytes", 1, 64, 8));
  machine.levels = levels_of(line.text("levels").value_or("4:16000000000"));
  const auto batch = line.integer("batch", 1, 1 << 20, static_cast<std::uint64_t>(found->batch));
  Output output(line.common().output, out);
  output.stream() << write_operations(found->build(static_cast<std::int64_t>(batch)), machine);
  output.finish();
  return kEstablished;
}

}  // namespace p2
