#pragma once

#include "engine/collective/language/definition.h"
#include "engine/oracle/program_vectors.h"

namespace p2::oracle {

/// The test vectors of a collective, by the reference interpreter of its definition: groups of 2 to
/// 4 ranks with as many contributors and chunks, or, where it runs with none of these, their
/// square, in states that the five built-in collectives, this one and turning the ranks round lead
/// to from the start, each with the state after the step or the premise that refuses it.
///
///   index.json           the cases: group size, states before and after, or the failed premise
///   README.md            how to use them
///   case-NN-before.npy   the buffers, by rank, chunk and element, 0 where nothing is held
///   case-NN-after.npy    the same after the step; not there where the step is refused
FolderFiles definition_vectors(const language::Definition& definition, const Amount& amount);

}  // namespace p2::oracle
