"""Records of real runs: flight recorder dumps, pipeline schedules, transfer plans."""

import copy
import json
import os
import pickle

import pytest

import p2_verify as p2


@pytest.fixture
def records(examples):
    return examples / "records"


def dumps(folder):
    return [json.loads(path.read_text()) for path in sorted(folder.glob("rank*.json"))]


def written(tmp_path, dumps, kind="pickle"):
    for number, dump in enumerate(dumps):
        dump = {key: value for key, value in dump.items() if key != "rank"}
        path = tmp_path / f"nccl_trace_rank_{number}"
        if kind == "pickle":
            path.write_bytes(pickle.dumps(dump))
        else:
            path.write_text(json.dumps(dump))
    return tmp_path


class TestFlightRecorder:
    @pytest.mark.parametrize("kind", ["pickle", "json"])
    def test_matching_calls(self, records, tmp_path, kind):
        traces = p2.flight.load(written(tmp_path, dumps(records / "flight"), kind))
        assert list(traces) == [0, 1, 2, 3]
        assert p2.flight.check(traces)

    def test_a_rank_that_leaves_out_a_call(self, records, tmp_path):
        folder = written(tmp_path, dumps(records / "refused" / "flight"))
        verdict = p2.check(sorted(folder.iterdir()))
        assert verdict.rule == "mismatched-collective"
        assert verdict.counterexample.facts["ranks"] == [0, 2]
        assert "train.py:44 (step)" in verdict.reason

    def test_wrong_size(self, records):
        several = dumps(records / "flight")
        several[3]["entries"][0]["input_sizes"] = [[1024, 1023]]
        verdict = p2.check([json.dumps(each) for each in several])
        assert verdict.rule == "mismatched-size"
        assert verdict.counterexample.facts["ranks"] == [0, 3]

    def test_wrong_type(self, records):
        several = dumps(records / "flight")
        several[1]["entries"][1]["input_dtypes"] = ["BFloat16"]
        assert p2.check([json.dumps(each) for each in several]).rule == "mismatched-type"

    def test_reordered(self, records):
        several = dumps(records / "flight")
        first, second = several[2]["entries"][0:2]
        first["collective_seq_id"], second["collective_seq_id"] = 2, 1
        several[2]["entries"][0:2] = [second, first]
        assert p2.check([json.dumps(each) for each in several]).rule == "reordered-collectives"

    def test_a_rank_that_never_comes(self, records):
        several = dumps(records / "flight")
        del several[1]["entries"][2]
        for number in (0, 2, 3):
            several[number]["entries"][2]["state"] = "started"
        verdict = p2.check([json.dumps(each) for each in several])
        assert verdict.rule == "missing-call"
        assert verdict.counterexample.facts["ranks"] == [1]

    def test_a_newer_dump_is_no_missing_call(self, records):
        several = dumps(records / "flight")
        del several[1]["entries"][2]  # the others have completed the call since
        assert p2.check([json.dumps(each) for each in several])

    def test_an_overwritten_ring_is_no_missing_call(self, records):
        several = dumps(records / "flight")
        del several[1]["entries"][0]
        assert p2.check([json.dumps(each) for each in several])

    def test_ranks_that_wait_for_each_other(self, records):
        several = dumps(records / "flight")[:2]
        template = several[0]["entries"][0]

        def call(group, number):
            entry = copy.deepcopy(template)
            entry["process_group"] = [group, group]
            entry["collective_seq_id"] = number
            entry["state"] = "scheduled"
            return entry

        config = {name: {"name": name, "desc": name, "ranks": "[0, 1]"} for name in ("a", "b")}
        for dump, group in zip(several, ("a", "b"), strict=True):
            dump["pg_config"] = config
            dump["entries"] = [call(group, 1)]
        verdict = p2.check([json.dumps(each) for each in several])
        assert verdict.rule == "deadlock"
        assert "rank 0 waits for rank 1 in call 1 of group a" in verdict.reason

    def test_missing_dumps_are_undecided(self, records):
        verdict = p2.check([json.dumps(each) for each in dumps(records / "flight")[:3]])
        assert verdict.kind is p2.Kind.unknown and "rank 3" in verdict.reason

    def test_sends_without_receives(self, records):
        several = dumps(records / "flight")[:2]
        for rank, dump in enumerate(several):
            dump["pg_config"] = {"0": {"name": "0", "desc": "pp", "ranks": "[0, 1]"}}
            entry = dump["entries"][0]
            entry.update(is_p2p=True, p2p_seq_id=1, state="scheduled")
            entry["profiling_name"] = ["nccl:send 0->1", "nccl:recv 1<-0"][rank]
            dump["entries"] = [entry]
        assert p2.check([json.dumps(each) for each in several])
        several[1]["entries"] = []
        assert p2.check([json.dumps(each) for each in several]).rule == "unmatched-send"

    def test_pickles_call_nothing(self, tmp_path):
        class Attack:
            def __reduce__(self):
                return (os.system, ("touch " + str(tmp_path / "called"),))

        path = tmp_path / "dump_0"
        path.write_bytes(pickle.dumps({"entries": [Attack()]}))
        with pytest.raises(p2.InputError, match="wants to load posix.system"):
            p2.flight.load([path])
        assert not (tmp_path / "called").exists()


class TestPipelineSchedules:
    @pytest.mark.parametrize(
        ("name", "rule"),
        [
            ("1f1b.csv", None),
            ("interleaved-messages.csv", None),
            ("refused/receives-swapped.csv", "p2p-order"),
            ("refused/waits-in-a-circle.csv", "order"),
            ("refused/microbatch-left-out.csv", "missing-work"),
        ],
    )
    def test_examples(self, records, name, rule):
        assert p2.check(records / name).rule == rule

    def test_deadlock_over_two_ranks(self):
        verdict = p2.check("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n")
        assert verdict.rule == "deadlock"
        assert "waits for" in verdict.reason

    def test_peak_activations(self):
        verdict = p2.check("0F0,0F1,0F2,,0B0,0B1,0B2\n,1F0,1B0,1F1,1B1,1F2,1B2\n")
        assert json.loads(verdict.to_json())["results"][0]["record"]["peak_activations"] == [3, 1]

    def test_virtual_stages_and_split_backwards(self):
        rows = [
            "0F0,0F1,2F0,2F1,2I0,2W0,2I1,2W1,,,0B0,0B1",
            ",1F0,1F1,3F0,3F1,3B0,3B1,1I0,1I1,1W0,1W1",
        ]
        assert p2.check("\n".join(rows))
        rows[0] = "0F0,0F1,0B0,0B1,2F0,2F1,2I0,2W0,2I1,2W1"
        assert p2.check("\n".join(rows)).rule == "deadlock"

    def test_not_a_schedule(self):
        with pytest.raises(p2.InputError, match="line|expected"):
            p2.check("0F0,0F1\n0X7\n")


class TestTransferPlans:
    @pytest.mark.parametrize(
        ("name", "rule"),
        [
            ("weights.json", None),
            ("refused/weights-row-left-out.json", "missing"),
            ("refused/weights-not-held.json", "source"),
        ],
    )
    def test_examples(self, records, name, rule):
        assert p2.check(records / name).rule == rule

    def test_every_other_mistake(self, records):
        plan = json.loads((records / "weights.json").read_text())

        def rule_of(change):
            wrong = copy.deepcopy(plan)
            change(wrong)
            return p2.check(json.dumps(wrong)).rule

        assert rule_of(lambda each: each["transfers"].append(each["transfers"][0])) == "twice"
        assert rule_of(lambda each: each["transfers"][0].update(to=3)) == "destination"
        assert rule_of(lambda each: each["transfers"][0].update(box=[[0, 9], [0, 2]])) == "bounds"
        assert rule_of(lambda each: each["transfers"].pop()) == "missing"
