#include "tests/hlo/executed_problem.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace p2::hlo::pipelines {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kPrime = 2147483647;

/// Of numbers modulo the prime.
struct Matrix {
  int rows = 0;
  int columns = 0;
  std::vector<std::uint64_t> numbers = {};

  std::uint64_t at(int row, int column) const {
    return numbers[static_cast<std::size_t>(row * columns + column)];
  }
  bool operator==(const Matrix&) const = default;
};

/// The execution has no result that is defined.
struct Undefined {};

void require(bool is_so) {
  if (!is_so) throw Undefined();
}

struct Command {
  std::string name, opcode, attributes;
  std::vector<std::string> operands;
  int rows = 0, columns = 0;  ///< of a matrix

  /// The text of `key=…`, in braces or up to the next comma.
  std::string attribute(const std::string& key) const {
    const std::size_t at = attributes.find(key + "=");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + key.size() + 1;
    std::size_t end = begin;
    for (int depth = 0; end < attributes.size(); ++end) {
      if (depth == 0 && (attributes[end] == ',' || attributes[end] == '}')) break;
      depth += attributes[end] == '{' ? 1 : attributes[end] == '}' ? -1 : 0;
    }
    return attributes.substr(begin, end - begin);
  }
  int number(const std::string& key) const {
    std::string text = attribute(key);
    std::erase_if(text, [](char each) { return each == '{' || each == '}'; });
    require(!text.empty() && text.find_first_not_of("0123456789") == std::string::npos);
    return std::stoi(text);
  }
  /// `{{0,1},{2,3}}`
  std::vector<std::vector<int>> lists(const std::string& key) const {
    std::vector<std::vector<int>> all;
    std::string digits;
    for (const char each : attribute(key)) {
      if (each == '{') all.emplace_back();
      if (each >= '0' && each <= '9') digits += each;
      if ((each == ',' || each == '}') && !digits.empty()) {
        all.back().push_back(std::stoi(digits));
        digits.clear();
      }
    }
    require(all.size() > 1);
    all.erase(all.begin());
    return all;
  }
};

struct Text {
  std::vector<Command> commands;
  std::vector<std::string> outputs;
  int partitions = 1;

  explicit Text(const std::string& text) {
    const std::size_t header = text.find("num_partitions=");
    if (header != std::string::npos) partitions = std::stoi(text.substr(header + 15));
    std::istringstream lines(text.substr(text.find("ENTRY")));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line) && line != "}") {
      Command command;
      const bool is_root = line.starts_with("  ROOT ");
      std::size_t at = is_root ? 7 : 2;
      std::size_t end = line.find(" = ", at);
      require(end != std::string::npos);
      command.name = line.substr(at, end - at);
      at = end + 3;
      end = line[at] == '(' ? line.find(')', at) + 1 : line.find(' ', at);
      const std::size_t shape = line.find("f32[", at);
      if (shape < end) {
        command.rows = std::stoi(line.substr(shape + 4));
        command.columns = std::stoi(line.substr(line.find(',', shape) + 1));
      }
      at = end + 1;
      end = line.find('(', at);
      command.opcode = line.substr(at, end - at);
      at = end + 1;
      end = line.find(')', at);
      std::string list = line.substr(at, end - at);
      std::erase(list, ' ');
      std::istringstream operands(list);
      for (std::string each; std::getline(operands, each, ',');) command.operands.push_back(each);
      command.attributes = line.substr(end + 1);
      if (is_root)
        outputs = command.opcode == "tuple" ? command.operands : std::vector{command.name};
      if (!is_root || command.opcode != "tuple") commands.push_back(std::move(command));
    }
  }
};

Matrix made(int rows, int columns, const auto& at) {
  Matrix result{rows, columns, {}};
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) result.numbers.push_back(at(i, j) % kPrime);
  }
  return result;
}

/// An operation that does not communicate.
Matrix computed(const Command& command, const std::vector<Matrix>& x) {
  const std::string& opcode = command.opcode;
  if (opcode == "copy") return x.at(0);
  if (opcode == "dot") {
    const bool left = command.number("lhs_contracting_dims") == 0;
    const bool right = command.number("rhs_contracting_dims") == 1;
    const Matrix &a = x.at(0), &b = x.at(1);
    const int summed = left ? a.rows : a.columns;
    require(summed == (right ? b.columns : b.rows));
    return made(left ? a.columns : a.rows, right ? b.rows : b.columns, [&](int i, int j) {
      std::uint64_t sum = 0;
      for (int k = 0; k < summed; ++k)
        sum = (sum + (left ? a.at(k, i) : a.at(i, k)) * (right ? b.at(j, k) : b.at(k, j))) % kPrime;
      return sum;
    });
  }
  require(opcode == "add" || opcode == "multiply");
  const Matrix &a = x.at(0), &b = x.at(1);
  require(a.rows == b.rows && a.columns == b.columns);
  return made(a.rows, a.columns, [&](int i, int j) {
    return opcode == "add" ? a.at(i, j) + b.at(i, j) : a.at(i, j) * b.at(i, j);
  });
}

/// What a member of a collective has of all members' operands.
Matrix exchanged(const Command& command, const std::vector<Matrix>& all, std::size_t place) {
  for (const Matrix& each : all)
    require(each.rows == all[0].rows && each.columns == all[0].columns);
  const int rows = all[0].rows, columns = all[0].columns, count = static_cast<int>(all.size());
  const auto sum = [&](int i, int j) {
    std::uint64_t total = 0;
    for (const Matrix& each : all) total += each.at(i, j);
    return total;
  };
  if (command.opcode != "all-gather") require(command.attribute("to_apply") == "add");
  if (command.opcode == "all-reduce") return made(rows, columns, sum);
  const bool is_row = command.number("dimensions") == 0;
  if (command.opcode == "all-gather")
    return made(is_row ? rows * count : rows, is_row ? columns : columns * count,
                [&](int i, int j) {
                  const int which = is_row ? i / rows : j / columns;
                  return all[static_cast<std::size_t>(which)].at(i % rows, j % columns);
                });
  require(command.opcode == "reduce-scatter" && (is_row ? rows : columns) % count == 0);
  const int k = static_cast<int>(place);
  const int own_rows = is_row ? rows / count : rows,
            own_columns = is_row ? columns : columns / count;
  return made(own_rows, own_columns, [&](int i, int j) {
    return is_row ? sum(k * own_rows + i, j) : sum(i, k * own_columns + j);
  });
}

class Execution {
 public:
  Execution(const Json& problem, std::uint32_t seed)
      : problem_(problem), before_(problem.at("before")), random_(seed) {
    const auto count = problem.at("devices").get<std::size_t>();
    program_of_.assign(count, SIZE_MAX);
    for (const Json& each : problem.at("programs")) {
      programs_.emplace_back(each.at("module").get<std::string>());
      auto& own = devices_.emplace_back();
      for (const Json& range : each.at("devices")) {
        for (auto device = range.at(0).get<std::size_t>(); device <= range.at(1); ++device) {
          require(program_of_.at(device) == SIZE_MAX);
          program_of_[device] = programs_.size() - 1;
          own.push_back(device);
        }
      }
    }
    require(std::find(program_of_.begin(), program_of_.end(), SIZE_MAX) == program_of_.end());
    values_.resize(count);
    next_.assign(count, 0);
  }

  bool is_right() {
    const auto wholes = held_inputs();
    for (bool any = true; any;) {
      any = false;
      for (std::size_t device = 0; device < next_.size(); ++device) {
        while (next_[device] < text_of(device).commands.size() && advances(device)) {
          ++next_[device];
          any = true;
        }
      }
    }
    for (std::size_t device = 0; device < next_.size(); ++device)
      require(next_[device] == text_of(device).commands.size());
    std::map<std::string, Matrix> single;
    for (const Command& command : before_.commands) {
      if (command.opcode == "parameter") {
        single[command.name] = wholes.at(std::stoul(command.operands.at(0)));
        continue;
      }
      compute(command, single);
    }
    require(problem_.at("outputs").size() == before_.outputs.size());
    for (std::size_t k = 0; k < before_.outputs.size(); ++k) {
      if (!is_held(problem_["outputs"][k], single.at(before_.outputs[k]))) return false;
    }
    return true;
  }

 private:
  /// What makes no sense has no value: nothing may use it.
  static void compute(const Command& command, std::map<std::string, Matrix>& values) {
    std::vector<Matrix> x;
    for (const std::string& each : command.operands) {
      const auto found = values.find(each);
      if (found == values.end()) return;
      x.push_back(found->second);
    }
    if (x.size() == (command.opcode == "copy" ? 1 : 2)) values[command.name] = computed(command, x);
  }

  const Text& text_of(std::size_t device) const { return programs_.at(program_of_.at(device)); }

  Matrix drawn(int rows, int columns) {
    return made(rows, columns, [&](int, int) { return random_(); });
  }

  /// Indices in the whole and in the device's array.
  static void for_each_element(const Json& piece, const auto& visit) {
    for (int i = 0; i < piece.at(6); ++i) {
      for (int j = 0; j < piece.at(7); ++j)
        visit(piece.at(2).get<int>() + i, piece.at(3).get<int>() + j, piece.at(4).get<int>() + i,
              piece.at(5).get<int>() + j);
    }
  }

  static std::uint64_t& cell(Matrix& matrix, int row, int column) {
    require(row >= 0 && row < matrix.rows && column >= 0 && column < matrix.columns);
    return matrix.numbers.at(static_cast<std::size_t>(row * matrix.columns + column));
  }

  const Json& placement_of(const Json& held) const {
    return problem_.at("placements").at(held.at("placement").get<std::size_t>());
  }

  std::optional<int> number_on(const Json& held, std::size_t device) const {
    for (const Json& pair : held.at("numbers")) {
      if (pair.at(0) == program_of_.at(device)) return pair.at(1).get<int>();
    }
    return {};
  }

  /// Draws inputs; what devices hold of them, and anything elsewhere, are the parameters.
  std::map<std::size_t, Matrix> held_inputs() {
    for (std::size_t device = 0; device < next_.size(); ++device) {
      for (const Command& command : text_of(device).commands) {
        if (command.opcode == "parameter")
          inputs_[{device, std::stoi(command.operands.at(0))}] =
              drawn(command.rows, command.columns);
      }
    }
    std::map<std::size_t, Matrix> wholes;
    for (const Command& command : before_.commands) {
      if (command.opcode != "parameter") continue;
      const std::size_t input = std::stoul(command.operands.at(0));
      const Json& held = problem_.at("inputs").at(input);
      const Json& placement = placement_of(held);
      const auto parts = placement.at("parts").get<std::size_t>();
      require(parts == 1 || placement.at("reducer") == "add");
      std::vector<Matrix> all;
      Matrix whole = made(command.rows, command.columns, [](int, int) { return 0U; });
      for (std::size_t k = 0; k < parts; ++k) {
        all.push_back(drawn(command.rows, command.columns));
        for (std::size_t i = 0; i < whole.numbers.size(); ++i)
          whole.numbers[i] = (whole.numbers[i] + all[k].numbers[i]) % kPrime;
      }
      for (const Json& piece : placement.at("pieces")) {
        const auto device = piece.at(0).get<std::size_t>();
        const auto number = number_on(held, device);
        require(number.has_value());
        for_each_element(piece, [&](int of_row, int of_column, int row, int column) {
          cell(inputs_.at({device, *number}), row, column) =
              cell(all.at(piece.at(1).get<std::size_t>()), of_row, of_column);
        });
      }
      require(wholes.emplace(input, std::move(whole)).second);
    }
    return wholes;
  }

  /// Every part has one value, on all devices that hold it, and the parts together are the whole.
  bool is_held(const Json& held, Matrix whole) {
    const Json& placement = placement_of(held);
    const auto parts = placement.at("parts").get<std::size_t>();
    require(parts == 1 || placement.at("reducer") == "add");
    std::map<std::tuple<int, int, std::size_t>, std::uint64_t> found;
    bool is_one = true;
    for (const Json& piece : placement.at("pieces")) {
      const auto device = piece.at(0).get<std::size_t>();
      const auto number = number_on(held, device);
      require(number.has_value());
      Matrix& own =
          values_[device].at(text_of(device).outputs.at(static_cast<std::size_t>(*number)));
      for_each_element(piece, [&](int of_row, int of_column, int row, int column) {
        const std::tuple key(of_row, of_column, piece.at(1).get<std::size_t>());
        const std::uint64_t value = cell(own, row, column);
        is_one = is_one && found.emplace(key, value).first->second == value;
      });
    }
    for (int i = 0; i < whole.rows; ++i) {
      for (int j = 0; j < whole.columns; ++j) {
        std::uint64_t sum = 0;
        for (std::size_t k = 0; k < parts; ++k) sum += found.at({i, j, k});
        is_one = is_one && sum % kPrime == cell(whole, i, j);
      }
    }
    return is_one;
  }

  std::size_t device_of(std::size_t program, int id) const {
    const auto& own = devices_[program];
    const bool is_alone = static_cast<std::size_t>(programs_[program].partitions) == own.size();
    return is_alone ? own.at(static_cast<std::size_t>(id)) : static_cast<std::size_t>(id);
  }

  using Message = std::tuple<int, int, int>;  ///< channel, source, target
  std::optional<Message> message_of(const Command& command, std::size_t device) const {
    std::optional<Message> message;
    for (const auto& pair : command.lists("_xla_send_recv_source_target_pairs")) {
      const bool sends = command.opcode == "send";
      require(pair.size() == 2);
      if (pair[sends ? 0 : 1] != static_cast<int>(device)) continue;
      require(!message);
      message = {command.number("channel_id"), pair[0], pair[1]};
    }
    return message;
  }

  /// Whether the device goes on from its next command.
  bool advances(std::size_t device) {
    const Text& text = text_of(device);
    const Command& command = text.commands[next_[device]];
    auto& values = values_[device];
    const std::string& opcode = command.opcode;
    if (opcode == "after-all" || opcode == "send-done") return true;
    if (opcode == "parameter") {
      values[command.name] = inputs_.at({device, std::stoi(command.operands.at(0))});
    } else if (opcode == "get-tuple-element") {
      values[command.name] = values.at(command.operands.at(0));
    } else if (opcode == "recv") {
      const auto message = message_of(command, device);
      if (message) require(posted_.insert(*message).second);
    } else if (opcode == "send") {
      const auto message = message_of(command, device);
      if (message && !posted_.contains(*message)) return false;
      if (message) require(sent_.emplace(*message, values.at(command.operands.at(0))).second);
    } else if (opcode == "recv-done") {
      const auto start =
          std::find_if(text.commands.begin(), text.commands.end(),
                       [&](const Command& each) { return each.name == command.operands.at(0); });
      require(start != text.commands.end() && start->opcode == "recv");
      const auto message = message_of(*start, device);
      if (message && !sent_.contains(*message)) return false;
      values[command.name] = message ? sent_.at(*message) : drawn(command.rows, command.columns);
    } else if (opcode == "collective-permute") {
      const auto result = permuted(command, device);
      if (!result) return false;
      values[command.name] = *result;
    } else if (opcode.starts_with("all-") || opcode == "reduce-scatter") {
      const auto result = met(command, device);
      if (!result) return false;
      values[command.name] = *result;
    } else {
      compute(command, values);
    }
    // What has not the shape that it says has no value: nothing may use it.
    const auto found = values.find(command.name);
    if (found != values.end() &&
        (found->second.rows != command.rows || found->second.columns != command.columns))
      values.erase(found);
    return true;
  }

  /// A collective of one program is one by its line, one of several by its channel.
  std::optional<Matrix> met(const Command& command, std::size_t device) {
    const std::size_t program = program_of_[device];
    std::vector<std::size_t> own;
    bool spans = false;
    for (const auto& group : command.lists("replica_groups")) {
      std::vector<std::size_t> members;
      for (const int id : group) members.push_back(device_of(program, id));
      if (std::find(members.begin(), members.end(), device) == members.end()) continue;
      require(own.empty());
      own = std::move(members);
    }
    require(!own.empty());
    for (const std::size_t each : own) spans = spans || program_of_.at(each) != program;
    auto sorted = own;
    std::sort(sorted.begin(), sorted.end());
    const std::string name = spans ? "" : command.name;
    auto& meeting = meetings_[{spans ? SIZE_MAX : program, name,
                               spans ? command.number("channel_id") : 0, sorted}];
    meeting.emplace(device, std::pair(command.opcode, values_[device].at(command.operands.at(0))));
    if (meeting.size() < own.size()) return std::nullopt;
    std::vector<Matrix> all;
    for (const std::size_t each : own) {
      require(meeting.at(each).first == command.opcode);
      all.push_back(meeting.at(each).second);
    }
    return exchanged(
        command, all,
        static_cast<std::size_t>(std::find(own.begin(), own.end(), device) - own.begin()));
  }

  /// All that are connected wait for each other, and have the same pairs.
  std::optional<Matrix> permuted(const Command& command, std::size_t device) {
    std::set<std::pair<std::size_t, std::size_t>> pairs;
    for (const auto& pair : command.lists("source_target_pairs")) {
      require(pair.size() == 2);
      pairs.emplace(device_of(program_of_[device], pair[0]),
                    device_of(program_of_[device], pair[1]));
    }
    std::set<std::size_t> group = {device};
    for (std::size_t size = 0; size != group.size();) {
      size = group.size();
      for (const auto& [source, target] : pairs) {
        if (group.contains(source) || group.contains(target)) group.insert({source, target});
      }
    }
    std::erase_if(pairs, [&](const auto& pair) { return !group.contains(pair.first); });
    auto& meeting = permutations_[{command.number("channel_id"), group}];
    meeting.emplace(device, std::pair(pairs, values_[device].at(command.operands.at(0))));
    if (meeting.size() < group.size()) return std::nullopt;
    std::optional<Matrix> result;
    for (const auto& [member, all] : meeting) require(all.first == pairs);
    for (const auto& [source, target] : pairs) {
      if (target != device) continue;
      require(!result);
      result = meeting.at(source).second;
    }
    return result ? *result : made(command.rows, command.columns, [](int, int) { return 0U; });
  }

  const Json& problem_;
  Text before_;
  std::mt19937 random_;
  std::vector<Text> programs_;
  std::vector<std::vector<std::size_t>> devices_;  ///< by program
  std::vector<std::size_t> program_of_, next_;
  std::map<std::pair<std::size_t, int>, Matrix> inputs_;
  std::vector<std::map<std::string, Matrix>> values_;  ///< by device
  std::set<Message> posted_;
  std::map<Message, Matrix> sent_;
  std::map<std::tuple<std::size_t, std::string, int, std::vector<std::size_t>>,
           std::map<std::size_t, std::pair<std::string, Matrix>>>
      meetings_;
  std::map<std::pair<int, std::set<std::size_t>>,
           std::map<std::size_t, std::pair<std::set<std::pair<std::size_t, std::size_t>>, Matrix>>>
      permutations_;
};

}  // namespace

bool is_right(const Json& problem, std::uint32_t seed) {
  try {
    return Execution(problem, seed).is_right();
  } catch (const Undefined&) {
    return false;
  } catch (const std::logic_error&) {
    return false;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace p2::hlo::pipelines
