#include "proofs/kernel/input.h"

#include <algorithm>
#include <set>

namespace p2::kernel {
namespace {

[[noreturn]] void unexpected(const Json& value, const std::string& expected) {
  malformed(value.dump(-1, ' ', true).substr(0, 60) + " is not " + expected);
}

constexpr std::size_t kMaxNesting = 8;

/// Finds, before the values are built, what they do not show: a key twice, and how deep they are.
/// (A callback of Json::parse would see it, too, but looks through a list after every object in
/// it.)
struct Form final : nlohmann::json_sax<Json> {
  explicit Form(std::string given) : name(std::move(given)) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    if (!keys.back().insert(key).second) malformed(name + ": duplicate key");
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    malformed(name + " is not JSON");
  }

  bool open() {
    if (keys.size() > kMaxNesting) malformed(name + ": nested too deeply");
    keys.emplace_back();
    return true;
  }
  bool close() {
    keys.pop_back();
    return true;
  }

  std::string name;
  std::vector<std::set<std::string>> keys;  // of what is open
};

}  // namespace

Json parse_json(const Files& files, const std::string& name) {
  const std::string& bytes = files.at(name);
  if (bytes.size() > kLargestJson) malformed(name + " is too large");
  Form form(name);
  Json::sax_parse(bytes, &form);
  return Json::parse(bytes);
}

void expect_keys(const Json& value, const std::vector<std::string>& keys) {
  const auto has = [&](const std::string& key) { return value.contains(key); };
  if (value.is_object() && value.size() == keys.size() && std::ranges::all_of(keys, has)) return;
  unexpected(value, "an object with the keys " + Json(keys).dump());
}

const List& as_list(const Json& value) {
  if (!value.is_array()) unexpected(value, "a list");
  return value.get_ref<const List&>();
}

const std::string& as_text(const Json& value) {
  if (!value.is_string()) unexpected(value, "a text");
  return value.get_ref<const std::string&>();
}

std::uint32_t as_number(const Json& value, std::uint64_t end) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= end) {
    unexpected(value, "a number below " + std::to_string(end));
  }
  return value.get<std::uint32_t>();
}

Numbers as_numbers(const Json& value, std::uint64_t end) {
  Numbers all;
  for (const Json& item : as_list(value)) all.push_back(as_number(item, end));
  return all;
}

Numbers as_ascending(const Json& value, std::uint64_t end) {
  Numbers all = as_numbers(value, end);
  if (all.empty() || !std::ranges::is_sorted(all, std::less_equal<>())) {
    unexpected(value, "an ascending list of numbers");
  }
  return all;
}

}  // namespace p2::kernel
