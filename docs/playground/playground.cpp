// The functions that the page calls. Files lie in the memory of the page, below /work.

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "p2/check.h"
#include "p2/error.h"
#include "proofs/kernel/certificate.h"

namespace {

constexpr std::chrono::seconds kTimeLimit{20};

/// A copy that the page frees.
char* returned(const std::string& text) {
  char* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

p2::Json answer_of(int code, const std::string& verdict, const std::string& text,
                   const std::string& page) {
  return p2::Json::object({{"code", code}, {"verdict", verdict}, {"text", text}, {"page", page}});
}

p2::CheckRequest request_of(const char* file, const char* before, const char* reduces,
                            const char* certificate) {
  p2::CheckRequest request;
  if (*before != '\0') {
    request.before = before;
    request.after = file;
  } else {
    request.files = {file};
  }
  if (*reduces != '\0') request.reduces = reduces;
  if (*certificate != '\0') request.certify = certificate;
  request.page = true;
  return request;
}

p2::Json check(const p2::CheckRequest& request) {
  p2::Options options;
  options.jobs = 1;
  options.limits.deadline = std::chrono::steady_clock::now() + kTimeLimit;
  try {
    const p2::CheckAnswer answer = p2::check(request, options);
    std::string text;
    for (const p2::Diagnostic& each : answer.diagnostics)
      text += p2::printable(each.message) + "\n";
    const p2::Json json = answer_of(
        p2::exit_code_of(answer),
        answer.results.empty() ? "not judged" : std::string(to_string(answer.results[0].outcome)),
        text, write_page(answer));
    return json;
  } catch (const p2::InputError& error) {
    return answer_of(p2::kBadInput, "not judged", error.what(), {});
  } catch (const p2::LimitReached& error) {
    return answer_of(p2::kUndecided, "unknown", error.what(), {});
  } catch (const std::exception& error) {
    return answer_of(p2::kToolFailure, "not judged", error.what(), {});
  }
}

}  // namespace

extern "C" {

/// As `p2-verify check`: the answer as JSON `{code, verdict, text, page}`. Empty strings are absent
/// options; `certificate` is the folder for a certificate.
char* p2_check(const char* file, const char* before, const char* reduces, const char* certificate) {
  const p2::Json answer = check(request_of(file, before, reduces, certificate));
  return returned(answer.dump());
}

/// As `p2-check FOLDER`: `{verdict, reason}`.
char* p2_check_certificate(const char* folder) {
  constexpr const char* kWords[] = {"accepted", "rejected", "not-a-certificate", "incomplete"};
  const auto [verdict, reason] = p2::check_folder(folder);
  return returned(
      p2::Json::object({{"verdict", kWords[static_cast<int>(verdict)]}, {"reason", reason}})
          .dump());
}
}
