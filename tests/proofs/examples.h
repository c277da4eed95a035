#pragma once

#include <string>
#include <vector>

#include "tests/proofs/certificates.h"

namespace p2::proofs {

/// A certificate, sealed, with the claim in its manifest.
struct Example {
  std::string claim;
  CertificateFiles files;
};

/// Gives the files a manifest that fits them.
Example sealed(const std::string& claim, CertificateFiles files);

/// A small accepted certificate of every claim, most of them the examples of docs/certificates.md.
const std::vector<Example>& examples();
CertificateFiles example(const std::string& claim);

/// Text whose line ends are written ` | `, and after the last line a line end.
std::string lines(std::string text);

}  // namespace p2::proofs
