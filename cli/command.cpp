#include "cli/command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <ostream>
#include <sstream>

#include <boost/program_options.hpp>

#include "p2/error.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t kMaxJobs = 1024;
constexpr std::uint64_t kMaxSeconds = 10'000'000;
constexpr std::uint64_t kMaxMebibytes = 1 << 24;
constexpr std::uint32_t kMaxShards = 100'000;
constexpr const char* kDescribe = "describe-options";
/// The list of words without a flag that are names of files.
constexpr const char* kFiles = "files";
/// The file, in the current folder, that is left where engines disagree.
constexpr const char* kReproducer = "p2-verify-disagreement.json";

FlagGroup common_flags(Formats formats) {
  const bool reports = formats == Formats::Reports;
  return {
      "Common options",
      {{"format", reports ? "text|json|html|junit|sarif" : "text|json|html",
        reports ? "text, JSON, an HTML page, JUnit XML and SARIF "
                  "2.1.0 for CI systems"
                : "text, JSON, an HTML page"},
       {"output", "FILE", "write the result there, atomically", Flag::Kind::Output},
       {"jobs", "N", "threads (default: one per core)"},
       {"timeout", "SECONDS", "time limit (exit 3)"},
       {"memory", "MIB", "memory limit (exit 3)"},
       {"rlimit", "N", "stop each solver after N units of work, the same in every run (exit 3)"},
       {"seed", "N", "random seed (default 1)"},
       {"progress", "auto|always|never", "progress on stderr"},
       {"color", "auto|always|never",
        "colours, and tables cut to the terminal's width (auto: on a terminal, unless NO_COLOR is "
        "set or TERM is dumb)"},
       {"quiet", "", "no text and no progress: the exit code is the answer"},
       {"help", "", "this text; also -h"}}};
}

void describe(const FlagGroup& group, po::options_description& all) {
  po::options_description options(group.title);
  for (const Flag& flag : group.flags) {
    if (flag.value.empty()) {
      options.add_options()(flag.name.c_str(), flag.help.c_str());
      continue;
    }
    const bool is_list = flag.kind == Flag::Kind::List;
    if (is_list || flag.kind == Flag::Kind::Repeated) {
      auto* value = po::value<std::vector<std::string>>()->composing()->value_name(flag.value);
      options.add_options()(flag.name.c_str(), is_list ? value->multitoken() : value,
                            flag.help.c_str());
    } else {
      options.add_options()(flag.name.c_str(), po::value<std::string>()->value_name(flag.value),
                            flag.help.c_str());
    }
  }
  all.add(options);
}

/// What --help says, for other programs: see CommandLine::help().
std::string as_json(const std::string& usage, const po::options_description& options,
                    const std::string& positional) {
  Json list = Json::array();
  for (const auto& option : options.options()) {
    list.push_back(Json::object(
        {{"name", option->long_name()},
         {"value", option->semantic()->max_tokens() == 0 ? "" : option->semantic()->name()},
         {"help", option->description()}}));
  }
  return Json::object({{"usage", usage}, {"words", positional}, {"options", list}}).dump() + "\n";
}

/// Where a command's result goes: a stream, or a file that appears only when the result is whole.
class Output {
 public:
  /// Writes to `file` if given, else to `otherwise`. Throws InputError when the file cannot be
  /// made.
  Output(const std::optional<std::string>& file, std::ostream& otherwise);
  /// Removes what was written of a file that was not finished.
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  std::ostream& stream();
  /// The result is complete: flushes it and puts the file in place. Throws InputError when that
  /// fails, e.g. on a full disk.
  void finish();

 private:
  std::ostream& otherwise_;
  std::string target_;  ///< empty for a stream
  std::string partial_;
  std::ofstream file_;
};

Output::Output(const std::optional<std::string>& file, std::ostream& otherwise)
    : otherwise_(otherwise) {
  if (!file) return;
  if (file->empty()) throw InputError({"--output"}, "names no file, expected a path");
  // Behind a link the target is replaced, not the link; pipes and devices are written to as they
  // are.
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::canonical(*file, failure);
  target_ = failure ? *file : real.string();
  const bool special = std::filesystem::exists(target_, failure) &&
                       !std::filesystem::is_regular_file(target_, failure);
  if (!special) partial_ = target_ + ".partial." + std::to_string(::getpid());
  file_.open(special ? target_ : partial_, std::ios::binary);
  if (!file_) {
    partial_.clear();
    throw InputError({target_}, "cannot be written, expected a path in a writable folder");
  }
  remove_when_interrupted(partial_);
}

Output::~Output() {
  if (partial_.empty()) return;
  file_.close();
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
  remove_when_interrupted("");
}

std::ostream& Output::stream() { return target_.empty() ? otherwise_ : file_; }

void Output::finish() {
  stream().flush();
  if (!stream()) {
    throw InputError({target_.empty() ? "standard output" : target_},
                     "could not be written whole, expected room for the result");
  }
  if (partial_.empty()) return;
  file_.close();
  std::error_code failure;
  std::filesystem::rename(partial_, target_, failure);
  if (failure) throw InputError({target_}, "cannot be put in place: " + failure.message());
  remove_when_interrupted("");
  partial_.clear();
}

/// `--a, --b, …` of all options.
std::string flag_list(const po::options_description& options) {
  std::string list;
  for (const auto& option : options.options()) list += "--" + option->long_name() + ", ";
  return list;
}

/// The words with `--help` for `-h`.
Arguments with_long_help(Arguments arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  std::replace(arguments.begin(), end, std::string("-h"), std::string("--help"));
  return arguments;
}

[[noreturn]] void refuse_overwriting(const std::string& flag, const std::string& file) {
  throw InputError({"--" + flag},
                   "'" + file + "' is an input of this command, expected another file");
}

bool same_file(const std::string& one, const std::string& other) {
  std::error_code failure;
  return std::filesystem::equivalent(one, other, failure) && !failure &&
         std::filesystem::is_regular_file(one, failure);
}

std::vector<std::string> strings(const po::variable_value& value) {
  if (value.empty() || value.value().empty()) return {};
  if (const auto* one = boost::any_cast<std::string>(&value.value())) return {*one};
  if (const auto* many = boost::any_cast<std::vector<std::string>>(&value.value())) return *many;
  return {};
}

}  // namespace

FlagGroup system_flag_group() {
  return {"System and placement",
          {{"hierarchy", "SIZES", "hardware levels, outermost first: 4,16 or node=4,gpu=16"},
           {"system", "FILE", "a system file instead (see examples/systems)"},
           {"axes", "SIZES", "parallelism axes: 8,8 or data=8,shard=8"},
           {"placement", "MATRIX", "one placement, e.g. '[[2,4],[2,4]]' (default: all)"}}};
}

FlagGroup systems_flag_group() {
  FlagGroup group = system_flag_group();
  for (Flag& flag : group.flags) {
    if (flag.name != "hierarchy" && flag.name != "system") continue;
    flag.kind = Flag::Kind::Repeated;
    flag.help += "; repeated: the same for each";
  }
  return group;
}

FlagGroup reduction_flag_group() {
  return {"Reduction",
          {{"reduce", "AXES", "axes to reduce over: 0 or 0,2 or names"},
           {"synthesis-hierarchy", "a|b|c|d|collapsed|lattice",
            "levels that steps may group over: (a) to (d) of the P2 paper, section 3.4, collapsed "
            "(default) or lattice"},
           {"dialect", "printed|published",
            "how the paper's rules are read, see docs/cli.md (default published)"}}};
}

FlagGroup terms_flag_group() {
  return {"Collectives and goal",
          {{"collectives", "FILE…", "more collectives, defined in these files (*.p2c)",
            Flag::Kind::List},
           {"goal", "NAME",
            "what every reduction class ends with: allreduce (default), reducescatter, allgather, "
            "reduce, broadcast, alltoall, or a .p2c file"},
           {"max-group", "N",
            "examine these definitions for groups of 2 to N devices (default 4, at most 8)"}}};
}

std::vector<Flag> campaign_flags() {
  return {{"resume", "FILE", "keep in FILE what is settled, and go on from what FILE holds"},
          {"shard", "I/N",
           "only the questions of part I of N, from 1; merge puts the journals of all together"}};
}

CommandLine::CommandLine(const std::string& usage, const std::vector<FlagGroup>& own,
                         const Arguments& arguments, const std::string& positional, Formats formats)
    : formats_(formats) {
  std::vector<FlagGroup> groups = own;
  groups.push_back(common_flags(formats));
  po::options_description visible;
  if (positional == kFiles) inputs_.insert(positional);
  for (const FlagGroup& group : groups) {
    describe(group, visible);
    for (const Flag& flag : group.flags) {
      const bool is_file = flag.value.starts_with("FILE");
      if (is_file) (flag.kind == Flag::Kind::Output ? outputs_ : inputs_).insert(flag.name);
    }
  }

  po::options_description all;
  all.add(visible);
  all.add_options()(kDescribe, "");
  po::positional_options_description words;
  if (!positional.empty()) {
    all.add_options()(positional.c_str(), po::value<std::vector<std::string>>());
    words.add(positional.c_str(), -1);
  }
  const Arguments words_given = with_long_help(arguments);
  try {
    const int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::variables_map values;
    po::store(
        po::command_line_parser(words_given).options(all).positional(words).style(style).run(),
        values);
    for (const auto& [name, value] : values) values_[name] = strings(value);
  } catch (const po::unknown_option& error) {
    throw InputError({"command line"}, std::string(error.what()) +
                                           ", expected the options that --help lists" +
                                           suggestion(error.get_option_name(), flag_list(visible)));
  } catch (const po::error& error) {
    throw InputError({"command line"},
                     std::string(error.what()) + ", expected the options that --help lists");
  }
  if (has(kDescribe)) {
    help_ = as_json(usage, visible, positional);
  } else if (has("help")) {
    std::ostringstream text;
    text << usage << "\n\n" << visible;
    help_ = text.str();
  }
}

void CommandLine::refuse_overwritten_inputs() const {
  for (const std::string& flag : outputs_) {
    const std::optional<std::string> written = text(flag);
    if (!written) continue;
    for (const auto& [name, files] : values_) {
      for (const std::string& file : files) {
        const bool is_goal = name == "goal" && file.ends_with(".p2c");
        const bool is_read = inputs_.contains(name) || is_goal;
        if (is_read && same_file(file, *written)) refuse_overwriting(flag, file);
      }
    }
  }
}

void refuse_overwriting(const std::string& flag, const std::string& written,
                        const std::vector<FileReport>& inputs) {
  for (const FileReport& input : inputs) {
    if (same_file(input.file, written)) refuse_overwriting(flag, input.file);
  }
}

std::optional<std::string> CommandLine::text(const std::string& flag) const {
  const auto found = values_.find(flag);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second.front();
}

std::vector<std::string> CommandLine::texts(const std::string& flag) const {
  const auto found = values_.find(flag);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

void CommandLine::refuse_choice(const std::string& flag, const std::string& known) const {
  throw InputError({"--" + flag}, unknown_name(*text(flag), "one of " + known));
}

std::uint64_t CommandLine::integer(const std::string& flag, std::uint64_t low, std::uint64_t high,
                                   std::uint64_t otherwise) const {
  const std::optional<std::string> given = text(flag);
  if (!given) return otherwise;
  std::uint64_t value = 0;
  const char* const end = given->data() + given->size();
  const auto [rest, error] = std::from_chars(given->data(), end, value);
  if (error != std::errc() || rest != end || value < low || value > high) {
    throw InputError({"--" + flag, 1, 1}, "found '" + *given + "', expected a whole number from " +
                                              std::to_string(low) + " to " + std::to_string(high));
  }
  return value;
}

CampaignPart CommandLine::campaign_part() const {
  CampaignPart part{text("resume")};
  const std::optional<std::string> given = text("shard");
  if (!given) return part;
  const char* const end = given->data() + given->size();
  const auto first = std::from_chars(given->data(), end, part.shard);
  const bool slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = std::from_chars(first.ptr + (slash ? 1 : 0), end, part.shards);
  if (!slash || second.ec != std::errc() || second.ptr != end || part.shard < 1 ||
      part.shard > part.shards || part.shards > kMaxShards) {
    throw InputError({"--shard"}, "found '" + *given +
                                      "', expected I/N, such as 2/8, with I from 1 to N and N "
                                      "at most " +
                                      std::to_string(kMaxShards));
  }
  return part;
}

CommonOptions CommandLine::common() const {
  CommonOptions options;
  std::vector<std::pair<std::string, Format>> formats = {
      {"text", Format::Text}, {"json", Format::Json}, {"html", Format::Html}};
  if (formats_ == Formats::Reports) {
    formats.insert(formats.end(), {{"junit", Format::Junit}, {"sarif", Format::Sarif}});
  }
  options.format = choice<Format>("format", formats);
  options.output = text("output");
  refuse_overwritten_inputs();
  options.jobs = static_cast<unsigned>(integer("jobs", 1, kMaxJobs, 0));
  options.seed = integer("seed", 0, UINT64_MAX / 16, 1);
  if (has("timeout")) {
    options.limits.deadline = std::chrono::steady_clock::now() +
                              std::chrono::seconds(integer("timeout", 1, kMaxSeconds, 1));
  }
  if (has("memory")) {
    options.limits.memory_bytes = integer("memory", 1, kMaxMebibytes, 1) * 1024 * 1024;
  }
  if (has("rlimit")) options.limits.work = integer("rlimit", 1, UINT64_MAX / 16, 1);
  options.limits.cancelled = &interrupted();
  const std::vector<std::pair<std::string, Show>> shows = {
      {"auto", Show::Auto}, {"always", Show::Always}, {"never", Show::Never}};
  options.progress = choice<Show>("progress", shows);
  options.colour = choice<Show>("color", shows);
  options.quiet = has("quiet");
  if (options.quiet && options.progress == Show::Always) {
    throw InputError({"--progress"}, "given with --quiet, expected one of both");
  }
  return options;
}

InstanceSpec CommandLine::instance_spec(std::vector<std::string>* other_words) const {
  InstanceSpec spec{
      text("hierarchy"),           text("system"),  text("axes"), text("reduce"), text("placement"),
      text("synthesis-hierarchy"), text("dialect"), {},           text("goal")};
  spec.max_group = static_cast<std::uint32_t>(integer("max-group", 2, 8, spec.max_group));
  for (const std::string& word : texts("collectives")) {
    if (word.ends_with(".p2c")) {
      spec.collectives.push_back(word);
    } else if (other_words != nullptr) {
      other_words->push_back(word);
    } else {
      throw InputError({"--collectives"}, "'" + word + "' is not a definition, expected FILE.p2c");
    }
  }
  return spec;
}

std::vector<InstanceSpec> CommandLine::more_instance_specs(const InstanceSpec& first) const {
  std::vector<InstanceSpec> specs;
  const auto add = [&](const char* flag, std::optional<std::string> InstanceSpec::*member) {
    const std::vector<std::string> values = texts(flag);
    for (std::size_t i = 1; i < values.size(); ++i) {
      specs.push_back(first);
      specs.back().*member = values[i];
    }
  };
  add("hierarchy", &InstanceSpec::hierarchy);
  add("system", &InstanceSpec::system);
  return specs;
}

namespace {

/// `, about 12 s left`, at the pace so far, for a line that counts `3 of 10`; else nothing.
std::string time_left(const std::string& line, double elapsed) {
  const std::size_t of = line.find(" of ");
  if (of == std::string::npos) return {};
  std::size_t begin = of;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0) --begin;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::from_chars(line.data() + begin, line.data() + of, done);
  std::from_chars(line.data() + of + 4, line.data() + line.size(), total);
  if (done == 0 || total <= done) return {};
  const double left = elapsed / static_cast<double>(done) * static_cast<double>(total - done);
  const auto seconds = static_cast<std::uint64_t>(left) + 1;
  return seconds < 120 ? ", about " + std::to_string(seconds) + " s left"
                       : ", about " + std::to_string(seconds / 60) + " min left";
}

}  // namespace

Options options_of(const CommonOptions& common, std::ostream& err) {
  Options options{common.limits, common.jobs, common.seed, {}};
  options.facts = common.format == Format::Json;
  const bool on_terminal = ::isatty(STDERR_FILENO) == 1;
  const bool shown = !common.quiet && (common.progress == Show::Always ||
                                       (common.progress == Show::Auto && on_terminal));
  if (shown) {
    const auto start = std::chrono::steady_clock::now();
    options.progress = [&err, on_terminal, start](const std::string& line) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      const std::string text = printable(line) + time_left(line, elapsed.count());
      if (on_terminal) {
        err << "\r" << text << "\x1b[K" << std::flush;
      } else if (!line.empty()) {
        err << text << "\n" << std::flush;
      }
    };
  }
  return options;
}

void write_output(const std::optional<std::string>& path, const std::string& text,
                  std::ostream& out) {
  Output output(path, out);
  output.stream() << text;
  output.finish();
}

void write_file(const std::string& path, const std::string& text) {
  std::ostringstream unused;
  write_output(path, text, unused);
}

namespace {

/// Whether text goes to a terminal.
bool is_terminal(const CommonOptions& common, const std::ostream& out) {
  return !common.output && out.rdbuf() == std::cout.rdbuf() && ::isatty(STDOUT_FILENO) == 1;
}

TextStyle text_style(const CommonOptions& common, const std::ostream& out) {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  TextStyle style;
  const bool terminal = is_terminal(common, out);
  style.colour =
      common.colour == Show::Always || (common.colour == Show::Auto && terminal &&
                                        variable("NO_COLOR").empty() && variable("TERM") != "dumb");
  winsize size{};
  if (terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.width = size.ws_col;
  return style;
}

std::string shown_text(const Answer& answer, const CommonOptions& common, const std::ostream& out) {
  if (common.format == Format::Html) return write_page(answer);
  if (common.format == Format::Text) return write_text(answer.document, text_style(common, out));
  return write_document(answer.document, common.format);
}

}  // namespace

int print_answer(const Answer& answer, const CommonOptions& common, std::ostream& out,
                 std::ostream& err) {
  const bool is_silent = common.quiet && common.format == Format::Text && !common.output;
  if (!is_silent) write_output(common.output, shown_text(answer, common, out), out);
  for (const Diagnostic& diagnostic : answer.diagnostics) {
    err << "p2-verify: " << printable(diagnostic.message) << "\n";
  }
  if (answer.outcome == Outcome::Disagreement) {
    err << "p2-verify: the engines disagree; all answers are in the output";
    try {
      write_file(kReproducer, write_document(answer.document, DocumentFormat::Json));
      err << " and in " << kReproducer << "\n";
    } catch (const InputError& error) {
      err << "\np2-verify: " << printable(error.what()) << "\n";
    }
  }
  return exit_code_of(answer);
}

}  // namespace p2
