#pragma once

#include <string>
#include <vector>

#include "encodings/cnf/states.h"
#include "engine/collective/collective.h"

namespace p2::cnf {

/// A premise of figure 8 on one group, named as in the definitions, and a literal that is true
/// exactly if it holds.
struct NamedPremise {
  std::string name;
  Literal holds = 0;
};

/// The premises of a collective in the order in which they are checked. GroupRules states them all
/// at once; this tells them apart where a group is refused.
std::vector<NamedPremise> premises(Clauses& clauses, const States& before, const Group& group,
                                   Collective collective);

/// Some device of the group holds something.
Literal holds_something(Clauses& clauses, const States& before, const Group& group);

}  // namespace p2::cnf
