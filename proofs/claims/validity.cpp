#include "proofs/claims/validity.h"

#include <set>

#include "proofs/claims/forms.h"

namespace p2::claims {
namespace {

/// The patterns that instructions of this form give.
std::set<Pattern> patterns_of(const Subject& subject, Form form) {
  std::set<Pattern> patterns;
  for (const GroupShape& shape : named_shapes(subject.from.hierarchy)) {
    if (shape.form == form) patterns.insert(shape.pattern);
  }
  return patterns;
}

template <typename Breaks>
std::vector<bool> moves_that(const Subject& subject, Breaks breaks) {
  std::vector<bool> forbidden;
  for (const Move& move : subject.moves) forbidden.push_back(breaks(move.pattern));
  return forbidden;
}

std::vector<bool> form_reduces_outside(const Subject& subject, Form form) {
  const std::set<Pattern> patterns = patterns_of(subject, form);
  return moves_that(subject, [&](const Pattern& pattern) {
    return patterns.contains(pattern) && (pattern.reduced & ~subject.reduction()) != 0;
  });
}

}  // namespace

std::vector<bool> reduces_outside(const Subject& subject) {
  return moves_that(subject, [&](const Pattern& pattern) {
    return (pattern.reduced & ~subject.reduction()) != 0;
  });
}

std::vector<bool> parallel_reduces_outside(const Subject& subject) {
  return form_reduces_outside(subject, Form::Parallel);
}

std::vector<bool> inside_group_reduces_outside(const Subject& subject) {
  return form_reduces_outside(subject, Form::InsideGroup);
}

std::vector<bool> master_reaches_outside(const Subject& subject) {
  const std::set<Pattern> patterns = patterns_of(subject, Form::Master);
  return moves_that(subject, [&](const Pattern& pattern) {
    return patterns.contains(pattern) &&
           ((pattern.reduced | pattern.pinned) & ~subject.reduction()) != 0;
  });
}

}  // namespace p2::claims
