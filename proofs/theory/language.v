(* The meaning of the language in which collectives are defined (docs/definitions.md), as functions
   that compute. Numbers are unbounded here; the interpreter computes modulo 2^64. *)
From Coq Require Import List Arith Bool Lia.
Import ListNotations.

(* s i r c: the device at position i holds in its chunk r the contribution of device c. *)
Definition state := nat -> nat -> nat -> bool.

Definition all (n : nat) (f : nat -> bool) : bool := forallb f (seq 0 n).
Definition some (n : nat) (f : nat -> bool) : bool := existsb f (seq 0 n).
Definition count (n : nat) (f : nat -> bool) : nat := length (filter f (seq 0 n)).
Definition sum (n : nat) (f : nat -> nat) : nat := list_sum (map f (seq 0 n)).

(* a / 0 is 0 and a % 0 is a. *)
Definition divide (a b : nat) : nat := if b =? 0 then 0 else a / b.
Definition modulo (a b : nat) : nat := if b =? 0 then a else a mod b.

Lemma all_spec n f : all n f = true <-> forall i, i < n -> f i = true.
Proof.
  unfold all. rewrite forallb_forall. split; intros H i Hi; apply H; rewrite ?in_seq in *; lia.
Qed.

Lemma some_spec n f : some n f = true <-> exists i, i < n /\ f i = true.
Proof.
  unfold some. rewrite existsb_exists. split; intros [i [Hi Hf]]; exists i; split; auto;
    rewrite ?in_seq in *; lia.
Qed.

Lemma some_false n f : some n f = false <-> forall i, i < n -> f i = false.
Proof.
  split.
  - intros H i Hi. destruct (f i) eqn:E; auto. rewrite <- H. symmetry. apply some_spec. eauto.
  - intros H. destruct (some n f) eqn:E; auto. apply some_spec in E. destruct E as [i [Hi E]].
    rewrite H in E by auto. discriminate.
Qed.

Lemma count_S n f : count (S n) f = count n f + if f n then 1 else 0.
Proof.
  unfold count. rewrite seq_S, filter_app, app_length. simpl. destruct (f n); reflexivity.
Qed.

Lemma count_first n f : count (S n) f = Nat.b2n (f 0) + count n (fun i => f (S i)).
Proof.
  induction n; [unfold count; simpl; destruct (f 0); reflexivity|].
  rewrite count_S, IHn, (count_S n (fun i => f (S i))). lia.
Qed.

Lemma count_ext n f g : (forall i, i < n -> f i = g i) -> count n f = count n g.
Proof.
  induction n; intros H; [reflexivity|].
  rewrite !count_S, IHn by (intros; apply H; lia). rewrite H by lia. reflexivity.
Qed.

Lemma some_ext n f g : (forall i, i < n -> f i = g i) -> some n f = some n g.
Proof.
  intros H. destruct (some n g) eqn:E.
  - apply some_spec in E. apply some_spec. destruct E as [i [Hi E]]. exists i. rewrite H; auto.
  - rewrite some_false in *. intros i Hi. rewrite H; auto.
Qed.

Lemma count_le n f : count n f <= n.
Proof. induction n; [auto|]. rewrite count_S. destruct (f n); lia. Qed.

Lemma count_zero n f : count n f = 0 <-> forall i, i < n -> f i = false.
Proof.
  induction n; split; intros H; try lia; try reflexivity.
  - rewrite count_S in H. intros i Hi. destruct (Nat.eq_dec i n) as [->|].
    + destruct (f n); auto; lia.
    + apply IHn; try lia. 
  - rewrite count_S, (proj2 IHn) by (intros; apply H; lia). rewrite H by lia. reflexivity.
Qed.

Lemma count_full n f : count n f = n <-> forall i, i < n -> f i = true.
Proof.
  induction n; split; intros H; try lia; try reflexivity.
  - rewrite count_S in H. pose proof (count_le n f). intros i Hi.
    destruct (f n) eqn:E; [|lia]. destruct (Nat.eq_dec i n) as [->|]; auto. apply IHn; lia.
  - rewrite count_S, (proj2 IHn) by (intros; apply H; lia). rewrite H by lia. lia.
Qed.

(* Below the count there is, for every number, an element with so many before it. *)
Lemma count_reaches n f x : x < count n f -> exists i, i < n /\ f i = true /\ count i f = x.
Proof.
  induction n; intros H; [unfold count in H; simpl in H; lia|].
  rewrite count_S in H. destruct (f n) eqn:E.
  - destruct (Nat.eq_dec x (count n f)) as [->|].
    + exists n. auto.
    + destruct IHn as [i [? [? ?]]]; [lia|]. exists i; auto.
  - destruct IHn as [i [? [? ?]]]; [lia|]. exists i; auto.
Qed.

Lemma count_mono n m f : n <= m -> count n f <= count m f.
Proof. induction 1; auto. rewrite count_S. lia. Qed.

Lemma count_lt n m f : n < m -> f n = true -> count n f < count m f.
Proof.
  intros H E. apply Nat.lt_le_trans with (count (S n) f); [rewrite count_S, E; lia|].
  apply count_mono. lia.
Qed.
