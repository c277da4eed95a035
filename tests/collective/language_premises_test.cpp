#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engine/collective/language/built_in.h"
#include "engine/collective/language/interpreter.h"
#include "tests/collective/language_states.h"

namespace p2::language {
namespace {

/// `disjoint i=0 j=1 r=2 c=3`, or `legal`.
std::string refusal(std::string_view collective, std::string_view before) {
  const Definition& definition = built_in(collective);
  const auto failed = first_failed_premise(definition, group(before));
  if (!failed) return "legal";
  std::string text = definition.premises[failed->premise].name;
  for (const Binding& binding : failed->witness) {
    text += fmt::format(" {}={}", binding.name, binding.value);
  }
  return text;
}

}  // namespace

TEST_CASE("a reduction refuses devices that hold different chunks") {
  for (const char* collective : {"AllReduce", "Reduce", "ReduceScatter"}) {
    CAPTURE(collective);
    CHECK(refusal(collective, "100 100|010 000|001 000") == "same-chunks i=0 j=1 r=1");
    CHECK(refusal(collective, "100 100|010 010|000 001") == "same-chunks i=0 j=2 r=0");
    CHECK(refusal(collective, "000 000|000 100|000 000") == "same-chunks i=0 j=1 r=1");
    CHECK(refusal(collective, "100 100|010 010|001 001") != "same-chunks");
  }
}

TEST_CASE("a reduction refuses to count a contribution twice") {
  for (const char* collective : {"AllReduce", "Reduce", "ReduceScatter"}) {
    CAPTURE(collective);
    CHECK(refusal(collective, "1000 1000|0100 0100|0010 0101") == "disjoint i=1 j=2 r=1 c=1");
    CHECK(refusal(collective, "1010 1000|0111 1100|0010 0101") == "disjoint i=0 j=1 r=0 c=2");
    CHECK(refusal(collective, "11|11") == "disjoint i=0 j=1 r=0 c=0");
  }
}

TEST_CASE("different chunks are reported before contributions counted twice") {
  CHECK(refusal("AllReduce", "10 10|10 00") == "same-chunks i=0 j=1 r=1");
}

TEST_CASE("ReduceScatter refuses a number of chunks that the group size does not divide") {
  CHECK(refusal("ReduceScatter", "10 10 10|01 01 01") == "divisible");
  CHECK(refusal("ReduceScatter", "10 00 10|01 00 01") == "legal");
  CHECK(refusal("ReduceScatter", "100 100|010 010|001 001") == "divisible");
  CHECK(refusal("AllReduce", "10 10 10|01 01 01") == "legal");
}

TEST_CASE("AllGather refuses a chunk that two devices hold") {
  CHECK(refusal("AllGather", "10 00 00|00 10 00|00 01 00") == "disjoint-chunks i=1 j=2 r=1");
  CHECK(refusal("AllGather", "10 01|01 10") == "disjoint-chunks i=0 j=1 r=0");
}

TEST_CASE("AllGather refuses devices that hold unequally many chunks") {
  CHECK(refusal("AllGather", "10 00 00|00 10 00|00 00 00") == "equal-count i=0 j=2");
  CHECK(refusal("AllGather", "00 00 00|00 10 10|00 00 00") == "equal-count i=0 j=1");
  CHECK(refusal("AllGather", "10 00 00|00 10 00|00 00 01") == "legal");
}

TEST_CASE("Broadcast refuses a root that lacks what another device holds") {
  CHECK(refusal("Broadcast", "110 110|100 110|010 111") == "contained i=2 r=1 c=2");
  CHECK(refusal("Broadcast", "000 000|000 000|010 011") == "contained i=2 r=0 c=1");
}

TEST_CASE("Broadcast refuses to teach nobody anything") {
  CHECK(refusal("Broadcast", "110 110|110 110|110 110") == "informative");
  CHECK(refusal("Broadcast", "000|000") == "informative");
  CHECK(refusal("Broadcast", "110 110|110 110|110 100") == "legal");
}

}  // namespace p2::language
