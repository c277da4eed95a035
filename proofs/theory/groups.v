(* Different shapes have different groups: an instruction is its shape. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs partition.
Import ListNotations.

Section Groups.
Variable ns : list nat.
Hypothesis positive : positive_sizes ns.
Notation D := (product ns).
Notation put := (put ns).

Lemma pinned_of_groups V Z V' Z' e : (forall e, has Z e = true -> big ns e) ->
  apart V Z = true -> apart V' Z' = true -> groups ns V Z = groups ns V' Z' ->
  has Z e = true -> has Z' e = true.
Proof.
  intros B A A' E He. pose proof (D_pos ns positive) as D0.
  assert (P : put e 0 < D) by (apply put_lt; auto).
  destruct (has_cases Z' e) as [|N]; auto. exfalso.
  assert (F : find (is_member (put e 0)) (groups ns V' Z') = Some (members ns V' (put e 0))).
  { apply find_group; auto. apply zero_put; auto using zero_corner. }
  assert (G : find (is_member (put e 0)) (groups ns V Z) = None).
  { apply find_group_none; auto. intros Q. apply zero_put_inv in Q; auto. congruence. }
  congruence.
Qed.

Lemma varied_of_groups V Z V' Z' e : (forall e, has V e = true -> big ns e) ->
  apart V Z = true -> apart V' Z' = true -> groups ns V Z = groups ns V' Z' ->
  has V e = true -> has V' e = true.
Proof.
  intros B A A' E He. pose proof (D_pos ns positive) as D0.
  assert (P : put e 0 < D) by (apply put_lt; auto).
  pose proof (find_group ns positive V Z 0 A D0 (zero_corner ns Z)) as F.
  pose proof (find_group ns positive V' Z' 0 A' D0 (zero_corner ns Z')) as F'.
  assert (M : members ns V 0 = members ns V' 0) by congruence.
  assert (I : In (put e 0) (members ns V' 0)).
  { rewrite <- M. apply in_members. split; auto. apply same_put; auto. }
  apply in_members in I. destruct I as [_ I]. destruct (has_cases V' e) as [|N]; auto. exfalso.
  specialize (I e N). rewrite dig_zero, dig_put, Nat.eqb_refl in I by auto. discriminate.
Qed.

Theorem shape_determined st st' : proper ns st -> proper ns st' -> what st = what st' ->
  step_groups ns st = step_groups ns st' -> st = st'.
Proof.
  intros [_ [B [Z [A _]]]] [_ [B' [Z' [A' _]]]] W E. unfold step_groups in E.
  destruct st as [V1 Z1 c], st' as [V2 Z2 c']. cbn [vary pin what] in *. subst. f_equal.
  - apply has_ext. intros e. apply eq_true_iff_eq. split.
    + apply (varied_of_groups V1 Z1 V2 Z2); auto.
    + apply (varied_of_groups V2 Z2 V1 Z1); auto.
  - apply has_ext. intros e. apply eq_true_iff_eq. split.
    + apply (pinned_of_groups V1 Z1 V2 Z2); auto.
    + apply (pinned_of_groups V2 Z2 V1 Z1); auto.
Qed.

End Groups.
