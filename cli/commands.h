#pragma once

#include <iosfwd>
#include <string>

#include "cli/command.h"
#include "encodings/z3/rulebook.h"

namespace p2 {

/// The commands of p2-verify. Each takes the words after its name, writes its result to `out` (or
/// to the file of --output) and messages to `err`, and returns an exit code. Bad input throws
/// InputError.

int run_place(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_synth(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_check(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_cost(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_define(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_prove(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_run(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_parallelize(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_network(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_oracle(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_pipeline(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_reshard(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_export(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_completion(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_man(const Arguments& arguments, std::ostream& out, std::ostream& err);

/// The same, with Z3 going by other definitions than the built-in ones: so that it can be seen that
/// a difference between the engines comes to light.
int run_synth(const Arguments& arguments, std::ostream& out, std::ostream& err,
              z3_encoding::Definitions z3_definitions);
int run_check(const Arguments& arguments, std::ostream& out, std::ostream& err,
              z3_encoding::Definitions z3_definitions);

std::string version_text();

}  // namespace p2
