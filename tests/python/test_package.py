"""Every function of the package, its errors, limits and signals."""

import ast
import doctest
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import p2_verify as p2

VALID = "devices 4\nAllReduce{0,1,2,3}"
INVALID = "devices 4\nAllReduce{0,1}"


def slow_placement():
    """Synthesis of all programs takes minutes here."""
    return p2.Placement(p2.System([2] * 8), {"data": 256}, [[2] * 8])


@pytest.fixture
def placement():
    return p2.Placement(p2.System({"node": 2, "gpu": 4}), {"data": 8}, [[2, 4]])


class TestSystems:
    def test_placements_are_those_of_the_paper(self):
        found = p2.placements(p2.System({"node": 4, "gpu": 16}), {"data": 8, "shard": 8})
        assert [each.rows for each in found] == [
            [[1, 8], [4, 2]],
            [[2, 4], [2, 4]],
            [[4, 2], [1, 8]],
        ]
        assert found[1].matrix.tolist() == [[2, 4], [2, 4]]

    def test_system_files_are_read(self, examples):
        system = p2.System.load(examples / "systems" / "a100-4nodes.json")
        assert system.levels == {"node": 4, "gpu": 16}
        assert system.devices == 64

    def test_a_text_is_read_like_its_file(self, examples):
        path = examples / "systems" / "a100-4nodes.json"
        assert p2.System.load(path.read_text()).levels == p2.System.load(path).levels

    def test_sizes_that_do_not_fit_are_refused(self):
        with pytest.raises(p2.InputError, match="expected 8"):
            p2.placements(p2.System([2, 4]), {"data": 7})


class TestPrograms:
    def test_synthesis_is_complete(self, placement):
        found = p2.synthesize(placement, reduce=["data"], size=3)
        assert found.complete and found.settled_size == 3
        assert found[0].text == "AllReduce(root, InsideGroup)"
        assert all(bool(each.check()) for each in found)

    def test_states_follow_the_steps(self):
        states = p2.Program.parse("devices 2\nReduceScatter{0,1}; AllGather{0,1}").states()
        assert states.shape == (3, 2, 2, 2) and states.dtype == np.bool_
        assert states[0].tolist() == [[[True, False]] * 2, [[False, True]] * 2]
        assert states[1].tolist() == [
            [[True, True], [False, False]],
            [[False, False], [True, True]],
        ]
        assert states[2].all()

    def test_states_of_a_refused_program_end_before_the_refused_step(self):
        program = p2.Program.parse("devices 4\nAllReduce{0,1}; AllReduce{0,1}")
        assert program.states().shape[0] == 2

    def test_states_outlive_the_program(self):
        states = p2.Program.parse(VALID).states()
        assert states[-1].all() and not states[0].all()

    def test_programs_need_their_placement(self, placement):
        text = "AllReduce(root, InsideGroup)"
        assert p2.Program.parse(text, placement=placement, reduce=["data"]).devices == 8
        with pytest.raises(p2.InputError):
            p2.Program.parse(text)

    def test_engines_agree(self):
        assert p2.Program.parse(VALID).check(engine="all").engines.keys() >= {"explicit", "z3"}


class TestVerdicts:
    def test_valid_is_true(self):
        verdict = p2.check(VALID)
        assert verdict and verdict.kind is p2.Kind.valid
        assert verdict.rule is None and verdict.counterexample is None and verdict.reason is None

    def test_invalid_is_false_with_a_counterexample(self):
        verdict = p2.check(INVALID)
        assert not verdict and verdict.rule == "goal-lacks"
        assert verdict.counterexample.facts["contributor"] == 2
        assert repr(verdict).startswith("Verdict(invalid: goal-lacks: ")
        assert "\n" not in repr(verdict)

    def test_undecided_has_no_truth_value(self):
        verdict = p2.Verdict(p2.Kind.unknown, reason="the time is over")
        with pytest.raises(p2.UndecidedError, match="the time is over"):
            bool(verdict)

    def test_json_is_that_of_the_command_line(self, examples):
        for path in sorted((examples / "programs").glob("*/*.p2")):
            if path.parent.name == "defined":
                continue
            found = json.loads(p2.check(path).to_json())["results"][0]
            line = subprocess.run(
                [os.environ["P2_VERIFY"], "check", str(path), "--format", "json"],
                capture_output=True,
                check=False,
            )
            assert json.loads(line.stdout)["results"][0] == found

    def test_html_shows_the_reason(self):
        html = p2.check(INVALID)._repr_html_()
        assert "goal-lacks" in html and "lacks the contribution" in html

    def test_texts_and_paths_are_not_confused(self, examples):
        path = examples / "programs" / "refused" / "unfinished.p2"
        with pytest.raises(p2.InputError, match="pathlib.Path"):
            p2.check(str(path))
        assert p2.check(path).rule == "goal-lacks"

    def test_several_files_are_one_question(self, examples):
        folder = examples / "programs"
        paths = [
            folder / "valid" / "figure3a-allreduce.p2",
            folder / "refused" / "unfinished.p2",
        ]
        verdict = p2.check(paths)
        assert verdict.rule == "goal-lacks"
        assert [str(each.kind) for each in verdict.parts] == ["valid", "invalid"]


class TestErrors:
    def test_position_and_expectation(self):
        with pytest.raises(p2.InputError) as caught:
            p2.check("devices 4\nAllReduce{0,9}")
        error = caught.value
        assert isinstance(error, ValueError)
        assert (error.file, error.line, error.column) == ("<text>", 2, 1)
        assert error.expected == "devices from 0 to 3"

    def test_unknown_keywords_are_refused(self):
        with pytest.raises(TypeError, match="time_out"):
            p2.check(VALID, time_out=1)

    def test_a_limit_is_an_undecided_verdict(self):
        found = p2.synthesize(slow_placement(), reduce=["data"], size=6, timeout=0.2)
        assert not found.complete and found.verdict.kind is p2.Kind.unknown

    def test_timeouts_are_seconds(self):
        for wrong in (-1, float("nan"), float("inf")):
            with pytest.raises(p2.InputError, match="timeout"):
                p2.check(VALID, timeout=wrong)


class TestOther:
    def test_costs(self, examples):
        system = p2.System.load(examples / "systems" / "a100-4nodes.json")
        placement = p2.placements(system, {"data": 8, "shard": 8})[1]
        costs = p2.cost(placement, reduce=["data"], bytes="1G")
        assert costs.to_numpy().shape == (len(costs), 2)
        assert costs[0].seconds == min(each.seconds for each in costs)
        assert costs[0].baseline == "AllReduce"
        assert costs[0].speedup == pytest.approx(costs[0].baseline_seconds / costs[0].seconds)
        assert costs._repr_svg_().startswith("<svg")
        one = p2.cost(p2.synthesize(placement, reduce=["data"], size=1), system, bytes="1G")
        assert one[0].program in [each.program for each in costs]

    def test_runs_on_real_data(self):
        run = p2.run(p2.Program.parse(VALID), bytes=4096)
        assert run.wrong == 0 and run.time_us > 0
        with pytest.raises(p2.InputError, match="force=True"):
            p2.run(p2.Program.parse(INVALID))
        assert p2.run(p2.Program.parse(INVALID), bytes=4096, force=True).wrong > 0

    def test_oracle_vectors_add_up(self):
        oracle = p2.oracle(p2.Program.parse(VALID), type="int32")
        total = sum(oracle.inputs.values())
        assert all((each == total).all() for each in oracle.expected.values())
        assert not any(bool(p2.check(each)) for each in oracle.wrong_programs)

    def test_exports_are_checked_again(self):
        text = p2.export(p2.Program.parse(VALID), to="hlo")
        assert p2.check_reduces(text, [0])
        assert p2.check(p2.export(p2.Program.parse(VALID), to="msccl"))
        with pytest.raises(p2.InputError, match="not valid"):
            p2.export(p2.Program.parse(INVALID), to="hlo")

    def test_pipelines(self):
        timeline = p2.pipeline("1f1b", stages=3, microbatches=4)
        assert timeline.makespan == (4 + 2) * 3
        assert timeline.peak_activations == [3, 2, 1]
        assert timeline.to_numpy().shape == (24, 3)
        assert timeline._repr_svg_().startswith("<svg")

    def test_reshardings(self):
        schedule = p2.reshard((64, 64), src="2x4:S0,R", dst="2x4:R,S01", plan="broadcast")
        assert schedule.optimal and schedule.makespan == schedule.lower_bound
        assert p2.check(schedule.plan)

    def test_strategies(self, examples):
        strategy = p2.parallelize(examples / "strategy" / "mlp.json")
        assert strategy.optimal and strategy.cost == strategy.bound

    def test_definitions(self, examples):
        definition = p2.define(examples / "collectives" / "sound" / "gather.p2c")
        assert definition.sound and definition.counterexample is None

    def test_claims(self):
        results = p2.prove("lemma-b7", max_devices=4)
        assert any(each.kind is p2.Kind.invalid for each in results)
        assert "lemma-b7" in p2.claims()

    def test_certificates(self, tmp_path):
        folder = tmp_path / "certificate"
        assert p2.check(VALID, certify=str(folder)).certificate == str(folder)
        assert p2.check_certificate(folder)
        for path in folder.iterdir():
            text = path.read_text()
            path.write_text(text.replace("3", "2", 1))
            assert not p2.check_certificate(folder), path
            path.write_text(text)

    def test_modules(self, examples):
        folder = examples / "hlo"
        assert p2.check_equal(folder / "mlp.hlo", folder / "mlp-partitioned.hlo")
        wrong = folder / "refused" / "mlp-without-all-reduce.hlo"
        assert p2.check_equal(folder / "mlp.hlo", wrong).rule == "value"

    def test_the_sense_of_equality_is_asked_for(self, examples):
        folder = examples / "hlo"
        modules = folder / "all-reduce.hlo", folder / "by-host.hlo"
        assert p2.check_equal(*modules, numbers="reassociated")
        assert p2.check_equal(*modules, numbers="bitwise").kind is p2.Kind.unknown
        with pytest.raises(p2.InputError, match="did you mean 'bitwise'"):
            p2.check_equal(*modules, numbers="bitwis")

    def test_inputs_may_be_as_the_module_before_says(self):
        def module(lines):
            return (
                "HloModule m, num_partitions=2\n\n"
                "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                "  ROOT c = f32[] add(a, b)\n}\n\n"
                "ENTRY e {\n  x = f32[4] parameter(0), sharding={replicated}\n" + lines + "}\n"
            )

        summed = module(
            "  ROOT s = f32[4] all-reduce(x), channel_id=1, replica_groups={{0,1}}, "
            "use_global_device_ids=true, to_apply=add\n"
        )
        doubled = module("  ROOT s = f32[4] add(x, x)\n")
        assert p2.check_equal(summed, doubled, replicated_inputs=True)
        assert p2.check_equal(summed, doubled).kind is p2.Kind.invalid


class TestCalls:
    def test_ctrl_c_within_a_second(self):
        started = time.monotonic()
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            p2.synthesize(slow_placement(), reduce=["data"], size=8)
        assert time.monotonic() - started < 1.5

    def test_an_exception_of_progress_stops_the_search(self):
        class Stop(Exception):
            pass

        def progress(line):
            raise Stop(line)

        with pytest.raises(Stop):
            p2.synthesize(slow_placement(), reduce=["data"], size=8, progress=progress)

    def test_other_threads_run(self):
        counted = []

        def count():
            while not counted or counted[-1] < 1000:
                counted.append(len(counted))

        thread = threading.Thread(target=count)
        thread.start()
        p2.synthesize(slow_placement(), reduce=["data"], size=8, timeout=0.5)
        thread.join(timeout=0.01)
        assert not thread.is_alive()

    def test_two_threads_with_two_texts_at_once(self):
        answers = {}

        def ask(name, text):
            answers[name] = [p2.check(text).kind for _ in range(50)]

        threads = [
            threading.Thread(target=ask, args=("valid", VALID)),
            threading.Thread(target=ask, args=("invalid", INVALID)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(answers["valid"]) == {p2.Kind.valid}
        assert set(answers["invalid"]) == {p2.Kind.invalid}

    def test_overhead_is_under_10_milliseconds(self):
        p2.check(VALID)
        times = []
        for _ in range(20):
            started = time.perf_counter()
            p2.check(VALID)
            times.append(time.perf_counter() - started)
        assert sorted(times)[10] < 0.01

    def test_import_loads_no_framework(self):
        code = (
            "import sys, p2_verify; "
            "print([m for m in ('jax', 'torch', 'numpy', 'IPython') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert done.stdout.strip() == b"[]"


def modules():
    # The compiled module has none; these import torch.
    torch = {"torch", "_torch_record", "_torch_special", "_torch_collectives", "_torch_tensors"}
    names = [each.name for each in pkgutil.iter_modules(p2.__path__)]
    return ["p2_verify", *(f"p2_verify.{each}" for each in names if each not in torch | {"_core"})]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def names_of(node):
    """The classes, members and functions that a stub declares."""
    found = set()
    for each in node.body:
        if isinstance(each, ast.ClassDef):
            found.add(each.name)
            found |= {f"{each.name}.{member}" for member in names_of(each)}
        elif isinstance(each, ast.FunctionDef):
            found.add(each.name)
        elif isinstance(each, ast.Assign):
            found |= {target.id for target in each.targets if isinstance(target, ast.Name)}
    return found


def test_the_stub_declares_what_the_extension_has():
    from pathlib import Path

    stub = ast.parse((Path(p2.__file__).parent / "_core.pyi").read_text())
    declared = {name for name in names_of(stub) if "__" not in name and name != "name"}
    there = set()
    for name, each in vars(p2._core).items():
        if name.startswith("__"):
            continue
        there.add(name)
        if isinstance(each, type):
            there |= {f"{name}.{member}" for member in vars(each) if not member.startswith("_")}
    assert declared == there


def test_importing_twice():
    code = (
        "import sys, p2_verify; "
        "[sys.modules.pop(m) for m in list(sys.modules) if m.startswith('p2_verify')]; "
        "import p2_verify; print(p2_verify.check('devices 2\\nAllReduce{0,1}').kind)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b"valid"


def test_every_public_function_is_documented():
    for name in p2.__all__:
        assert getattr(p2, name).__doc__, name
