#include "p2/network.h"

#include <algorithm>
#include <charconv>
#include <ostream>

#include "cli/command.h"
#include "p2/error.h"

namespace p2 {
namespace {

constexpr std::int64_t kMaxFlops = 10'000'000'000'000'000;
constexpr std::int64_t kMaxBandwidth = 1'000'000'000'000'000;
constexpr std::int64_t kMaxLevelSize = 4096;

std::vector<FlagGroup> network_flags() {
  return {{"Network",
           {{"batch", "N", "samples of one step"},
            {"levels", "SIZE:RATE,…",
             "the machine, innermost level first: how many of the level below, and bytes a second "
             "of a device; default 4:16000000000"},
            {"flops", "N", "operations a second of a device; default 10^13"},
            {"word-bytes", "N", "default 8"}}}};
}

std::int64_t level_number(const std::string& text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > most) {
    throw InputError({"--levels"},
                     "\"" + text + "\" is not a whole number from 1 to " + std::to_string(most));
  }
  return value;
}

std::vector<MachineLevel> levels_of(const std::string& text) {
  std::vector<MachineLevel> levels;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string level = text.substr(at, end - at);
    const std::size_t colon = level.find(':');
    if (colon == std::string::npos) {
      throw InputError({"--levels"}, "\"" + level + "\" lacks a colon, expected SIZE:RATE");
    }
    levels.push_back({level_number(level.substr(0, colon), kMaxLevelSize),
                      level_number(level.substr(colon + 1), kMaxBandwidth)});
    at = end + 1;
  }
  return levels;
}

std::string usage_text() {
  std::string usage =
      "usage: p2-verify network NAME [OPTION…]\n"
      "Writes the operation graph of a network, for parallelize:\n";
  for (const NetworkInfo& each : known_networks()) {
    usage += "  " + each.name + std::string(13 - std::min<std::size_t>(12, each.name.size()), ' ') +
             each.description + ", batch " + std::to_string(each.batch) + "\n";
  }
  usage.pop_back();
  return usage;
}

}  // namespace

int run_network(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const CommandLine line(usage_text(), network_flags(), arguments, "names");
  if (line.help_wanted()) {
    out << line.help();
    return kEstablished;
  }
  const std::vector<std::string> names = line.texts("names");
  NetworkRequest request;
  if (names.size() == 1) request.name = names[0];
  request.flops = static_cast<std::int64_t>(
      line.integer("flops", 1, kMaxFlops, static_cast<std::uint64_t>(request.flops)));
  request.word_bytes = static_cast<std::int64_t>(line.integer("word-bytes", 1, 64, 8));
  if (const auto levels = line.text("levels")) request.levels = levels_of(*levels);
  if (line.has("batch")) {
    request.batch = static_cast<std::int64_t>(line.integer("batch", 1, 1 << 20, 1));
  }
  return print_answer(build_network(request), line.common(), out, err);
}

}  // namespace p2
