#!/usr/bin/env python3
"""The examples of the page: writes examples.js from the files in examples/ that the page can judge.

  examples.py ROOT OUTPUT
"""

import json
import os
import sys

# Folder, how a name ends, and how a pair of modules is compared.
SINGLE = [("programs/valid", ".p2"), ("programs/refused", ".p2"), ("msccl", ".xml"),
          ("msccl/refused", ".xml"), ("onesided", ".plan"), ("onesided/refused", ".plan"),
          ("records/refused", ".json"), ("records/refused", ".csv"), ("records", ".json"),
          ("records", ".csv"), ("collectives/sound", ".p2c")]
PAIRS = [("hlo/all-reduce.hlo", "hlo/by-host.hlo"), ("hlo/mlp.hlo", "hlo/mlp-partitioned.hlo"),
         ("hlo/all-reduce.hlo", "hlo/refused/crossed-hosts.hlo")]


def main():
    root, output = sys.argv[1:]
    folder = os.path.join(root, "examples")

    def text_of(name):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()

    examples = []
    for place, ending in SINGLE:
        for name in sorted(os.listdir(os.path.join(folder, place))):
            if name.endswith(ending):
                examples.append({"name": f"{place}/{name}", "text": text_of(f"{place}/{name}")})
    for before, after in PAIRS:
        examples.append({"name": f"{before} → {after}", "before": text_of(before), "text": text_of(after),
                         "files": [before, after]})
    # Inside a script, and in a file that is one: no `</script>`, no line separators.
    written = json.dumps(examples, ensure_ascii=True).replace("</", "<\\/")
    with open(output, "w", encoding="utf-8") as file:
        file.write(f"const examples = {written};\n")


if __name__ == "__main__":
    main()
