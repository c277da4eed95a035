// The names are those of XLA's DumpHloModuleBetweenPasses and DumpHloModuleIfEnabled
// (xla/service/dump.cc).

#include "engine/hlo/text/xla_dump.h"

#include <algorithm>
#include <array>
#include <compare>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/base/files.h"
#include "engine/hlo/text/hlo_text.h"
#include "p2/error.h"

namespace p2::hlo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".txt";
constexpr std::string_view kFirst = "before_optimizations";
constexpr std::string_view kLast = "after_optimizations";
constexpr std::string_view kAfter = ".after_";
constexpr std::string_view kBefore = ".before_";
constexpr std::string_view kElidedConstant = "constant({...})";
constexpr std::string_view kMetadata = ", metadata={";
constexpr std::size_t kPassDigits = 4;
/// Enough to recognize a module.
constexpr std::size_t kBeginning = 4096;

/// When a file was written.
struct Place {
  enum class Stage : std::uint8_t { First, Pass, Last };

  Stage stage = Stage::First;
  std::string number = {};  ///< of the pass, without leading zeros

  std::strong_ordering operator<=>(const Place& other) const {
    if (const auto order = stage <=> other.stage; order != 0) return order;
    if (const auto order = number.size() <=> other.number.size(); order != 0) return order;
    return number <=> other.number;
  }
  bool operator==(const Place& other) const = default;
};

/// A file whose name has a place among the passes.
struct PlacedFile {
  std::string module;
  Place place;
  DumpFile file;
  std::string next_pass = {};  ///< the pass that was to run
};

bool is_number(std::string_view text) {
  return text.size() >= kPassDigits &&
         std::ranges::all_of(text, [](char ch) { return ch >= '0' && ch <= '9'; });
}

/// `MODULE.0004.PIPELINE.after_PASS.before_PASS`, without the second pass at the end of some
/// pipelines. A module may have numbers in its name: that of the pass is the last.
std::optional<PlacedFile> placed_by_number(std::string_view stem) {
  for (std::size_t end = stem.rfind('.'); end != std::string_view::npos && end > 0;) {
    const std::size_t dot = stem.rfind('.', end - 1);
    if (dot == std::string_view::npos) break;
    const std::string_view number = stem.substr(dot + 1, end - dot - 1);
    const std::string_view rest = stem.substr(end + 1);
    const std::size_t after = rest.find(kAfter);
    if (is_number(number) && after != std::string_view::npos) {
      const std::string_view passes = rest.substr(after + kAfter.size());
      const std::size_t zeros = std::min(number.find_first_not_of('0'), number.size() - 1);
      const std::size_t before = passes.find(kBefore);
      const std::string_view next =
          before == std::string_view::npos ? "" : passes.substr(before + kBefore.size());
      return PlacedFile{std::string(stem.substr(0, dot)),
                        {Place::Stage::Pass, std::string(number.substr(zeros))},
                        {.path = {},
                         .name = {},
                         .pipeline = std::string(rest.substr(0, after)),
                         .pass = std::string(passes.substr(0, before))},
                        std::string(next)};
    }
    end = dot;
  }
  return std::nullopt;
}

/// `module_0001.jit_f` of `module_0001.jit_f.sm_9.0a_gpu_after_optimizations`. Both names may have
/// dots: a module of another file is preferred.
std::string module_of_last(std::string_view stem, const std::vector<PlacedFile>& others) {
  std::string_view module;
  for (const PlacedFile& other : others) {
    if (stem.starts_with(other.module + ".") && other.module.size() > module.size()) {
      module = other.module;
    }
  }
  if (module.empty()) {
    const std::size_t gpu = stem.rfind(".sm_");
    module = stem.substr(0, gpu != std::string_view::npos ? gpu : stem.rfind('.'));
  }
  return std::string(module);
}

/// Whether a file begins as a module does.
bool begins_as_module(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string beginning(kBeginning, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<std::size_t>(file.gcount()));
  return is_hlo(beginning);
}

/// The position behind a quoted text, an escaped quote included in it.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

/// The position behind the brace that closes the one before `at`.
std::size_t end_of_braces(std::string_view text, std::size_t at) {
  for (std::size_t open = 1; at < text.size() && open > 0;) {
    if (text[at] == '"') {
      at = end_of_quoted(text, at);
      continue;
    }
    if (text[at] == '{') ++open;
    if (text[at] == '}') --open;
    ++at;
  }
  return at;
}

bool is_table_heading(std::string_view line) {
  constexpr std::array<std::string_view, 4> kHeadings = {"FileNames", "FunctionNames",
                                                         "FileLocations", "StackFrames"};
  return std::ranges::find(kHeadings, line) != kHeadings.end();
}

/// A line of a module without the metadata of its instruction.
void append_without_metadata(std::string_view line, std::string& out) {
  std::size_t at = 0;
  while (at < line.size()) {
    const std::size_t next = std::min(line.find_first_of("\",", at), line.size());
    out += line.substr(at, next - at);
    at = next;
    if (at == line.size()) break;
    if (line.substr(at).starts_with(kMetadata)) {
      at = end_of_braces(line, at + kMetadata.size());
      continue;
    }
    const std::size_t end = line[at] == '"' ? end_of_quoted(line, at) : at + 1;
    out += line.substr(at, end - at);
    at = end;
  }
  out += '\n';
}

/// A module without metadata, tables of source positions and empty lines.
std::string without_metadata(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_table = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    in_table = is_table_heading(line) || (in_table && !line.empty());
    if (!in_table && !line.empty()) append_without_metadata(line, out);
  }
  return out;
}

/// The files of a folder that have a place; adds the other modules to `dump`.
std::vector<PlacedFile> placed_files(Dump& dump) {
  std::error_code failure;
  if (!fs::is_directory(dump.folder, failure)) {
    throw InputError({dump.folder}, "is not a folder, expected the one of XLA's --xla_dump_to");
  }
  std::vector<std::string> names;
  fs::directory_iterator next(dump.folder, failure);
  for (; !failure && next != fs::directory_iterator(); next.increment(failure)) {
    std::error_code ignored;
    const std::string name = next->path().filename().string();
    if (name.ends_with(kEnding) && next->is_regular_file(ignored)) names.push_back(name);
  }
  if (failure) throw InputError({dump.folder}, "cannot be listed: " + failure.message());
  std::ranges::sort(names);

  std::vector<PlacedFile> placed;
  std::vector<std::string> last;
  for (const std::string& name : names) {
    const std::string stem = name.substr(0, name.size() - kEnding.size());
    std::optional<PlacedFile> found = placed_by_number(stem);
    if (!found && stem.ends_with("." + std::string(kFirst))) {
      found = PlacedFile{stem.substr(0, stem.size() - kFirst.size() - 1),
                         {Place::Stage::First},
                         {.path = {}, .name = {}, .pipeline = {}, .pass = std::string(kFirst)}};
    }
    if (found) {
      found->file.name = name;
      placed.push_back(std::move(*found));
    } else if (stem.ends_with(kLast) && stem.find('.') != std::string::npos) {
      last.push_back(name);
    } else if (begins_as_module(fs::path(dump.folder) / name)) {
      dump.left_out.push_back(name);
    }
  }
  const std::vector<PlacedFile> others = placed;
  for (const std::string& name : last) {
    const std::string_view stem = std::string_view(name).substr(0, name.size() - kEnding.size());
    placed.push_back({module_of_last(stem, others),
                      {Place::Stage::Last},
                      {.path = {}, .name = name, .pipeline = {}, .pass = std::string(kLast)}});
  }
  for (PlacedFile& each : placed)
    each.file.path = (fs::path(dump.folder) / each.file.name).string();
  return placed;
}

/// The text of a file; nothing where it cannot be read or is no module.
std::optional<std::string> module_text(const std::string& path) {
  try {
    std::string text = read_file(path);
    if (is_hlo(text)) return text;
  } catch (const InputError&) {
    return std::nullopt;
  }
  return std::nullopt;
}

/// A pass may run a pipeline of its own. What it did before is in the file of that pipeline's
/// start, which comes before the file that has the name of the pass.
void name_running_passes(std::vector<PlacedFile>& files) {
  for (std::size_t i = 1; i < files.size(); ++i) {
    DumpFile& file = files[i].file;
    const PlacedFile& previous = files[i - 1];
    if (file.pass != kPipelineStart || previous.next_pass.empty()) continue;
    const auto rest = files.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    const auto later = std::find_if(rest, files.end(), [&](const PlacedFile& other) {
      return other.file.pipeline == previous.file.pipeline;
    });
    if (later == files.end() || later->file.pass != previous.next_pass) continue;
    file.pipeline = previous.file.pipeline;
    file.pass = previous.next_pass;
  }
}

}  // namespace

Dump read_dump(const std::string& folder, const Limits& limits) {
  Dump dump{.folder = folder, .modules = {}, .left_out = {}, .with_elided_constants = 0};
  std::map<std::string, std::vector<PlacedFile>> modules;
  for (PlacedFile& each : placed_files(dump)) modules[each.module].push_back(std::move(each));
  std::size_t readable = 0;
  for (auto& [name, files] : modules) {
    std::ranges::stable_sort(files, {}, &PlacedFile::place);
    name_running_passes(files);
    DumpModule module{.name = name, .versions = {}, .files = files.size()};
    std::optional<std::string> previous;
    for (PlacedFile& each : files) {
      limits.require(0, "listing the modules of a dump");
      std::optional<std::string> text = module_text(each.file.path);
      if (text) {
        ++readable;
        if (text->find(kElidedConstant) != std::string::npos) ++dump.with_elided_constants;
        text = without_metadata(*text);
      }
      const bool is_changed = module.versions.empty() || !text || text != previous;
      if (is_changed) module.versions.push_back(std::move(each.file));
      previous = std::move(text);
    }
    dump.modules.push_back(std::move(module));
  }
  if (readable == 0) {
    throw InputError({folder},
                     "has no module of a dump, expected what XLA writes with --xla_dump_to, "
                     "--xla_dump_hlo_as_text and --xla_dump_hlo_pass_re=.*");
  }
  return dump;
}

}  // namespace p2::hlo
