#include "proofs/definition/claim.h"

#include "engine/base/invariant.h"

namespace p2::definition {

std::string_view name_of(Claim claim) {
  switch (claim) {
    case Claim::NothingInvented:
      return "nothing-invented";
    case Claim::ChunksApart:
      return "chunks-apart";
    case Claim::SumsWhole:
      return "sums-whole";
    case Claim::NoDoubleCount:
      return "no-double-count";
    case Claim::Realisable:
      return "realisable";
    case Claim::KeepsAll:
      return "keeps-all";
    case Claim::RootKeeps:
      return "root-keeps";
    case Claim::OthersKeep:
      return "others-keep";
    case Claim::MeasureRises:
      return "measure";
    case Claim::ContributorsAlike:
      return "equivariant";
    case Claim::PositionsAlike:
      return "positions-alike";
    case Claim::NonRootsAlike:
      return "non-roots-alike";
  }
  invariant(false, "not a claim");
  return {};
}

}  // namespace p2::definition
