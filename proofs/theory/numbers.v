(* The lengths of complete lists, computed. Only here the kernel of coqc runs its virtual machine at
   length, which coqchk does not have. *)
From Coq Require Import List Arith Lia NArith.
From P2Theory Require Import language programs machine sizes hierarchies choices counts levels.
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

(* The number of programs of at most n steps that the machine accepts from state m and that cut at every
   place of s. A step cuts at most twice: too many places end the search. *)
Fixpoint number_cutting (choices : list step) (red : N) (n : nat) (s : list nat) (m : mstate) : N :=
  ((if accepting red m then match s with [] => 1 | _ => 0 end else 0) +
   match n with
   | O => 0
   | S n' => fold_right (fun st k =>
       let left := filter (fun c => negb (cut st c)) s in
       if (2 * n' <? length left)%nat then k else
       match mstep st m with
       | Some m' => number_cutting choices red n' left m' + k
       | None => k
       end) 0 choices
   end)%N.

Definition cutting (s : list nat) (ps : list (list step)) : list (list step) :=
  filter (fun p => forallb (cuts_at p) s) ps.

Lemma too_many_places l choices red n s m : Forall (d_step l) choices -> NoDup s ->
  (forall c, In c s -> 0 < c) -> 2 * n < length s -> cutting s (programs_from choices red n m) = [].
Proof.
  intros F Hn Hp H. destruct (cutting s _) as [|p ps] eqn:E; auto. exfalso.
  assert (Hi : In p (p :: ps)) by (left; auto). rewrite <- E in Hi. apply filter_In in Hi.
  destruct Hi as [Hi Q]. apply programs_from_spec in Hi. destruct Hi as [L [G _]].
  assert (Fp : Forall (d_step l) p) by (rewrite Forall_forall in *; intros st Hst; apply F, G; auto).
  pose proof (program_cuts l s p Fp Hn Hp) as B.
  assert (W : filter (cuts_at p) s = s).
  { clear - Q. induction s as [|x s IH]; auto. cbn [forallb filter] in *.
    apply Bool.andb_true_iff in Q. destruct Q as [Q1 Q2]. rewrite Q1, IH; auto. }
  rewrite W in B. lia.
Qed.

Lemma cut_by_the_rest st p s :
  forallb (cuts_at (st :: p)) s = forallb (cuts_at p) (filter (fun c => negb (cut st c)) s).
Proof.
  induction s as [|c s IH]; auto. cbn [forallb filter]. rewrite IH. unfold cuts_at at 1. cbn [existsb].
  fold (cuts_at p c). destruct (cut st c); auto.
Qed.

Lemma number_cutting_counts l choices red n s m : Forall (d_step l) choices -> NoDup s ->
  (forall c, In c s -> 0 < c) ->
  number_cutting choices red n s m = N.of_nat (length (cutting s (programs_from choices red n m))).
Proof.
  intros F. revert s m. induction n as [|n IH]; intros s m Hn Hp.
  - cbn. rewrite app_nil_r. destruct (accepting red m), s; auto.
  - cbn [number_cutting programs_from]. unfold cutting. rewrite filter_app, app_length, Nat2N.inj_add. f_equal.
    { destruct (accepting red m), s; auto. }
    generalize choices at 2 4. intros cs. induction cs as [|st cs IHcs]; auto. cbn [fold_right flat_map].
    rewrite filter_app, app_length, Nat2N.inj_add, <- IHcs.
    set (left := filter (fun c => negb (cut st c)) s).
    assert (Hl : NoDup left) by (apply NoDup_filter; auto).
    assert (Pl : forall c, In c left -> 0 < c) by (intros c Hc; apply filter_In in Hc; apply Hp; tauto).
    assert (R : forall ps, length (filter (fun p => forallb (cuts_at p) s) (map (cons st) ps)) = length (cutting left ps)).
    { unfold cutting. induction ps as [|p ps IHp]; auto. cbn [filter map]. rewrite cut_by_the_rest.
      fold left. destruct (forallb (cuts_at p) left); cbn [length]; auto. }
    destruct (mstep st m) as [m'|]; [rewrite R|]; destruct (Nat.ltb_spec (2 * n) (length left)) as [H|_]; auto.
    + rewrite (too_many_places l) by auto. auto.
    + rewrite IH by auto. auto.
Qed.

Definition number_full (j n : nat) : N :=
  number_cutting (instructions_d (S j)) (reduction 1 (repeat 2 (S j)) one) n (seq 1 j) mstart.

Lemma number_full_counts j n : number_full j n = N.of_nat (length (full (S j) n)).
Proof.
  unfold number_full. rewrite (number_cutting_counts (S j)).
  - unfold cutting, full, all_cut, list_d, programs_of. replace (S j - 1) with j by lia. auto.
  - apply Forall_forall. intros st. apply instructions_d_spec.
  - apply seq_NoDup.
  - intros c Hc. apply in_seq in Hc. lia.
Qed.

Lemma spread_ext m g h : (forall j, g j = h j) -> spread m g = spread m h.
Proof.
  revert g h. induction m as [|m IH]; intros g h E; cbn [spread]; [auto|].
  rewrite (IH g h E), (IH (fun j => g (S j)) (fun j => h (S j)) (fun j => E (S j))). auto.
Qed.

Lemma from_few n few : map (fun j => number_full j n) (seq 0 (S (2 * n))) = few ->
  forall l, 0 < l -> length (list_d l n) = spread (l - 1) (fun j => N.to_nat (nth j few 0%N)).
Proof.
  intros F l Hl. rewrite count_for_all_levels by auto. apply spread_ext. intros j. rewrite <- F.
  destruct (Nat.lt_ge_cases j (S (2 * n))) as [H|H].
  - rewrite (nth_indep _ 0%N (number_full 0 n)) by (rewrite map_length, seq_length; auto).
    rewrite (map_nth (fun j => number_full j n) (seq 0 (S (2 * n))) 0 j), seq_nth by auto.
    rewrite number_full_counts, Nat2N.id. auto.
  - rewrite full_bounded by lia. rewrite nth_overflow; auto. rewrite map_length, seq_length. auto.
Qed.

(* For every number l of levels, programs of at most three, four and five steps over (d): the sum over j of
   the number of ways to place j cuts between the levels, l - 1 places, times these numbers. *)
Theorem three_steps_for_all_levels l : 0 < l ->
  length (list_d l 3) = spread (l - 1) (fun j => N.to_nat (nth j [3; 22; 10; 0; 0; 0; 0]%N 0%N)).
Proof. apply from_few. vm_cast_no_check (eq_refl [3; 22; 10; 0; 0; 0; 0]%N). Qed.

Theorem four_steps_for_all_levels l : 0 < l ->
  length (list_d l 4) = spread (l - 1) (fun j => N.to_nat (nth j [3; 44; 171; 60; 2; 0; 0; 0; 0]%N 0%N)).
Proof. apply from_few. vm_cast_no_check (eq_refl [3; 44; 171; 60; 2; 0; 0; 0; 0]%N). Qed.
