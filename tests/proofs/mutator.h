#pragma once

#include <random>
#include <stdexcept>
#include <string>

#include "tests/proofs/certificates.h"

namespace p2::proofs {

/// Changes certificates at random and seals them again: half of the changes are blind (any place of
/// any file), half keep the form of a certificate, so that only its meaning can be wrong.
class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  /// Changes one to three places. Returns the claim of the changed certificate.
  std::string mutate(CertificateFiles& files);

 private:
  /// Throws std::length_error where there is nothing to choose from.
  std::size_t below(std::size_t end) {
    if (end == 0) throw std::length_error("nothing is left to change");
    return random_() % end;
  }
  /// A random element of a list that is not empty.
  json& any(json& list) { return list[below(list.size())]; }

  void blindly(CertificateFiles& files);
  void change(json& root);
  void change_list(json& list);
  void change_object(json& object);

  void in_form(CertificateFiles& files);
  void change_problem(json& problem, json& derivation);
  void change_steps(json& steps, json& systems);
  void change_groups(json& groups);
  void change_derivation(json& derivation);
  void change_system(json& system, std::size_t states);
  void change_refutation(json& refutation, json& steps);

  std::mt19937 random_;
};

}  // namespace p2::proofs
