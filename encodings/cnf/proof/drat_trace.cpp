#include "encodings/cnf/proof/drat_trace.h"

#include <stdexcept>
#include <vector>

namespace p2::cnf {

DratTrace::DratTrace() : file_(std::tmpfile()) {
  if (!file_) throw std::runtime_error("no temporary file for the solver's proof");
}

void DratTrace::for_each(
    const std::function<bool(bool learnt, std::span<const Literal> clause)>& visit) const {
  std::rewind(file_.get());
  std::vector<Literal> clause;
  for (int kind = std::getc(file_.get()); kind != EOF; kind = std::getc(file_.get())) {
    if (kind != 'a' && kind != 'd') throw std::runtime_error("the solver's proof is not DRAT");
    clause.clear();
    while (true) {
      std::uint64_t number = 0;
      for (unsigned shift = 0;; shift += 7) {
        const int byte = std::getc(file_.get());
        if (byte == EOF || shift > 56) throw std::runtime_error("the solver's proof is cut off");
        number |= static_cast<std::uint64_t>(byte & 127) << shift;
        if (byte < 128) break;
      }
      if (number == 0) break;
      const auto variable = static_cast<Literal>(number / 2);
      clause.push_back(number % 2 == 0 ? variable : -variable);
    }
    if (!visit(kind == 'a', clause)) return;
  }
}

}  // namespace p2::cnf
