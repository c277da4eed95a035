#pragma once

#include <random>

#include "tests/proofs/proof_text.h"

namespace p2::proofs {

/// Changes certificates of completeness at random and seals them again: some changes are blind
/// (any byte of any file), most keep the form of a certificate, and some keep numbers consistent
/// across files, so that only what is said can be wrong.
class CompletenessMutator {
 public:
  explicit CompletenessMutator(unsigned seed) : random_(seed) {}

  /// Changes one or two places.
  void mutate(CertificateFiles& files);

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }
  /// A random element; throws where there is none.
  template <typename List>
  auto& any(List& list) {
    return list.at(below(list.size()));
  }

  void blindly(CertificateFiles& files);
  void change_problem(Json& problem);
  void change_programs(Json& programs, std::size_t choices);
  void change_list(Line& numbers);
  void change_lines(std::vector<Line>& lines, std::size_t first);
  void change_clauses(std::vector<Line>& clauses);
  void change_step(Line& step);
  void change_hints(Line& step);
  void change_varmap(std::string& varmap);
  void in_form(CertificateFiles& files);

  std::mt19937 random_;
};

}  // namespace p2::proofs
