(* Programs of shapes are programs of groups of ids, so a valid one computes the sums (T1). *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics adequacy digits shapes runs programs.
Import ListNotations.

Section Lowering.
Variable ns : list nat.
Variable k : nat.
Hypothesis positive : positive_sizes ns.

Definition lower (p : list step) : id_program := map (fun st => (what st, step_groups ns st)) p.

Lemma legal_lower p s : legal_program ns k p s = true -> legal_ids k (product ns) (lower p) s = true.
Proof.
  revert s. induction p as [|st p IH]; intros s E; simpl in *; auto.
  apply andb_true_iff in E. destruct E as [E E']. unfold legal_step in E. apply andb_true_iff in E.
  destruct E as [E _]. rewrite E. apply IH. auto.
Qed.

Lemma run_lower p s : run_ids k (product ns) (lower p) s = run ns k p s.
Proof. revert s. induction p; intros s; simpl; auto. Qed.

(* In every commutative monoid, a valid program leaves in every chunk of every device the sum of what
   the devices of its class contribute. *)
Theorem valid_computes_sums M (x : nat -> nat -> carrier M) red p d r :
  valid ns k red p = true -> d < product ns -> r < k ->
  run_values M k (product ns) (lower p) own (fun d r => x r d) d r =
  sum_over M (product ns) (sameb ns red d) (x r).
Proof.
  intros V Hd Hr. unfold valid in V. apply andb_true_iff in V. destruct V as [L G].
  rewrite goal_spec in G. apply adequacy; auto.
  - intros c gs g Hi Hg. unfold lower in Hi. apply in_map_iff in Hi. destruct Hi as [st [E _]].
    injection E as _ <-. unfold step_groups, groups in Hg. apply in_map_iff in Hg.
    destruct Hg as [d' [<- _]]. apply NoDup_members.
  - apply legal_lower. exact L.
  - intros d' r' c Hd' Hr' Hc. rewrite run_lower. apply eq_true_iff_eq. rewrite sameb_spec. apply G; auto.
  - intros d' _. apply sameb_spec, same_refl.
Qed.

End Lowering.
