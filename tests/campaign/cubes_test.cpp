// Cube and conquer: one hard question in parts, on threads, by other processes, by other solvers.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "p2/campaign.h"
#include "proofs/kernel/certificate.h"
#include "tests/campaign/processes.h"
#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;

TEST_CASE("cubes give the same verdicts, and certificates that p2-check accepts") {
  const Words prove = {"prove",       "expressiveness",
                       "--from",      "c",
                       "--to",        "d",
                       "--hierarchy", "2,2,2",
                       "--axes",      "4,2",
                       "--reduce",    "0",
                       "--size",      "2",
                       "--engine",    "cnf",
                       "--format",    "json"};
  const auto verdicts = [](const Ran& ran) {
    std::vector<std::pair<std::string, std::string>> all;
    const nlohmann::json results = nlohmann::json::parse(ran.out).at("results");
    for (const auto& result : results) {
      all.emplace_back(result.at("verdict"), result.at("note"));
    }
    return all;
  };
  const auto expected = verdicts(run(prove));
  for (const char* parts : {"2", "3", "1000"}) {
    const Folder folder;
    const Ran ran = run(joined(prove, {"--cubes", parts, "--certify", folder / "certificates"}));
    CHECK_MESSAGE(ran.exit <= 1, ran.err);
    CHECK(verdicts(ran) == expected);
    std::size_t accepted = 0;
    const nlohmann::json results = nlohmann::json::parse(ran.out).at("results");
    for (const auto& result : results) {
      if (result.at("certificate").is_null()) continue;
      CHECK(check_folder(result.at("certificate").get<std::string>()).verdict ==
            kernel::Verdict::Accepted);
      if (!result.at("empty_question").get<bool>()) ++accepted;
    }
    CHECK(accepted > 0);
    // The same bytes, whatever the number of threads.
    const auto files = files_below(folder / "certificates");
    run(joined(prove, {"--cubes", parts, "--certify", folder / "certificates", "--jobs", "1"}));
    CHECK(files_below(folder / "certificates") == files);
  }
  CHECK(run(joined(prove, {"--cubes", "0"})).exit == 2);
}

namespace {

/// A proof of CaDiCaL in DRAT as LRAT without hints.
std::string as_lrat(const std::string& drat, std::uint64_t clauses) {
  std::string lrat;
  std::map<std::multiset<int>, std::vector<std::uint64_t>> steps;
  std::istringstream lines(drat);
  for (std::string line; std::getline(lines, line);) {
    const bool deletes = line.starts_with("d ");
    std::istringstream words(deletes ? line.substr(2) : line);
    std::multiset<int> literals;
    for (int literal = 0; words >> literal && literal != 0;) literals.insert(literal);
    if (!deletes) {
      clauses += 3;  // gaps
      steps[literals].push_back(clauses);
      lrat += fmt::format("{} {}{}0 7 0\n", clauses, fmt::join(literals, " "),
                          literals.empty() ? "" : " ");
    } else if (!steps[literals].empty()) {
      lrat += fmt::format("{} d {} 5 0\n", clauses, steps[literals].back());
      steps[literals].pop_back();
    }
  }
  return lrat;
}

/// A proof as text in the binary form: steps `a` or `d`, numbers in 7 bits a byte, twice their
/// magnitude and one more if negative.
std::string as_binary(const std::string& text, bool is_lrat) {
  std::string binary;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    const auto put = [&](std::int64_t number) {
      std::uint64_t rest = number < 0 ? 1 - 2 * number : 2 * number;
      for (; rest > 0x7F; rest >>= 7U) binary.push_back(static_cast<char>((rest & 0x7FU) | 0x80U));
      binary.push_back(static_cast<char>(rest));
    };
    const bool deletes = line.find('d') != std::string::npos;
    binary.push_back(deletes ? 'd' : 'a');
    if (deletes) words >> word;  // of LRAT a number, which the binary form has not
    if (deletes && is_lrat) words >> word;
    while (words >> word) put(std::stoll(word));
  }
  return binary;
}

}  // namespace

TEST_CASE("the proofs of cubes in a folder make a certificate that p2-check accepts") {
  const Folder folder;
  const std::string cubes = folder / "cubes";
  const Words synth = {
      "synth",  "--hierarchy", "2,2,2",       "--axes",           "4,2", "--reduce", "0",
      "--size", "3",           "--placement", "[[1 2 2],[2 1 1]]"};
  const Ran written = run(joined(synth, {"--cubes", cubes}));
  CHECK_MESSAGE(written.exit == 0, written.err);
  const auto manifest = nlohmann::json::parse(bytes_of(cubes + "/manifest.json"));
  const std::size_t count = manifest.at("cubes").size();
  CHECK(count > 5);
  CHECK(written.err.find(std::to_string(count) + " cubes are in ") != std::string::npos);
  const Words certify =
      joined(synth, {"--cubes", cubes, "--certify", folder / "complete", "--format", "json"});
  const auto refusal = [&] {
    const Ran ran = run(certify);
    CHECK(ran.exit == 2);
    CHECK(!std::filesystem::exists(folder / "complete"));
    return ran.err;
  };
  CHECK(refusal().find(fmt::format("{0} of {0} proofs are missing (cube-1.lrat, cube-2.lrat, "
                                   "cube-3.lrat, …)",
                                   count)) != std::string::npos);
  const bool has_cadical = wait_for(start({"sh", "-c", "cadical --version"})) == 0;
  if (!has_cadical) MESSAGE("no program cadical: all proofs are of p2-verify");
  for (std::size_t i = 1; i <= count; ++i) {
    const std::string cube = fmt::format("{}/cube-{}", cubes, i);
    if (has_cadical && i % 4 < 2) {
      CHECK(wait_for(start({"cadical", "-q", "--no-binary", cube + ".cnf", cube + ".drat"})) == 20);
    }
  }
  const Ran refuted = run({"campaign", "--cubes", cubes});
  CHECK_MESSAGE(refuted.exit == 0, refuted.err);
  CHECK(refuted.out.find(fmt::format("{0} of {0} cubes are refuted", count)) != std::string::npos);
  for (std::size_t i = 1; i <= count; i += 2) {  // half of them in the other format
    const std::string cube = fmt::format("{}/cube-{}", cubes, i);
    std::ofstream(cube + ".lrat") << as_lrat(bytes_of(cube + ".drat"),
                                             manifest.at("clauses").get<std::uint64_t>());
    std::filesystem::remove(cube + ".drat");
  }
  const Ran joined_proofs = run(certify);
  REQUIRE_MESSAGE(joined_proofs.exit == 0, joined_proofs.err);
  const kernel::Result result = check_folder(folder / "complete");
  CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
  // The same claim as without cubes.
  const Ran alone = run(joined(synth, {"--certify", folder / "alone", "--format", "json"}));
  const auto claim = [](const Ran& ran) {
    return nlohmann::json::parse(ran.out).at("placements")[0].at("claim_digest");
  };
  CHECK(claim(joined_proofs) == claim(alone));
  // Proofs that are cut off, malformed, or of another cube.
  std::filesystem::remove_all(folder / "complete");
  const std::string proof = bytes_of(cubes + "/cube-1.lrat");
  const auto with_proof = [&](const std::string& text) {
    std::ofstream(cubes + "/cube-1.lrat", std::ios::binary) << text;
    return refusal();
  };
  CHECK(with_proof(proof.substr(0, proof.size() / 2)).find("cube-1.lrat") != std::string::npos);
  CHECK(with_proof("1 99999999 0 0\n").find("cube-1.lrat:1:1: expected literals") !=
        std::string::npos);
  CHECK(with_proof("x 1 0\n").find("expected the number of a step") != std::string::npos);
  CHECK(with_proof("").find("has no empty clause") != std::string::npos);
  // Proofs without a lemma: some cubes need more than propagation.
  for (std::size_t i = 2; i <= count; ++i) {
    std::ofstream(fmt::format("{}/cube-{}.lrat", cubes, i)) << "9999999 0 0\n";
  }
  CHECK(with_proof("9999999 0 0\n").find("not RUP") != std::string::npos);
  // The cubes of another question.
  Words shorter = certify;
  shorter[8] = "2";
  const Ran other = run(shorter);
  CHECK(other.exit == 2);
  CHECK(other.err.find("cubes of another question") != std::string::npos);
  // What is no folder of cubes is left alone.
  std::ofstream(cubes + "/notes") << "mine";
  const Ran mine = run(joined(synth, {"--cubes", cubes}));
  CHECK(mine.exit == 2);
  CHECK(bytes_of(cubes + "/notes") == "mine");
  CHECK(std::filesystem::exists(cubes + "/cube-2.drat"));
  CHECK(run({"synth", "--hierarchy", "2,2,2", "--axes", "4,2", "--reduce", "0", "--cubes", cubes})
            .err.find("--placement") != std::string::npos);
}

TEST_CASE("the proofs of cubes may be binary, as CaDiCaL and Mallob write them") {
  const Folder folder;
  const std::string cubes = folder / "cubes";
  const Words synth = {"synth",  "--hierarchy", "2,2,2",   "--axes", "8",        "--reduce", "0",
                       "--size", "2",           "--cubes", cubes,    "--format", "json"};
  const Ran written = run(synth);
  REQUIRE_MESSAGE(written.exit == 0, written.err);
  REQUIRE(run({"campaign", "--cubes", cubes}).exit == 0);
  const auto manifest = nlohmann::json::parse(bytes_of(cubes + "/manifest.json"));
  const std::size_t count = manifest.at("cubes").size();
  REQUIRE(count > 5);
  const Words certify = joined(synth, {"--certify", folder / "complete"});
  const auto digest = [&] {
    std::filesystem::remove_all(folder / "complete");
    const Ran ran = run(certify);
    REQUIRE_MESSAGE(ran.exit == 0, ran.err);
    CHECK(check_folder(folder / "complete").verdict == kernel::Verdict::Accepted);
    return nlohmann::json::parse(ran.out).at("placements")[0].at("claim_digest");
  };
  const auto refusal = [&] {
    std::filesystem::remove_all(folder / "complete");
    const Ran ran = run(certify);
    CHECK(ran.exit == 2);
    CHECK(!std::filesystem::exists(folder / "complete"));
    return ran.err;
  };
  const auto of_text = digest();
  const auto name = [&](std::size_t cube, const char* extension) {
    return fmt::format("{}/cube-{}.{}", cubes, cube, extension);
  };
  const auto write = [](const std::string& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  };
  for (std::size_t i = 1; i <= count; ++i) {
    const std::string drat = bytes_of(name(i, "drat"));
    const bool is_lrat = i % 2 == 1;
    if (is_lrat) std::filesystem::remove(name(i, "drat"));
    write(name(i, is_lrat ? "lrat" : "drat"),
          as_binary(is_lrat ? as_lrat(drat, manifest.at("clauses")) : drat, is_lrat));
  }
  CHECK(digest() == of_text);
  for (const std::string& file : {name(1, "lrat"), name(2, "drat")}) {
    const std::string binary = bytes_of(file);
    const auto with = [&](const std::string& bytes) {
      write(file, bytes);
      return refusal();
    };
    for (std::size_t left = 1; left < 8 && left < binary.size(); ++left) {
      CHECK(with(binary.substr(0, binary.size() - left)).find(file) != std::string::npos);
    }
    CHECK(with(binary.substr(0, binary.size() - 1)).find(": byte ") != std::string::npos);
    CHECK(with(binary + "x").find("expected a step, `a` or `d`") != std::string::npos);
    CHECK(with("a" + std::string(12, '\xFF')).find("a number below") != std::string::npos);
    CHECK(with(std::string("a\x02\xFE\xFF\xFF\x7F\0", 7)).find("expected a literal") !=
          std::string::npos);
    write(file, binary);
  }
  CHECK(digest() == of_text);
  if (wait_for(start({"sh", "-c", "cadical --version"})) != 0) return;
  for (std::size_t i = 1; i <= count; ++i) {
    std::filesystem::remove(name(i, "lrat"));
    CHECK(wait_for(start({"cadical", "-q", name(i, "cnf"), name(i, "drat")})) == 20);
  }
  CHECK(digest() == of_text);
}

namespace {

/// Asks a question through cubes in two shards.
void check_in_shards(const Words& question, const Folder& folder, std::size_t least) {
  const std::string cubes = folder / "cubes";
  const Ran written = run(joined(question, {"--cubes", cubes}));
  REQUIRE_MESSAGE(written.exit == 0, written.err);
  const Words certify = joined(question, {"--cubes", cubes, "--certify", folder / "certificate"});
  for (int shard = 1; shard <= 2; ++shard) {
    CHECK(run(certify).exit == 2);  // proofs are missing
    const Ran ran = run({"campaign", "--cubes", cubes, "--shard", fmt::format("{}/2", shard)});
    CHECK_MESSAGE(ran.exit == 0, ran.err);
  }
  CHECK(nlohmann::json::parse(bytes_of(cubes + "/manifest.json")).at("cubes").size() >= least);
  const Ran ran = run(certify);
  CHECK_MESSAGE(ran.exit == 0, ran.err);
  const kernel::Result result = check_folder(folder / "certificate");
  CHECK_MESSAGE(result.verdict == kernel::Verdict::Accepted, result.reason);
  // The same claim as without cubes, refuted by one solver.
  const Ran alone = run(joined(question, {"--certify", folder / "alone"}));
  CHECK_MESSAGE(alone.exit == 0, alone.err);
  const auto problem = [&](const char* name) { return bytes_of(folder / name + "/problem.json"); };
  CHECK(problem("certificate") == problem("alone"));
}

}  // namespace

TEST_CASE("that no schedule is shorter is shown through cubes") {
  const Folder folder;
  const std::string tasks = folder / "tasks.json";
  std::ofstream(tasks) << R"({"tasks":[
    {"size":1,"sender_hosts":[1],"receiver_hosts":[0,1,2]},
    {"size":1,"sender_hosts":[0,1],"receiver_hosts":[1]},
    {"size":2,"sender_hosts":[0,2],"receiver_hosts":[0]},
    {"size":2,"sender_hosts":[0],"receiver_hosts":[2]},
    {"size":1,"sender_hosts":[0,2],"receiver_hosts":[1]}]})";
  check_in_shards({"reshard", "--tasks", tasks}, folder, 2);
  // Where the search has a shorter argument there is no question of clauses.
  const std::string easy = folder / "easy.json";
  std::ofstream(easy) << R"({"tasks":[{"size":1,"sender_hosts":[1],"receiver_hosts":[0]}]})";
  const Ran none = run({"reshard", "--tasks", easy, "--cubes", folder / "none"});
  CHECK(none.exit == 0);
  CHECK(none.err.find("without clauses") != std::string::npos);
  CHECK(!std::filesystem::exists(folder / "none"));
  CHECK(
      run({"reshard", "--tasks", tasks, "--strategy", "naive", "--cubes", folder / "none"}).exit ==
      2);
}

TEST_CASE("that no strategy costs less is shown through cubes") {
  const Folder folder;
  const std::string graph = std::string(P2_SOURCE_DIR) + "/examples/strategy/mlp.json";
  check_in_shards({"parallelize", graph, "--engine", "cnf"}, folder, 3);
  CHECK(run({"parallelize", graph, "--cubes", folder / "none"}).exit == 2);
}

TEST_CASE("a cube with a model, a limit and what is no cube are told apart") {
  const Folder folder;
  const std::string cubes = folder / "cubes";
  const auto write = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(cubes);
    std::ofstream(cubes + "/" + name, std::ios::binary) << text;
  };
  const Words refute = {"campaign", "--cubes", cubes};
  CHECK(run(refute).exit == 2);  // there is no such folder
  write("manifest.json",
        R"({"schema":"p2-cubes/1","variables":2,"clauses":3,"fingerprint":"0","cubes":[{},{}]})");
  write("cube-1.cnf", "p cnf 2 3\n1 2 0\n-1 0\n-2 0\n");
  write("cube-2.cnf", "p cnf 2 3\n1 2 0\n-1 0\n2 0\n");
  const Ran model = run(refute);
  CHECK(model.exit == 1);
  CHECK(model.out.find("1 of 2 cubes are refuted") != std::string::npos);
  CHECK(model.out.find("cube 2 has a model") != std::string::npos);
  CHECK(std::filesystem::exists(cubes + "/cube-1.drat"));
  CHECK(!std::filesystem::exists(cubes + "/cube-2.drat"));
  // A formula that is cut off at any byte is not taken for a shorter one.
  const std::string whole = bytes_of(cubes + "/cube-2.cnf");
  for (std::size_t bytes = 0; bytes + 1 < whole.size(); ++bytes) {
    write("cube-2.cnf", whole.substr(0, bytes));
    CHECK_MESSAGE(run(refute).exit == 2, bytes);
  }
  write("cube-2.cnf", "p cnf 2 3\n1 3 0\n-1 0\n2 0\n");  // a variable too many
  CHECK(run(refute).exit == 2);
  write("manifest.json", "{}");
  CHECK(run(refute).exit == 2);
  CHECK(run({"campaign", "--cubes", cubes, "--slurm", folder / "jobs"}).exit == 2);

  // Limits leave cubes open; the next start asks those alone.
  const std::string hard = folder / "hard";
  REQUIRE(run({"synth", "--hierarchy", "2,2,2", "--axes", "8", "--reduce", "0", "--size", "3",
               "--count", "--cubes", hard})
              .exit == 0);
  const Ran limited = run({"campaign", "--cubes", hard, "--rlimit", "1"});
  CHECK(limited.exit == 3);
  CHECK(limited.out.find("not settled within the limits") != std::string::npos);
  // What was never asked is open, not refuted.
  const std::atomic<bool> cancelled = true;
  Options interrupted;
  interrupted.limits.cancelled = &cancelled;
  const CampaignAnswer none = refute_cubes({hard}, interrupted);
  CHECK(none.outcome == Outcome::Undecided);
  CHECK(run({"campaign", "--cubes", hard, "--format", "json"}).exit == 0);
}
