#include "proofs/kernel/json_reader.h"

#include <algorithm>
#include <set>

#include "proofs/kernel/folder.h"

namespace p2::kernel {

Json parse_json(const Files& files, const std::string& name) {
  const std::string& text = files.at(name);
  if (text.size() > kLargestFile) malformed(name + " is too large");
  std::vector<std::set<std::string>> keys(kDeepestJson + 2);
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    using Event = Json::parse_event_t;
    if (depth > kDeepestJson) malformed(name + " is nested too deeply");
    auto& seen = keys[static_cast<std::size_t>(depth) + (event == Event::object_start ? 1 : 0)];
    if (event == Event::object_start) seen.clear();
    if (event == Event::key && !seen.insert(value.get<std::string>()).second) {
      malformed(name + " has key " + value.get<std::string>() + " twice in one object");
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception&) {
    malformed(name + " is not JSON");
  }
}

void expect_object(const Json& value, std::string_view what,
                   std::initializer_list<const char*> required,
                   std::initializer_list<const char*> optional) {
  if (!value.is_object()) malformed(std::string(what) + " is not an object");
  std::size_t known = required.size();
  for (const char* key : required) {
    if (!value.contains(key)) malformed(std::string(what) + " lacks key " + key);
  }
  for (const char* key : optional) known += value.count(key);
  if (known != value.size()) malformed(std::string(what) + " has an unknown key");
}

const Json& expect_array(const Json& value, std::string_view what) {
  if (!value.is_array()) malformed(std::string(what) + " is not a list");
  return value;
}

const std::string& expect_text(const Json& value, std::string_view what) {
  if (!value.is_string()) malformed(std::string(what) + " is not a text");
  return value.get_ref<const std::string&>();
}

std::uint32_t expect_number(const Json& value, std::string_view what, std::uint32_t low,
                            std::uint32_t high) {
  if (!value.is_number_unsigned()) malformed(std::string(what) + " is not a number");
  const auto number = value.get<std::uint64_t>();
  if (number < low || number > high) {
    malformed(std::string(what) + " is " + std::to_string(number) + ", not from " +
              std::to_string(low) + " to " + std::to_string(high));
  }
  return static_cast<std::uint32_t>(number);
}

Numbers expect_numbers(const Json& value, std::string_view what, std::uint32_t end) {
  Numbers numbers;
  for (const Json& item : expect_array(value, what)) {
    if (end == 0) malformed(std::string(what) + " is not empty");
    numbers.push_back(expect_number(item, what, 0, end - 1));
  }
  return numbers;
}

Numbers expect_ascending(const Json& value, std::string_view what, std::uint32_t end) {
  Numbers numbers = expect_numbers(value, what, end);
  if (numbers.empty() || !std::is_sorted(numbers.begin(), numbers.end(), std::less_equal<>())) {
    malformed(std::string(what) + " is empty or does not ascend");
  }
  return numbers;
}

}  // namespace p2::kernel
