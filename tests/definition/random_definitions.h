#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace p2::definition {

inline constexpr const char* kLets = R"(
let held(i in group, r in chunks) = exists c in contributors: s(i, r, c)
let amount(i in group, r in chunks) = count c in contributors: s(i, r, c)
let total = count r in chunks: held(0, r)
let index(r in chunks) = count q in chunks: q < r and held(0, q)
)";

inline const std::vector<std::string> kPremises = {
    "forall i, j in group, r in chunks: held(i, r) iff held(j, r)",
    "forall i, j in group, r in chunks, c in contributors: i < j implies not (s(i, r, c) and s(j, "
    "r, c))",
    "forall i, j in group, r in chunks: i < j implies not (held(i, r) and held(j, r))",
    "forall i in group, r in chunks, c in contributors: s(i, r, c) implies s(0, r, c)",
    "exists i in group, r in chunks, c in contributors: s(0, r, c) and not s(i, r, c)",
    "forall i in group, r in chunks: held(i, r) implies i = 0",
    "total % n = 0",
    "forall i in group, r in chunks: amount(i, r) <= 1"};

inline const std::vector<std::string> kHeld = {
    "(exists j in group: s(j, r, c))",
    "(exists j in group, q in chunks: q = index(r) and s(j, q, c))",
    "s(0, r, c)",
    "s(i, r, c)",
    "(forall j in group: s(j, r, c))",
    "(exists j in group: held(j, r))",
    "(exists j in group: j = (i + 1) % n and s(j, r, c))"};

inline const std::vector<std::string> kWhere = {
    "true",      "i = 0",          "i * total <= index(r) * n and index(r) * n < (i + 1) * total",
    "r % n = i", "not s(0, r, c)", "c <= i",
    "held(i, r)"};

inline const std::vector<std::string> kMeasures = {
    "sum i in group, r in chunks: amount(i, r) * amount(i, r)",
    "count i in group, r in chunks: i > 0 and held(i, r)", "count r in chunks: held(0, r)",
    "sum i in group, r in chunks: (i + 1) * (r + 1) * amount(i, r)",
    "4294967295 * 4294967295 * 4294967295 * (sum i in group, r in chunks: amount(i, r))"};

/// Texts of definitions from premises, post-states and measures of the usual kinds, right and
/// wrong.
class RandomDefinitions {
 public:
  std::string next() {
    std::string text = std::string("collective Random \"\"") + kLets;
    const std::size_t premises = random_() % 4;
    for (std::size_t i = 0; i < premises; ++i) {
      text += "require p" + std::to_string(i) + " \"\": " + one_of(kPremises) + "\n";
    }
    text += "ensure s'(i, r, c) = " + one_of(kHeld) + " and " + one_of(kWhere);
    if (random_() % 3 == 0) text += " or " + one_of(kHeld) + " and " + one_of(kWhere);
    return text + "\nmeasure " + one_of(kMeasures) + "\n";
  }

 private:
  const std::string& one_of(const std::vector<std::string>& texts) {
    return texts[random_() % texts.size()];
  }
  std::mt19937_64 random_{20211121};
};

}  // namespace p2::definition
