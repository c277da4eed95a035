#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include "p2/limits.h"

namespace p2 {

enum class Format : std::uint8_t { Text, Json, Junit, Sarif };
/// What --format takes: with Reports also what CI systems read.
enum class Formats : std::uint8_t { Plain, Reports };
enum class ShowProgress : std::uint8_t { Auto, Always, Never };

/// The flags that every command takes.
struct CommonOptions {
  Format format = Format::Text;
  std::optional<std::string> output;  ///< a file instead of stdout
  unsigned jobs = 0;                  ///< 0 = one per core
  Limits limits;
  std::uint64_t seed = 1;
  ShowProgress progress = ShowProgress::Auto;
};

/// One command's arguments, parsed. Throws InputError for unknown or repeated flags and for values
/// of the wrong type; `positional`, where not empty, names the list that takes the words without a
/// flag.
class CommandLine {
 public:
  CommandLine(const std::string& usage, const boost::program_options::options_description& own,
              const std::vector<std::string>& arguments, const std::string& positional = "",
              Formats formats = Formats::Plain);

  bool has(const std::string& flag) const { return values_.count(flag) != 0; }
  /// Whether the command is to print help() and do nothing else.
  bool help_wanted() const { return has("help") || has("describe-options"); }
  /// The text of --help or, for --describe-options, the same as JSON: `usage`, `words` (the name of
  /// the list of words without a flag, or empty) and `options`: list of `{name, value, help}`.
  const std::string& help() const { return help_; }
  std::optional<std::string> text(const std::string& flag) const;
  std::vector<std::string> texts(const std::string& flag) const;
  /// A whole number from `low` to `high`, or `otherwise` when the flag is absent.
  std::uint64_t integer(const std::string& flag, std::uint64_t low, std::uint64_t high,
                        std::uint64_t otherwise) const;
  /// The value that a name stands for: the first one when the flag is absent.
  template <typename Value>
  Value choice(const std::string& flag,
               const std::vector<std::pair<std::string, Value>>& choices) const {
    const std::optional<std::string> given = text(flag);
    std::string known;
    for (const auto& [name, value] : choices) {
      if (!given || *given == name) return value;
      known += (known.empty() ? "" : ", ") + name;
    }
    refuse_choice(flag, known);
  }
  CommonOptions common() const;

 private:
  [[noreturn]] void refuse_choice(const std::string& flag, const std::string& known) const;

  Formats formats_;
  boost::program_options::variables_map values_;
  std::string help_;
};

}  // namespace p2
