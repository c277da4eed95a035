#include <map>

#include "tests/definition/examined.h"

namespace p2::definition {

// The table of docs/definitions.md, "What each premise is for".
TEST_CASE("each premise of the five is needed by a check, or is over-strict") {
  const std::map<std::string, std::string> broken_without = {
      {"AllReduce same-chunks", ""},
      {"AllReduce disjoint", "no-double-count realisable measure"},
      {"ReduceScatter same-chunks", "keeps-all measure"},
      {"ReduceScatter disjoint", "no-double-count realisable measure"},
      {"ReduceScatter divisible", ""},
      {"AllGather disjoint-chunks", "no-double-count realisable measure"},
      {"AllGather equal-count", ""},
      {"Reduce same-chunks", "measure"},
      {"Reduce disjoint", "no-double-count realisable measure"},
      {"Broadcast contained", "keeps-all measure"},
      {"Broadcast informative", "measure"}};
  std::size_t premises = 0;
  for (const Definition& definition : language::built_in_definitions()) {
    for (const language::Premise& premise : definition.premises) {
      CAPTURE(definition.name);
      CAPTURE(premise.name);
      Definition without = definition;
      std::erase_if(without.premises,
                    [&](const language::Premise& each) { return each.name == premise.name; });
      CHECK(refuted(examined(without)) == broken_without.at(definition.name + " " + premise.name));
      ++premises;
    }
  }
  CHECK(premises == broken_without.size());
}

}  // namespace p2::definition
