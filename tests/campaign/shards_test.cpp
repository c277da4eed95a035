// Processes that are killed, started again, and put together.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "proofs/kernel/certificate.h"
#include "tests/campaign/processes.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;

namespace {

constexpr int kShards = 4;

/// A campaign of each command, with dozens of questions. Certificates go into the folder.
std::map<std::string, Words> campaigns(const Folder& folder) {
  return {
      {"prove",
       {P2_VERIFY, "prove", "expressiveness", "class-independence", "--max-devices", "8",
        "--dialect", "both", "--format", "json"}},
      {"synth",
       {P2_VERIFY,     "synth", "--hierarchy", "2,2,2,2", "--hierarchy", "4,2,2",
        "--hierarchy", "4,4",   "--hierarchy", "2,2,4",   "--axes",      "4,2,2",
        "--reduce",    "0",     "--size",      "2",       "--certify",   folder / "certificates",
        "--format",    "json"}},
      {"cost",
       {P2_VERIFY, "cost", "--system", kSystems + "a100-4nodes.json", "--system",
        kSystems + "dgx-h100-8nodes.json", "--system", kSystems + "dgx-b200-8nodes.json", "--axes",
        "8,2,4", "--reduce", "0,2", "--size", "4", "--synthesis-hierarchy", "d", "--format",
        "json"}}};
}

Words shard_words(const Words& command, const Folder& folder, int shard) {
  const std::string number = std::to_string(shard);
  return joined(command,
                {"--shard", number + "/" + std::to_string(kShards), "--resume",
                 folder / ("journal-" + number), "--output", folder / ("shard-" + number)});
}

Words merge_words(const Folder& folder, int shards = kShards) {
  Words words = {"merge"};
  for (int shard = 1; shard <= shards; ++shard) {
    words.push_back(folder / ("journal-" + std::to_string(shard)));
  }
  return joined(words, {"--format", "json", "--output", folder / "merged.json"});
}

std::string single_run(const Words& command, const Folder& folder) {
  const Ran ran =
      run(joined({command.begin() + 1, command.end()}, {"--output", folder / "single.json"}));
  REQUIRE_MESSAGE(ran.exit <= 1, ran.err);
  return bytes_of(folder / "single.json");
}

int kills_wanted() {
  const char* text = std::getenv("P2_KILLS");
  return text == nullptr ? 12 : std::atoi(text);
}

}  // namespace

TEST_CASE(
    "four shards, killed again and again at random bytes of their journals, give one run's bytes") {
  for (const char* name : {"prove", "synth", "cost"}) {
    CAPTURE(name);
    const Folder folder;
    const Words command = campaigns(folder).at(name);
    const std::string expected = single_run(command, folder);
    std::filesystem::remove_all(folder / "certificates");
    const int exit = command[1] == "prove" ? 1 : 0;
    const int kills_of_shard = kills_wanted() / kShards;
    std::mt19937 random(11);
    int midway = 0;  // kills of a process that had written something and was not done
    for (int shard = 1; shard <= kShards; ++shard) {
      const Words words = shard_words(command, folder, shard);
      const std::string journal = folder / ("journal-" + std::to_string(shard));
      CHECK(wait_for(start(words)) == exit);
      const std::size_t all = bytes_in(journal);
      std::filesystem::remove(journal);
      for (int kill = 0; kill < kills_of_shard; ++kill) {
        if (bytes_in(journal) == all) std::filesystem::remove(journal);  // kill it again
        const std::size_t before = bytes_in(journal);
        const pid_t child = start(words);
        const bool alive =
            wait_for_bytes(child, journal, before + random() % (2 * all / (kills_of_shard + 1)));
        ::kill(child, SIGKILL);
        wait_for(child);
        if (alive && bytes_in(journal) < all) ++midway;
      }
      // Each merge before the last one names what is missing.
      const Ran early = run(merge_words(folder, shard));
      if (shard < kShards) {
        CHECK(early.exit == 3);
        CHECK(early.err.find("shard 4 of 4 is missing") != std::string::npos);
        CHECK(!std::filesystem::exists(folder / "merged.json"));
      }
      CHECK(wait_for(start(words)) == exit);
    }
    CHECK(midway >= kills_wanted() / 2);
    const Ran merged = run(merge_words(folder));
    CHECK_MESSAGE(merged.exit == exit, merged.err);
    CHECK(bytes_of(folder / "merged.json") == expected);
  }
}

TEST_CASE("a journal cut off at any byte is gone on from") {
  const std::vector<Words> commands = {
      {"prove", "lemma-b1", "--max-devices", "4"},
      {"synth", "--hierarchy", "2,2", "--axes", "2,2", "--reduce", "0", "--size", "2", "--explain"},
      {"cost", "--system", kSystems + "a100-2nodes.json", "--axes", "2,16", "--reduce", "0",
       "--size", "2"}};
  for (const Words& command : commands) {
    CAPTURE(command[0]);
    const Folder folder;
    const Words words = joined(command, {"--resume", folder / "journal"});
    const std::string expected = run(command).out;
    CHECK(run(words).out == expected);
    const std::string journal = bytes_of(folder / "journal");
    CHECK(std::ranges::count(journal, '\n') >= 3);
    const std::size_t dense = 40;  // bytes on both sides of the end of a line
    std::size_t cuts = 0;
    for (std::size_t bytes = 0; bytes < journal.size(); ++bytes) {
      const std::size_t from = bytes - std::min(bytes, dense);
      const bool is_near = journal.substr(from, 2 * dense).find('\n') != std::string::npos;
      if (!is_near && bytes % 31 != 0) continue;
      std::ofstream(folder / "journal", std::ios::binary) << journal.substr(0, bytes);
      const Ran again = run(words);
      CHECK_MESSAGE(again.out == expected, bytes << " bytes: " << again.err);
      ++cuts;
    }
    CHECK(cuts > 100);
    CHECK(run({"merge", folder / "journal"}).out == expected);
  }
}

TEST_CASE("shards that run at once share a folder of certificates, also when they are killed") {
  const std::vector<Words> commands = {{P2_VERIFY, "prove", "expressiveness", "mixing",
                                        "--max-devices", "4", "--size", "3", "--every-system"},
                                       {P2_VERIFY, "synth", "--hierarchy", "2,2,2", "--hierarchy",
                                        "4,2", "--axes", "2,4", "--reduce", "0,1", "--size", "3"}};
  for (const Words& command : commands) {
    CAPTURE(command[1]);
    const Folder folder;
    const std::string certificates = folder / "certificates";
    const Words certified = joined(command, {"--format", "json", "--certify", certificates});
    const std::string expected = single_run(certified, folder);
    const auto files = files_below(certificates);
    CHECK(files.size() > 20);
    std::filesystem::remove_all(certificates);
    for (int round = 0; round < 2; ++round) {
      std::vector<pid_t> children;
      for (int shard = 1; shard <= kShards; ++shard) {
        children.push_back(start(shard_words(certified, folder, shard)));
      }
      for (int shard = 1; shard <= kShards; ++shard) {
        const pid_t child = children[static_cast<std::size_t>(shard) - 1];
        if (round == 0) {
          wait_for_bytes(child, folder / ("journal-" + std::to_string(shard)), 3000);
          ::kill(child, SIGKILL);
        }
        const int exit = wait_for(child);
        if (round == 1) CHECK(exit <= 1);
      }
    }
    const Ran merged = run(merge_words(folder));
    CHECK_MESSAGE(merged.exit <= 1, merged.err);
    CHECK(bytes_of(folder / "merged.json") == expected);
    CHECK(files_below(certificates) == files);
    for (const auto& entry : std::filesystem::directory_iterator(certificates)) {
      if (entry.path().filename().string().starts_with(".")) continue;
      CHECK(check_folder(entry.path().string()).verdict == kernel::Verdict::Accepted);
    }
  }
}

TEST_CASE(
    "a system file, one placement and claims about schedules survive the way through journals") {
  const std::vector<Words> requests = {
      {"gather-order", "--format", "json"},
      {"expressiveness", "--system", kSystems + "a100-2nodes.json", "--axes", "8,4", "--reduce",
       "0", "--size", "2", "--from", "b", "--to", "d", "--format", "json"},
      {"expressiveness", "--hierarchy", "node=2,gpu=4", "--axes", "data=4,shard=2", "--reduce",
       "data", "--placement", "[[2,2],[1,2]]", "--dialect", "printed", "--engine", "cnf", "--size",
       "3", "--format", "json"}};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Folder folder;
    Words prove = joined({P2_VERIFY, "prove"}, requests[i]);
    if (i == 0) {
      // The first claim about schedules, whatever it is called.
      const auto list =
          nlohmann::json::parse(run({"prove", "--list", "--format", "json"}).out).at("schedules");
      prove[2] = list.at(0).at("name").get<std::string>();
      prove.push_back("lemma-b1");
    }
    const std::string expected = single_run(prove, folder);
    for (int shard = 1; shard <= kShards; ++shard) {
      const Words words = shard_words(prove, folder, shard);
      CHECK(run({words.begin() + 1, words.end()}).exit <= 1);
    }
    const Ran merged = run(merge_words(folder));
    CHECK_MESSAGE(merged.exit <= 1, merged.err);
    CHECK(bytes_of(folder / "merged.json") == expected);
  }
}

TEST_CASE("checks of many files and of a dump come out of their journals as they went in") {
  const std::string examples = std::string(P2_SOURCE_DIR) + "/examples/";
  const std::vector<Words> requests = {
      {"check", examples + "programs/valid/*.p2", examples + "programs/refused/*.p2",
       examples + "msccl/refused/*.xml", examples + "hlo/*.hlo", examples + "records/*.csv",
       examples + "nothing-here.p2", "--engine", "all"},
      {"check", "--dump", examples + "hlo/refused/dump"}};
  for (const Words& check : requests) {
    for (const char* format : {"json", "text"}) {
      const Folder folder;
      const Words formatted = joined(check, {"--format", format});
      const Ran single = run(formatted);
      CHECK(single.exit > 0);
      for (int shard = 1; shard <= kShards; ++shard) {
        const Words words = shard_words(formatted, folder, shard);
        const Ran once = run(words);
        CHECK(once.exit <= 3);
        CHECK(run(words).exit == once.exit);  // from the journal
      }
      Words merge = merge_words(folder);
      merge.resize(1 + kShards);
      const Ran merged = run(joined(merge, {"--format", format}));
      CHECK(merged.exit == single.exit);
      CHECK(merged.out == single.out);
      if (check[1] == "--dump") continue;  // of fewer pairs than shards
      merge.pop_back();
      const Ran missing = run(merge);
      CHECK(missing.exit == 3);
      CHECK(missing.err.find("shard 4 of 4 is missing") != std::string::npos);
    }
  }
}

TEST_CASE("programs and prices come out of their journals as they went in") {
  const Words priced = {"cost", "--axes", "8,4", "--reduce", "1", "--size", "2"};
  const std::vector<Words> requests = {
      {"synth", "--hierarchy", "2,2,2", "--axes", "4,2", "--reduce", "0", "--size", "3",
       "--explain"},
      {"synth", "--hierarchy", "node=*,gpu=*", "--axes", "data=*", "--reduce", "data", "--size",
       "2"},
      {"synth", "--hierarchy", "2,2,2", "--hierarchy", "2,4", "--axes", "4,2", "--reduce", "0",
       "--size", "3", "--exists", "no-AllReduce", "--engine", "all"},
      {"synth", "--hierarchy", "2,2,2", "--axes", "4,2", "--reduce", "1", "--size", "3", "--goal",
       "allgather", "--count", "--verify"},
      // By links, with user-defined collectives, and by the model of NCCL.
      joined(priced, {"--system", kSystems + "a100-2nodes.json", "--top", "7"}),
      joined(priced, {"--system", kSystems + "a100-2nodes.json", "--sizes", "1K:4G", "--algorithm",
                      "tree", "--synthesis-hierarchy", "lattice"}),
      joined(priced, {"--system", kSystems + "a100-2nodes.json", "--system",
                      kSystems + "dgx-h100-4nodes.json", "--system",
                      kSystems + "dgx-a100-4nodes.json", "--sizes", "1K:4G"}),
      joined(priced, {"--system", kSystems + "a100-2nodes.json", "--collectives",
                      std::string(P2_SOURCE_DIR) + "/examples/collectives/sound/scatter.p2c",
                      "--max-group", "2"})};
  for (const Words& request : requests) {
    CAPTURE(fmt::format("{}", fmt::join(request, " ")));
    for (const char* format : {"json", "text"}) {
      const bool drawn = std::ranges::find(request, "--explain") != request.end();
      if (drawn && format == std::string("json")) continue;
      const Folder folder;
      const Words formatted = joined(request, {"--format", format});
      const Ran single = run(formatted);
      REQUIRE_MESSAGE(single.exit <= 1, single.err);
      for (int shard = 1; shard <= kShards; ++shard) {
        const Words words = shard_words(formatted, folder, shard);
        const Ran once = run(words);
        CHECK_MESSAGE(once.exit <= 1, once.err);
        CHECK(run(words).exit == once.exit);  // from the journal
      }
      Words merge = merge_words(folder);
      merge.resize(1 + kShards);
      const Ran merged = run(joined(merge, {"--format", format}));
      CHECK_MESSAGE(merged.exit == single.exit, merged.err);
      CHECK(merged.out == single.out);
    }
  }
}

TEST_CASE("several systems are answered one after the other, each as alone") {
  const Words synth = {"synth", "--axes", "8", "--reduce", "0", "--size", "2", "--format", "json"};
  const auto answer = [](const Words& words) {
    const Ran ran = run(words);
    CHECK_MESSAGE(ran.exit == 0, ran.err);
    return nlohmann::json::parse(ran.out);
  };
  const auto both = answer(joined(synth, {"--hierarchy", "2,4", "--hierarchy", "2,2,2"}));
  REQUIRE(both.at("systems").size() == 2);
  CHECK(both.at("systems")[1].at("system") == "2,2,2");
  const auto alone = answer(joined(synth, {"--hierarchy", "2,2,2"}));
  CHECK(both.at("systems")[1].at("placements") == alone.at("placements"));
  CHECK(both.at("complete") == true);
  CHECK(both.at("total_programs").get<int>() ==
        both.at("systems")[0].at("total_programs").get<int>() +
            alone.at("total_programs").get<int>());
  const Words cost = {"cost", "--axes", "32", "--reduce", "0", "--size", "2", "--format", "json"};
  const std::string a100 = kSystems + "a100-2nodes.json";
  const std::string h100 = kSystems + "dgx-h100-4nodes.json";
  const auto prices = answer(joined(cost, {"--system", a100, "--system", h100}));
  CHECK(prices.at("systems")[0] == answer(joined(cost, {"--system", a100})));
  CHECK(prices.at("systems")[1] == answer(joined(cost, {"--system", h100})));
  CHECK(
      run({"synth", "--hierarchy", "2,4", "--system", a100, "--axes", "8", "--reduce", "0"}).exit ==
      2);
  CHECK(run({"place", "--hierarchy", "2,4", "--hierarchy", "4,2", "--axes", "8"}).exit == 2);
  CHECK(
      run(joined(cost, {"--system", a100, "--system", h100, "--plot", "/tmp/p2-plot.svg"})).exit ==
      2);
}

TEST_CASE("a file that has changed is not answered from a journal") {
  const Folder folder;
  const std::string program = folder / "program.p2";
  std::ofstream(program) << "devices 2\nAllReduce{0,1}\n";
  const Words check = {"check", program, "--resume", folder / "journal"};
  CHECK(run(check).exit == 0);
  std::ofstream(program) << "devices 2\nAllReduce{0,1}; AllReduce{0,1}\n";
  const Ran again = run(check);
  CHECK(again.exit == 2);
  CHECK(again.err.find("'sha256' mismatch") != std::string::npos);
  const Ran merged = run({"merge", folder / "journal"});
  CHECK(merged.exit == 2);
  CHECK(merged.err.find("other contents") != std::string::npos);
  const Ran input = run({"check", "-", "--resume", folder / "other"});
  CHECK(input.exit == 2);
  CHECK(run({"check", program, "--resume", folder / "other", "--cache", folder / "cache"}).exit ==
        2);
}

TEST_CASE("jobs of Slurm are written for a command that has shards") {
  const Folder folder;
  const Ran ran =
      run({"campaign", "--slurm",   folder / "jobs", "--shards", "7",     "--partition",
           "long",     "--time",    "2:00:00",       "--mem",    "4096",  "--jobs",
           "3",        "--program", "/opt/p2 v",     "--",       "prove", "expressiveness",
           "--axes",   "it's"});
  CHECK_MESSAGE(ran.exit == 0, ran.err);
  const std::string shards = bytes_of(folder / "jobs/shards.sbatch");
  for (const char* line :
       {"#SBATCH --array=1-7\n", "#SBATCH --requeue\n", "#SBATCH --partition=long\n",
        "#SBATCH --time=2:00:00\n", "#SBATCH --mem=4096\n", "#SBATCH --cpus-per-task=3\n",
        "'/opt/p2 v' prove expressiveness --axes 'it'\\''s' --jobs 3 "}) {
    CHECK_MESSAGE(shards.find(line) != std::string::npos, line);
  }
  CHECK(bytes_of(folder / "jobs/submit.sh").find("--dependency=\"afterany:$shards\"") !=
        std::string::npos);
  for (const char* command : {"check", "synth", "cost"}) {
    CHECK(run({"campaign", "--slurm", folder / command, "--", command}).exit == 0);
  }
  const auto refused = [&](const Words& words) {
    const Ran bad = run(joined({"campaign", "--slurm", folder / "jobs"}, words));
    CHECK(bad.exit == 2);
    return bad.err;
  };
  CHECK(refused({}).find("expected `prove`") != std::string::npos);
  CHECK(refused({"--", "place"}).find("expected `prove`") != std::string::npos);
  for (const char* flag : {"--shard=1/2", "--resume=x", "--output=x", "--format=json"}) {
    CHECK(refused({"--", "prove", "lemma-b1", flag}).find("the jobs give it") != std::string::npos);
  }
  CHECK(refused({"--time", "1:00 #x", "--", "prove", "lemma-b1"}).find("--time") !=
        std::string::npos);
  CHECK(run({"campaign", "--", "prove"}).exit == 2);
  CHECK(run({"campaign", "--slurm", "/tmp/a b", "--", "prove", "lemma-b1"}).exit == 2);
}

TEST_CASE("what merge and --shard refuse") {
  const Folder folder;
  const auto message = [](const Words& words, int exit = 2) {
    const Ran ran = run(words);
    CHECK(ran.exit == exit);
    return ran.err;
  };
  for (const char* shard :
       {"0/4", "5/4", "1", "1/", "/4", "1/4x", "1/0", "a/b", "-1/4", "1/100001"}) {
    CHECK(message({"prove", "lemma-b1", "--shard", shard}).find("expected I/N") !=
          std::string::npos);
  }
  CHECK(message({"prove", "lemma-b1", "--max-devices", "4", "--shard", "1/2", "--report",
                 folder / "report.md"})
            .find("--report") != std::string::npos);
  CHECK(message({"merge"}).find("no journal") != std::string::npos);
  const auto prove = [&](const Words& words, const char* journal) {
    run(joined({"prove", "lemma-b1", "--resume", folder / journal}, words));
    return folder / journal;
  };
  const Words synth = {"synth", "--hierarchy", "2,2", "--axes", "4", "--reduce", "0"};
  CHECK(message(joined(synth, {"--smt2", folder / "smt2", "--resume", folder / "synth"}))
            .find("--smt2") != std::string::npos);
  const Words cost = {"cost", "--system", kSystems + "a100-2nodes.json", "--resume",
                      folder / "cost"};
  CHECK(message(joined(cost, {kPrograms + "valid/figure10-blueconnect.p2"})).find("no FILE") !=
        std::string::npos);
  CHECK(message(joined(cost, {"--axes", "32"})).find("--reduce") != std::string::npos);
  const std::string small = prove({"--max-devices", "4", "--shard", "1/2"}, "small");
  const std::string rest = prove({"--max-devices", "4", "--shard", "2/2"}, "rest");
  const std::string large = prove({"--max-devices", "5", "--shard", "2/2"}, "large");
  const std::string thirds = prove({"--max-devices", "4", "--shard", "2/3"}, "thirds");
  const std::string whole = prove({"--max-devices", "4"}, "whole");
  CHECK(message({"merge", small, large}).find("different questions") != std::string::npos);
  CHECK(message({"merge", small, thirds}).find("shards") != std::string::npos);
  CHECK(message({"merge", small, kSystems + "a100-2nodes.json"}).find("not a line of a journal") !=
        std::string::npos);
  CHECK(run({"merge", small, rest}).out == run({"merge", whole}).out);
  CHECK(run({"merge", small, rest, small}).out == run({"merge", whole}).out);

  // Two answers to one question: an answer of one journal, changed and with a new checksum.
  std::ofstream(folder / "empty");
  CHECK(message({"merge", folder / "empty"}).find("is empty") != std::string::npos);
  CHECK(message({"merge", small, folder / "empty"}, 3).find("shard 2 of 2 is missing") !=
        std::string::npos);
  const std::string text = bytes_of(rest);
  std::ofstream(folder / "torn", std::ios::binary) << text.substr(0, text.size() - 5);
  CHECK(message({"merge", small, folder / "torn"}, 3).find("shard 2 of 2 is incomplete (1 of ") !=
        std::string::npos);
}
