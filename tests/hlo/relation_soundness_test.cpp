// The rules of a relation at every node, on small shapes: what p2-check concludes from facts is
// true of devices that are executed element by element, by an interpreter of these tests.

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/hlo/small_programs.h"

namespace p2::hlo::small {
namespace {

/// Facts about the results of one kind of operation.
struct Counts {
  int facts = 0, of_parts = 0, views = 0, cut = 0;
};

int times(int usual) {
  const char* const more = std::getenv("P2_RELATION_TIMES");
  return more == nullptr ? usual : usual * std::atoi(more);
}

/// Programs that begin with an operation of a kind, and go on with others.
std::map<std::string, Counts> checked(const std::string& kind, int programs) {
  static const std::vector<std::string> kNext = {
      "elementwise", "elementwise", "reduce",    "transpose",          "all-reduce", "reshape",
      "slice",       "all-gather",  "broadcast", "collective-permute", "dot"};
  std::map<std::string, Counts> counts;
  for (int seed = 0; seed < programs; ++seed) {
    SmallProgram program(static_cast<std::uint32_t>(seed), 2 + static_cast<std::size_t>(seed) % 3);
    program.make(kind);
    while (program.once_in(2)) program.make(program.one_of(kNext));
    program.for_each_fact(
        [&](const Step& step, const kernel::xla::Fact& fact, const std::string& contradiction) {
          Counts& count = counts[step.opcode];
          ++count.facts;
          if (fact.partial) ++count.of_parts;
          if (fact.view) ++count.views;
          if (contradiction.empty()) return;
          const std::string text = program.local_text();
          FAIL(kind, ", program ", seed, ", ", step.opcode, ": ", contradiction, " in\n",
               text.substr(text.find("ENTRY")), program.whole_text());
        });
  }
  return counts;
}

TEST_CASE("what follows by the rules is so on small shapes, element by element") {
  struct Kind {
    const char* name;
    const char* opcode;
    int facts;  ///< at least, of every 100 programs
  };
  const Kind kinds[] = {{"elementwise", "add", 1},
                        {"broadcast", "broadcast", 1},
                        {"iota", "iota", 1},
                        {"reshape", "reshape", 1},
                        {"transpose", "transpose", 1},
                        {"reverse", "reverse", 1},
                        {"slice", "slice", 1},
                        {"concatenate", "concatenate", 1},
                        {"pad", "pad", 1},
                        {"sort", "sort", 1},
                        {"dot", "dot", 1},
                        {"reduce", "reduce", 1},
                        {"dynamic-slice", "dynamic-slice", 1},
                        {"dynamic-update-slice", "dynamic-update-slice", 1},
                        {"gather", "gather", 1},
                        {"scatter", "scatter", 1},
                        {"masked gather", "select", 1},
                        {"masked scatter", "scatter", 1},
                        {"choice", "scatter", 1},
                        {"number", "compare", 1},
                        {"all-reduce", "all-reduce", 1},
                        {"all-gather", "all-gather", 1},
                        {"reduce-scatter", "reduce-scatter", 1},
                        {"collective-permute", "collective-permute", 1}};
  const int programs = times(400);
  for (const Kind& kind : kinds) {
    auto counts = checked(kind.name, programs);
    const Counts& own = counts[kind.opcode];
    MESSAGE(std::string(kind.name), ": ", own.facts, " facts, ", own.of_parts, " of parts, ",
            own.views, " views");
    CHECK(own.facts * 100 >= kind.facts * programs);
  }
}

}  // namespace
}  // namespace p2::hlo::small
