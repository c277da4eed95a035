#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "engine/program/beginning.h"
#include "engine/program/instance.h"

namespace p2 {

/// The flags --collectives and --goal.
boost::program_options::options_description terms_flags();

/// Puts what the flags say into `given.terms`. The files of --collectives end in `.p2c`; other
/// words that stand after the flag go to `other_words`, or are refused where there is none.
///
/// Every definition is examined as `define` does for groups of up to 4 devices, without the
/// relations. Throws InputError for one that is not sound, a name that is taken, a file that cannot
/// be read and a goal that is neither one of kGoals nor a `.p2c` file. Returns another code than
/// kEstablished where a definition could not be examined to the end, or the engines that examine it
/// disagree; `err` then says so.
ExitCode read_terms(const CommandLine& line, const CommonOptions& common, std::ostream& err,
                    GivenInstance& given, std::vector<std::string>* other_words = nullptr);

/// The definition in a file, examined likewise. `code` is what read_terms would return.
language::Definition read_sound_definition(const std::string& file, const CommonOptions& common,
                                           std::ostream& err, ExitCode& code);

/// `, goal allgather from shards`; nothing for the paper's goal.
std::string goal_text(const Goal& goal, const Beginning& beginning);

/// Throws InputError at `flag` unless the terms are the paper's, which certificates are confined
/// to.
void require_paper(const std::string& flag, const Terms& terms);
/// The same at `file`, for what is done with real data.
void require_allreduce(const std::string& file, const Terms& terms);

}  // namespace p2
