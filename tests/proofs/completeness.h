#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tests/proofs/certificates.h"

namespace p2::proofs {

/// Synthesises the programs of an instance and certifies that there are no others.
CertificateFiles certify_complete(const Instance& instance, Dialect dialect, std::uint32_t size);

/// Small certificates of completeness that between them use every kind of synthesis hierarchy, both
/// dialects and every form of instruction.
std::vector<CertificateFiles> small_completeness_certificates();

/// Whether the programs that problem.json lists are all the valid ones, each once, by the brute
/// force of tests/synthesis on the instance and the instructions as the engine reads them: no part
/// of the kernel and of the encodings has a say.
bool is_complete(const std::string& problem);

/// One line of numbers, as written.
using Line = std::vector<std::int64_t>;

/// problem.cnf and proof.lrat as numbers, so that they can be forged.
struct ProofText {
  std::vector<Line> clauses;  ///< the header first, without its words; each clause with its 0
  std::vector<Line> steps;

  explicit ProofText(const CertificateFiles& files);
  void write(CertificateFiles& files) const;

  /// Drops one clause and counts on without it, in the header and in the proof: everything but what
  /// rests on the clause stays right. Clauses count from 1.
  void drop_clause(std::size_t at);
};

/// The end of a step's clause, where its hints begin. Throws std::length_error where there is none.
Line::iterator end_of_clause(Line& step);

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
  void change_problem(json& problem);
  void change_programs(json& programs, std::size_t choices);
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
