"""The pytest plugin: collected files, fixtures, what failures print."""

import pytest

VALID = "devices 2\nAllReduce{0,1}\n"
INVALID = "devices 4\nAllReduce{0,1}\n"


@pytest.fixture
def run(pytester):
    """Runs pytest in a folder whose files are checked."""

    def start(*arguments):
        pytester.makeini("[pytest]\np2_files = *.p2 *.hlo *.xml")
        return pytester.runpytest("-p", "p2_verify.pytest_plugin", *arguments)

    return start


def test_files_are_tests(pytester, run, examples):
    (pytester.path / "right.p2").write_text(VALID)
    (pytester.path / "wrong.p2").write_text(INVALID)
    (pytester.path / "broken.p2").write_text("devices 4\nAllReduce{0,9}\n")
    race = examples / "msccl" / "refused" / "reduce-scatter-race.xml"
    (pytester.path / "race.xml").write_text(race.read_text())
    result = run()
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        ["*device 9 does not exist*", "*lacks the contribution of device 2*"]
    )
    assert "Traceback" not in result.stdout.str()


def test_fixture_and_assert_equivalent(pytester, run, examples):
    pytester.makepyfile(
        f"""
        from pathlib import Path
        from p2_verify.pytest_plugin import assert_equivalent

        HLO = Path({str(examples / "hlo")!r})

        def test_right(p2):
            p2.assert_valid({VALID!r})
            p2.assert_equivalent(HLO / "mlp.hlo", HLO / "mlp-partitioned.hlo")

        def test_wrong(p2):
            p2.assert_valid({INVALID!r})

        def test_module():
            assert_equivalent(HLO / "mlp.hlo", HLO / "refused" / "mlp-without-all-reduce.hlo")

        def test_oracle(p2):
            oracle = p2.oracle({VALID!r}, type="int32")
            assert (oracle.expected[0] == oracle.inputs[0] + oracle.inputs[1]).all()

        def test_assert_shows_the_counterexample(p2):
            assert p2.check({INVALID!r}).kind is p2.Kind.valid
        """
    )
    result = run()
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(["*Refuted: *invalid, value*"])


def test_undecided_fails_unless_allowed(pytester, run):
    pytester.makepyfile(
        """
        from p2_verify import Kind, Verdict
        from p2_verify.pytest_plugin import judge

        def test_undecided(pytestconfig):
            judge(Verdict(Kind.unknown, reason="the time is over"), pytestconfig)
        """
    )
    run().assert_outcomes(failed=1)
    run("--p2-allow-unknown").assert_outcomes(skipped=1)
