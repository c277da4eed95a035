#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "engine/collective/language/definition.h"
#include "proofs/definition/examination.h"
#include "tests/file_bytes.h"

namespace p2::definition {

using language::Definition;

inline std::string text_of(const std::string& path) {
  std::string text = bytes_of(std::string(P2_SOURCE_DIR) + "/" + path);
  REQUIRE_FALSE(text.empty());
  return text;
}

inline Definition definition_in(const std::string& path) {
  return language::parse_definition(path, text_of(path));
}

/// The built-in collectives and `others`.
inline std::vector<const Definition*> known_with(const std::vector<const Definition*>& others) {
  std::vector<const Definition*> known;
  for (const Definition& definition : language::built_in_definitions()) {
    known.push_back(&definition);
  }
  known.insert(known.end(), others.begin(), others.end());
  return known;
}

/// The findings for groups of at most `max_group`, compared with `known`. The engines must agree.
inline Findings examined(const Definition& definition, std::uint32_t max_group = 3,
                         const std::vector<const Definition*>& known = {}) {
  Scope scope;
  scope.max_group = max_group;
  Findings findings = examine(definition, known, scope);
  CHECK(findings.differences.empty());
  return findings;
}

inline Check check_called(const Findings& findings, std::string_view name) {
  const auto found = std::find_if(findings.checks.begin(), findings.checks.end(),
                                  [&](const Check& check) { return check.name == name; });
  REQUIRE(found != findings.checks.end());
  return *found;
}

/// The names of the refuted checks, with spaces between. No check is undecided.
inline std::string refuted(const Findings& findings) {
  std::string names;
  for (const Check& check : findings.checks) {
    CHECK(check.verdict != Outcome::Undecided);
    CHECK(check.counterexample.has_value() == (check.verdict == Outcome::Refuted));
    if (check.verdict == Outcome::Refuted) names += (names.empty() ? "" : " ") + check.name;
  }
  return names;
}

/// The relations to the built-in collectives and to `others`, with ` | ` between.
inline std::string relations(const Definition& definition,
                             const std::vector<const Definition*>& others = {}) {
  const Findings findings = examined(definition, 3, known_with(others));
  std::string all;
  for (const Relation& relation : findings.relations) {
    all += (all.empty() ? "" : " | ") + to_string(relation);
  }
  return all;
}

}  // namespace p2::definition
