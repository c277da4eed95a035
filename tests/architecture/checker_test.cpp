// What the build cannot hold: the checker's independence and its size.
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;

const fs::path kKernel = fs::path(P2_SOURCE_DIR) / "proofs" / "kernel";
const fs::path kCheck = fs::path(P2_SOURCE_DIR) / "proofs" / "check";

template <typename Visit>
void for_each_checker_source(Visit visit) {
  for (const fs::path& folder : {kKernel, kCheck}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".h" || extension == ".cpp") visit(entry.path());
    }
  }
}

/// Lines of p2-check that are neither empty nor comments.
template <typename Counts>
std::size_t checker_lines(Counts counts) {
  std::size_t lines = 0;
  for_each_checker_source([&](const fs::path& path) {
    const std::string folder = path.parent_path().filename().string();
    const std::string name = path.filename().string();
    const bool is_relation = folder == "xla" && name.starts_with("relation");
    const bool is_programs =
        folder == "xla" && (name.starts_with("program") || name.starts_with("related_programs"));
    const bool is_subject = folder == "xla" || folder == "onesided";
    if (!counts(is_relation ? "relation" : is_programs ? "programs" : is_subject ? folder : name))
      return;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      const std::size_t begin = line.find_first_not_of(' ');
      if (begin != std::string::npos && line.compare(begin, 2, "//") != 0) ++lines;
    }
  });
  return lines;
}

}  // namespace

TEST_CASE(
    "p2-check is small enough to be read: under 2,040 lines for programs, 450 for their costs, 420 "
    "for strategies, 350 for resharding, 200 for pipelines, 1,060 for all sizes, 2,500 for "
    "one-sided "
    "plans, in JSON and in text, and algorithms of MSCCL, 5,855 for executing modules of XLA, "
    "9,170 for "
    "their relation at every node, 1,265 for that of several programs") {
  const auto modules = [](const std::string& name) { return name == "xla"; };
  const auto relations = [](const std::string& name) { return name == "relation"; };
  const auto several = [](const std::string& name) { return name == "programs"; };
  const auto strategies = [](const std::string& name) { return name.starts_with("strategy"); };
  const auto reshards = [](const std::string& name) { return name.starts_with("reshard"); };
  const auto costs = [](const std::string& name) { return name.starts_with("cost"); };
  const auto pipelines = [](const std::string& name) { return name.starts_with("pipeline"); };
  const auto sizes = [](const std::string& name) { return name.starts_with("machine"); };
  const auto onesided = [](const std::string& name) { return name == "onesided"; };
  // The table of all claims belongs to none of them.
  const auto programs = [&](const std::string& name) {
    return !strategies(name) && !reshards(name) && !costs(name) && !pipelines(name) &&
           !sizes(name) && !modules(name) && !relations(name) && !several(name) &&
           !onesided(name) && name != "claims.cpp";
  };
  CHECK(checker_lines(costs) > 100);
  CHECK(checker_lines(costs) < 450);  // with potentials
  CHECK(checker_lines(strategies) > 100);
  CHECK(checker_lines(strategies) < 420);  // two ways to prove: elimination and clauses
  CHECK(checker_lines(reshards) > 100);
  CHECK(checker_lines(reshards) < 350);
  CHECK(checker_lines(pipelines) > 100);
  CHECK(checker_lines(pipelines) < 200);
  CHECK(checker_lines(modules) > 1000);
  // A reader and an interpreter; 20 lines are for layouts and for attributes that are written, 60
  // for what reductions and scatters leave open. 450 more are for texts that other readers read
  // otherwise, for errors of numbers, and for what is known of an integer under a condition only.
  // 180 are for bounds that hold for small inputs only, for infinities, for calls, and for types
  // and sizes of moves, 80 for elements named behind tuples and for constants stated exactly,
  // 130 for shardings by meshes and for parts that are manual over some axes only, 100 for lines
  // that are read once where they are written alike, 20 for memory that nobody has written to,
  // 30 for inputs that devices have alike, 25 for sizes that are copied often.
  CHECK(checker_lines(modules) < 5855);
  CHECK(checker_lines(relations) > 1000);
  // A rule for every operation. 600 lines are for loops, which are one iteration and an induction,
  // for all-to-alls, and for manual parts, in which every device has tensors of its own.
  // 350 lines are for sums of which every device has some summands, as those of microbatches, and
  // for what several programs share. 260 are for how certificates say what devices hold, and facts,
  // which the claims about two modules and about several programs have in common.
  // 1,100 lines are for modules as XLA's backend for GPUs leaves
  // them: bitcasts by both layouts, expanded gathers and scatters, places along dimensions that are
  // put together, and one form for what reshapes, transposes, dots, reductions and slices make of
  // one tensor.
  // 10 more are for gathers at tables of indices, 130 for sorts, windows and convolutions,
  // 200 for reductions of several arrays in two steps, 310 for halos. 820 are for what compilers
  // write after the partitioner: functions of elements in one form, branches, convolutions in place
  // of dots, exchanges of several arrays, sums in tiles, tiles of other sizes,
  // 40 for all-reduces that are joined and sums of all elements, and 25 for tiles of what is
  // exchanged. 480 are for training steps of models as XLA's backend for CPUs leaves them: look-ups
  // of all there is, integers within ranges, convolutions in any order of dimensions, batches of
  // which every device has one element, concatenations of what is moved. 40 are for the types and
  // sizes of all that is looked at, 30 for slices that are gathered. 200 are for what is promised
  // of indices, and for gathers and scatters at indices of several components. 230 are for
  // conditions of claims, signs of numbers, sums and powers with constants, windows that are cut,
  // and top-k. 220 are for convolutions over positions that are cut, with the borders of
  // neighbours, and 110 for what is looked at once: shapes of instructions that are written alike,
  // groups, and how tensors are moved.
  CHECK(checker_lines(relations) < 9170);
  CHECK(checker_lines(several) > 500);
  // Messages and collectives between programs, who waits for whom, and the claim. 55 are for
  // collectives in the same groups, and for messages along the same pairs, which are many.
  CHECK(checker_lines(several) < 1265);
  CHECK(checker_lines(onesided) > 1000);
  // Three readers (plans in JSON, in text, with expressions and loops; XML), an order, a run. 170
  // lines are for counters whose signals end waits as the interleaving has it: an execution in
  // which all or a seed says what comes next, and the signals that precede a wait in any case. 25
  // are for packets that an operation forwards one by one.
  CHECK(checker_lines(onesided) < 2500);
  CHECK(checker_lines(sizes) > 100);
  // 330 lines are for tables of chunks, which decide printed, of which there is no machine; 460 for
  // its complete lists: a search by two chunks, tables that tell refused from undecided and know
  // what a group has become, and the programs on them; 50 for that no valid program makes one of
  // some choices.
  CHECK(checker_lines(sizes) < 1060);
  CHECK(checker_lines(programs) > 500);
  // 50 lines are for the instructions that processors have for SHA-256, 190 for reading and writing
  // JSON.
  CHECK(checker_lines(programs) < 2040);
}

TEST_CASE("p2-check includes its own code, the standard library and the JSON reader only") {
  std::size_t checked = 0;
  for_each_checker_source([&](const fs::path& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("#include ")) continue;
      const std::string name = line.substr(10, line.size() - 11);
      const bool standard =
          line[9] == '<' && (name.find('/') == std::string::npos || name.starts_with("nlohmann/"));
      CHECK_MESSAGE((standard || name.starts_with("proofs/kernel/")), path.string(), " includes ",
                    name);
      ++checked;
    }
  });
  CHECK(checked > 50);
}
