#include <iostream>

#include "cli/command.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  p2::handle_interrupts();
  return p2::exit_code_after_signals(p2::dispatch({argv + 1, argv + argc}, std::cout, std::cerr));
}
