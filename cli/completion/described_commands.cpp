#include "cli/completion/described_commands.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/command_list.h"

namespace p2 {
namespace {

DescribedCommand described(const Command& command) {
  std::ostringstream out;
  std::ostringstream err;
  command.run({"--describe-options"}, out, err);
  const nlohmann::json all = nlohmann::json::parse(out.str());
  DescribedCommand result{std::string(command.name),
                          std::string(command.summary),
                          all.at("usage"),
                          all.at("words"),
                          {}};
  for (const nlohmann::json& option : all.at("options")) {
    result.options.push_back({option.at("name"), option.at("value"), option.at("help")});
  }
  return result;
}

}  // namespace

std::vector<std::string> DescribedOption::choices() const {
  if (value.find('|') == std::string::npos || takes_path()) return {};
  std::vector<std::string> words;
  std::istringstream parts(value);
  for (std::string word; std::getline(parts, word, '|');) words.push_back(word);
  return words;
}

bool DescribedOption::takes_path() const {
  return value.starts_with("FILE") || value.starts_with("DIR") || value.starts_with("OUT");
}

std::vector<DescribedCommand> described_commands() {
  std::vector<DescribedCommand> commands;
  for (const Command& command : command_list()) commands.push_back(described(command));
  return commands;
}

}  // namespace p2
