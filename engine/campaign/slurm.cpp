// A campaign as jobs of Slurm.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "p2/campaign.h"
#include "p2/error.h"

namespace p2 {
namespace {

namespace fs = std::filesystem;

/// A word for a POSIX shell.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./=,:+@%").find(c) != std::string_view::npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

void check_command(const std::vector<std::string>& command) {
  constexpr std::array<std::string_view, 4> kCommands = {"prove", "check", "synth", "cost"};
  if (command.empty() || std::ranges::find(kCommands, command.front()) == kCommands.end()) {
    throw InputError({"command line"},
                     fmt::format("{} after --, expected `prove`, `check`, `synth` or `cost` with "
                                 "its flags",
                                 command.empty() ? "no command" : "'" + command.front() + "'"));
  }
  constexpr std::array kOfOneShard = {"--shard",  "--resume", "--output",   "--format",
                                      "--report", "--list",   "--progress", "--plot"};
  for (const std::string& word : command) {
    const std::string flag = word.substr(0, word.find('='));
    if (std::ranges::find(kOfOneShard, flag) != kOfOneShard.end()) {
      throw InputError({"command line"}, flag + " after --, expected it without: the jobs give it");
    }
  }
}

/// A value that stands in a line of directives.
void check_directive(const char* flag, const std::optional<std::string>& value) {
  if (!value) return;
  const bool plain = !value->empty() && std::ranges::all_of(*value, [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '"' && c != '\'' && c != '\\' && c != '#';
  });
  if (!plain) {
    throw InputError({flag},
                     fmt::format("found '{}', expected a value as sbatch takes it", *value));
  }
}

std::string header(const SlurmRequest& request, const std::string& folder, const char* name,
                   const char* log) {
  std::string text = fmt::format(
      "#!/bin/bash\n#SBATCH --job-name=p2-{}\n#SBATCH --output={}/{}\n#SBATCH --open-mode=append\n"
      "#SBATCH --requeue\n",
      name, quoted(folder), log);
  if (request.partition) text += fmt::format("#SBATCH --partition={}\n", *request.partition);
  return text;
}

std::string shards_script(const SlurmRequest& request, const std::string& folder,
                          const std::string& where) {
  std::string text = header(request, folder, "shards", "shard-%a.log");
  text += fmt::format("#SBATCH --array=1-{}\n#SBATCH --cpus-per-task={}\n", request.shards,
                      request.threads);
  if (request.time) text += fmt::format("#SBATCH --time={}\n", *request.time);
  if (request.memory_mebibytes)
    text += fmt::format("#SBATCH --mem={}\n", *request.memory_mebibytes);
  text += fmt::format("cd {} || exit 2\n", quoted(where));
  std::string command = quoted(request.program);
  for (const std::string& word : request.command) command += " " + quoted(word);
  return text + fmt::format(
                    "shard=$SLURM_ARRAY_TASK_ID\n"
                    "{} --jobs {} --progress never --shard \"$shard/{}\" \\\n"
                    "  --resume {}/journal-\"$shard\" --output {}/shard-\"$shard\".txt\n"
                    "code=$?\n"
                    "# 1: a claim is refuted, an answer like any other.\n"
                    "if [ $code -eq 1 ]; then exit 0; fi\n"
                    "exit $code\n",
                    command, request.threads, request.shards, quoted(folder), quoted(folder));
}

std::string merge_script(const SlurmRequest& request, const std::string& folder,
                         const std::string& where) {
  return header(request, folder, "merge", "merge.log") +
         fmt::format(
             "cd {} || exit 2\n"
             "journals=()\n"
             "for shard in $(seq {}); do\n"
             "  if [ -e {}/journal-\"$shard\" ]; then journals+=({}/journal-\"$shard\"); fi\n"
             "done\n"
             "exec {} merge --format {} --output {} \"${{journals[@]}}\"\n",
             quoted(where), request.shards, quoted(folder), quoted(folder), quoted(request.program),
             request.format, quoted(folder + "/answer." + request.format));
}

std::string submit_script(const std::string& folder) {
  return fmt::format(
      "#!/bin/sh\n"
      "# Submits the shards, and the merge once all have ended. Again after a failure: shards go "
      "on\n"
      "# from their journals.\n"
      "set -eu\n"
      "shards=$(sbatch --parsable \"$@\" {0}/shards.sbatch)\n"
      "merge=$(sbatch --parsable \"$@\" --dependency=\"afterany:$shards\" {0}/merge.sbatch)\n"
      "echo \"shards $shards merge $merge\"\n",
      quoted(folder));
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw InputError({path.string()}, "cannot be written, expected a writable folder");
}

}  // namespace

Answer write_slurm_jobs(const SlurmRequest& request, const Options&) {
  check_command(request.command);
  check_directive("--partition", request.partition);
  check_directive("--time", request.time);
  std::error_code failure;
  fs::create_directories(request.folder, failure);
  const std::string folder = fs::absolute(request.folder).lexically_normal().string();
  if (folder.find_first_of("% \n\t\"'\\") != std::string::npos) {
    throw InputError({"--slurm"}, "'" + folder +
                                      "' has a character that sbatch reads otherwise, "
                                      "expected a path without blanks, % and quotes");
  }
  const std::string where = fs::current_path().string();
  write(fs::path(folder) / "shards.sbatch", shards_script(request, folder, where));
  write(fs::path(folder) / "merge.sbatch", merge_script(request, folder, where));
  write(fs::path(folder) / "submit.sh", submit_script(folder));
  fs::permissions(fs::path(folder) / "submit.sh", fs::perms::owner_exec | fs::perms::group_exec,
                  fs::perm_options::add, failure);
  Answer answer;
  answer.document.title = "p2-verify campaign";
  answer.document.line(fmt::format("{} shards of `{}`", request.shards, request.command.front()));
  answer.document.line(fmt::format("submit with {}/submit.sh", folder));
  answer.document.line(fmt::format("the answer will be in {}/answer.{}", folder, request.format));
  answer.document.json = Json::object()
                             .add("shards", request.shards)
                             .add("folder", folder)
                             .add("submit", folder + "/submit.sh")
                             .add("answer", folder + "/answer." + request.format);
  return answer;
}

}  // namespace p2
