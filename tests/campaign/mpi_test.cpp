// The work queue over MPI: ranks that die, and what it costs.
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/campaign/processes.h"
#include "tests/cli/temporary_file.h"
#include "tests/execution/process.h"
#include "tests/file_bytes.h"

using namespace p2;

namespace {

const std::string kProve = std::string(P2_VERIFY) +
                           " prove expressiveness class-independence synthesis-complete --size 3 "
                           "--max-devices 6 --dialect both --format json";

std::string single_run() {
  const TemporaryFile output("");
  const Process ran = shell(kProve + " --output " + output.path());
  REQUIRE_MESSAGE(ran.exit == 1, ran.printed);
  return bytes_of(output.path());
}

/// The process that is rank `rank` of the run that writes this journal; 0 where there is none.
pid_t process_of_rank(int rank, const std::string& journal) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto has = [&](const char* file, const std::string& word) {
      std::ifstream stream(entry.path() / file, std::ios::binary);
      for (std::string each; std::getline(stream, each, '\0');) {
        if (each == word) return true;
      }
      return false;
    };
    if (has("environ", "OMPI_COMM_WORLD_RANK=" + std::to_string(rank)) && has("cmdline", journal)) {
      return std::stoi(name);
    }
  }
  return 0;
}

/// Kills two of eight ranks midway. Returns mpirun's exit code.
int run_and_kill_two(const std::string& flags, const std::string& journal,
                     const std::string& output, std::size_t bytes) {
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
  const pid_t child = start({"sh", "-c",
                             "exec mpirun " + flags + " -n 8 " + kProve + " --resume " + journal +
                                 " --output " + output});
  REQUIRE(wait_for_bytes(child, journal, bytes));
  for (const int rank : {3, 6}) {
    const pid_t process = process_of_rank(rank, journal);
    if (process > 0) ::kill(process, SIGKILL);
  }
  return wait_for(child);
}

}  // namespace

TEST_CASE("one rank, two and eight give the bytes of a single run") {
  const std::string expected = single_run();
  for (const int ranks : {1, 2, 8}) {
    const TemporaryFile output("");
    const Process ran = under_mpirun(ranks, kProve + " --output " + output.path());
    CHECK_MESSAGE(ran.exit == 1, ran.printed);
    CHECK(bytes_of(output.path()) == expected);
  }
}

TEST_CASE("the questions of every command with a journal are shared by the ranks") {
  const std::string source = P2_SOURCE_DIR;
  for (const std::string& command :
       {" check " + source + "/examples/programs/valid/*.p2",
        std::string(" synth --hierarchy 2,2,2 --axes 4,2 --reduce 0 --size 3 --certify "),
        " cost --system " + source + "/examples/systems/a100-4nodes.json --axes 4,16 --reduce 0"}) {
    CAPTURE(command);
    const TemporaryFile folder("");
    const TemporaryFile single("");
    const TemporaryFile shared("");
    const bool certified = command.ends_with("--certify ");
    const std::string words =
        std::string(P2_VERIFY) + command + (certified ? folder.path() + "-certificates" : "");
    const Process alone = shell(words + " --output " + single.path());
    CHECK_MESSAGE(alone.exit == 0, alone.printed);
    const Process ran = under_mpirun(2, words + " --output " + shared.path());
    CHECK_MESSAGE(ran.exit == 0, ran.printed);
    CHECK(bytes_of(shared.path()) == bytes_of(single.path()));
    std::filesystem::remove_all(folder.path() + "-certificates");
  }
}

TEST_CASE(
    "two of eight ranks killed: the others go on, or the next start does, with the same bytes") {
  const std::string expected = single_run();
  const TemporaryFile whole("", ".jsonl");
  shell(kProve + " --resume " + whole.path());
  const std::size_t half = bytes_in(whole.path()) / 2;
  {
    const TemporaryFile journal("", ".jsonl");
    const TemporaryFile output("");
    run_and_kill_two("--enable-recovery", journal.path(), output.path(), half);
    CHECK(bytes_of(output.path()) == expected);
  }
  const TemporaryFile journal("", ".jsonl");
  const TemporaryFile output("");
  CHECK(run_and_kill_two("", journal.path(), output.path(), half) > 1);
  CHECK(bytes_in(journal.path()) >= half);
  const Process again =
      under_mpirun(8, kProve + " --resume " + journal.path() + " --output " + output.path());
  CHECK_MESSAGE(again.exit == 1, again.printed);
  CHECK(bytes_of(output.path()) == expected);
}

TEST_CASE("the cubes of a question are shared by the ranks") {
  const TemporaryFile file("", ".cubes");
  std::filesystem::remove(file.path());
  const std::string& cubes = file.path();
  const std::string question =
      std::string(P2_VERIFY) +
      " synth --hierarchy 2,2,2 --axes 8 --reduce 0 --size 3 --count --cubes " + cubes;
  REQUIRE(shell(question).exit == 0);
  const Process ran = under_mpirun(3, std::string(P2_VERIFY) + " campaign --cubes " + cubes);
  CHECK_MESSAGE(ran.exit == 0, ran.printed);
  CHECK(ran.printed.find("33 of 33 cubes are refuted") != std::string::npos);
  const TemporaryFile certificate("", ".certificate");
  std::filesystem::remove(certificate.path());
  const Process certified = shell(question + " --certify " + certificate.path());
  CHECK_MESSAGE(certified.exit == 0, certified.printed);
  std::filesystem::remove_all(cubes);
  std::filesystem::remove_all(certificate.path());
}

TEST_CASE("bad input ends all ranks, and so does a limit") {
  const TemporaryFile notes("no journal\n", ".txt");
  const Process bad = under_mpirun(2, kProve + " --resume " + notes.path());
  CHECK(bad.exit == 2);
  CHECK(bad.printed.find("is not a line of a journal") != std::string::npos);
  const Process late = under_mpirun(2, std::string(P2_VERIFY) +
                                           " prove expressiveness --from c --to d --hierarchy 4,4 "
                                           "--axes 4,4 --reduce 0 --placement [[2,2],[2,2]] "
                                           "--size 5 --engine cnf --timeout 2 --output /dev/null");
  CHECK(late.exit == 3);
}

TEST_CASE("thousands of short questions are handed out once each") {
  // Questions take microseconds, so the time that is printed is that of the queue.
  const TemporaryFile journal("", ".jsonl");
  const std::string command = std::string(P2_VERIFY) +
                              " prove lemma-b2 composition information-increase "
                              "--every-system --max-devices 8 --output /dev/null";
  const auto seconds = [](const std::string& words, int ranks) {
    const auto start = std::chrono::steady_clock::now();
    const Process ran = under_mpirun(ranks, words);
    CHECK_MESSAGE(ran.exit == 0, ran.printed);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  seconds(command + " --resume " + journal.path(), 2);
  const double known = seconds(command + " --resume " + journal.path(), 2);
  std::filesystem::remove(journal.path());
  const double asked = seconds(command + " --resume " + journal.path(), 2);
  std::set<std::size_t> answered;
  std::size_t questions = 0;
  std::ifstream lines(journal.path());
  std::string line;
  std::getline(lines, line);  // what is asked
  for (; std::getline(lines, line); ++questions) {
    answered.insert(nlohmann::json::parse(line).at("question").get<std::size_t>());
  }
  CHECK(questions > 2500);
  CHECK(answered.size() == questions);
  MESSAGE("per question: " << (asked - known) / static_cast<double>(questions) * 1e6 << " us");
}
