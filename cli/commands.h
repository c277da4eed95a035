#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"

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
int run_campaign(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_merge(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_run(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_parallelize(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_network(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_oracle(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_pipeline(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_reshard(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_export(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_system(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_completion(const Arguments& arguments, std::ostream& out, std::ostream& err);
int run_man(const Arguments& arguments, std::ostream& out, std::ostream& err);

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Arguments&, std::ostream&, std::ostream&);
};

/// All commands, as the overview lists them.
std::span<const Command> command_list();

/// Runs the command that `arguments` name and returns its exit code; whatever it throws ends in a
/// message on `err`.
int dispatch(const Arguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace p2
