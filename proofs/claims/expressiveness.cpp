#include "proofs/claims/expressiveness.h"

#include <algorithm>

#include "engine/base/invariant.h"

namespace p2::claims {
namespace {

std::vector<bool> not_expressible_in(const Subject& subject, Form form) {
  std::vector<bool> forbidden = not_expressible(subject);
  for (std::size_t move = 0; move < forbidden.size(); ++move) {
    forbidden[move] = forbidden[move] && subject.shape(move).form == form;
  }
  return forbidden;
}

}  // namespace

std::vector<bool> not_expressible(const Subject& subject) {
  invariant(subject.to.has_value(), "expressiveness compares two hierarchies");
  const std::vector<Move> known = instructions(*subject.to, subject.dialect);
  std::vector<bool> forbidden;
  for (const Move& move : subject.moves) {
    forbidden.push_back(!std::binary_search(known.begin(), known.end(), move));
  }
  return forbidden;
}

std::vector<bool> inside_group_not_expressible(const Subject& subject) {
  return not_expressible_in(subject, Form::InsideGroup);
}
std::vector<bool> parallel_not_expressible(const Subject& subject) {
  return not_expressible_in(subject, Form::Parallel);
}
std::vector<bool> master_not_expressible(const Subject& subject) {
  return not_expressible_in(subject, Form::Master);
}

}  // namespace p2::claims
