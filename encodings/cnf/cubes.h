#pragma once

#include <span>
#include <string>

#include "encodings/cnf/clauses.h"
#include "encodings/cnf/solver.h"

/// Cube and conquer by solvers outside of this process: formulas out, proofs in.
namespace p2::cnf {

/// Writes for cube I, from 1, the formula with that literal as a unit clause, `cube-I.cnf` in
/// DIMACS, and manifest.json when all are there. Throws InputError where the folder cannot be
/// written, or holds anything else.
void write_cubes(const std::string& folder, const Clauses& clauses, std::span<const Literal> cubes);

/// Appends the proofs in the folder, `cube-I.lrat` or `cube-I.drat` as text, to `trace`: each lemma
/// with the negation of its cube, under which it was learnt, so that all follow from the formula
/// alone; an empty clause becomes the negation of the cube. Numbers of steps give the clauses that
/// are deleted; hints are not read, and nothing is checked. Throws InputError for a folder of
/// another formula, and for proofs that are missing, malformed or not whole.
void read_cube_proofs(const std::string& folder, const Clauses& clauses,
                      std::span<const Literal> cubes, const DratTrace& trace);

}  // namespace p2::cnf
