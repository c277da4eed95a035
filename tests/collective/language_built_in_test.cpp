#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "engine/collective/language/built_in.h"
#include "engine/collective/language/built_in_texts.h"
#include "engine/collective/language/interpreter.h"
#include "tests/collective/language_states.h"
#include "tests/file_bytes.h"

namespace p2::language {
namespace {

/// The group after the step, or the name of the premise that fails.
std::string outcome(std::string_view collective, std::string_view before) {
  const Definition& definition = built_in(collective);
  const GroupState state = group(before);
  if (const auto failed = first_failed_premise(definition, state)) {
    return definition.premises[failed->premise].name;
  }
  return drawn(post_state(definition, state));
}

std::vector<std::string> premises(std::string_view collective) {
  std::vector<std::string> names;
  for (const Premise& premise : built_in(collective).premises) names.push_back(premise.name);
  return names;
}

}  // namespace

TEST_CASE("the built-in definitions are the five of the paper, in the order of figure 8") {
  std::vector<std::string> names;
  for (const Definition& definition : built_in_definitions()) names.push_back(definition.name);
  CHECK(names ==
        std::vector<std::string>{"AllReduce", "ReduceScatter", "AllGather", "Reduce", "Broadcast"});
}

TEST_CASE("the program holds the definition files as they are in the repository") {
  for (const BuiltInText& built_in : built_in_texts()) {
    CHECK(bytes_of(P2_SOURCE_DIR "/" + std::string(built_in.source)) == built_in.text);
  }
}

TEST_CASE("the premises have the names and the order of figure 8") {
  using Names = std::vector<std::string>;
  CHECK(premises("AllReduce") == Names{"same-chunks", "disjoint"});
  CHECK(premises("ReduceScatter") == Names{"same-chunks", "disjoint", "divisible"});
  CHECK(premises("AllGather") == Names{"disjoint-chunks", "equal-count"});
  CHECK(premises("Reduce") == Names{"same-chunks", "disjoint"});
  CHECK(premises("Broadcast") == Names{"contained", "informative"});
}

TEST_CASE("AllReduce gives everyone the sum") {
  CHECK(outcome("AllReduce", "1000 1000 1000 1000|0100 0100 0100 0100") ==
        "1100 1100 1100 1100|1100 1100 1100 1100");
  CHECK(outcome("AllReduce", "1000 0000 1010 0000|0100 0000 0101 0000") ==
        "1100 0000 1111 0000|1100 0000 1111 0000");
  CHECK(outcome("AllReduce", "100|010|001") == "111|111|111");
  CHECK(outcome("AllReduce", "00|00") == "00|00");
}

TEST_CASE("Reduce gives the root the sum and empties the others") {
  CHECK(outcome("Reduce", "1000 1000 0000 0000|0100 0010 0000 0000") ==
        "1100 1010 0000 0000|0000 0000 0000 0000");
  CHECK(outcome("Reduce", "100|010|001") == "111|000|000");
}

TEST_CASE("ReduceScatter cuts the non-empty chunks of the sum into equal runs") {
  CHECK(outcome("ReduceScatter", "1000 1000 1000 1000|0100 0100 0100 0100") ==
        "1100 1100 0000 0000|0000 0000 1100 1100");
  CHECK(outcome("ReduceScatter", "0000 1000 0000 1010|0000 0100 0000 0101") ==
        "0000 1100 0000 0000|0000 0000 0000 1111");
  CHECK(outcome("ReduceScatter", "100 100 100|010 010 010|001 001 001") ==
        "111 000 000|000 111 000|000 000 111");
  CHECK(outcome("ReduceScatter", "10 10 00 10 10|01 01 00 01 01") ==
        "11 11 00 00 00|00 00 00 11 11");
  CHECK(outcome("ReduceScatter", "00 00|00 00") == "00 00|00 00");
}

TEST_CASE("AllGather gives everyone the chunks of all") {
  CHECK(outcome("AllGather", "1100 1100 0000 0000|0000 0000 1100 1100") ==
        "1100 1100 1100 1100|1100 1100 1100 1100");
  CHECK(outcome("AllGather", "0000 1000 0000|0001 0000 0000") == "0001 1000 0000|0001 1000 0000");
}

TEST_CASE("Broadcast gives everyone what the root holds") {
  CHECK(outcome("Broadcast", "1100 1100|0000 0000") == "1100 1100|1100 1100");
  CHECK(outcome("Broadcast", "1110 0100|1010 0000|1110 0100") == "1110 0100|1110 0100|1110 0100");
}

TEST_CASE("ReduceScatter and then AllGather do what AllReduce does") {
  const GroupState before = group("1000 0000 1001 0010 0100|0100 0000 0100 0001 1000");
  const GroupState scattered = post_state(built_in("ReduceScatter"), before);
  REQUIRE_FALSE(first_failed_premise(built_in("AllGather"), scattered));
  CHECK(post_state(built_in("AllGather"), scattered) == post_state(built_in("AllReduce"), before));
}

TEST_CASE("Reduce and then Broadcast do what AllReduce does") {
  const GroupState before = group("1000 0000 1001|0100 0000 0100|0010 0000 0010");
  const GroupState reduced = post_state(built_in("Reduce"), before);
  REQUIRE_FALSE(first_failed_premise(built_in("Broadcast"), reduced));
  CHECK(post_state(built_in("Broadcast"), reduced) == post_state(built_in("AllReduce"), before));
}

}  // namespace p2::language
