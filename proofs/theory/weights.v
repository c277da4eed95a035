(* How many devices a group has, and how many chunks the devices of a group hold together. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs.
Import ListNotations.

(* The product of the sizes of the digits in f. *)
Fixpoint weight (f : nat -> bool) (ns : list nat) : nat :=
  match ns with
  | [] => 1
  | n :: ns' => (if f 0 then n else 1) * weight (fun e => f (S e)) ns'
  end.

Lemma weight_ext f g ns : (forall e, f e = g e) -> weight f ns = weight g ns.
Proof.
  revert f g. induction ns as [|n ns IH]; intros f g E; simpl; auto.
  rewrite (E 0). f_equal. apply IH. intros e. apply E.
Qed.

Lemma weight_none f ns : (forall e, f e = false) -> weight f ns = 1.
Proof.
  revert f. induction ns as [|n ns IH]; intros f E; simpl; auto. rewrite (E 0), IH; auto.
Qed.

Lemma weight_or f g ns : (forall e, f e = true -> g e = true -> False) ->
  weight (fun e => f e || g e) ns = weight f ns * weight g ns.
Proof.
  revert f g. induction ns as [|n ns IH]; intros f g E; simpl; auto.
  rewrite (IH (fun e => f (S e)) (fun e => g (S e))) by (intros e; apply E).
  destruct (f 0) eqn:F, (g 0) eqn:G; simpl; try (destruct (E 0); auto; fail); nia.
Qed.

Lemma weight_pos f ns : positive_sizes ns -> 0 < weight f ns.
Proof.
  revert f. induction ns as [|n ns IH]; intros f Hp; simpl; [lia|].
  specialize (IH (fun e => f (S e)) (positive_tail _ _ Hp)).
  assert (1 <= n) by (apply Hp; left; auto). destruct (f 0); nia.
Qed.

Lemma weight_split f ns : product ns = weight f ns * weight (fun e => negb (f e)) ns.
Proof.
  revert f. induction ns as [|n ns IH]; intros f; simpl; auto.
  rewrite (IH (fun e => f (S e))). destruct (f 0); simpl; nia.
Qed.

Lemma count_add n m f : count (n + m) f = count n f + count m (fun y => f (n + y)).
Proof.
  induction m; [rewrite Nat.add_0_r; unfold count at 3; simpl; lia|].
  rewrite Nat.add_succ_r, !count_S, IHm. lia.
Qed.

(* f (i * p + y) does not depend on i where a holds, and is false elsewhere. *)
Lemma count_rows n p f a g : (forall i y, i < n -> y < p -> f (i * p + y) = a i && g y) ->
  count (n * p) f = count n a * count p g.
Proof.
  induction n; intros E; [reflexivity|].
  replace (S n * p) with (n * p + p) by lia. rewrite count_add, IHn by (intros; apply E; lia).
  rewrite count_S. rewrite (count_ext p (fun y => f (n * p + y)) (fun y => a n && g y)) by (intros; apply E; lia).
  destruct (a n); simpl.
  - rewrite (count_ext p (fun y => g y) g) by auto. lia.
  - rewrite (proj2 (count_zero p (fun _ => false))) by auto. lia.
Qed.

Lemma all_S n f : all (S n) f = f 0 && all n (fun e => f (S e)).
Proof.
  apply eq_true_iff_eq. rewrite andb_true_iff, !all_spec. split.
  - intros G. split; [apply G; lia|]. intros i Hi. apply G. lia.
  - intros [G0 G] i Hi. destruct i; auto. apply G. lia.
Qed.

Lemma all_ext n f g : (forall i, i < n -> f i = g i) -> all n f = all n g.
Proof.
  intros E. apply eq_true_iff_eq. rewrite !all_spec. split; intros G i Hi; [rewrite <- E|rewrite E]; auto.
Qed.

Lemma count_one n d : d < n -> count n (fun i => d =? i) = 1.
Proof.
  induction n; intros Hd; [lia|]. rewrite count_S. destruct (Nat.eqb_spec d n) as [->|].
  - rewrite (proj2 (count_zero _ _)); auto. intros i Hi. apply Nat.eqb_neq. lia.
  - rewrite IHn; lia.
Qed.

Lemma count_same ns f d : positive_sizes ns -> d < product ns ->
  count (product ns) (fun x => all (length ns) (fun e => f e || (dig ns e d =? dig ns e x))) = weight f ns.
Proof.
  revert f d. induction ns as [|n ns IH]; intros f d Hp Hd; [reflexivity|].
  cbn [product fold_right]. fold (product ns). cbn [length].
  pose proof (product_pos ns (positive_tail _ _ Hp)) as P.
  assert (Hd' : d < n * product ns) by exact Hd.
  rewrite (count_rows n (product ns) _ (fun i => f 0 || (d / product ns =? i))
    (fun y => all (length ns) (fun e => f (S e) || (dig ns e (d mod product ns) =? dig ns e y)))).
  - rewrite IH; eauto using positive_tail; [|apply Nat.mod_upper_bound; lia].
    cbn [weight]. f_equal. destruct (f 0); cbn [orb].
    + apply count_full. auto.
    + apply count_one. apply Nat.div_lt_upper_bound; lia.
  - intros i y Hi Hy. rewrite all_S. cbn [dig]. f_equal.
    + rewrite Nat.div_add_l, (Nat.div_small y), Nat.add_0_r by lia. auto.
    + apply all_ext. intros e He. rewrite (Nat.add_comm (i * product ns) y), Nat.mod_add, (Nat.mod_small y) by lia. auto.
Qed.

Lemma members_weight ns V d : positive_sizes ns -> d < product ns ->
  length (members ns V d) = weight (has V) ns.
Proof. intros Hp Hd. apply count_same; auto. Qed.

(* Chunks of a union of disjoint sets. *)
Lemma count_or k f g : (forall r, r < k -> f r = true -> g r = true -> False) ->
  count k (fun r => f r || g r) = count k f + count k g.
Proof.
  induction k; intros E; [reflexivity|]. rewrite !count_S, IHk by (intros r Hr; apply E; lia).
  destruct (f k) eqn:F, (g k) eqn:G; simpl; try lia. destruct (E k); auto.
Qed.

Lemma count_union k (h : nat -> nat -> bool) g t : NoDup g ->
  (forall d, In d g -> count k (h d) = t) ->
  (forall d d' r, In d g -> In d' g -> d <> d' -> r < k -> h d r = true -> h d' r = true -> False) ->
  count k (fun r => existsb (fun d => h d r) g) = length g * t.
Proof.
  induction g as [|d g IH]; intros Hn Ht Hd; simpl.
  - apply count_zero. auto.
  - inversion Hn; subst. rewrite count_or.
    + rewrite IH; auto; [rewrite Ht; auto; left; auto|intros; apply Ht; right; auto|].
      intros d1 d2 r I1 I2. apply Hd; right; auto.
    + intros r Hr E E'. apply existsb_exists in E'. destruct E' as [d' [Hi E']].
      apply (Hd d d' r); auto; [left; auto|right; auto|intros ->; tauto].
Qed.
