(* The lengths of complete lists, computed. Only here the kernel of coqc runs its virtual machine at
   length, which coqchk does not have. *)
From Coq Require Import List Arith Lia NArith.
From P2Theory Require Import programs sizes counts levels.
Import ListNotations.

Definition number_of_d (l n : nat) : N := N.of_nat (length (list_d l n)).
Theorem counts_of_d :
  map (fun l => number_of_d l 5) [1;2;3;4;5] = [3; 47; 825; 3967; 11580]%N /\
  map (fun l => number_of_d l 6) [1;2;3;4] = [3; 47; 1362; 15908]%N /\
  map (fun n => number_of_d 3 n) [1;2;3;4;5;6] = [1; 7; 57; 262; 825; 1362]%N.
Proof.
  split; [|split].
  - vm_cast_no_check (eq_refl [3; 47; 825; 3967; 11580]%N).
  - vm_cast_no_check (eq_refl [3; 47; 1362; 15908]%N).
  - vm_cast_no_check (eq_refl [1; 7; 57; 262; 825; 1362]%N).
Qed.

(* No length is too long to be reached: programs of 2 l steps. *)
Theorem longest_of_d :
  map (fun l => fold_right Nat.max 0 (map (@length step) (list_d l (2 * l)))) [1;2;3] = [2; 4; 6].
Proof. vm_compute. auto. Qed.

Lemma spread_ext m g h : (forall j, g j = h j) -> spread m g = spread m h.
Proof.
  revert g h. induction m as [|m IH]; intros g h E; cbn [spread]; [auto|].
  rewrite (IH g h E), (IH (fun j => g (S j)) (fun j => h (S j)) (fun j => E (S j))). auto.
Qed.

Lemma from_few n few : map (fun j => length (full (S j) n)) (seq 0 (S (2 * n))) = few ->
  forall l, 0 < l -> length (list_d l n) = spread (l - 1) (fun j => nth j few 0).
Proof.
  intros F l Hl. rewrite count_for_all_levels by auto. apply spread_ext. intros j. rewrite <- F.
  destruct (Nat.lt_ge_cases j (S (2 * n))) as [H|H].
  - rewrite (nth_indep _ 0 (length (full (S 0) n))) by (rewrite map_length, seq_length; auto).
    rewrite (map_nth (fun j => length (full (S j) n)) (seq 0 (S (2 * n))) 0 j), seq_nth by auto. auto.
  - rewrite full_bounded by lia. rewrite nth_overflow; auto. rewrite map_length, seq_length. auto.
Qed.

(* For every number l of levels, programs of at most three and four steps over (d): the sum over j of the
   number of ways to place j cuts between the levels, l - 1 places, times these numbers. *)
Theorem three_steps_for_all_levels l : 0 < l ->
  length (list_d l 3) = spread (l - 1) (fun j => nth j [3; 22; 10; 0; 0; 0; 0] 0).
Proof. apply from_few. vm_cast_no_check (eq_refl [3; 22; 10; 0; 0; 0; 0]). Qed.

Theorem four_steps_for_all_levels l : 0 < l ->
  length (list_d l 4) = spread (l - 1) (fun j => nth j [3; 44; 171; 60; 2; 0; 0; 0; 0] 0).
Proof. apply from_few. vm_cast_no_check (eq_refl [3; 44; 171; 60; 2; 0; 0; 0; 0]). Qed.
