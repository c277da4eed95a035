#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <span>

#include "encodings/cnf/proof/literal.h"

namespace p2::cnf {

/// A temporary file into which a solver writes a proof in binary DRAT; it vanishes with the object.
class DratTrace {
 public:
  /// Throws std::runtime_error when there is no room for a temporary file.
  DratTrace();

  std::FILE* file() const { return file_.get(); }

  /// Reads what was written, from the start: `visit` gets every clause, whether it was learnt (or
  /// deleted), and returns whether to go on. Throws std::runtime_error at what is not DRAT.
  void for_each(
      const std::function<bool(bool learnt, std::span<const Literal> clause)>& visit) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace p2::cnf
