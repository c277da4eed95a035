#include <filesystem>

#include <doctest/doctest.h>
#include <z3++.h>

#include "tests/cli/run.h"
#include "tests/cli/temporary_file.h"
#include "tests/file_bytes.h"

using namespace p2;

namespace {

const std::string kPrograms = std::string(P2_SOURCE_DIR) + "/examples/programs/";

z3::check_result answer_to(const std::string& text) {
  z3::context context;
  z3::solver solver(context);
  solver.from_string(text.c_str());
  return solver.check();
}

Ran synth(const std::string& size, const std::vector<std::string>& more) {
  std::vector<std::string> command = {"synth",    "--hierarchy", "2,2",    "--axes", "4",
                                      "--reduce", "0",           "--size", size,     "--count"};
  command.insert(command.end(), more.begin(), more.end());
  return run(command);
}

}  // namespace

TEST_CASE("synth --smt2 asks whether the list is complete, and any solver may answer") {
  const TemporaryFile file("", ".smt2");
  for (const char* size : {"1", "2", "3"}) {
    CHECK(synth(size, {"--placement", "[[2 2]]", "--smt2", file.path()}).exit == 0);
    const std::string text = bytes_of(file.path());
    CHECK(text.rfind("; query synthesis, dialect published, " + std::string(size) + " step", 0) ==
          0);
    CHECK(answer_to(text) == z3::unsat);
  }
}

TEST_CASE("check --smt2 asks whether the program is invalid") {
  const TemporaryFile file("", ".smt2");
  for (const char* folder : {"valid", "refused"}) {
    for (const auto& program : std::filesystem::directory_iterator(kPrograms + folder)) {
      CAPTURE(program.path().string());
      const bool valid = std::string(folder) == "valid";
      const Ran ran = run({"check", program.path().string(), "--smt2", file.path()});
      CHECK(ran.exit == (valid ? 0 : 1));
      const std::string text = bytes_of(file.path());
      CHECK(text.rfind("; query validity: ", 0) == 0);
      CHECK(answer_to(text) == (valid ? z3::unsat : z3::sat));
    }
  }
}

TEST_CASE("--smt2 writes one query, whole or not at all") {
  CHECK(run({"check", kPrograms + "valid/figure3a-allreduce.p2",
             kPrograms + "valid/figure10-blueconnect.p2", "--smt2", "/tmp/none.smt2"})
            .exit == 2);
  CHECK(synth("0", {"--placement", "[[2 2]]", "--smt2", "/tmp/none.smt2"}).exit == 2);
  CHECK(run({"synth", "--hierarchy", "2,2", "--axes", "2,2", "--reduce", "0", "--smt2",
             "/tmp/none.smt2"})
            .exit == 2);
  const TemporaryFile file("as it was", ".smt2");
  const Ran ran = synth("2", {"--placement", "[[2 2]]", "--smt2", file.path(), "--rlimit", "1"});
  CHECK(ran.exit == 3);
  CHECK(ran.err ==
        "p2-verify: " + file.path() + ": a limit was met before the query was written\n");
  CHECK(bytes_of(file.path()) == "as it was");
}
