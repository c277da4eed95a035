"""The shipped system files obey system.schema.json, and files that break it are refused."""
import copy
import json
import pathlib
import sys

import jsonschema

folder = pathlib.Path(sys.argv[1])
schema = json.loads((folder / "system.schema.json").read_text())
validator = jsonschema.validators.validator_for(schema)(schema)
systems = {p.name: json.loads(p.read_text()) for p in folder.glob("*.json")
           if p.name != "system.schema.json"}
assert len(systems) >= 6, systems.keys()
for name, system in systems.items():
    validator.validate(system)

system = systems["a100-4nodes.json"]
for path, value in [(("hierarchy", 0, "size"), 0), (("hierarchy", 0, "size"), "4"),
                    (("interconnects", 0, "kind"), "bus"), (("colour",), "red"),
                    (("interconnects", 0, "bandwidth"), 270), (("hierarchy",), [])]:
    broken = copy.deepcopy(system)
    place = broken
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not validator.is_valid(broken), path
rails = systems["dgx-h100-superpod.json"]
for key, value, good in [("oversubscription", "2:1", True), ("oversubscription", "2", False),
                         ("oversubscription", 2, False), ("rails", True, True),
                         ("rails", "yes", False)]:
    changed = copy.deepcopy(rails)
    changed["interconnects"][-1][key] = value
    assert validator.is_valid(changed) == good, (key, value)
print(f"{len(systems)} systems obey the schema")
