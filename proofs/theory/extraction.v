(* The core of p2-check-verified in OCaml. Numbers stay unary or binary, never machine integers. *)
From Coq Require Import List Arith NArith Extraction ExtrOcamlBasic.
From P2Theory Require Import semantics digits programs checker verdicts.

Extraction Language OCaml.
Extraction "verified.ml" program_valid program_refuted all_programs step_groups mask_of.
