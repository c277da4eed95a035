(* The instructions of a placed system over each hierarchy, as computed lists. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs partition pins weights
  machine equivalence sizes hierarchies.
Import ListNotations.

Section Choices.
Variable ns : list nat.

(* The digits of size above 1 of these levels. *)
Definition mask (ls : list (list nat)) : N :=
  mask_of (filter (fun e => 2 <=? size ns e) (concat ls)).

Lemma mask_spec ls e : has (mask ls) e = true <-> big ns e /\ In e (concat ls).
Proof.
  unfold mask, big. rewrite has_mask_of, filter_In, Nat.leb_le. tauto.
Qed.

(* above ++ slice ++ below, in all ways. *)
Definition cuts {A} (l : list A) : list (list A * list A) :=
  map (fun i => (firstn i l, skipn i l)) (seq 0 (S (length l))).

Lemma in_cuts {A} (l x y : list A) : In (x, y) (cuts l) <-> l = x ++ y.
Proof.
  unfold cuts. rewrite in_map_iff. split.
  - intros [i [E _]]. injection E as <- <-. symmetry. apply firstn_skipn.
  - intros ->. exists (length x). split.
    + rewrite firstn_app, firstn_all, Nat.sub_diag, skipn_app, skipn_all, Nat.sub_diag. simpl.
      rewrite app_nil_r. auto.
    + apply in_seq. rewrite app_length. lia.
Qed.

Definition every : list collective := [AllReduce; ReduceScatter; AllGather; Reduce; Broadcast].
Definition steps_of (V Z : N) : list step :=
  if is_zero V then [] else
  map (Step V 0) every ++ (if is_zero Z || negb (apart V Z) then [] else [Step V Z AllReduce]).

Definition choices (hs : list (list nat)) : list step :=
  flat_map (fun c => flat_map (fun c' => steps_of (mask (fst c')) (mask (snd c'))) (cuts (snd c))) (cuts hs).

Lemma in_steps_of V Z st : In st (steps_of V Z) <->
  vary st = V /\ V <> 0%N /\ (pin st = 0%N \/ (pin st = Z /\ Z <> 0%N /\ apart V Z = true /\ what st = AllReduce)).
Proof.
  unfold steps_of. destruct (is_zero V) eqn:EV.
  - apply is_zero_spec in EV. split; [intros []|tauto].
  - assert (NV : V <> 0%N) by (intros ->; discriminate). rewrite in_app_iff, in_map_iff. split.
    + intros [[c [<- _]]|G]; [cbn; auto|].
      destruct (is_zero Z || negb (apart V Z)) eqn:EZ; [destruct G|]. destruct G as [<-|[]].
      apply orb_false_iff in EZ. destruct EZ as [EZ A]. apply negb_false_iff in A. cbn. split; [auto|split; [auto|]].
      right. repeat split; auto. intros ->. discriminate.
    + destruct st as [V' Z' c]. cbn. intros [-> [_ [->|[-> [NZ [A ->]]]]]].
      * left. exists c. split; auto. destruct c; simpl; auto 8.
      * right. rewrite A. destruct (is_zero Z) eqn:EZ; [apply is_zero_spec in EZ; tauto|]. left. auto.
Qed.

Lemma covers_mask V ls : covers ns V ls <-> V = mask ls.
Proof.
  split.
  - intros G. apply has_ext. intros e. apply eq_true_iff_eq. rewrite (G e), mask_spec. reflexivity.
  - intros -> e. apply mask_spec.
Qed.

(* The choices are the instructions over the hierarchy that are steps of dialect published. *)
Theorem choices_spec hs st : In st (choices hs) <->
  over ns hs (vary st) (pin st) /\ proper ns st.
Proof.
  unfold choices. rewrite in_flat_map. split.
  - intros [[x r] [Hx G]]. apply in_cuts in Hx. apply in_flat_map in G. destruct G as [[y z] [Hy G]].
    cbn [fst snd] in *. apply in_cuts in Hy. subst. apply in_steps_of in G.
    destruct G as [EV [NV G]]. split.
    + exists x, y, z. split; [auto|split; [apply covers_mask; auto|]].
      destruct G as [|[-> _]]; auto. right. apply covers_mask. auto.
    + split; [congruence|]. split; [|split; [|split]].
      * intros e He. rewrite EV in He. apply mask_spec in He. tauto.
      * intros e He. destruct G as [Z0|[Z0 _]]; rewrite Z0 in He; [rewrite has_zero in He; discriminate|].
        apply mask_spec in He. tauto.
      * destruct G as [Z0|[Z0 [_ [A _]]]]; rewrite EV, Z0; auto. apply apart_spec. intros e _. apply has_zero.
      * intros NZ. destruct G as [|G]; [contradiction|tauto].
  - intros [[x [y [z [-> [HV HZ]]]]] [NV [_ [_ [A G]]]]].
    exists (x, y ++ z). split; [apply in_cuts; auto|]. cbn [snd]. apply in_flat_map. exists (y, z).
    split; [apply in_cuts; auto|]. cbn [fst snd]. apply covers_mask in HV. apply in_steps_of.
    split; [auto|split; [congruence|]]. destruct (N.eq_dec (pin st) 0) as [|NZ]; auto. right.
    destruct HZ as [|HZ]; [contradiction|]. apply covers_mask in HZ. rewrite <- HV, <- HZ. auto.
Qed.

End Choices.

(* The complete list of valid programs of at most n steps over a hierarchy, for any sizes. *)
Theorem complete_over axes ns reduces k hs n p : positive_sizes ns -> multiple k ns ->
  (In p (programs_of (choices ns hs) (reduction axes ns reduces) n) <->
   length p <= n /\ Forall (fun st => over ns hs (vary st) (pin st) /\ proper ns st) p /\
   valid ns k (reduction axes ns reduces) p = true).
Proof.
  intros P K. apply (complete_choices (fun st => over ns hs (vary st) (pin st)));
    eauto using reduction_big, choices_spec.
Qed.

(* ---- the lattice ---- *)

Fixpoint subsets (l : list nat) : list N :=
  match l with
  | [] => [0%N]
  | e :: l' => flat_map (fun V => [V; N.setbit V (N.of_nat e)]) (subsets l')
  end.

Lemma has_clearbit V e x : has (N.clearbit V (N.of_nat e)) x = negb (x =? e) && has V x.
Proof.
  unfold has. rewrite N.clearbit_eqb, andb_comm. f_equal. f_equal. apply eq_true_iff_eq.
  rewrite N.eqb_eq, Nat.eqb_eq. split; [intros E; apply Nat2N.inj; auto|intros ->; auto].
Qed.

Lemma in_subsets l V : In V (subsets l) <-> forall e, has V e = true -> In e l.
Proof.
  revert V. induction l as [|a l IH]; intros V; cbn [subsets].
  - split.
    + intros [<-|[]] e He. rewrite has_zero in He. discriminate.
    + intros G. left. symmetry. apply zero_spec. intros e. destruct (has_cases V e) as [E|]; auto.
      destruct (G e E).
  - rewrite in_flat_map. split.
    + intros [W [HW [<-|[<-|[]]]]] e He.
      * right. apply (proj1 (IH W) HW); auto.
      * rewrite has_setbit in He. apply orb_true_iff in He. rewrite Nat.eqb_eq in He.
        destruct He as [->|He]; [left; auto|right; apply (proj1 (IH W) HW); auto].
    + intros G. destruct (has V a) eqn:E.
      * exists (N.clearbit V (N.of_nat a)). split.
        -- apply IH. intros e He. rewrite has_clearbit in He. apply andb_true_iff in He. destruct He as [Hn He].
           apply G in He. destruct He as [->|He]; auto. rewrite Nat.eqb_refl in Hn. discriminate.
        -- right. left. apply has_ext. intros x. rewrite has_setbit, has_clearbit.
           destruct (Nat.eqb_spec x a) as [->|]; auto.
      * exists V. split; [|left; auto]. apply IH. intros e He. destruct (G e He) as [->|]; auto. congruence.
Qed.

Section Lattice.
Variable axes : nat.
Variable ns : list nat.
Variable reduces : nat -> bool.

Definition lattice_digits : list nat :=
  filter (fun e => reduces (axis axes e) && (2 <=? size ns e)) (seq 0 (length ns)).
Definition choices_lattice : list step :=
  flat_map (fun V => flat_map (fun Z => steps_of V Z) (subsets lattice_digits)) (subsets lattice_digits).

Lemma in_lattice_digits e : In e lattice_digits <-> big ns e /\ e < length ns /\ reduces (axis axes e) = true.
Proof.
  unfold lattice_digits, big. rewrite filter_In, in_seq, andb_true_iff, Nat.leb_le. split.
  - intros [? [? ?]]. repeat split; auto; lia.
  - intros [? [? ?]]. repeat split; auto; lia.
Qed.

Theorem choices_lattice_spec st : In st choices_lattice <->
  over_lattice axes ns reduces (vary st) (pin st) /\ proper ns st.
Proof.
  unfold choices_lattice. rewrite in_flat_map. split.
  - intros [V [HV G]]. apply in_flat_map in G. destruct G as [Z [HZ G]]. rewrite in_subsets in HV, HZ.
    apply in_steps_of in G. destruct G as [EV [NV G]].
    assert (Q : forall e, has (pin st) e = true -> In e lattice_digits).
    { intros e He. destruct G as [Z0|[Z0 _]]; rewrite Z0 in He; [rewrite has_zero in He; discriminate|auto]. }
    assert (A : apart (vary st) (pin st) = true).
    { destruct G as [Z0|[Z0 [_ [A _]]]]; rewrite EV, Z0; auto. apply apart_spec. intros e _. apply has_zero. }
    split; [split; auto|].
    + intros e [He|He]; apply in_lattice_digits; auto. apply HV. congruence.
    + split; [congruence|]. split; [|split; [|split; auto]].
      * intros e He. apply in_lattice_digits, HV. congruence.
      * intros e He. apply in_lattice_digits. auto.
      * intros NZ. destruct G as [|G]; [contradiction|tauto].
  - intros [[G A] [NV [_ [_ [_ P]]]]]. exists (vary st). split.
    + apply in_subsets. intros e He. apply in_lattice_digits, G. auto.
    + apply in_flat_map. exists (pin st). split.
      * apply in_subsets. intros e He. apply in_lattice_digits, G. auto.
      * apply in_steps_of. split; [auto|split; [auto|]]. destruct (N.eq_dec (pin st) 0); auto. right. auto.
Qed.

Theorem complete_over_lattice k n p : positive_sizes ns -> multiple k ns ->
  (In p (programs_of choices_lattice (reduction axes ns reduces) n) <->
   length p <= n /\ Forall (fun st => over_lattice axes ns reduces (vary st) (pin st) /\ proper ns st) p /\
   valid ns k (reduction axes ns reduces) p = true).
Proof.
  intros P K. apply (complete_choices (fun st => over_lattice axes ns reduces (vary st) (pin st)));
    eauto using reduction_big, choices_lattice_spec.
Qed.

End Lattice.
