#pragma once

#include <algorithm>
#include <cctype>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "p2/error.h"

/// What a fuzzing target and the replay of its corpus share: the promises of a parser, as functions
/// of the text it is given.
namespace p2 {

/// A parser broke a promise. No InputError, so that nothing takes it for bad input: libFuzzer ends
/// with it, doctest reports it.
struct BrokenPromise : std::logic_error {
  using std::logic_error::logic_error;
};

inline void promise(bool kept, const std::string& what) {
  if (!kept) throw BrokenPromise(what);
}

/// Every text is read under this name.
constexpr const char* kFuzzedSource = "input";

/// `input:LINE:COL: what` on one line.
inline void check_message(const std::string& message) {
  const std::string start = std::string(kFuzzedSource) + ":";
  promise(message.rfind(start, 0) == 0 && message.size() > start.size() &&
              std::isdigit(static_cast<unsigned char>(message[start.size()])) != 0,
          "a complaint does not say where: " + message);
  const bool one_line = std::none_of(message.begin(), message.end(), [](char ch) {
    return std::iscntrl(static_cast<unsigned char>(ch)) != 0;
  });
  promise(one_line, "a complaint is not one line: " + message);
}

/// What `parse` returns, or nothing when it complains properly. Other exceptions pass.
template <typename Parse>
std::optional<std::invoke_result_t<Parse>> accepted(Parse parse) {
  try {
    return parse();
  } catch (const InputError& error) {
    check_message(error.what());
    return std::nullopt;
  }
}

/// The same for text that we wrote ourselves, where any complaint is our mistake.
template <typename Parse>
std::invoke_result_t<Parse> read_back(std::string_view what, Parse parse) {
  try {
    return parse();
  } catch (const InputError& error) {
    throw BrokenPromise(std::string(what) + " is not read back: " + error.what());
  }
}

}  // namespace p2
