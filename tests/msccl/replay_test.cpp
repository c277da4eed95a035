#include <doctest/doctest.h>

#include "engine/msccl/replay.h"
#include "engine/msccl/verdict.h"
#include "mutants.h"

namespace p2::msccl {

TEST_CASE("every refutation can be replayed, and on the correct algorithm it cannot") {
  std::size_t replayed = 0;
  for (const Mutant& mutant : mutants()) {
    CAPTURE(mutant.name);
    Algorithm algorithm = mutant.original;
    mutant.change(algorithm);
    const Verdict verdict = judge(algorithm, {});
    if (!verdict.fault) continue;
    CHECK(shows(algorithm, *verdict.fault));
    CHECK(!shows(mutant.original, *verdict.fault));
    ++replayed;
  }
  CHECK(replayed > 25);
}

TEST_CASE("a refutation of which a part is changed is none") {
  for (const Mutant& mutant : mutants()) {
    CAPTURE(mutant.name);
    Algorithm algorithm = mutant.original;
    mutant.change(algorithm);
    const Verdict verdict = judge(algorithm, {});
    if (!verdict.fault) continue;
    const Fault& fault = *verdict.fault;

    Fault elsewhere = fault;
    for (StepPlace& place : elsewhere.steps) place.gpu = 99;
    if (!fault.steps.empty()) CHECK(!shows(algorithm, elsewhere));

    Fault other_kind = fault;
    other_kind.kind =
        fault.kind == Fault::Kind::DataRace ? Fault::Kind::OrderDeadlock : Fault::Kind::DataRace;
    CHECK(!shows(algorithm, other_kind));

    Fault unscheduled = fault;
    unscheduled.schedule.clear();
    if (!fault.schedule.empty()) CHECK(!shows(algorithm, unscheduled));

    Fault open = fault;
    if (!open.cycle.empty()) {
      open.cycle.pop_back();
      CHECK(!shows(algorithm, open));
    }
  }
}

}  // namespace p2::msccl
