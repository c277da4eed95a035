#pragma once

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "p2/campaign.h"
#include "p2/instance.h"
#include "p2/run.h"

namespace p2 {

/// The words after the name of a command.
using Arguments = std::vector<std::string>;

/// One flag, described once for parsing, --help, completion and the manual.
struct Flag {
  enum class Kind : std::uint8_t {
    Plain,     ///< a switch, or takes one word
    Repeated,  ///< takes one word, and may be repeated
    List,      ///< takes all words up to the next flag, and may be repeated
    Output     ///< takes a file that the command writes
  };

  std::string name;
  std::string value;  ///< as --help names it: `FILE`, `text|json`; empty for a switch
  std::string help;
  Kind kind = Kind::Plain;
};

/// Flags under one heading.
struct FlagGroup {
  std::string title;
  std::vector<Flag> flags;
};

/// --hierarchy, --system, --axes, --placement.
FlagGroup system_flag_group();
/// The same for a command that answers for several systems: --hierarchy and --system are repeated.
FlagGroup systems_flag_group();
/// --reduce, --synthesis-hierarchy, --dialect.
FlagGroup reduction_flag_group();
/// --collectives, --goal, --max-group.
FlagGroup terms_flag_group();

/// --shard and --resume, of commands with many questions.
std::vector<Flag> campaign_flags();

using Format = DocumentFormat;
/// Values of --format: text, json and html, and with Reports also those that CI systems read.
enum class Formats : std::uint8_t { Plain, Reports };
/// Values of --progress and --color.
enum class Show : std::uint8_t { Auto, Always, Never };

/// The flags that every command takes.
struct CommonOptions {
  Format format = Format::Text;
  std::optional<std::string> output;  ///< a file instead of stdout
  unsigned jobs = 0;                  ///< 0 = one per core
  Limits limits;
  std::uint64_t seed = 1;
  Show progress = Show::Auto;
  Show colour = Show::Auto;
  bool quiet = false;  ///< no text and no progress: the exit code says the verdict
};

/// One command's arguments, parsed. Throws InputError for unknown or repeated flags and for values
/// of the wrong type; `positional`, where not empty, names the list that takes the words without a
/// flag.
class CommandLine {
 public:
  CommandLine(const std::string& usage, const std::vector<FlagGroup>& own,
              const Arguments& arguments, const std::string& positional = "",
              Formats formats = Formats::Plain);

  bool has(const std::string& flag) const { return values_.contains(flag); }
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
  /// What campaign_flags say.
  CampaignPart campaign_part() const;
  /// What system_flag_group, reduction_flag_group and terms_flag_group say. Files of --collectives
  /// end in `.p2c`: other words after that flag go to `other_words`, or are refused.
  InstanceSpec instance_spec(std::vector<std::string>* other_words = nullptr) const;
  /// With systems_flag_group: the instance of each further system, in the order given.
  std::vector<InstanceSpec> more_instance_specs(const InstanceSpec& first) const;

 private:
  [[noreturn]] void refuse_choice(const std::string& flag, const std::string& known) const;
  /// Throws InputError where a file that the command writes is one that it reads.
  void refuse_overwritten_inputs() const;

  Formats formats_;
  std::map<std::string, std::vector<std::string>> values_;
  std::set<std::string> inputs_;  ///< flags and lists of words whose values are files that are read
  std::set<std::string> outputs_;  ///< flags whose values are files that are written
  std::string help_;
};

/// The options for a verb of the library; its progress is shown on `err` as --progress says.
Options options_of(const CommonOptions& common, std::ostream& err);

/// Writes the answer's document in the format asked for to --output or `out`, and its diagnostics
/// to `err`; where engines disagree it leaves a reproducer. Returns exit_code_of(answer).
int print_answer(const Answer& answer, const CommonOptions& common, std::ostream& out,
                 std::ostream& err);

/// Writes a text to the file of --output, or to `out` where none is given. A file appears only when
/// it is whole; an interrupted run leaves none. Throws InputError where it cannot be written.
void write_output(const std::optional<std::string>& path, const std::string& text,
                  std::ostream& out);
/// Throws InputError where a file that `flag` writes is one of `inputs`, as they were found by
/// patterns.
void refuse_overwriting(const std::string& flag, const std::string& written,
                        const std::vector<FileReport>& inputs);

/// Writes a text to a file that appears only when it is whole. Throws InputError where it cannot be
/// written.
void write_file(const std::string& path, const std::string& text);

/// From now on SIGINT and SIGTERM set the flag of interrupted(), so that the command stops at its
/// next check of its limits and prints what it has settled. A second later, and at a second signal,
/// the process ends with what is printed.
void handle_interrupts();

/// Whether a signal came.
const std::atomic<bool>& interrupted();

/// The exit code of a command: 128 and the number of the signal if one came (130, 143).
int exit_code_after_signals(int exit_code);

/// The file that is not finished, to remove if the process ends at once; none if empty.
void remove_when_interrupted(const std::string& path);

/// What --backend, --iterations, --warmup and --force say.
RunRequest run_request(const CommandLine& line);

/// Shows the answer if this process is the one to show it, and returns what it is to exit with.
int print_run(const RunAnswer& answer, const CommonOptions& common, std::ostream& out,
              std::ostream& err);

/// The commands of p2-verify. Each takes the words after its name, writes its result to `out` (or
/// to the file of --output) and messages to `err`, and returns an exit code. Bad input throws
/// InputError.
int run_place(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_synth(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_check(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_cost(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_define(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_prove(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_campaign(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_merge(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_run(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_parallelize(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_network(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_oracle(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_pipeline(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_reshard(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_export(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_system(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_completion(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_man(const Arguments& arguments, std::ostream& out, std::ostream& err);

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Arguments&, std::ostream&, std::ostream&);
};

/// All commands, as the overview lists them.
std::span<const Command> command_list();

/// Runs the command that `arguments` name and returns its exit code; whatever it throws ends in a
/// message on `err`.
int dispatch(const Arguments& arguments, std::ostream& out, std::ostream& err);

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
