#pragma once

#include <string>
#include <vector>

namespace p2 {

/// One flag of a command, as its --help describes it.
struct DescribedOption {
  std::string name;   ///< without the dashes
  std::string value;  ///< the name of its value; empty where it takes none
  std::string help;

  /// The values it takes, where the name of the value lists them (`text|json`).
  std::vector<std::string> choices() const;
  bool takes_path() const;
};

struct DescribedCommand {
  std::string name;
  std::string summary;
  std::string usage;  ///< the first paragraph of --help
  std::string words;  ///< what the words without a flag are called; empty where it takes none
  std::vector<DescribedOption> options;
};

/// All commands, each asked for a description of its options.
std::vector<DescribedCommand> described_commands();

}  // namespace p2
