// Which programs reduce over eight devices on two nodes?
#include <iostream>

#include "p2/synthesize.h"

int main() {
  try {
    p2::SynthesizeRequest synthesis;
    synthesis.instance.hierarchy = "node=2,gpu=4";
    synthesis.instance.axes = "8";
    synthesis.instance.reduce = "0";
    synthesis.size = 3;
    const p2::SynthesizeAnswer programs = p2::synthesize(synthesis, {});
    std::cout << programs.total << " programs of at most 3 steps\n";
    std::cout << p2::write_document(programs.document, p2::DocumentFormat::Text);
    return programs.outcome == p2::Outcome::Established ? 0 : 1;
  } catch (const p2::Error& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
