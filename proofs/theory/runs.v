(* The runs of ReduceScatter: position i of n keeps the i-th of n equal runs of the t chunks held. *)
From Coq Require Import List Arith Bool Lia.
From P2Theory Require Import language rules semantics.
Import ListNotations.

Lemma run_apart n t i j x : in_run n t i x -> in_run n t j x -> i = j.
Proof.
  unfold in_run. intros [H1 H2] [H3 H4].
  destruct (Nat.lt_total i j) as [L|[L|L]]; auto; exfalso.
  - assert ((i + 1) * t <= j * t) by (apply Nat.mul_le_mono_r; lia). lia.
  - assert ((j + 1) * t <= i * t) by (apply Nat.mul_le_mono_r; lia). lia.
Qed.

Lemma run_first n t : 0 < t -> in_run n t 0 0.
Proof. unfold in_run. lia. Qed.

Lemma run_not_empty n t i : 0 < t -> 0 < n -> t mod n = 0 -> i < n ->
  exists x, x < t /\ in_run n t i x.
Proof.
  intros Ht Hn E Hi. pose proof (Nat.div_mod t n) as F. rewrite E in F.
  assert (t = n * (t / n)) by lia. set (q := t / n) in *.
  exists (i * q). unfold in_run. rewrite H. assert (0 < q) by nia. split; [nia|]. split; nia.
Qed.

Lemma run_cover n t x : x < t -> 0 < n -> exists i, i < n /\ in_run n t i x.
Proof.
  intros Hx Hn. exists (x * n / t). split.
  - apply Nat.div_lt_upper_bound; nia.
  - unfold in_run. pose proof (Nat.div_mod (x * n) t). pose proof (Nat.mod_upper_bound (x * n) t). nia.
Qed.

Definition in_runb (n t i x : nat) : bool := (i * t <=? x * n) && (x * n <? (i + 1) * t).
Lemma in_runb_spec n t i x : in_runb n t i x = true <-> in_run n t i x.
Proof. unfold in_runb, in_run. rewrite andb_true_iff, Nat.leb_le, Nat.ltb_lt. reflexivity. Qed.

(* The elements of h counted by the number of elements before them. *)
Lemma count_index k h p : count k (fun r => h r && p (count r h)) = count (count k h) p.
Proof.
  induction k; [reflexivity|]. rewrite !count_S, IHk. destruct (h k); simpl.
  - rewrite Nat.add_1_r, count_S. reflexivity.
  - rewrite !Nat.add_0_r. reflexivity.
Qed.

Lemma count_interval n a b : a <= b -> b <= n -> count n (fun x => (a <=? x) && (x <? b)) = b - a.
Proof.
  intros Hab Hb. assert (G : forall m, count m (fun x => (a <=? x) && (x <? b)) = min m b - min m a).
  { induction m; [reflexivity|]. rewrite count_S, IHm. cbv beta.
    destruct (Nat.leb_spec a m) as [A|A], (Nat.ltb_spec m b) as [B|B]; unfold andb;
      (assert (min (S m) b = if m <? b then S (min m b) else min m b)
         by (destruct (Nat.ltb_spec m b); lia));
      (assert (min (S m) a = if m <? a then S (min m a) else min m a)
         by (destruct (Nat.ltb_spec m a); lia));
      destruct (Nat.ltb_spec m b), (Nat.ltb_spec m a); lia. }
  rewrite G. lia.
Qed.

Lemma run_size k h n i : 0 < n -> count k h mod n = 0 -> i < n ->
  n * count k (fun r => h r && in_runb n (count k h) i (count r h)) = count k h.
Proof.
  intros Hn E Hi. rewrite (count_index k h (in_runb n (count k h) i)). set (t := count k h) in *.
  pose proof (Nat.div_mod t n) as F. rewrite E in F. assert (T : t = n * (t / n)) by lia.
  set (q := t / n) in *. rewrite (count_ext t _ (fun x => (i * q <=? x) && (x <? (i + 1) * q))).
  - rewrite count_interval; nia.
  - intros x Hx. unfold in_runb. rewrite T. f_equal.
    + destruct (Nat.leb_spec (i * (n * q)) (x * n)), (Nat.leb_spec (i * q) x); auto; nia.
    + destruct (Nat.ltb_spec (x * n) ((i + 1) * (n * q))), (Nat.ltb_spec x ((i + 1) * q)); auto; nia.
Qed.
