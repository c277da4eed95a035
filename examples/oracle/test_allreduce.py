"""Tests an AllReduce of one's own:
    p2-verify oracle examples/oracle/allreduce.p2 --output vectors
    P2_VECTORS=vectors pytest examples/oracle/test_allreduce.py"""
import json, os, pathlib
import numpy as np

FOLDER = pathlib.Path(os.environ.get("P2_VECTORS", "vectors"))
INDEX = json.loads((FOLDER / "index.json").read_text())

def all_reduce(buffers):  # what is tested: put yours here
    return [np.sum(buffers, axis=0)] * len(buffers)

def test_every_rank_ends_with_the_sum_over_its_class():
    load = lambda kind: [np.load(FOLDER / rank[kind]) for rank in INDEX["ranks"]]
    inputs, expected = load("input"), load("expected")
    for members in INDEX["program"]["classes"]:
        for rank, got in zip(members, all_reduce([inputs[m] for m in members])):
            np.testing.assert_array_equal(got, expected[rank])
