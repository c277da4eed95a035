#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <new>
#include <ostream>
#include <string_view>

#include <fmt/format.h>

#include "cli/command.h"
#include "p2/document.h"
#include "p2/error.h"
#include "p2/version.h"

namespace p2 {

namespace {

constexpr auto kCommands = std::to_array<Command>({
    {"place", "all placements of parallelism axes on a system", run_place},
    {"synth", "all valid reduction programs of every placement", run_synth},
    {"check", "whether programs, modules, MSCCL algorithms, plans and records of runs are right",
     run_check},
    {"cost", "how long programs take on a system, fastest first", run_cost},
    {"define", "whether definitions of collectives are sound", run_define},
    {"prove", "whether the claims of the P2 and the cross-mesh resharding paper hold", run_prove},
    {"campaign", "job scripts that split a long run over Slurm jobs", run_campaign},
    {"merge", "the answer of a campaign from the journals of its shards", run_merge},
    {"run", "programs on real data, every element checked, every step measured", run_run},
    {"oracle", "test vectors of a program or a collective, for other implementations", run_oracle},
    {"parallelize", "the cheapest configurations of an operation graph, proved", run_parallelize},
    {"network", "the operation graph of a known network, for parallelize", run_network},
    {"pipeline", "how long a pipeline schedule takes, and what each stage must hold", run_pipeline},
    {"reshard", "the shortest schedule of what one mesh sends to another", run_reshard},
    {"export", "valid programs as MSCCL XML, HLO, StableHLO or JSON, re-verified", run_export},
    {"system", "a system file from the topology that nvidia-smi or NCCL print", run_system},
    {"completion", "the completion script of bash, zsh or fish", run_completion},
    {"man", "this program's manual page", run_man},
});

/// `place, synth or check`.
std::string all_names() {
  std::string names;
  for (const Command& command : kCommands) {
    const bool last = &command == &kCommands.back();
    names += (names.empty() ? "" : last ? " or " : ", ") + std::string(command.name);
  }
  return names;
}

std::string overview() {
  std::string text =
      "p2-verify: verification and synthesis of communication strategies for distributed deep "
      "learning\n\nusage: p2-verify COMMAND [OPTION…]\n\n";
  for (const Command& command : kCommands) {
    const std::string name(command.name);
    text += "  " + name + std::string(13 - name.size(), ' ') + std::string(command.summary) + "\n";
  }
  return text +
         "\n  p2-verify COMMAND --help   the options of a command\n"
         "  p2-verify --version        this build and what it found\n\n"
         "exit codes: 0 established, 1 refuted, 2 bad input, 3 undecided within limits,\n"
         "4 engines disagree, 5 tool failure\n";
}

std::string found(const std::string& version) { return version.empty() ? "not found" : version; }

std::string version_text() {
  const BuildInfo& build = build_info();
  std::string text = "p2-verify " + build.version + "\n  compiler  " + build.compiler + " (" +
                     build.build_type + ")\nsolvers:\n";
  for (const auto& [name, version] : solver_versions()) {
    text += fmt::format("  {:10}{}\n", name, version);
  }
  return text + "found at build time:\n  CUDA      " + found(build.cuda) + "\n  NCCL      " +
         found(build.nccl) + "\n  MPI       " + found(build.mpi) + "\n  Coq       " +
         found(build.coq) + "\n  Python    " + found(build.python) + "\n  Protobuf  " +
         found(build.protobuf) + "\n";
}

int run(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.empty()) {
    err << overview();
    return kBadInput;
  }
  if (arguments[0] == "--help" || arguments[0] == "-h" ||
      arguments == std::vector<std::string>{"help"}) {
    out << overview();
    return kEstablished;
  }
  if (arguments[0] == "--version") {
    out << version_text();
    return kEstablished;
  }
  if (arguments[0] == "help" && arguments.size() > 1) {
    return run({arguments[1], "--help"}, out, err);
  }
  for (const Command& command : kCommands) {
    if (arguments[0] == command.name) {
      return command.run({arguments.begin() + 1, arguments.end()}, out, err);
    }
  }
  throw InputError({"command line"}, "unknown command '" + arguments[0] + "', expected " +
                                         all_names() + " (see --help)" +
                                         suggestion(arguments[0], all_names()));
}

}  // namespace

std::span<const Command> command_list() { return kCommands; }

int dispatch(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  try {
    return run(arguments, out, err);
  } catch (const InputError& error) {
    err << "p2-verify: " << printable(error.what()) << "\n";
    return kBadInput;
  } catch (const LimitReached& error) {
    err << "p2-verify: " << printable(error.what()) << "\n";
    return kUndecided;
  } catch (const std::bad_alloc&) {
    err << "p2-verify: out of memory, nothing more was settled\n";
    return kUndecided;
  } catch (const InternalError& error) {
    err << "p2-verify: internal error, please report: " << printable(error.what()) << "\n";
    return kToolFailure;
  } catch (const std::exception& error) {
    err << "p2-verify: tool failure, nothing more was settled: " << printable(error.what()) << "\n";
    return kToolFailure;
  }
}

namespace {

std::atomic<bool> is_interrupted = false;
std::atomic<int> received = 0;
// Fixed storage, since a signal handler may not allocate.
char unfinished_file[4096] = "";

extern "C" void end_process(int) {
  if (unfinished_file[0] != '\0') ::unlink(unfinished_file);
  ::_exit(128 + received.load());
}

extern "C" void note_signal(int signal) {
  received = signal;
  if (is_interrupted.exchange(true)) end_process(signal);
  ::alarm(1);
}

}  // namespace

void handle_interrupts() {
  std::signal(SIGALRM, end_process);
  for (const int signal : {SIGINT, SIGTERM}) {
    // A process in the background ignores SIGINT from its start, and has to go on doing so.
    if (std::signal(signal, note_signal) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

const std::atomic<bool>& interrupted() { return is_interrupted; }

int exit_code_after_signals(int exit_code) {
  return is_interrupted ? 128 + received.load() : exit_code;
}

void remove_when_interrupted(const std::string& path) {
  if (path.size() >= sizeof(unfinished_file)) return;
  std::copy_n(path.c_str(), path.size() + 1, unfinished_file);
}

}  // namespace p2
