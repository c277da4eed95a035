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
  int facts = 0, of_parts = 0, views = 0;
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
  const Kind kinds[] = {{"elementwise", "add", 100},
                        {"broadcast", "broadcast", 80},
                        {"iota", "iota", 150},
                        {"reshape", "reshape", 60},
                        {"transpose", "transpose", 40},
                        {"reverse", "reverse", 25},
                        {"slice", "slice", 150},
                        {"concatenate", "concatenate", 40},
                        {"pad", "pad", 10},
                        {"sort", "sort", 12},
                        {"reduce-window", "reduce-window", 15},
                        {"convolution", "convolution", 15},
                        {"dot", "dot", 20},
                        {"reduce", "reduce", 20},
                        {"dynamic-slice", "dynamic-slice", 80},
                        {"dynamic-update-slice", "dynamic-update-slice", 5},
                        {"gather", "gather", 12},
                        {"scatter", "scatter", 4},
                        {"masked gather", "select", 7},
                        {"masked scatter", "scatter", 15},
                        {"choice", "scatter", 13},
                        {"number", "compare", 25},
                        {"all-reduce", "all-reduce", 18},
                        {"all-gather", "all-gather", 20},
                        {"reduce-scatter", "reduce-scatter", 8},
                        {"collective-permute", "collective-permute", 25}};
  const int programs = times(400);
  for (const Kind& kind : kinds) {
    const bool is_elementwise = std::string(kind.name) == "elementwise";
    auto counts = checked(kind.name, is_elementwise ? 4 * programs : programs);
    Counts& own = counts[kind.opcode];
    for (const auto& [opcode, count] : counts) {
      if (!is_elementwise || opcode == kind.opcode || !kernel::xla::op_called(opcode)) continue;
      own.facts += count.facts;
      own.of_parts += count.of_parts;
    }
    MESSAGE(std::string(kind.name), ": ", own.facts, " facts, ", own.of_parts, " of parts, ",
            own.views, " views");
    CHECK(own.facts * 100 >= kind.facts * programs);
  }
}

}  // namespace
}  // namespace p2::hlo::small
