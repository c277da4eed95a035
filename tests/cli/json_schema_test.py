"""The JSON output of every command obeys docs/schema/<command>.json on examples of the repository.

usage: json_schema_test.py P2_VERIFY P2_CHECK SOURCE_FOLDER

The schemas state the contract: documented keys are required, further keys are allowed.
"""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

P2_VERIFY, P2_CHECK = (str(pathlib.Path(program).resolve()) for program in sys.argv[1:3])
SOURCE = pathlib.Path(sys.argv[3]).resolve()
EXAMPLES = SOURCE / "examples"
SCHEMAS = SOURCE / "docs" / "schema"

INSTANCE = "--hierarchy 2,2 --axes 2,2 --reduce 0"
PRICED = f"--system {EXAMPLES}/systems/a100-2nodes.json --axes 2,16 --reduce 0"
VALID = f"{EXAMPLES}/programs/valid/figure3a-allreduce.p2"

TOPOLOGY = " GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n"

# Schema → command lines (`--format json` is added) and the exit code expected. {t} is a temporary
# folder; commands run in this order, so a line may use what an earlier one wrote there.
CASES = [
    ("place", "place --hierarchy node=2,gpu=4 --axes data=4,shard=2", 0),
    ("synth", f"synth {INSTANCE} --size 3", 0),
    ("synth", f"synth {INSTANCE} --size 2 --count", 0),
    ("synth", "synth --hierarchy 256,256 --axes 65536 --reduce 0 --size 3", 0),
    ("synth", "synth --hierarchy node=*,gpu=2 --axes data=* --reduce data --size 2 --dialect printed", 0),
    ("synth", f"synth {INSTANCE} --size 2 --all-sizes --engine explicit", 0),
    ("synth", f"synth --hierarchy 2,2 --axes 4 --reduce 0 --size 2 --verify --certify {{t}}/synth", 0),
    ("synth", f"synth {INSTANCE} --hierarchy 4 --size 2 --shard 1/2 --resume {{t}}/lists", 0),
    ("synth", f"synth {INSTANCE} --size 2 --resume {{t}}/whole-lists", 0),
    ("synth", "merge {t}/whole-lists", 0),
    ("check", f"check {EXAMPLES}/programs/valid/*.p2 {EXAMPLES}/msccl/*.xml {EXAMPLES}/hlo/*.hlo", 0),
    ("check", f"check {EXAMPLES}/programs/refused/*.p2 {EXAMPLES}/msccl/refused/*.xml "
              f"{EXAMPLES}/hlo/refused/*.hlo", 1),
    ("check", f"check {EXAMPLES}/onesided/*.plan --engine all", 0),
    ("check", f"check {EXAMPLES}/onesided/refused/*.plan", 1),
    ("check", f"check {EXAMPLES}/onesided/refused/dispatch-no-flush.plan --repair {{t}}/repaired.plan", 1),
    ("check", f"check {VALID} --engine all --certify {{t}}/certificate --cache {{t}}/cache", 0),
    ("check", f"check {EXAMPLES}/msccl/refused/*.xml --baseline {{t}}/known --update-baseline", 0),
    ("check", f"check {VALID} {{t}}/none.p2", 2),
    ("check", f"check --before {EXAMPLES}/hlo/all-reduce.hlo --after {EXAMPLES}/hlo/by-host.hlo", 0),
    ("check", f"check --before {EXAMPLES}/hlo/all-reduce.hlo --after {EXAMPLES}/hlo/by-host.hlo "
              f"--numbers bitwise", 3),
    ("check", f"check --before {EXAMPLES}/hlo/mlp.hlo --after {EXAMPLES}/hlo/refused/mlp-without-all-reduce.hlo", 1),
    ("check", f"check --before {EXAMPLES}/hlo/pipeline.hlo --relate {EXAMPLES}/hlo/pipeline-relation.json", 0),
    ("check", f"check --before {EXAMPLES}/hlo/pipeline.hlo "
              f"--relate {EXAMPLES}/hlo/refused/pipeline-relation.json", 1),
    ("check", f"check --dump {EXAMPLES}/hlo/refused/dump", 1),
    ("check", f"check {EXAMPLES}/collectives/sound/scatter.p2c {EXAMPLES}/systems/a100-2nodes.json "
              f"{EXAMPLES}/strategy/mlp.json", 0),
    ("check", f"check {EXAMPLES}/records/*.csv {EXAMPLES}/records/*.json {EXAMPLES}/records/flight/*.json", 0),
    ("check", f"check {EXAMPLES}/records/refused/*.csv {EXAMPLES}/records/refused/*.json "
              f"{EXAMPLES}/records/refused/flight/*.json", 1),
    ("define", f"define {EXAMPLES}/collectives/sound/scatter.p2c --max-group 2", 0),
    ("define", "define {t}/sum.p2c --max-group 2", 0),
    ("define", f"define {EXAMPLES}/collectives/wrong/reduce-subtracts.p2c --max-group 2", 1),
    ("cost", f"cost {PRICED} --size 3 --top 5", 0),
    ("cost", f"cost {PRICED} --size 3 --top 2 --sizes 1M:4M", 0),
    ("cost", f"cost {PRICED} --size 2 --goal reducescatter", 0),
    ("cost", f"cost {PRICED} --size 1 --sizes 1M:4M --goal {EXAMPLES}/collectives/sound/scatter.p2c "
             f"--collectives {EXAMPLES}/collectives/sound/scatter.p2c", 0),
    ("cost", "cost --system {t}/large.json --axes 65536 --reduce 0 --size 2 --sizes 1M:1G", 0),
    ("cost", f"cost --system {EXAMPLES}/systems/dgx-h100-4nodes.json --axes 32 --reduce 0 --sizes 1K:1G", 0),
    ("cost", f"cost {PRICED} --system {EXAMPLES}/systems/dgx-h100-4nodes.json --size 2 --shard 2/2 "
             f"--resume {{t}}/prices", 0),
    ("compare", f"cost --compare {EXAMPLES}/measured/h100-2nodes.csv --fit {EXAMPLES}/measured/h100-2nodes.csv "
                f"--cross-validate", 0),
    ("rank", f"place --system {EXAMPLES}/systems/dgx-h100-4nodes.json --axes data=4,tensor=8 "
             f"--rank data=AllReduce:2G,tensor=AllReduce:96x64M", 0),
    ("prove", "prove expressiveness --from b --to c --max-devices 4 --size 3", None),
    ("prove", "prove lemma-b1 corollary-b4 --max-devices 4 --size 3 --certify {t}/claims", None),
    ("prove", "prove lemma-b1 --max-devices 4 --size 3 --shard 1/2 --resume {t}/half", 0),
    ("prove", "prove lemma-b1 --max-devices 4 --size 3 --resume {t}/journal", 0),
    ("prove", "merge {t}/journal", 0),
    ("campaign", "campaign --slurm {t}/jobs --shards 3 -- prove lemma-b1", 0),
    ("prove", "prove --list", 0),
    ("run", f"run {VALID} --bytes 4K --iterations 1 --warmup 0", 0),
    ("run", f"run {INSTANCE} --size 2 --top 3 --bytes 4K --iterations 1 --warmup 0", 0),
    ("dry-run", f"run --dry-run {EXAMPLES}/programs/valid/*.p2 --sizes 4K:8K", 0),
    ("dry-run", f"run --dry-run {EXAMPLES}/programs/refused/figure4b-counted-twice.p2", 1),
    ("oracle", f"oracle {EXAMPLES}/oracle/allreduce.p2 --elements 2 --wrong 2 --output {{t}}/vectors", 0),
    ("pipeline", "pipeline --schedule 1f1b --stages 3 --microbatches 4 --latency 1", 0),
    ("pipeline", "pipeline --stages 2 --microbatches 3 --activation-bytes 4K --weight-bytes 1M", 0),
    ("pipeline", "pipeline --least-memory --stages 2 --microbatches 3 --latency 1", 0),
    ("reshard", f"reshard --tasks {EXAMPLES}/reshard/greedy_misses.json --certify {{t}}/schedule", 0),
    ("reshard", "reshard --shape 8,8 --from 2x2:S0,R --to 2x2:R,S1 --plan broadcast --chunks 2 "
                "--plan-out {t}/plan.json", 0),
    ("check", "check {t}/plan.json --engine all", 0),
    ("run", "run {t}/plan.json --iterations 1 --warmup 0", 0),
    ("parallelize", f"parallelize {EXAMPLES}/strategy/mlp.json --certify {{t}}/strategy", 0),
    ("parallelize", f"parallelize {EXAMPLES}/strategy/mlp.json --engine all", 0),
    ("network", "network alexnet --output {t}/alexnet.json", 0),
    ("export", f"export {VALID} --to msccl --output {{t}}/exported", 0),
    ("export", f"export {VALID} --to hlo --output {{t}}/exported.hlo", 0),
    ("system", "system --from nvidia-smi-topo {t}/topo.txt --nvlink 25GB/s", 0),
    ("p2-check", "p2-check {t}/certificate {t}/schedule", 0),
    ("p2-check", "p2-check {t}/certificate --problem {t}/schedule/schedule.json", 1),
    ("p2-check", "p2-check {t}/vectors", 2),
]


def words_of(line, folder):
    """The words of a command line, patterns expanded."""
    words = []
    for word in line.replace("{t}", folder).split():
        found = sorted(str(p) for p in pathlib.Path("/").glob(word[1:])) if "*" in word else []
        words += found or [word]
    return words


def run(line, folder):
    words = words_of(line, folder)
    program = [P2_CHECK] if words[0] == "p2-check" else [P2_VERIFY, words[0]]
    return subprocess.run(program + ["--format", "json"] + words[1:], capture_output=True,
                          text=True, cwd=folder)


def broken_copies(value, schema, root):
    """Copies of a value, each without one key that the schema requires, or with another type."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    for key in schema.get("required", []):
        if isinstance(value, dict):
            without = copy.copy(value)
            del without[key]
            yield without


def main():
    validators = {}
    for path in SCHEMAS.glob("*.json"):
        schema = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validators[path.stem] = jsonschema.Draft202012Validator(schema)
    # That of certificates is for tests/proofs/second_checker_test.py, that of relations for files.
    untested = set(validators) - {name for name, _, _ in CASES} - {"certificate", "relation"}
    assert not untested, f"no example for {untested}"

    failures = 0
    relations = [json.loads(path.read_text()) for path in sorted(EXAMPLES.glob("hlo/**/*relation.json"))]
    assert len(relations) >= 3
    for relation in relations:
        validators["relation"].validate(relation)
        for broken in broken_copies(relation, validators["relation"].schema,
                                    validators["relation"].schema):
            failures += validators["relation"].is_valid(broken)
    boxes = {"boxes": [{"device": 0, "of": [[0, 2]], "at": [[0, 2]]}], "sum": True}
    for held, obeys in ((boxes, True), ({"sum": ["model"]}, True), ({"sum": True}, False),
                        ({"dims": [[]], "boxes": []}, False), ("halved", False)):
        relation = {**relations[0], "outputs": {"0": {"after": {"0-1,3": 0}, "relation": held}}}
        failures += validators["relation"].is_valid(relation) != obeys
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "topo.txt").write_text(TOPOLOGY)
        pathlib.Path(folder, "large.json").write_text(json.dumps({
            "name": "large", "hierarchy": [{"name": name, "size": 16} for name in "abcd"],
            "interconnects": [{"name": name, "kind": "switch", "level": name, "bandwidth": "10 GB/s"}
                              for name in "abcd"]}))
        pathlib.Path(folder, "sum.p2c").write_text(
            (EXAMPLES / "collectives/sound/quantised-allreduce.p2c").read_text() + "traffic AllReduce of 1 / 4\n")
        for name, line, expected in CASES:
            done = run(line, folder)
            errors = []
            if expected is not None and done.returncode != expected:
                errors.append(f"exit {done.returncode}, expected {expected}: {done.stderr.strip()}")
            try:
                value = json.loads(done.stdout or pathlib.Path(folder, "alexnet.json").read_text())
            except ValueError as error:
                errors.append(f"no JSON document: {error}: {done.stdout[:200]}")
            else:
                errors += [f"{error.json_path}: {error.message[:300]}"
                           for error in validators[name].iter_errors(value)]
                for broken in broken_copies(value, validators[name].schema, validators[name].schema):
                    if validators[name].is_valid(broken):
                        errors.append("the schema accepts a document without a required key")
            for error in errors[:10]:
                print(f"{line}\n    {error}")
            failures += bool(errors)
    print(f"{len(CASES) - failures} of {len(CASES)} documents obey their schemas")
    return 1 if failures else 0


sys.exit(main())
