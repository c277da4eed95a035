(* What the paper states and is false, disproved: for each statement the smallest counterexample that
   the enumerator found, in dialect published. Programs are found valid by the machine (T7). *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs partition pins weights
  machine equivalence sizes hierarchies choices.
From P2Theory Require adequacy.
Import ListNotations.

(* Steps over a hierarchy, decided. *)
Definition is_choice (ns : list nat) (hs : list (list nat)) (st : step) : bool :=
  if in_dec step_eq_dec st (choices ns hs) then true else false.

Lemma is_choice_spec ns hs st : is_choice ns hs st = true <-> over ns hs (vary st) (pin st) /\ proper ns st.
Proof.
  unfold is_choice. rewrite <- choices_spec. destruct (in_dec _ _ _); split; try tauto; discriminate.
Qed.

Definition positiveb (ns : list nat) : bool := forallb (fun n => 1 <=? n) ns.

(* A program of y that x does not express. *)
Definition refutes (ns : list nat) (red : N) (x y : list (list nat)) (p : list step) : bool :=
  positiveb ns && forallb (is_choice ns y) p && accepts red p && negb (forallb (is_choice ns x) p).

Theorem not_expressed axes ns reduces k x y p : multiple k ns ->
  refutes ns (reduction axes ns reduces) x y p = true -> ~ expresses axes ns reduces k x y.
Proof.
  intros [K Q] R G. unfold refutes in R. rewrite !andb_true_iff, negb_true_iff in R.
  destruct R as [[[P Hy] A] Hx].
  assert (Pos : positive_sizes ns).
  { intros n Hn. unfold positiveb in P. rewrite forallb_forall in P. apply Nat.leb_le, P, Hn. }
  rewrite forallb_forall in Hy.
  assert (Hp : Forall (proper ns) p).
  { rewrite Forall_forall. intros st Hi. apply (is_choice_spec ns y), Hy, Hi. }
  assert (V : valid ns k (reduction axes ns reduces) p = true).
  { rewrite (machine_equivalence ns k); eauto using reduction_big. }
  assert (Oy : program_over ns y p).
  { unfold program_over. rewrite Forall_forall. intros st Hi. apply is_choice_spec, Hy, Hi. }
  specialize (G p (conj Hp V) Oy). unfold program_over in G. rewrite Forall_forall in G, Hp.
  assert (forallb (is_choice ns x) p = true); [|congruence].
  rewrite forallb_forall. intros st Hi. apply is_choice_spec. auto.
Qed.

Definition is (a : nat) (x : nat) : bool := x =? a.
Definition st (V Z : list nat) (c : collective) : step := Step (mask_of V) (mask_of Z) c.

Lemma multiple_of ns : positive_sizes ns -> multiple (product ns) ns.
Proof. intros P. split; [apply product_pos in P; lia|exists 1; lia]. Qed.
Ltac sizes := match goal with |- multiple _ ?ns =>
  change (multiple (product ns) ns); apply multiple_of; intros n Hn; simpl in Hn; lia end.

(* Lemma B.7, case 3: (c) >= (b), one reduction axis. Hardware [2,2,2], axes [4,2], reduce 0,
   [[1 2 2] [2 1 1]]: Reduce; AllReduce{0,2},{4,6}; Broadcast. Digits level by level: 1 2 | 2 1 | 2 1. *)
Theorem lemma_b7_case_3_false :
  ~ expresses 2 [1;2;2;1;2;1] (is 0) 8 (hierarchy_c 2 [1;2;2;1;2;1]) (hierarchy_b [1;2;2;1;2;1]).
Proof.
  apply (not_expressed _ _ _ _ _ _ [st [4] [] Reduce; st [2] [4] AllReduce; st [4] [] Broadcast]); [sizes|].
  vm_compute. reflexivity.
Qed.

(* (d) >= (a) and (c) >= (b), several reduction axes. Hardware [2,2], axes [2,2], reduce both,
   [[1 2] [2 1]]. *)
Theorem d_over_a_false_for_two_axes :
  ~ expresses 2 [1;2;2;1] (fun _ => true) 4 (hierarchy_d 2 [1;2;2;1] (fun _ => true)) (hierarchy_a 2 [1;2;2;1]).
Proof.
  apply (not_expressed _ _ _ _ _ _ [st [2] [] Reduce; st [1] [2] AllReduce; st [2] [] Broadcast]); [sizes|].
  vm_compute. reflexivity.
Qed.
Theorem c_over_b_false_for_two_axes :
  ~ expresses 2 [1;2;2;1] (fun _ => true) 4 (hierarchy_c 2 [1;2;2;1]) (hierarchy_b [1;2;2;1]).
Proof.
  apply (not_expressed _ _ _ _ _ _ [st [2] [] Reduce; st [1] [2] AllReduce; st [2] [] Broadcast]); [sizes|].
  vm_compute. reflexivity.
Qed.

(* Lemma B.7, cases 1 and 2, several reduction axes. Hardware [2,4], axes [2,2,2], reduce 0 and 2,
   [[1 2] [1 2] [2 1]]: AllReduce{0,2,4,6},{1,3,5,7}. *)
Theorem lemma_b7_case_1_false :
  ~ expresses 3 [1;1;2;2;2;1] (fun a => negb (a =? 1)) 8
      (hierarchy_c 3 [1;1;2;2;2;1]) (hierarchy_b [1;1;2;2;2;1]).
Proof.
  apply (not_expressed _ _ _ _ _ _ [st [2;3] [] AllReduce]); [sizes|]. vm_compute. reflexivity.
Qed.

(* The lattice says more than (d): hardware [2,2,2], one axis of 8. *)
Theorem d_expresses_lattice_false :
  exists p, correct_program 1 [2;2;2] (fun _ => true) 8 p /\ program_over_lattice 1 [2;2;2] (fun _ => true) p /\
    ~ program_over [2;2;2] (hierarchy_d 1 [2;2;2] (fun _ => true)) p.
Proof.
  set (p := [st [0;2] [] AllReduce; st [1] [] AllReduce]). exists p.
  assert (Pos : positive_sizes [2;2;2]) by (intros n Hn; simpl in Hn; lia).
  assert (Hb : forall e, In e [0;1;2] -> big [2;2;2] e)
    by (intros e He; simpl in He; destruct He as [<-|[<-|[<-|[]]]]; unfold big, size; simpl; lia).
  assert (G : forall e, has (mask_of [0;2]) e = true -> In e [0;1;2]).
  { intros e He. apply has_mask_of in He. simpl in *. tauto. }
  assert (G1 : forall e, has (mask_of [1]) e = true -> In e [0;1;2]).
  { intros e He. apply has_mask_of in He. simpl in *. tauto. }
  assert (Hp : Forall (proper [2;2;2]) p).
  { repeat constructor; cbn [vary pin what st]; auto; try discriminate;
      try (intros e He; apply Hb; auto; fail); intros e He; cbn in He; destruct e; discriminate. }
  assert (C : correct_program 1 [2;2;2] (fun _ => true) 8 p).
  { split; [exact Hp|]. destruct (multiple_of _ Pos) as [K Q].
    rewrite (machine_equivalence [2;2;2] 8 Pos K Q); eauto using reduction_big. }
  split; [auto|split].
  - apply (lattice_expresses_all 1 [2;2;2] (fun _ => true) Pos 8); auto. lia.
  - intros O. inversion O; subst. 
    assert (is_choice [2;2;2] (hierarchy_d 1 [2;2;2] (fun _ => true)) (st [0;2] [] AllReduce) = true).
    { apply is_choice_spec. split; auto. apply (Forall_inv Hp). }
    vm_compute in H. discriminate.
Qed.

(* Dialect printed: lemmas B.6 and B.8, (d) >= (c). Hardware [2,4], axes [4,2], reduce 0,
   [[2 2] [1 2]]: Reduce{0,2,4,6},{1,3,5,7}; Broadcast{0,4}; Broadcast{0,2,4,6},{1,3,5,7}. The second
   step pins a digit outside the reduction. *)
Theorem lemma_b8_false_in_printed :
  exists p, valid [2;1;2;2] 8 (reduction 2 [2;1;2;2] (is 0)) p = true /\
    program_over [2;1;2;2] (hierarchy_c 2 [2;1;2;2]) p /\
    ~ program_over [2;1;2;2] (hierarchy_d 2 [2;1;2;2] (is 0)) p /\
    exists s e, In s p /\ has (pin s) e = true /\ has (reduction 2 [2;1;2;2] (is 0)) e = false.
Proof.
  exists [st [0;2] [] Reduce; st [0] [2;3] Broadcast; st [0;2] [] Broadcast].
  assert (M : forall V ls, mask [2;1;2;2] ls = V -> covers [2;1;2;2] V ls) by (intros; apply covers_mask; auto).
  split; [vm_compute; reflexivity|split; [|split]].
  - unfold program_over. change (hierarchy_c 2 [2;1;2;2]) with [[0];[2];[1];[3]].
    repeat constructor; cbn [vary pin st]; unfold over.
    + exists [], [[0];[2]], [[1];[3]]. split; [auto|split; [apply M; reflexivity|left; reflexivity]].
    + exists [], [[0]], [[2];[1];[3]]. split; [auto|split; [apply M; reflexivity|right; apply M; reflexivity]].
    + exists [], [[0];[2]], [[1];[3]]. split; [auto|split; [apply M; reflexivity|left; reflexivity]].
  - intros O. apply Forall_inv_tail, Forall_inv in O. destruct O as [x [y [z [E [HV HZ]]]]].
    cbn [vary pin st] in HV, HZ. change (hierarchy_d 2 [2;1;2;2] (is 0)) with [[0];[2]] in E.
    destruct HZ as [HZ|HZ]; [discriminate|].
    assert (I : In 3 (concat z)) by (apply HZ; reflexivity).
    assert (J : In 3 (concat ([[0];[2]] : list (list nat)))).
    { rewrite E, !concat_app, !in_app_iff. auto. }
    simpl in J. lia.
  - exists (st [0] [2;3] Broadcast), 3. split; [right; left; auto|]. split; reflexivity.
Qed.

(* Lemma B.3 for arbitrary groups: classes {0,2}, {1,3}; steps one, two and three mix them:
   Reduce{1,3}; Broadcast{2,3}; Reduce{0,3}; Broadcast{0,2},{1,3}. *)
Definition mixing_program : adequacy.id_program :=
  [(Reduce, [[1;3]]); (Broadcast, [[2;3]]); (Reduce, [[0;3]]); (Broadcast, [[0;2];[1;3]])].
Theorem lemma_b3_false_for_arbitrary_groups :
  adequacy.legal_ids 4 4 mixing_program adequacy.own = true /\
  (forall d r c, d < 4 -> r < 4 -> c < 4 ->
     adequacy.run_ids 4 4 mixing_program adequacy.own d r c = (d mod 2 =? c mod 2)) /\
  In (Broadcast, [[2;3]]) mixing_program /\ 2 mod 2 <> 3 mod 2.
Proof.
  split; [vm_compute; reflexivity|split; [|split; [right; left; auto|discriminate]]].
  assert (G : all 4 (fun d => all 4 (fun r => all 4 (fun c =>
    Bool.eqb (adequacy.run_ids 4 4 mixing_program adequacy.own d r c) (d mod 2 =? c mod 2)))) = true)
    by (vm_compute; reflexivity).
  intros d r c Hd Hr Hc. rewrite all_spec in G. specialize (G d Hd). rewrite all_spec in G.
  specialize (G r Hr). rewrite all_spec in G. specialize (G c Hc). apply eqb_prop. exact G.
Qed.
