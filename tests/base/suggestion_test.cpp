#include "p2/error.h"

#include <doctest/doctest.h>

using namespace p2;

TEST_CASE("a mistyped word is answered with the nearest candidate") {
  CHECK(suggestion("chekc", "place, synth, check or cost") == "; did you mean 'check'?");
  CHECK(suggestion("publishd", "printed, published or both") == "; did you mean 'published'?");
  CHECK(suggestion("ALLREDUCE", "AllReduce, ReduceScatter") == "; did you mean 'AllReduce'?");
  CHECK(suggestion("z", "explicit, z3, cnf or all") == "; did you mean 'z3'?");
  CHECK(suggestion("synthesis", "--size, synthesis-hierarchy") ==
        "; did you mean 'synthesis-hierarchy'?");
}

TEST_CASE("of two candidates the nearer one is named, of equally near ones the first") {
  CHECK(suggestion("costs", "cast, cost") == "; did you mean 'cost'?");
  CHECK(suggestion("cist", "cast, cost") == "; did you mean 'cast'?");
}

TEST_CASE("nothing is suggested for a word that is near to none") {
  CHECK(suggestion("loud", "printed or published").empty());
  CHECK(suggestion("x", "a, b, c, d, collapsed or lattice").empty());
  CHECK(suggestion("", "a, b").empty());
  CHECK(suggestion("word", "").empty());
  CHECK(suggestion(std::string(100'000, 'x'), "a, b").empty());
  CHECK(suggestion("ro", "printed or published").empty());
  CHECK(suggestion("root", "root, node").empty());  // known, and refused for another reason
}

TEST_CASE("the message has the word, what was expected and the suggestion") {
  CHECK(unknown_name("tre", "ring or tree") ==
        "unknown 'tre', expected ring or tree; did you mean 'tree'?");
  CHECK(unknown_name("star", "ring or tree") == "unknown 'star', expected ring or tree");
}
