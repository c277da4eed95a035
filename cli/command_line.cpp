#include "cli/command_line.h"

#include <chrono>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/text_cursor.h"

namespace p2 {
namespace {

namespace po = boost::program_options;

constexpr std::uint64_t kMostJobs = 1024;
constexpr std::uint64_t kMostSeconds = 10'000'000;
constexpr std::uint64_t kMostMebibytes = 1 << 24;

po::options_description common_flags(Formats formats) {
  po::options_description flags("Common options");
  flags.add_options()  //
      ("format",
       po::value<std::string>()->value_name(formats == Formats::Plain ? "text|json"
                                                                      : "text|json|junit|sarif"),
       formats == Formats::Plain ? "text for people, JSON for machines"
                                 : "text for people, JSON for machines, JUnit XML and SARIF 2.1.0 "
                                   "for CI systems")  //
      ("output", po::value<std::string>()->value_name("FILE"),
       "write the result there, whole or not at all")                                         //
      ("jobs", po::value<std::string>()->value_name("N"), "threads (default: one per core)")  //
      ("timeout", po::value<std::string>()->value_name("SECONDS"),
       "stop after so long (exit 3)")                                                             //
      ("memory", po::value<std::string>()->value_name("MIB"), "stop at so much memory (exit 3)")  //
      ("rlimit", po::value<std::string>()->value_name("N"),
       "stop each solver after N units of work, the same in every run (exit 3)")  //
      ("seed", po::value<std::string>()->value_name("N"),
       "seed of whatever is random (default 1)")  //
      ("progress", po::value<std::string>()->value_name("auto|always|never"),
       "progress on stderr")  //
      ("help", "this text");
  return flags;
}

/// What --help says, for other programs: see CommandLine::help().
std::string described(const std::string& usage, const po::options_description& options,
                      const std::string& positional) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& option : options.options()) {
    list.push_back(
        {{"name", option->long_name()},
         {"value", option->semantic()->max_tokens() == 0 ? "" : option->semantic()->name()},
         {"help", option->description()}});
  }
  const nlohmann::ordered_json all = {{"usage", usage}, {"words", positional}, {"options", list}};
  return all.dump() + "\n";
}

}  // namespace

CommandLine::CommandLine(const std::string& usage, const po::options_description& own,
                         const std::vector<std::string>& arguments, const std::string& positional,
                         Formats formats)
    : formats_(formats) {
  po::options_description visible;
  visible.add(own).add(common_flags(formats));

  po::options_description all;
  all.add(visible);
  all.add_options()("describe-options", "");
  po::positional_options_description words;
  if (!positional.empty()) {
    all.add_options()(positional.c_str(), po::value<std::vector<std::string>>());
    words.add(positional.c_str(), -1);
  }
  try {
    const int style =
        po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(arguments).options(all).positional(words).style(style).run(),
              values_);
    po::notify(values_);
  } catch (const po::error& error) {
    throw InputError({"command line"},
                     fmt::format("{}, expected the options that --help lists", error.what()));
  }
  if (has("describe-options")) {
    help_ = described(usage, visible, positional);
  } else if (has("help")) {
    std::ostringstream text;
    text << usage << "\n\n" << visible;
    help_ = text.str();
  }
}

std::optional<std::string> CommandLine::text(const std::string& flag) const {
  if (!has(flag)) return std::nullopt;
  return values_[flag].as<std::string>();
}

std::vector<std::string> CommandLine::texts(const std::string& flag) const {
  if (!has(flag)) return {};
  return values_[flag].as<std::vector<std::string>>();
}

void CommandLine::refuse_choice(const std::string& flag, const std::string& known) const {
  throw InputError({"--" + flag},
                   fmt::format("unknown '{}', expected one of {}", *text(flag), known));
}

std::uint64_t CommandLine::integer(const std::string& flag, std::uint64_t low, std::uint64_t high,
                                   std::uint64_t otherwise) const {
  const std::optional<std::string> given = text(flag);
  if (!given) return otherwise;
  const std::string source = "--" + flag;
  TextCursor cursor(source, *given);
  const std::uint64_t value = cursor.integer("a whole number", low, high);
  expect_end(cursor, "the number");
  return value;
}

CommonOptions CommandLine::common() const {
  CommonOptions options;
  std::vector<std::pair<std::string, Format>> formats = {{"text", Format::Text},
                                                         {"json", Format::Json}};
  if (formats_ == Formats::Reports) {
    formats.insert(formats.end(), {{"junit", Format::Junit}, {"sarif", Format::Sarif}});
  }
  options.format = choice<Format>("format", formats);
  options.output = text("output");
  options.jobs = static_cast<unsigned>(integer("jobs", 1, kMostJobs, 0));
  options.seed = integer("seed", 0, UINT64_MAX / 16, 1);
  if (has("timeout")) {
    options.limits.deadline = std::chrono::steady_clock::now() +
                              std::chrono::seconds(integer("timeout", 1, kMostSeconds, 1));
  }
  if (has("memory")) {
    options.limits.memory_bytes = integer("memory", 1, kMostMebibytes, 1) * 1024 * 1024;
  }
  if (has("rlimit")) options.limits.work = integer("rlimit", 1, UINT64_MAX / 16, 1);
  options.progress = choice<ShowProgress>("progress", {{"auto", ShowProgress::Auto},
                                                       {"always", ShowProgress::Always},
                                                       {"never", ShowProgress::Never}});
  return options;
}

}  // namespace p2
