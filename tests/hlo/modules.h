#pragma once

#include <string>

#include "engine/hlo/equality/verdict.h"

namespace p2::hlo {

/// A module of `partitions` partitions whose entry has these lines; `add`, `maximum`, `minimum` and
/// `multiply` are reducers of f32 in it.
std::string module_text(const std::string& entry, int partitions = 4);

/// `text` with the one place of `from` replaced. Fails the test where there is none.
std::string replaced(std::string text, const std::string& from, const std::string& to);

std::shared_ptr<const Module> module_of(const std::string& text);
Verdict compared(const std::string& before, const std::string& after,
                 const Question& question = {});

/// The text of the verdict's kind, and of what is wrong: `valid`, `invalid contributions`, …
std::string said(const Verdict& verdict);

}  // namespace p2::hlo
