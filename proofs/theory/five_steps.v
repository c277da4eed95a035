(* The count of numbers.v for programs of at most five steps. It is computed in minutes, and so is not in
   _CoqProject: coqc -Q . P2Theory five_steps.v, after the others. *)
From Coq Require Import List NArith.
From P2Theory Require Import counts levels numbers.
Import ListNotations.

(* For every number l of levels: 3 + 44 C(l-1,1) + 734 C(l-1,2) + 1630 C(l-1,3) + 477 C(l-1,4) +
   34 C(l-1,5) programs, for all sizes. *)
Theorem five_steps_for_all_levels l : 0 < l ->
  length (list_d l 5) =
  spread (l - 1) (fun j => N.to_nat (nth j [3; 44; 734; 1630; 477; 34; 0; 0; 0; 0; 0]%N 0%N)).
Proof. apply from_few. vm_cast_no_check (eq_refl [3; 44; 734; 1630; 477; 34; 0; 0; 0; 0; 0]%N). Qed.

Print Assumptions five_steps_for_all_levels.
