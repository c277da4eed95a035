(* Devices are ids below the product of the sizes; digit e of an id in mixed radix, most significant
   first. Digits of size 1 are allowed and always 0. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language.
Import ListNotations.

Definition product (ns : list nat) : nat := fold_right Nat.mul 1 ns.
Definition size (ns : list nat) (e : nat) : nat := nth e ns 1.
Definition positive_sizes (ns : list nat) : Prop := forall n, In n ns -> 1 <= n.

Fixpoint dig (ns : list nat) (e i : nat) : nat :=
  match ns with
  | [] => 0
  | n :: ns' => match e with 0 => i / product ns' | S e' => dig ns' e' (i mod product ns') end
  end.

(* The id with the digits f. *)
Fixpoint make (ns : list nat) (f : nat -> nat) : nat :=
  match ns with
  | [] => 0
  | n :: ns' => f 0 * product ns' + make ns' (fun e => f (S e))
  end.

Lemma product_pos ns : positive_sizes ns -> 1 <= product ns.
Proof.
  intros H. induction ns as [|n ns IH]; simpl; auto.
  assert (1 <= n) by (apply H; left; auto).
  assert (1 <= product ns) by (apply IH; intros x Hx; apply H; right; auto). nia.
Qed.

Lemma positive_tail n ns : positive_sizes (n :: ns) -> positive_sizes ns.
Proof. intros H x Hx. apply H. right. auto. Qed.

Lemma size_pos ns e : positive_sizes ns -> 1 <= size ns e.
Proof.
  intros H. unfold size. destruct (Nat.lt_ge_cases e (length ns)).
  - apply H, nth_In. auto.
  - rewrite nth_overflow; auto.
Qed.

Lemma dig_lt ns e i : positive_sizes ns -> i < product ns -> dig ns e i < size ns e.
Proof.
  revert e i. induction ns as [|n ns IH]; intros e i H Hi.
  - unfold size. destruct e; simpl; lia.
  - pose proof (product_pos ns (positive_tail _ _ H)). destruct e as [|e]; simpl in *.
    + unfold size. simpl. apply Nat.div_lt_upper_bound; nia.
    + apply IH; eauto using positive_tail. apply Nat.mod_upper_bound. lia.
Qed.

Lemma make_lt ns f : positive_sizes ns -> (forall e, f e < size ns e) -> make ns f < product ns.
Proof.
  revert f. induction ns as [|n ns IH]; intros f H Hf; simpl; [lia|].
  assert (make ns (fun e => f (S e)) < product ns).
  { apply IH; [eauto using positive_tail|intros e; apply (Hf (S e))]. }
  specialize (Hf 0). unfold size in Hf. simpl in Hf. nia.
Qed.

Lemma dig_make ns f e : positive_sizes ns -> (forall e, f e < size ns e) -> dig ns e (make ns f) = f e.
Proof.
  revert f e. induction ns as [|n ns IH]; intros f e H Hf; simpl.
  - specialize (Hf e). unfold size in Hf. destruct e; simpl in Hf; lia.
  - assert (make ns (fun e => f (S e)) < product ns).
    { apply make_lt; [eauto using positive_tail|intros x; apply (Hf (S x))]. }
    destruct e as [|e].
    + rewrite Nat.div_add_l, Nat.div_small; lia.
    + rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small by lia.
      apply (IH (fun e => f (S e))); [eauto using positive_tail|intros x; apply (Hf (S x))].
Qed.

Lemma make_ext ns f g : (forall e, e < length ns -> f e = g e) -> make ns f = make ns g.
Proof.
  revert f g. induction ns as [|n ns IH]; intros f g H; simpl; auto.
  rewrite (H 0) by (simpl; lia). f_equal. apply IH. intros e He. apply H. simpl. lia.
Qed.

Lemma make_dig ns i : positive_sizes ns -> i < product ns -> make ns (fun e => dig ns e i) = i.
Proof.
  revert i. induction ns as [|n ns IH]; intros i H Hi; simpl in *; [lia|].
  pose proof (product_pos ns (positive_tail _ _ H)).
  rewrite IH; eauto using positive_tail.
  - rewrite Nat.mul_comm. symmetry. apply Nat.div_mod. lia.
  - apply Nat.mod_upper_bound. lia.
Qed.

Lemma dig_ext ns i j : positive_sizes ns -> i < product ns -> j < product ns ->
  (forall e, dig ns e i = dig ns e j) -> i = j.
Proof.
  intros H Hi Hj E. rewrite <- (make_dig ns i), <- (make_dig ns j); auto. apply make_ext. auto.
Qed.

Lemma dig_zero ns e : dig ns e 0 = 0.
Proof.
  revert e. induction ns as [|n ns IH]; intros e; simpl; auto. destruct e.
  - destruct (product ns) as [|p]; [reflexivity|apply Nat.div_0_l; lia].
  - replace (0 mod product ns) with 0; auto. symmetry.
    destruct (product ns) as [|p]; [reflexivity|apply Nat.mod_0_l; lia].
Qed.

Lemma dig_beyond ns e i : length ns <= e -> dig ns e i = 0.
Proof.
  revert e i. induction ns as [|n ns IH]; intros e i H; simpl in *; auto.
  destruct e; [lia|]. apply IH. lia.
Qed.

Lemma make_le ns f g : (forall e, f e <= g e) -> make ns f <= make ns g.
Proof.
  revert f g. induction ns as [|n ns IH]; intros f g H; simpl; auto.
  pose proof (H 0). assert (make ns (fun e => f (S e)) <= make ns (fun e => g (S e)))
    by (apply IH; auto). nia.
Qed.

Lemma dig_le ns i j : positive_sizes ns -> i < product ns -> j < product ns ->
  (forall e, dig ns e i <= dig ns e j) -> i <= j.
Proof.
  intros H Hi Hj E. rewrite <- (make_dig ns i), <- (make_dig ns j); auto. apply make_le. auto.
Qed.

(* Of x, y and x', y': each pair agrees outside P, and inside P x is as x' and y as y'. *)
Lemma dig_order ns (P : nat -> bool) x y x' y' : positive_sizes ns ->
  x < product ns -> y < product ns -> x' < product ns -> y' < product ns ->
  (forall e, P e = false -> dig ns e x = dig ns e y /\ dig ns e x' = dig ns e y') ->
  (forall e, P e = true -> dig ns e x = dig ns e x' /\ dig ns e y = dig ns e y') ->
  x < y -> x' < y'.
Proof.
  revert P x y x' y'. induction ns as [|n ns IH]; intros P x y x' y' H Hx Hy Hx' Hy' Ho Hi L;
    simpl in *; [lia|].
  pose proof (product_pos ns (positive_tail _ _ H)) as Hp.
  set (p := product ns) in *.
  assert (forall z, z mod p < p) as Hm by (intros; apply Nat.mod_upper_bound; lia).
  assert (K : x / p = y / p -> x' / p = y' / p -> x' < y').
  { intros E E'. rewrite (Nat.div_mod x p), (Nat.div_mod y p) in L by lia.
    rewrite (Nat.div_mod x' p), (Nat.div_mod y' p) by lia.
    assert (x' mod p < y' mod p); [|rewrite E' ; lia].
    apply (IH (fun e => P (S e)) (x mod p) (y mod p)); eauto using positive_tail.
    - intros e He. apply (Ho (S e) He).
    - intros e He. apply (Hi (S e) He).
    - rewrite E in L. lia. }
  destruct (P 0) eqn:E.
  - destruct (Hi 0 E) as [E1 E2]. simpl in E1, E2.
    destruct (Nat.lt_total (x / p) (y / p)) as [F|[F|F]].
    + rewrite (Nat.div_mod x' p), (Nat.div_mod y' p) by lia. rewrite <- E1, <- E2.
      specialize (Hm x'). nia.
    + apply K; congruence.
    + assert (x / p <= y / p) by (apply Nat.div_le_mono; lia). lia.
  - destruct (Ho 0 E) as [E1 E2]. simpl in E1, E2. auto.
Qed.

(* ---- sets of digits, as bit masks ---- *)

Definition has (V : N) (e : nat) : bool := N.testbit V (N.of_nat e).
Definition big (ns : list nat) (e : nat) : Prop := 2 <= size ns e.

Lemma has_or V W e : has (N.lor V W) e = has V e || has W e.
Proof. apply N.lor_spec. Qed.
Lemma has_and V W e : has (N.land V W) e = has V e && has W e.
Proof. apply N.land_spec. Qed.
Lemma has_diff V W e : has (N.ldiff V W) e = has V e && negb (has W e).
Proof. apply N.ldiff_spec. Qed.
Lemma has_zero e : has 0%N e = false.
Proof. apply N.bits_0. Qed.

Lemma has_ext V W : (forall e, has V e = has W e) -> V = W.
Proof.
  intros H. apply N.bits_inj. intros i. specialize (H (N.to_nat i)). unfold has in H.
  rewrite N2Nat.id in H. auto.
Qed.

Lemma has_setbit V e x : has (N.setbit V (N.of_nat e)) x = (x =? e) || has V x.
Proof.
  unfold has. rewrite N.setbit_eqb. f_equal. apply eq_true_iff_eq.
  rewrite N.eqb_eq, Nat.eqb_eq. split; [intros E; apply Nat2N.inj; auto|intros ->; auto].
Qed.

(* The elements of a list, as a set. *)
Definition mask_of (l : list nat) : N := fold_right (fun e a => N.setbit a (N.of_nat e)) 0%N l.

Lemma has_mask_of l e : has (mask_of l) e = true <-> In e l.
Proof.
  induction l as [|x l IH]; cbn [mask_of fold_right In].
  - rewrite has_zero. split; [discriminate|tauto].
  - fold (mask_of l). rewrite has_setbit, orb_true_iff, IH, Nat.eqb_eq. split; intros [E|E]; auto.
Qed.

Definition subset (V W : N) : bool := N.eqb (N.ldiff V W) 0.
Definition apart (V W : N) : bool := N.eqb (N.land V W) 0.

Lemma subset_spec V W : subset V W = true <-> forall e, has V e = true -> has W e = true.
Proof.
  unfold subset. rewrite N.eqb_eq. split.
  - intros H e He. pose proof (has_diff V W e) as E. rewrite H, has_zero, He in E. simpl in E.
    destruct (has W e); auto.
  - intros H. apply has_ext. intros e. rewrite has_diff, has_zero. specialize (H e).
    destruct (has V e); simpl; auto. rewrite H; auto.
Qed.

Lemma apart_spec V W : apart V W = true <-> forall e, has V e = true -> has W e = false.
Proof.
  unfold apart. rewrite N.eqb_eq. split.
  - intros H e He. pose proof (has_and V W e) as E. rewrite H, has_zero, He in E. auto.
  - intros H. apply has_ext. intros e. rewrite has_and, has_zero. specialize (H e).
    destruct (has V e); simpl; auto.
Qed.

Lemma nonzero_spec V : V <> 0%N <-> exists e, has V e = true.
Proof.
  split.
  - intros H. exists (N.to_nat (N.log2 V)). unfold has. rewrite N2Nat.id. apply N.bit_log2. auto.
  - intros [e He] ->. rewrite has_zero in He. discriminate.
Qed.

Lemma zero_spec V : V = 0%N <-> forall e, has V e = false.
Proof.
  split; [intros ->; apply has_zero|]. intros H. apply has_ext. intros e. rewrite has_zero. auto.
Qed.
