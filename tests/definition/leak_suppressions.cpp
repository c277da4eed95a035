/// Asked by LeakSanitizer where it is linked. Z3 4.8.12 leaks about a kilobyte when a limit
/// interrupts a proof with quantifiers, which is how a definition that cannot be proved for every n
/// is given up.
extern "C" const char* __lsan_default_suppressions() { return "leak:libz3"; }
