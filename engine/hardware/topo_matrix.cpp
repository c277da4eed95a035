// The matrix that `nvidia-smi topo -m` prints: a row and a column per GPU and NIC, then affinities,
// which are not read, and two legends, of which the second names the NICs.

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/hardware/server.h"

namespace p2::hardware {
namespace {

constexpr std::size_t kMaxDevices = 256;
constexpr std::uint32_t kMaxBondedLinks = 1024;

/// The kinds of paths, nearest first; `SOC` and `PSB` are names of older versions.
constexpr std::array<std::pair<std::string_view, int>, 7> kPaths{
    {{"PIX", 1}, {"PSB", 1}, {"PXB", 2}, {"PHB", 3}, {"NODE", 4}, {"SYS", 5}, {"SOC", 5}}};

struct Word {
  std::string_view text;
  SourcePosition where;
};

using Line = std::vector<Word>;

/// The words of every line, without the escapes that underline the header on a terminal.
std::vector<Line> lines_of(const std::string& source, std::string_view text) {
  std::vector<Line> lines;
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view whole = text.substr(start, end - start);
    Line& line = lines.emplace_back();
    ++number;
    std::size_t at = 0;
    while (at < whole.size()) {
      if (whole[at] == '\x1b') {
        at = std::min(whole.find('m', at), whole.size() - 1) + 1;
      } else if (whole[at] == ' ' || whole[at] == '\t' || whole[at] == '\r') {
        ++at;
      } else {
        const std::size_t stop = std::min(whole.find_first_of(" \t\r\x1b", at), whole.size());
        line.push_back({whole.substr(at, stop - at), {source, number, at + 1}});
        at = stop;
      }
    }
    start = end + 1;
  }
  return lines;
}

bool is_numbered(std::string_view word, std::string_view prefix) {
  return word.starts_with(prefix) && word.size() > prefix.size() &&
         std::all_of(word.begin() + static_cast<std::ptrdiff_t>(prefix.size()), word.end(),
                     [](char ch) { return ch >= '0' && ch <= '9'; });
}

/// NICs are called NIC0, or by their names: mlx5_0.
bool is_device(std::string_view word) {
  return is_numbered(word, "GPU") || is_numbered(word, "NIC") || is_numbered(word, "mlx4_") ||
         is_numbered(word, "mlx5_");
}

std::optional<std::uint32_t> links_of(std::string_view cell) {
  std::uint32_t links = 0;
  if (!cell.starts_with("NV")) return std::nullopt;
  const auto [end, error] = std::from_chars(cell.data() + 2, cell.data() + cell.size(), links);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return links >= 1 && links <= kMaxBondedLinks ? std::optional(links) : std::nullopt;
}

std::optional<int> distance_of(std::string_view cell) {
  for (const auto& [name, distance] : kPaths) {
    if (name == cell) return distance;
  }
  return std::nullopt;
}

class Matrix {
 public:
  Matrix(const std::string& source, const std::string& text)
      : source_(source), lines_(lines_of(source, text)) {
    read_header();
    for (std::size_t row = 0; row < devices_.size(); ++row) read_row(row);
    require_symmetric();
    read_legend();
  }

  Server server() const {
    Server server;
    server.gpus = gpus_;
    server.nvlinks.assign(gpus_, std::vector<std::uint32_t>(gpus_, 0));
    for (std::size_t i = 0; i < gpus_; ++i) {
      for (std::size_t j = 0; j < gpus_; ++j) {
        if (i != j) server.nvlinks[i][j] = links_of(cells_[i][j].text).value_or(0);
      }
    }
    for (std::size_t nic = gpus_; nic < devices_.size(); ++nic) {
      Server::Nic& one = server.nics.emplace_back();
      const auto named = names_.find(devices_[nic].text);
      one.name = named == names_.end() ? devices_[nic].text : named->second;
      for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
        one.distance.push_back(*distance_of(cells_[gpu][nic].text));
      }
    }
    return server;
  }

 private:
  void read_header() {
    while (next_ < lines_.size() && lines_[next_].empty()) ++next_;
    if (next_ < lines_.size()) {
      for (const Word& word : lines_[next_]) {
        if (!is_device(word.text)) break;
        devices_.push_back(word);
      }
    }
    if (devices_.empty() || !is_numbered(devices_.front().text, "GPU")) {
      throw InputError({source_, next_ + 1, 1},
                       "no header, expected the matrix of nvidia-smi topo -m: GPU0 GPU1 …");
    }
    if (devices_.size() > kMaxDevices) {
      throw InputError(devices_.front().where, fmt::format("{} devices, expected at most {}",
                                                           devices_.size(), kMaxDevices));
    }
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const bool is_gpu = is_numbered(devices_[i].text, "GPU");
      if (is_gpu && gpus_ < i) {
        throw InputError(devices_[i].where, "a GPU after a NIC, expected all GPUs first");
      }
      if (is_gpu) ++gpus_;
    }
    ++next_;
  }

  void read_row(std::size_t row) {
    const std::string_view name = devices_[row].text;
    if (next_ >= lines_.size() || lines_[next_].empty()) {
      throw InputError({source_, next_ + 1, 1}, fmt::format("no row, expected that of {}", name));
    }
    const Line& words = lines_[next_++];
    if (words.front().text != name) {
      throw InputError(words.front().where,
                       fmt::format("found '{}', expected the row of {}", words.front().text, name));
    }
    if (words.size() < devices_.size() + 1) {
      throw InputError(
          words.back().where,
          fmt::format("the row of {} has {} cell{}, expected {}: one per column", name,
                      words.size() - 1, words.size() == 2 ? "" : "s", devices_.size()));
    }
    cells_.emplace_back(words.begin() + 1,
                        words.begin() + 1 + static_cast<std::ptrdiff_t>(devices_.size()));
    for (std::size_t column = 0; column < devices_.size(); ++column) require_cell(row, column);
  }

  void require_cell(std::size_t row, std::size_t column) const {
    const Word& cell = cells_[row][column];
    const bool both_gpus = row < gpus_ && column < gpus_;
    const bool good = row == column ? cell.text == "X"
                                    : distance_of(cell.text) || (both_gpus && links_of(cell.text));
    if (good) return;
    throw InputError(cell.where, fmt::format("found '{}', expected {}", cell.text,
                                             row == column ? "X"
                                             : both_gpus   ? "NV#, PIX, PXB, PHB, NODE or SYS"
                                                           : "PIX, PXB, PHB, NODE or SYS"));
  }

  void require_symmetric() const {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (cells_[i][j].text == cells_[j][i].text) continue;
        throw InputError(
            cells_[i][j].where,
            fmt::format("{} to {} is {}, and back {}, expected the same", devices_[i].text,
                        devices_[j].text, cells_[i][j].text, cells_[j][i].text));
      }
    }
  }

  /// `NIC0: mlx5_0`.
  void read_legend() {
    for (; next_ < lines_.size(); ++next_) {
      const Line& line = lines_[next_];
      if (line.size() != 2 || !line.front().text.ends_with(':')) continue;
      const std::string_view nic = line.front().text.substr(0, line.front().text.size() - 1);
      if (is_numbered(nic, "NIC")) names_[nic] = line.back().text;
    }
  }

  const std::string& source_;
  std::vector<Line> lines_;
  std::size_t next_ = 0;  ///< the line to read
  std::vector<Word> devices_;
  std::size_t gpus_ = 0;
  std::vector<std::vector<Word>> cells_;
  std::map<std::string_view, std::string_view> names_;  ///< of NICs, by column
};

}  // namespace

Server read_topo_matrix(const std::string& source, const std::string& text) {
  return Matrix(source, text).server();
}

}  // namespace p2::hardware
